"""Build columns of plain Python values, in a table's own types where these hold them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from mere.arrow.types import arrow_type
from mere.errors import InvalidInputError, UnsupportedError
from mere.model.schema import Schema

_REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError)


def named_values(data: Any) -> dict[str, Any] | None:
    """Return rows or columns of Python values by column; None for anything else."""
    if isinstance(data, Mapping):
        return dict(data)
    if not isinstance(data, list | tuple) or not data:
        return None
    if not all(isinstance(row, Mapping) for row in data):
        return None
    names = dict.fromkeys(name for row in data for name in row)
    return {name: [row.get(name) for row in data] for name in names}


def table_of(columns: Mapping[Any, Any], wanted: Schema | None = None) -> pa.Table:
    """Return the columns as a table.

    Python's numbers have no width: they take the types of the `wanted` columns, when those hold
    them unchanged.

    Raises:
        InvalidInputError: If the values of a column have no common type, or are no list.
    """
    made = {}
    for name, values in columns.items():
        if not isinstance(name, str) or not name:
            msg = f"a column needs a text as its name, got {name!r}"
            raise InvalidInputError(msg)
        made[name] = _column(name, values, wanted)
    try:
        return pa.table(made)
    except pa.ArrowInvalid as error:
        msg = f"the values do not form columns: {error}"
        raise InvalidInputError(msg, hint="every column needs as many values") from error


def _column(name: str, values: Any, wanted: Schema | None) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not hasattr(
        values, "__iter__"
    ):
        msg = f"column {name!r} needs a list of values, got {type(values).__name__}"
        raise InvalidInputError(msg, hint='write {"id": [1, 2]}, or rows as [{"id": 1}, {"id": 2}]')
    goal = _goal(name, wanted)
    try:
        found = pa.array(values)
    except _REFUSALS as error:
        fitting = None if goal is None else _forced(values, goal)
        if fitting is None:
            msg = f"the values of column {name!r} have no common type: {error}"
            raise InvalidInputError(msg) from error
        return fitting
    if goal is None or not isinstance(values, Sequence):
        return found
    chosen = _literal(found.type, goal)
    fitting = None if chosen.equals(found.type) else _tried(values, chosen)
    return found if fitting is None else fitting


def _goal(name: str, wanted: Schema | None) -> pa.DataType | None:
    """Return the type of the column that is filled, None when Arrow or the table has none."""
    field = None if wanted is None else wanted.find(name)
    try:
        return None if field is None else arrow_type(field)
    except UnsupportedError:
        return None


def _tried(values: Any, kind: pa.DataType) -> pa.Array | None:
    """Return the values in that type, None when they do not all fit."""
    if not (_is_number(kind) or kinds.is_nested(kind)):
        return None
    try:
        return pa.array(values, kind)
    except _REFUSALS:
        return None


def _forced(values: Any, goal: pa.DataType) -> pa.Array | None:
    """Return numbers that are too large to have a type of their own in the goal's type."""
    whole = all(value is None or type(value) in {int, Decimal} for value in values)
    return _tried(values, goal) if whole else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _literal(found: pa.DataType, goal: pa.DataType) -> pa.DataType:
    """Return `found` with the numbers in it as wide as in `goal`; nothing else changes."""
    chosen = found
    if _is_number(goal) and (kinds.is_integer(found) or _are_floats(found, goal)):
        chosen = goal
    elif kinds.is_list(found) and kinds.is_list(goal):
        chosen = pa.list_(_literal(found.value_type, goal.value_type))
    elif kinds.is_struct(found) and kinds.is_struct(goal):
        chosen = pa.struct([_part(field, goal) for field in found])
    elif kinds.is_struct(found) and kinds.is_map(goal):
        chosen = _map(found, goal)
    return chosen


def _are_floats(found: pa.DataType, goal: pa.DataType) -> bool:
    return bool(kinds.is_floating(found) and kinds.is_floating(goal))


def _part(field: pa.Field, goal: pa.StructType) -> pa.Field:
    at = goal.get_field_index(field.name)
    return field if at < 0 else field.with_type(_literal(field.type, goal.field(at).type))


def _map(found: pa.StructType, goal: pa.MapType) -> pa.DataType:
    """Take dicts as a map when every value in them can be an item of it."""
    fits = all(
        kinds.is_null(field.type) or _literal(field.type, goal.item_type).equals(goal.item_type)
        for field in found
    )
    return goal if fits and kinds.is_string(goal.key_type) else found
