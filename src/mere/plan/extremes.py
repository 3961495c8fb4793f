"""Find the least or greatest value of a column from the bounds of files, as far as they decide.

The bounds of a file are an answer when all of its rows count, none is deleted, and both ends are
known to occur. A text may have been cut, and then it is none. NaN is above all numbers, so it is
the greatest value, and never the least one beside a number. Files that cannot go beyond the best
answer need not be opened.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mere.errors import InvalidInputError
from mere.model.files import Bounds, DataFile, Value
from mere.model.schema import Field
from mere.model.values import FLOATS, TEXTS, compare, is_nan
from mere.plan.spans import UNCOUNTED

NAN = float("nan")
_CUT = TEXTS | {"blob"}
"""Types whose bounds other writers cut at lengths of their own: in adopted files they are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme:
    """The best value that is known to occur (None: none), and the files that may hold better."""

    best: Value | None
    open: tuple[DataFile, ...]


def require_order(field: Field) -> None:
    """Refuse a column whose values have no order.

    Raises:
        InvalidInputError: If it is nested, or of a type that is not compared.
    """
    if field.children or field.type in UNCOUNTED:
        msg = f"column {field.name!r} has the type {field.type}, whose values have no order"
        raise InvalidInputError(msg, hint="min and max take columns of plain values")


def extreme(
    files: Iterable[DataFile], field: Field, *, sign: int, whole: Callable[[DataFile], bool]
) -> Extreme:
    """Return the least (`sign` -1) or greatest (1) value that bounds decide.

    `whole` tells whether every row of a file counts, none deleted and none younger.
    """
    best: Value | None = None
    rest: list[tuple[DataFile, Bounds]] = []
    for file in files:
        bounds = file.bounds.get(field.id) or Bounds()
        if bounds.values == 0 or (bounds.nulls is not None and bounds.nulls >= file.rows):
            continue
        told = whole(file) and not (file.names is not None and field.type in _CUT)
        answer = _answer(bounds, field, sign) if told else None
        if answer is None:
            rest.append((file, bounds))
        else:
            best = better(best, answer, field, sign)
    hopeful = (file for file, bounds in rest if _may_beat(best, bounds, field, sign))
    return Extreme(best=best, open=tuple(hopeful))


def better(one: Value | None, other: Value | None, field: Field, sign: int) -> Value | None:
    """Return whichever is further out; None is no value."""
    if one is None or other is None:
        return other if one is None else one
    return other if _order(other, one, field) == sign else one


def _order(one: Value, other: Value, field: Field) -> int:
    if is_nan(one) or is_nan(other):
        return int(is_nan(one)) - int(is_nan(other))
    return compare(one, other, field.type, field.type)


def _answer(bounds: Bounds, field: Field, sign: int) -> Value | None:
    """Return the end that is known to occur in a file."""
    if not bounds.exact or (field.type in FLOATS and bounds.nan is None):
        return None
    return NAN if bounds.nan and sign > 0 else _end(bounds, sign)


def _end(bounds: Bounds, sign: int) -> Value | None:
    return bounds.maximum if sign > 0 else bounds.minimum


def _may_beat(best: Value | None, bounds: Bounds, field: Field, sign: int) -> bool:
    """Tell whether a file of which only bounds are known can hold something better."""
    end = _end(bounds, sign)
    unknown = field.type in FLOATS and sign > 0 and bounds.nan is not False
    if best is None or end is None or unknown:
        return not (sign > 0 and is_nan(best))
    return _order(end, best, field) == sign
