"""Make few files of many small ones."""

from typing import Any

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.report import Report
from mere.ops.maintain.moving import MoveOptions, move_rows, require_alone
from mere.plan.rewrite import Sizes, plan_compaction, require_files
from mere.ports import Session
from mere.where import as_expr

_MODES = ("auto", "rewrite", "copy")


def compact(
    session: Session, name: str, *, sizes: Sizes, where: Any, mode: str, options: MoveOptions
) -> Report:
    """Merge small files of a table; see `Table.compact`.

    Raises:
        InvalidInputError: If a size, the mode or the predicate cannot be meant; nothing was read.
        NoFilesError: If no file matches.
    """
    sizes.check()
    _check_mode(mode)
    memory_bytes = options.share(session)
    require_alone(session)
    head = session.catalog.head(name)
    found = session.catalog.files(head, as_expr(where, head.schema))
    require_files(found.files, head, where)
    lineage = session.catalog.lineage(head, found.files)
    plan = plan_compaction(head, lineage, sizes, memory_bytes=memory_bytes)
    return move_rows(session, head, plan, options)


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        msg = f"unknown mode {mode!r}; known: {', '.join(_MODES)}"
        raise InvalidInputError(msg)
    if mode == "copy":
        msg = "mode='copy' moves row groups as bytes, which this version cannot do"
        raise UnsupportedError(msg, hint="mode='auto' takes the best way that there is")
