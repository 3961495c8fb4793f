"""Change the type of single values, and check that each one survives it."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from mere.arrow.types import plain, type_name
from mere.errors import SchemaMismatchError
from mere.model.promotion import decimal_parts, widens
from mere.model.schema import Field
from mere.model.values import partition_text

Convert: TypeAlias = Callable[[Any], Any]

_NUMBERS = frozenset(
    {f"{sign}int{bits}" for sign, bits in product(("", "u"), (8, 16, 32, 64, 128))}
    | {"float32", "float64", "decimal"}
)
_MOMENTS = frozenset({"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"})
_UUID_BYTES = 16


def converter(incoming: pa.DataType, field: Field, kind: pa.DataType) -> Convert:
    """Return what turns values of one type into those of a column, checking each of them.

    Raises:
        SchemaMismatchError: If no value could be kept.
    """
    name = type_name(plain(incoming), field.name)
    special = _SPECIAL.get((name, field.type))
    if special is not None:
        return lambda array: special(decoded(array), kind)
    if field.type == "varchar" and name != "varchar":
        return lambda array: texts(decoded(array), name)
    if not _may_fit(name, field.type):
        msg = f"{field.name}: expected {field.spell()}, got {name}"
        raise SchemaMismatchError(msg)
    if field.type == "timestamp_s":
        return lambda array: decoded(array).cast(pa.timestamp("s")).cast(kind)
    if _is_checked_by_cast(incoming, kind):
        return lambda array: decoded(array).cast(kind)
    return lambda array: _cast_and_back(decoded(array), kind)


def decoded(array: Any) -> Any:
    """Return the plain values of a dictionary, run-end encoded or extension array."""
    while True:
        if kinds.is_dictionary(array.type):
            array = _looked_up(array)
        elif kinds.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        elif isinstance(array, pa.ExtensionArray):
            array = array.storage
        else:
            return array


def _looked_up(array: Any) -> Any:
    """Return the values of a dictionary array; pyarrow decodes no dictionary of views."""
    values = array.dictionary
    if kinds.is_string_view(values.type):
        array = pa.DictionaryArray.from_arrays(array.indices, values.cast(pa.large_string()))
    elif kinds.is_binary_view(values.type):
        array = pa.DictionaryArray.from_arrays(array.indices, values.cast(pa.large_binary()))
    return array.dictionary_decode()


def _family(name: str) -> str:
    return "decimal" if decimal_parts(name) is not None else name


def _may_fit(name: str, wanted: str) -> bool:
    """Tell whether some values can be kept: the same type, a wider one, or one of its kind."""
    if name == wanted or widens(name, wanted):
        return True
    pair = {_family(name), _family(wanted)}
    return pair <= _NUMBERS or pair <= _MOMENTS or pair <= {"time", "timetz"}


def _is_checked_by_cast(incoming: pa.DataType, kind: pa.DataType) -> bool:
    """Tell whether pyarrow's own cast refuses every value that would change."""
    source = plain(incoming)
    if kinds.is_floating(kind):
        return bool(kinds.is_integer(source) or source.bit_width <= kind.bit_width)
    if kinds.is_decimal(kind):
        return not kinds.is_floating(source)
    return not (kinds.is_date(kind) and kinds.is_timestamp(source))


def _cast_and_back(array: pa.Array, kind: pa.DataType) -> pa.Array:
    made = array.cast(kind)
    back = made.cast(array.type, safe=False)
    same = pc.equal(array, back)
    if kinds.is_floating(array.type):
        same = pc.or_(same, pc.is_nan(array))
    if not pc.all(same).as_py() and pc.any(pc.invert(same)).as_py():
        was, is_now = (side.filter(pc.invert(same))[:1].cast(pa.string()) for side in (array, made))
        msg = f"{was[0]} would become {is_now[0]}"
        raise pa.ArrowInvalid(msg)
    return made


def texts(array: pa.Array, name: str) -> pa.Array:
    """Spell plain values as the catalog does: old and new rows of a column read the same."""
    if name in _NUMBERS - {"float32", "float64"}:
        return array.cast(pa.string())
    coded = array.dictionary_encode()
    spelled = [partition_text(name, _python(value, name)) for value in coded.dictionary]
    return pa.array(spelled, pa.string()).take(coded.indices)


def _python(scalar: pa.Scalar, name: str) -> Any:
    if name == "timestamp_ns":
        return scalar.value
    return UUID(bytes=scalar.as_py()) if name == "uuid" else scalar.as_py()


def _json(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Take text as JSON; text that is none would break every later rewrite of the file."""
    texts = array.cast(pa.string())
    for text in texts.unique().drop_null().to_pylist():
        try:
            json.loads(text, parse_constant=_refuse)
        except ValueError as error:
            msg = f"{text[:80]!r} is not JSON: {error}"
            raise pa.ArrowInvalid(msg) from error
    return kind.wrap_array(texts)


def _refuse(constant: str) -> None:
    msg = f"JSON has no {constant}"
    raise ValueError(msg)


def _uuids(array: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        stored = [None if text is None else UUID(text).bytes for text in array.to_pylist()]
    except ValueError as error:
        msg = f"not every text is a UUID: {error}"
        raise pa.ArrowInvalid(msg) from error
    return kind.wrap_array(pa.array(stored, kind.storage_type))


def _uuid_bytes(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return kind.wrap_array(array.cast(pa.binary()).cast(kind.storage_type))


def _wrapped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return kind.wrap_array(array.cast(kind.storage_type))


def _flags(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array.cast(kind)


def _intervals(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Lay durations out as months, days and nanoseconds."""
    if kinds.is_interval(array.type):
        return array
    nanos = array.cast(pa.duration("ns")).cast(pa.int64())
    parts = np.zeros(len(array), dtype=[("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
    parts["nanos"] = nanos.fill_null(0).to_numpy()
    made = pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(parts.tobytes())])
    return pc.if_else(array.is_valid(), made, pa.scalar(None, kind))


_SPECIAL: dict[tuple[str, str], Callable[[Any, pa.DataType], Any]] = {
    ("varchar", "json"): _json,
    ("varchar", "uuid"): _uuids,
    ("blob", "uuid"): _uuid_bytes,
    ("json", "json"): _wrapped,
    ("uuid", "uuid"): _wrapped,
    ("json", "varchar"): _flags,
    ("boolean", "boolean"): _flags,
    ("interval", "interval"): _intervals,
}
