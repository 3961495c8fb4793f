"""Remember which files of others a table has the rows of, in the commit that brings them."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from mere.catalogs.dialect import Link
from mere.catalogs.draft import Draft
from mere.catalogs.opening import own_tables
from mere.catalogs.times import time_text
from mere.errors import CommitConflictError
from mere.model.history import Remember
from mere.model.loading import Loaded


def loaded(
    link: Link, table: int, paths: Collection[str], own: Collection[str]
) -> dict[str, Loaded]:
    """Return what is known of files that were loaded into a table, by path."""
    if not paths or ("mere_loaded" not in own and "mere_loaded" not in own_tables(link)):
        return {}
    return _known(link, table, paths)


def _known(link: Link, table: int, paths: Collection[str]) -> dict[str, Loaded]:
    """Ask for all between the first and the last: what is loaded at once lies close together."""
    wanted = frozenset(paths)
    rows = link.rows("loaded", table=table, first=min(wanted), last=max(wanted))
    return {
        path: Loaded(path=path, bytes=size, mark=mark, load=load, snapshot=snapshot)
        for path, size, mark, load, snapshot in rows
        if path in wanted
    }


def remember(draft: Draft, edit: Remember) -> None:
    """Write down the files whose rows this commit brings.

    Raises:
        CommitConflictError: If another load brought one of them in meanwhile.
    """
    table = draft.tables.get(edit.table_id, edit.table_id)
    known = _known(draft.link, table, [source.path for source in edit.sources])
    _require_same(edit, known)
    snapshot = draft.snapshot if draft.words else draft.snapshot - 1  # no rows: no new version
    now = time_text(datetime.now(UTC))
    new = []
    for source in edit.sources:
        if source.path not in known:
            load = (edit.load, snapshot, now)
            new.append((table, source.path, source.bytes, source.mark, *load))
        else:
            state = {"bytes": source.bytes, "mark": source.mark, "load": edit.load}
            draft.link.run(
                "load_again", table=table, path=source.path, at=snapshot, now=now, **state
            )
    draft.link.insert("mere_loaded", new)


def _require_same(edit: Remember, known: Mapping[str, Loaded]) -> None:
    for source in edit.sources:
        there = known.get(source.path)
        if there is not None and there.load == edit.load:  # this very load, heard of no end
            continue
        if (None if there is None else there.load) != source.known:
            msg = f"another load brought {source.path!r} into the table meanwhile"
            raise CommitConflictError(msg, hint="nothing changed; look again what is to be loaded")
