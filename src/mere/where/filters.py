"""Read predicates that are written as dicts and tuples."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from mere.errors import InvalidInputError
from mere.model.expr import Expr, col, conjunction, disjunction

_SEVERAL = (list, tuple, set, frozenset, AbstractSet)


def from_mapping(where: Mapping[Any, Any]) -> Expr:
    """Read `{"column": value}`: every column must have its value, or one of several.

    None means NULL, alone and among several.
    """
    return conjunction(_equal(col(name), value) for name, value in where.items())


def _equal(column: Expr, value: Any) -> Expr:
    if value is None:
        return column.is_null()
    if not isinstance(value, _SEVERAL):
        return _OPERATORS["="](column, value)
    known = [item for item in value if item is not None]
    found = column.is_in(known)
    return found | column.is_null() if len(known) < len(value) else found


def from_tuples(where: Sequence[Any]) -> Expr:
    """Read (column, operator, value), a list of these (AND), or a list of such lists (OR)."""
    if len(where) and isinstance(where[0], str):
        return _condition(where)
    if all(isinstance(item, list) for item in where) and len(where):
        return disjunction(from_tuples(item) for item in where)
    return conjunction(_condition(item) for item in where)


def _condition(item: Any) -> Expr:
    if isinstance(item, Expr):
        return item
    if not isinstance(item, list | tuple) or len(item) != 3:  # noqa: PLR2004  what a tuple holds
        msg = f"expected (column, operator, value), got {item!r}"
        raise InvalidInputError(msg, hint=_HINT)
    name, operator, value = item
    rule = _OPERATORS.get(" ".join(str(operator).lower().split()))
    if rule is None:
        msg = f"unknown operator {operator!r} in {item!r}"
        raise InvalidInputError(msg, hint=_HINT)
    if value is None and not str(operator).lower().startswith("is"):
        msg = f"NULL equals nothing, so {item!r} would match no row"
        raise InvalidInputError(msg, hint=f"write ({name!r}, 'is', None) or 'is not'")
    return rule(col(name), value)


def _several(value: Any) -> Any:
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        msg = f"'in' takes several values, got {value!r}"
        raise InvalidInputError(msg, hint=f"write [{value!r}]")
    return value


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2:  # noqa: PLR2004  a pair
        msg = f"'between' takes two values, got {value!r}"
        raise InvalidInputError(msg)
    return value[0], value[1]


def _is(column: Expr, value: Any) -> Expr:
    if value is None or str(value).lower() == "null":
        return column.is_null()
    if isinstance(value, bool):
        return column.is_not_null() & (column == value)
    msg = f"'is' takes None, True or False, got {value!r}"
    raise InvalidInputError(msg)


_OPERATORS: dict[str, Callable[[Expr, Any], Expr]] = {
    "=": lambda column, value: column == value,
    "==": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<>": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "in": lambda column, value: column.is_in(_several(value)),
    "not in": lambda column, value: ~column.is_in(_several(value)),
    "like": lambda column, value: column.like(value),
    "between": lambda column, value: column.between(*_pair(value)),
    "is": _is,
    "is not": lambda column, value: ~_is(column, value),
}
_HINT = f"operators: {', '.join(_OPERATORS)}"
