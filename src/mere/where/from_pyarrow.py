"""Read a pyarrow expression.

pyarrow pickles an expression as a small Arrow file: one row that holds the literals and options,
and the tree as a list of pairs in the metadata of its schema. That form is exact, unlike the text
that an expression prints. pyarrow's Python interface shows metadata as a dict, which loses pairs
of the same name; the C data interface has them all.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from mere.arrow import from_arrow
from mere.errors import InvalidInputError
from mere.model.expr import Expr, call, col, lit
from mere.where.scalars import from_scalar

_HINT = "write it as SQL text or with mere.col()"
_METADATA = 2
_INT = struct.calcsize("=i")
_TWO = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "and_kleene": "and",
    "or_kleene": "or",
    "add": "add",
    "add_checked": "add",
    "subtract": "sub",
    "subtract_checked": "sub",
    "multiply": "mul",
    "multiply_checked": "mul",
}
_TRUNCATED = {
    3: "second",
    4: "minute",
    5: "hour",
    6: "day",
    7: "week",
    8: "month",
    9: "quarter",
    10: "year",
}
_RENAMED = {
    "utf8_lower": "lower",
    "utf8_upper": "upper",
    "utf8_length": "length",
    "abs": "abs",
    "abs_checked": "abs",
    "coalesce": "coalesce",
    **{name: name for name in ("year", "quarter", "month", "day", "hour", "minute", "second")},
}


def from_pyarrow(expression: Any) -> Expr:
    """Return a pyarrow expression as one of our own; NaN is then the greatest number.

    Raises:
        InvalidInputError: If it holds what cannot be said here; named.
    """
    try:
        buffer = expression.__reduce__()[1][0]
    except pa.ArrowException as error:
        msg = f"cannot read the pyarrow expression {expression}: {error}"
        raise InvalidInputError(msg, hint=_HINT) from error
    batch = pa.ipc.open_file(buffer).get_batch(0)
    return _node(_pairs(batch.schema), batch)


def _pairs(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """Iterate over all pairs of a schema's metadata, through the C data interface."""
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    members = ctypes.c_void_p * (_METADATA + 1)  # format, name, metadata
    at = members.from_address(pointer_of(capsule, b"arrow_schema") or 0)[_METADATA]
    (count,) = struct.unpack("=i", ctypes.string_at(at, _INT)) if at else (0,)
    texts, at = [], (at or 0) + _INT
    for _ in range(2 * count):
        (length,) = struct.unpack("=i", ctypes.string_at(at, _INT))
        texts.append(ctypes.string_at(at + _INT, length).decode())
        at += _INT + length
    return iter(list(zip(texts[::2], texts[1::2], strict=True)))


def _node(pairs: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> Expr:
    key, value = next(pairs)
    if key == "literal":
        return from_scalar(batch.column(int(value))[0])
    if key == "field_ref":
        return col(value)
    if key == "nested_field_ref":
        first, *rest = [next(pairs)[1] for _ in range(int(value))]
        return Expr("column", (first, *rest))
    return _call(value, pairs, batch)


def _call(name: str, pairs: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> Expr:
    args: list[Expr] = []
    options: pa.StructScalar | None = None
    for key, value in pairs:
        if key == "end":
            break
        if key == "options":
            options = batch.column(int(value))[0]
        else:
            args.append(_node(_before((key, value), pairs), batch))
    rule = _RULES.get(name)
    if rule is not None:
        return rule(args, options)
    if name in _TWO:
        return _two(_TWO[name], args)
    if name in _RENAMED:
        return call(_RENAMED[name], *args)
    msg = f"cannot translate pyarrow's function {name}"
    raise InvalidInputError(msg, hint=_HINT)


def _before(first: tuple[str, str], rest: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    yield first
    yield from rest


def _two(op: str, args: list[Expr]) -> Expr:
    if op == "and":
        return args[0] & args[1]
    return args[0] | args[1] if op == "or" else Expr(op, tuple(args))


def _is_null(args: list[Expr], options: Any) -> Expr:
    found = args[0].is_null()
    return found | args[0].is_nan() if options["nan_is_null"].as_py() else found


def _is_in(args: list[Expr], options: Any) -> Expr:
    """Read a lookup, which answers true or false of NULL too."""
    operand, matching = args[0], options["null_matching_behavior"].as_py()
    scalars = list(options["value_set"].values)
    values = [from_scalar(scalar) for scalar in scalars if scalar.is_valid]
    found = operand.is_not_null() & operand.is_in(values) if values else lit(value=False)
    if len(values) == len(scalars) or matching == 1:
        return found
    if matching:
        msg = "cannot translate is_in with nulls that make the answer unknown"
        raise InvalidInputError(msg, hint=_HINT)
    return found | operand.is_null()


def _pattern(options: Any) -> str:
    if options["ignore_case"].as_py():
        msg = "cannot translate a search that ignores case"
        raise InvalidInputError(msg, hint="compare pc.utf8_lower(column) instead")
    return str(options["pattern"].as_py())


def _like(args: list[Expr], options: Any) -> Expr:
    pattern = _pattern(options)
    if "\\" not in pattern:
        return args[0].like(pattern)
    return Expr("like", (args[0], lit(pattern), lit("\\")))


def _cast(args: list[Expr], options: Any) -> Expr:
    target = options.type.field("to_type").type
    (field,) = from_arrow(pa.schema([pa.field("to", target)])).fields
    if field.type not in {"date", "float64", "varchar"} and not field.type.startswith(
        ("int", "timestamp")
    ):
        msg = f"cannot translate a cast to {target}"
        raise InvalidInputError(msg, hint=_HINT)
    return args[0].cast(field.type)


def _truncated(args: list[Expr], options: Any) -> Expr:
    found = options.as_py()
    unit = _TRUNCATED.get(found["unit"])
    usual = found["multiple"] == 1 and not found["calendar_based_origin"]
    if unit is None or not usual or not found["week_starts_monday"]:
        msg = f"cannot translate floor_temporal with {found}"
        raise InvalidInputError(msg, hint=_HINT)
    return call("date_trunc", unit, args[0])


_RULES: dict[str, Callable[[list[Expr], Any], Expr]] = {
    "invert": lambda args, _: ~args[0],
    "negate": lambda args, _: -args[0],
    "negate_checked": lambda args, _: -args[0],
    "is_null": _is_null,
    "is_valid": lambda args, _: args[0].is_not_null(),
    "is_nan": lambda args, _: args[0].is_nan(),
    "is_in": _is_in,
    "starts_with": lambda args, options: args[0].starts_with(_pattern(options)),
    "ends_with": lambda args, options: call("ends_with", args[0], _pattern(options)),
    "match_substring": lambda args, options: call("contains", args[0], _pattern(options)),
    "match_like": _like,
    "cast": _cast,
    "floor_temporal": _truncated,
    "if_else": lambda args, _: Expr("case", tuple(args)),
}
