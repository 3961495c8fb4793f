"""Take a `partition_filter` in any of the forms that people have it in.

| form | example |
|---|---|
| dict, all must hold | `{"product_id": "BTC-USD", "date": "2025-11-26"}` |
| prefix of a path | `"date=2025-11-26"`, `"product_id=BTC-USD/date=2025-11-26"` |
| several prefixes, one must hold | `["month=1", "month=2"]` |
| tuple, or a list of them, all must hold | `[("date", ">=", "2025-11-01")]` |
| expression of mere, pyarrow or polars | `pl.col("date") >= "2025-11-01"` |

Folders count as a whole and values by their type: `month=1` is neither `month=10` nor, where
months are numbers, anything but `month=01`.
"""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote

from mere.errors import InvalidInputError
from mere.model.expr import Expr, col, conjunction, disjunction
from mere.where import translate

_NULL = "__HIVE_DEFAULT_PARTITION__"
_OPERATORS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "in", "not in", "like", "between")
_CONDITION = 3


def partition_condition(given: Any) -> Expr | None:
    """Return a `partition_filter` as an expression that is not tied to columns yet.

    Raises:
        TypeError: If it has none of the forms.
        ValueError: If a prefix names no folder of a partition.
    """
    if given is None:
        return None
    if isinstance(given, str):
        return _prefix(given)
    if isinstance(given, Collection) and not isinstance(given, Mapping | bytes):
        return _several(given)
    if isinstance(given, Mapping | Expr) or type(given).__name__ in ("Expr", "Expression"):
        return translate(given)
    raise _wrong(given)


def _several(given: Collection[Any]) -> Expr:
    items = list(given)
    if not items:
        msg = "partition_filter holds no condition"
        raise InvalidInputError(msg, hint="leave it out to take every partition")
    if _is_condition(items):
        return translate(tuple(items))
    if all(isinstance(item, str) for item in items):
        return disjunction(map(_prefix, items))
    if all(isinstance(item, list | tuple) and _is_condition(item) for item in items):
        return translate([tuple(item) for item in items])
    raise _wrong(given)


def _is_condition(item: Collection[Any]) -> bool:
    """Tell (column, operator, value) from prefixes."""
    return len(item) == _CONDITION and str(list(item)[1]).strip().lower() in _OPERATORS


def _prefix(text: str) -> Expr:
    """Read `date=2025-11-04/hour=7`."""
    parts = [part for part in text.split("/") if part]
    if not parts or not all(name and equals for name, equals, _ in map(_halves, parts)):
        msg = f"partition_filter names folders such as 'date=2025-11-04', got {text!r}"
        raise InvalidInputError(msg, hint='conditions are tuples: ("date", ">=", "2025-11-04")')
    return conjunction(_is(unquote(name), unquote(value)) for name, _, value in map(_halves, parts))


def _halves(part: str) -> tuple[str, str, str]:
    return part.partition("=")


def _is(name: str, value: str) -> Expr:
    return col(name).is_null() if value == _NULL else col(name) == value


def _wrong(given: Any) -> TypeError:
    msg = (
        f"partition_filter cannot be {given!r}; it takes a dict, a prefix such as "
        "'date=2025-11-04', a list of these, (column, operator, value) tuples, or an expression"
    )
    return TypeError(msg)
