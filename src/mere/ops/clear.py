"""Let old versions go, delete what nobody can reach, and free names of versions."""

from dataclasses import replace
from datetime import timedelta

from mere.errors import (
    EngineMissingError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from mere.model.clearing import Cleared, Upload
from mere.model.durations import seconds
from mere.ops import carry
from mere.ports import Session
from mere.telling import telling


def untag(session: Session, name: str, *, missing_ok: bool) -> None:
    """Drop a tag; see `Lake.untag`.

    Raises:
        NotFoundError: If there is none of that name, unless `missing_ok`.
    """
    carry.require_writable(session)
    if not session.catalog.untag(name) and not missing_ok:
        known = ", ".join(tag.name for tag in session.catalog.tags())
        msg = f"no tag {name!r}; there is: {known or 'none yet'}"
        raise NotFoundError(msg)


def expire(
    session: Session, *, older_than: str | float | timedelta | None, keep_last: int, dry_run: bool
) -> Cleared:
    """Let old versions go; see `Lake.expire`.

    Raises:
        InvalidInputError: If `keep_last` is not positive or `older_than` no length of time.
    """
    carry.require_writable(session)
    if keep_last < 1:
        msg = f"keep_last must be 1 or more, got {keep_last!r}"
        raise InvalidInputError(msg, hint="the newest version always stays")
    older_s = _length(session, older_than, option="expire_older_than", otherwise="7 days")
    with telling("expire"):
        return session.catalog.expire(older_s=older_s, keep_last=keep_last, dry_run=dry_run)


def vacuum(
    session: Session,
    *,
    grace: str | float | timedelta | None,
    dry_run: bool,
    adopted: bool = False,
) -> Cleared:
    """Delete what nobody can reach any more; see `Lake.vacuum`.

    Files are listed first: what is written later is not among them. Then the catalog decides
    under its lock and revokes the writers of what goes. Only then is anything deleted, and last
    the rows go that had scheduled it: after a crash the next call finds all that is left. Uploads
    that nobody will finish are found and judged like files.
    """
    carry.require_writable(session)
    grace_s = _length(session, grace, option="delete_older_than", otherwise="1 day")
    with telling("vacuum"):
        return _swept(session, grace_s, dry_run=dry_run, adopted=adopted)


def _swept(session: Session, grace_s: float, *, dry_run: bool, adopted: bool) -> Cleared:
    found = tuple(session.store.list())
    uploads, notes = _uploads(session)
    cleared, rows = session.catalog.sweep(
        found, uploads=uploads, grace_s=grace_s, dry_run=dry_run, adopted=adopted
    )
    if not dry_run:
        session.store.delete(cleared.paths)
        if cleared.uploads:
            session.store.abort(cleared.uploads)
        session.catalog.swept(rows)
    return replace(cleared, notes=notes)


def _length(
    session: Session, given: str | float | timedelta | None, *, option: str, otherwise: str
) -> float:
    """Return the seconds that a caller gives, or else the lake's option, or else what is usual."""
    if given is not None:
        return seconds(given)
    text = session.catalog.options().get(option, otherwise)
    try:
        return seconds(text)
    except InvalidInputError as error:
        msg = f"the lake's option {option!r} is {text!r}, which is no length of time"
        hint = f"lake.set_option({option!r}, {otherwise!r}), or give it in the call"
        raise InvalidInputError(msg, hint=hint) from error


def _uploads(session: Session) -> tuple[tuple[Upload, ...], tuple[str, ...]]:
    """List the unfinished uploads; files are cleared all the same where nobody can list them."""
    try:
        return tuple(session.store.uploads()), ()
    except (EngineMissingError, UnsupportedError, StorageError) as error:
        hint = f" ({error.hint})" if error.hint else ""
        return (), (f"unfinished uploads were not looked for: {error.message}{hint}",)
