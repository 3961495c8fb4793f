"""Keep names for versions, in a table beyond the format."""

from datetime import UTC, datetime

from mere.catalogs.dialect import Link
from mere.catalogs.times import as_time, time_text
from mere.errors import AlreadyExistsError, InvalidInputError
from mere.model.clearing import Tag
from mere.model.history import Snapshot

_MOST = 255


def tags(link: Link) -> tuple[Tag, ...]:
    """Return the tags by name; none in a lake that never had one."""
    if ("mere_ref",) not in [tuple(row) for row in link.rows("own_tables")]:
        return ()
    rows = link.rows("tags")
    return tuple(Tag(name=name, version=number, at=as_time(at)) for name, number, at in rows)


def put(link: Link, name: str, snapshot: Snapshot) -> Snapshot:
    """Name a version and return it; the same name for the same version again is fine.

    Raises:
        AlreadyExistsError: If the name is taken by another version.
    """
    for tag in tags(link):
        if tag.name == name and tag.version == snapshot.id:
            return snapshot
        if tag.name == name:
            msg = f"tag {name!r} names version {tag.version} already, not {snapshot.id}"
            raise AlreadyExistsError(msg, hint=f"lake.untag({name!r}) frees the name")
    link.insert("mere_ref", [(name, snapshot.id, time_text(datetime.now(UTC)))])
    return snapshot


def check(name: str) -> None:
    """Refuse what cannot name a version.

    Raises:
        InvalidInputError: If the name is empty, too long, or holds control characters.
    """
    if not name.strip() or len(name) > _MOST or not name.isprintable():
        msg = f"a tag is named by 1 to {_MOST} printable characters, got {name!r}"
        raise InvalidInputError(msg)
