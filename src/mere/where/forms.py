"""Tell the forms of a predicate apart, and read each."""

from collections.abc import Mapping
from typing import Any

from mere import sqltext
from mere import where as by
from mere.errors import InvalidInputError
from mere.model.expr import Expr
from mere.model.predicate import bind
from mere.model.schema import Schema

_FORMS = (
    "SQL text, mere.col() expressions, a pyarrow or polars expression, "
    "a dict, or (column, operator, value) tuples"
)


def as_expr(where: Any, schema: Schema) -> Expr | None:
    """Return the predicate bound to the columns of a schema; None, without a predicate, is None.

    Raises:
        UnknownColumnError: If a column does not exist.
        InvalidInputError: If it is no predicate, or says what cannot be translated; the message
            tells what to write instead.
    """
    return None if where is None else bind(translate(where), schema)


def translate(where: Any) -> Expr:
    """Return the predicate as an expression that is not bound yet."""
    if isinstance(where, Expr):
        return where
    if isinstance(where, str):
        return sqltext.parse(where)
    if isinstance(where, Mapping):
        return by.filters.from_mapping(where)
    if isinstance(where, list | tuple):
        return by.filters.from_tuples(where)
    library, name = type(where).__module__.partition(".")[0], type(where).__name__
    if (library, name) == ("pyarrow", "Expression"):
        return by.from_pyarrow.from_pyarrow(where)
    if (library, name) == ("polars", "Expr"):
        return by.from_polars.from_polars(where)
    msg = f"cannot take a {library}.{name} as a predicate"
    raise InvalidInputError(msg, hint=f"give {_FORMS}")
