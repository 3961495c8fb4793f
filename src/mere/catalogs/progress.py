"""Keep what was committed by name: tokens, and how far the steps of pipelines have come.

Both are written in the transaction of the commit that they speak of, so neither can be there
without the other.
"""

from dataclasses import asdict, astuple, replace

from mere.catalogs import opening
from mere.catalogs.dialect import Link, Row
from mere.errors import CommitConflictError
from mere.model.history import Change, Mark


def committed(link: Link, own: frozenset[str], token: str) -> int | None:
    """Return the snapshot that a token has made, None if it has made none."""
    if not _there(link, own, "mere_commit"):
        return None
    rows = link.rows("committed", token=token)
    return rows[0][0] if rows else None


def marks(link: Link, own: frozenset[str]) -> tuple[Mark, ...]:
    """Return how far every step has come, by name; none in a lake that never had one."""
    if not _there(link, own, "mere_step"):
        return ()
    return tuple(_mark(row) for row in link.rows("steps"))


def check(link: Link, change: Change) -> None:
    """Refuse the work of a step that others have run meanwhile.

    A mark alone may be made twice: when the end of its transaction was not heard, it is.

    Raises:
        CommitConflictError: If they have.
    """
    mark = change.mark
    if mark is None:
        return
    found = [_mark(row) for row in link.rows("step", step=mark.step)]
    if not change.edits and found == [mark]:
        return
    run = found[0].run if found else 0
    if run != mark.run - 1:
        msg = f"the step {mark.step!r} was run by somebody else meanwhile: {run} times by now"
        raise CommitConflictError(msg, hint="nothing changed; look how far it is and go on")


def put(link: Link, change: Change, wrote: int | None) -> None:
    """Say how far a step has come with this commit."""
    if change.mark is None:
        return
    mark = replace(change.mark, wrote=wrote)
    if link.rows("step", step=mark.step):
        link.run("move_step", **asdict(mark))
    else:
        link.insert("mere_step", [astuple(mark)])


def _there(link: Link, own: frozenset[str], table: str) -> bool:
    return table in own or table in opening.own_tables(link)


def _mark(row: Row) -> Mark:
    step, run, since, reached, wrote = row
    return Mark(step=step, run=run, since=since, reached=reached, wrote=wrote)
