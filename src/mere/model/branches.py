"""Say what a merge does with rows that match, that are new, or that the source does not have."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mere.errors import InvalidInputError
from mere.model.expr import Expr, rebuilt

MATCHED, NEW, UNMATCHED = "matched", "new", "unmatched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """What becomes of rows of one `side`: `matched`, `new` in the source, `unmatched` in the table.

    `kind` is update, delete or insert; `sets` None takes all columns that both sides have.
    """

    side: str
    kind: str
    when: Any = None
    sets: Mapping[str, Any] | None = None


def qualified(expr: Expr) -> Expr:
    """Spell `source.x` as one name, as staged rows have it; `target.x` is the table's own `x`."""
    if expr.op != "column":
        args = (qualified(arg) if isinstance(arg, Expr) else arg for arg in expr.args)
        return rebuilt(expr, args)
    path = expr.args
    side, dot, rest = path[0].partition(".")
    if dot and len(path) == 1:
        path = (side, rest)
    if len(path) < 2:  # noqa: PLR2004  a side and a name
        return expr
    if path[0].casefold() == "source":
        return Expr("column", (f"source.{path[1]}", *path[2:]))
    return Expr("column", path[1:]) if path[0].casefold() == "target" else expr


def only_source(expr: Expr, what: str) -> Expr:
    """Read names without a side as the source's: there is no row of the table yet.

    Raises:
        InvalidInputError: If it names a column of the table.
    """
    if expr.op != "column":
        args = (only_source(arg, what) if isinstance(arg, Expr) else arg for arg in expr.args)
        return rebuilt(expr, args)
    side, _, rest = ".".join(expr.args).partition(".")
    if side.casefold() == "target" and rest:
        msg = f"{what} has no row of the table to look at, it names {expr}"
        raise InvalidInputError(msg, hint="use columns of the source")
    if side.casefold() == "source" and rest:
        return qualified(expr)
    return Expr("column", (f"source.{expr.args[0]}", *expr.args[1:]))


def without(expr: Expr, lost: Collection[str]) -> Expr:
    """Put NULL in the place of columns of the source, spelled as staged rows have them."""
    if expr.op != "column":
        args = (without(arg, lost) if isinstance(arg, Expr) else arg for arg in expr.args)
        return rebuilt(expr, args)
    side, _, name = expr.args[0].partition(".")
    gone = side == "source" and name.casefold() in {column.casefold() for column in lost}
    return Expr("literal", (None,)) if gone else expr
