"""Write an expression as the text of a WHERE clause, for DuckDB, Spark or PostgreSQL.

The text means the same in each: literals keep their type and every digit, texts are taken as they
are, and calendar parts of a `timestamptz` are those of UTC whatever zone the session has. The
expression should be bound, since some of this needs the types.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.expr import Expr
from mere.model.files import Value
from mere.model.functions import PARTS
from mere.model.literals import TICKS, natural_kind
from mere.model.values import ns_text, to_text
from mere.sqltext.dialects import DIALECTS, DUCKDB, POSTGRES, SPARK, Dialect

_WIDEST = 38
_LARGEST = (1 << 127) - 1
_OPERATORS = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "mod": "%",
}
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def render(expr: Expr, dialect: str = "duckdb") -> str:
    """Return the SQL text of an expression, for `duckdb`, `spark` or `postgres`.

    Functions that are not known here are written by the name that they came with.

    Raises:
        InvalidInputError: If the dialect is unknown.
        UnsupportedError: If the dialect has no such value.
    """
    found = DIALECTS.get(dialect)
    if found is None:
        msg = f"unknown SQL dialect {dialect!r}"
        raise InvalidInputError(msg, hint=f"known: {', '.join(DIALECTS)}")
    return _write(expr, found)


def _write(expr: Expr, to: Dialect) -> str:
    rule = _RULES.get(expr.op)
    if rule is not None:
        return rule(expr, to)
    kinds = {arg.kind for arg in expr.args}
    mixed = "timestamptz" in kinds and bool(kinds & (TICKS.keys() - {"timestamptz"}))
    parts = (
        _in_utc(arg, to) if mixed and arg.kind == "timestamptz" else _write(arg, to)
        for arg in expr.args
    )
    return f"({f' {_OPERATORS[expr.op]} '.join(parts)})"


def name_of(path: tuple[str, ...], to: Dialect) -> str:
    """Quote a column, or a field of one, so that every name is taken as it is."""
    names = [to.quote + name.replace(to.quote, to.quote * 2) + to.quote for name in path]
    if to is POSTGRES and len(names) > 1:
        return f"({names[0]}).{'.'.join(names[1:])}"
    return ".".join(names)


def text_of(text: str, to: Dialect) -> str:
    """Quote a text so that every character is taken as it is."""
    if to.backslash:
        text = text.replace("\\", "\\\\")
        return "'" + text.replace("'", "\\'") + "'"
    return "'" + text.replace("'", "''") + "'"


def _literal(expr: Expr, to: Dialect) -> str:
    value = expr.args[0]
    if value is None:
        return "NULL"
    return _SPELL[expr.kind if expr.kind == "timestamp_ns" else type(value)](value, expr.kind, to)


def _boolean(value: Value, _kind: str | None, _to: Dialect) -> str:
    return "TRUE" if value else "FALSE"


def _integer(value: Value, kind: str | None, to: Dialect) -> str:
    if to is DUCKDB and kind == "uint128" and value > _LARGEST:
        return f"CAST('{value}' AS UHUGEINT)"
    return str(value)


def _float(value: Value, kind: str | None, to: Dialect) -> str:
    type_name = to.types["float32" if kind == "float32" else "float64"]
    text = to_text(kind if kind == "float32" else "float64", value) or ""
    if text in _NOT_FINITE:
        return f"CAST('{_NOT_FINITE[text]}' AS {type_name})"
    spelled = text if "e" in text else f"{text}e0"
    plain = kind != "float32" and to is not POSTGRES
    return spelled if plain else f"CAST('{spelled}' AS {type_name})"


def _decimal(value: Value, kind: str | None, to: Dialect) -> str:
    kind = kind if kind and kind.startswith("decimal(") else natural_kind(value)
    text = f"{value:f}"
    if "." in text or to is POSTGRES or kind == "float64":
        return text
    return f"CAST({text} AS {(kind or '').upper()})"


def _text(value: Value, _kind: str | None, to: Dialect) -> str:
    if "\0" not in value:
        return text_of(value, to)
    if to is POSTGRES:
        msg = "PostgreSQL has no texts with the character NUL"
        raise UnsupportedError(msg)
    function = "chr(0)" if to is DUCKDB else "char(0)"
    parts = [text_of(part, to) for part in value.split("\0")]
    return f"({f' || {function} || '.join(parts)})"


def _blob(value: Value, _kind: str | None, to: Dialect) -> str:
    if to is SPARK:
        return f"X'{value.hex().upper()}'"
    if to is POSTGRES:
        return f"CAST('\\x{value.hex()}' AS BYTEA)"
    escaped = "".join(f"\\x{byte:02X}" for byte in value)
    return f"CAST('{escaped}' AS BLOB)"


def _date(value: Value, _kind: str | None, _to: Dialect) -> str:
    return f"DATE '{value.isoformat()}'"


def _moment(value: Value, _kind: str | None, to: Dialect) -> str:
    kind = "timestamp" if value.tzinfo is None else "timestamptz"
    zone = ":00" if to is SPARK and value.tzinfo is not None else ""
    return f"{to.types[kind]} '{to_text(kind, value)}{zone}'"


def _nanoseconds(value: Value, _kind: str | None, to: Dialect) -> str:
    if to is DUCKDB:
        return f"CAST('{ns_text(value)}' AS TIMESTAMP_NS)"
    if value % 1000:
        msg = f"{to.name} has no timestamps as fine as {ns_text(value)}"
        raise UnsupportedError(msg)
    return f"{to.types['timestamp']} '{ns_text(value)}'"


def _time(value: Value, _kind: str | None, _to: Dialect) -> str:
    return f"{'TIME' if value.tzinfo is None else 'TIMETZ'} '{value.isoformat()}'"


def _interval(value: Value, _kind: str | None, to: Dialect) -> str:
    count = value // timedelta(microseconds=1)
    return (
        f"INTERVAL '{count} microseconds'" if to is POSTGRES else f"INTERVAL '{count}' MICROSECOND"
    )


def _uuid(value: Value, _kind: str | None, to: Dialect) -> str:
    return f"'{value}'" if to is SPARK else f"CAST('{value}' AS UUID)"


_SPELL: dict[Any, Callable[[Value, str | None, Dialect], str]] = {
    bool: _boolean,
    int: _integer,
    float: _float,
    Decimal: _decimal,
    str: _text,
    bytes: _blob,
    date: _date,
    datetime: _moment,
    "timestamp_ns": _nanoseconds,
    time: _time,
    timedelta: _interval,
    UUID: _uuid,
}


def _not(expr: Expr, to: Dialect) -> str:
    inner = expr.args[0]
    if inner.op == "is_null":
        return f"({_write(inner.args[0], to)} IS NOT NULL)"
    return f"(NOT {_write(inner, to)})"


def _is_nan(expr: Expr, to: Dialect) -> str:
    inner = _write(expr.args[0], to)
    if to is DUCKDB:
        return f"isnan({inner})"
    # Spark's isnan answers false for NULL; its NaN equals itself, as that of PostgreSQL does.
    return f"({inner} = CAST('NaN' AS {to.types['float64']}))"


def _in(expr: Expr, to: Dialect) -> str:
    operand, *candidates = (_write(arg, to) for arg in expr.args)
    return f"({operand} IN ({', '.join(candidates)}))"


def _between(expr: Expr, to: Dialect) -> str:
    operand, low, high = (_write(arg, to) for arg in expr.args)
    return f"({operand} BETWEEN {low} AND {high})"


def _like(expr: Expr, to: Dialect) -> str:
    operand, pattern, *escape = expr.args
    if escape:
        return f"({_write(operand, to)} LIKE {_write(pattern, to)} ESCAPE {_write(escape[0], to)})"
    end = " ESCAPE ''" if to is POSTGRES else ""
    if to is SPARK and pattern.op == "literal" and pattern.args[0] is not None:
        pattern = Expr("literal", (pattern.args[0].replace("\\", "\\\\"),), pattern.kind)
    return f"({_write(operand, to)} LIKE {_write(pattern, to)}{end})"


def _div(expr: Expr, to: Dialect) -> str:
    left, right = (_write(arg, to) for arg in expr.args)
    if to is not DUCKDB:
        left = f"CAST({left} AS {to.types['float64']})"
    return f"({left} / {right})"


def _cast(expr: Expr, to: Dialect) -> str:
    inner, kind = expr.args[0], expr.kind or ""
    name = kind.upper() if kind.startswith("decimal(") else to.types.get(kind)
    if name is None:
        msg = f"{to.name} has no type {kind}"
        raise UnsupportedError(msg)
    zoned = inner.kind == "timestamptz" and kind != "timestamptz"
    return f"{expr.op.upper()}({_in_utc(inner, to) if zoned else _write(inner, to)} AS {name})"


def _in_utc(expr: Expr, to: Dialect) -> str:
    """Write a `timestamptz` as what the clock shows in UTC."""
    if to is SPARK:
        return f"to_utc_timestamp({_write(expr, to)}, current_timezone())"
    return f"({_write(expr, to)} AT TIME ZONE 'UTC')"


def _case(expr: Expr, to: Dialect) -> str:
    parts = [_write(arg, to) for arg in expr.args]
    branches = zip(parts[:-1:2], parts[1:-1:2], strict=True)
    text = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
    return f"(CASE {text} ELSE {parts[-1]} END)"


def _call(expr: Expr, to: Dialect) -> str:
    name, args = expr.args[0], expr.args[1:]
    if name == "||":
        return f"({' || '.join(_write(arg, to) for arg in args)})"
    if (name in PARTS or name == "date_trunc") and args and args[-1].kind == "timestamptz":
        return _zoned_call(name, args, to)
    written = [_write(arg, to) for arg in args]
    if name in PARTS and to is POSTGRES:
        return f"EXTRACT({name.upper()} FROM {written[0]})"
    if name == "concat" and to is SPARK:  # where concat of NULL is NULL
        return f"concat_ws('', {', '.join(written)})"
    return _named(name, written, to)


def _zoned_call(name: str, args: tuple[Expr, ...], to: Dialect) -> str:
    moment = _in_utc(args[-1], to)
    if name in PARTS:
        return f"EXTRACT({name.upper()} FROM {moment})" if to is POSTGRES else f"{name}({moment})"
    found = f"date_trunc({_write(args[0], to)}, {moment})"
    if to is SPARK:
        return f"from_utc_timestamp({found}, current_timezone())"
    return f"({found} AT TIME ZONE 'UTC')"


def _named(name: str, args: list[str], to: Dialect) -> str:
    plain = name.isidentifier()
    called = to.functions.get(name, name) if plain else name_of((name,), to)
    return f"{called}({', '.join(args)})"


_RULES: dict[str, Callable[[Expr, Dialect], str]] = {
    "column": lambda expr, to: name_of(expr.args, to),
    "literal": _literal,
    "not": _not,
    "neg": lambda expr, to: f"(-({_write(expr.args[0], to)}))",
    "is_null": lambda expr, to: f"({_write(expr.args[0], to)} IS NULL)",
    "is_nan": _is_nan,
    "in": _in,
    "between": _between,
    "like": _like,
    "starts_with": lambda expr, to: _named("starts_with", [_write(a, to) for a in expr.args], to),
    "div": _div,
    "cast": _cast,
    "try_cast": _cast,
    "case": _case,
    "call": _call,
}
