"""Read the text of a WHERE clause as an expression."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import ParseError, TokenError

from mere.errors import InvalidInputError
from mere.model.evaluation import convert
from mere.model.expr import Expr, call, conjunction, disjunction, lit
from mere.model.functions import canonical
from mere.model.literals import natural_kind, typed_value
from mere.model.values import FLOATS, INTEGERS, TEXTS

_CLOCK_AND_CHANCE = frozenset(
    {
        *("now", "today", "current_date", "current_time", "current_timestamp", "localtime"),
        *("localtimestamp", "get_current_timestamp", "transaction_timestamp", "random", "rand"),
        *("uuid", "gen_random_uuid", "nextval", "currval", "setseed"),
    }
)
_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INT": "int32",
    "BIGINT": "int64",
    "INT128": "int128",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINT": "uint32",
    "UBIGINT": "uint64",
    "UINT128": "uint128",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "DATE": "date",
    "TIME": "time",
    "TIMETZ": "timetz",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPNTZ": "timestamp",
    "TIMESTAMPTZ": "timestamptz",
    "TIMESTAMPLTZ": "timestamptz",
    "TIMESTAMP_S": "timestamp_s",
    "JSON": "json",
    "TIMESTAMP_MS": "timestamp_ms",
    "TIMESTAMP_NS": "timestamp_ns",
    "TEXT": "varchar",
    "VARCHAR": "varchar",
    "CHAR": "varchar",
    "VARBINARY": "blob",
    "BINARY": "blob",
    "UUID": "uuid",
    "INTERVAL": "interval",
    "DATETIME": "timestamp",
}
_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")
_REFUSED: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Query, "a subquery"),
    (exp.AggFunc, "an aggregate"),
    (exp.Window, "a window function"),
    (exp.Placeholder, "a parameter"),
    (exp.Parameter, "a parameter"),
    (exp.Star, "a star"),
)


def parse(text: str, dialect: str = "duckdb") -> Expr:
    """Return the expression that a condition in SQL says.

    Functions that are not known here stay calls by name. Those of the clock and of chance are
    refused: asked twice, a condition must answer the same.

    Raises:
        InvalidInputError: If it is not one condition; the message says where.
    """
    try:
        tree = parse_one(text, dialect=dialect, into=exp.Condition)
    except ParseError as error:
        raise _misread(text, error) from error
    except (TokenError, ValueError, RecursionError) as error:
        msg = f"cannot read the condition {text!r}"
        raise InvalidInputError(msg, hint=_HINT) from error
    for kind, name in _REFUSED:
        if tree.find(kind) is not None:
            msg = f"a condition looks at one row at a time, {text!r} holds {name}"
            raise InvalidInputError(msg)
    return _read(tree)


_HINT = "write what would stand behind WHERE, such as \"x > 3 AND name = 'a'\""


def _misread(text: str, error: ParseError) -> InvalidInputError:
    place = error.errors[0] if error.errors else {}
    near = str(place.get("highlight", ""))
    where = f" at line {place['line']}, column {place['col']}" if place.get("line") else ""
    at = f", near {near!r}" if near else ""
    return InvalidInputError(f"cannot read the condition {text!r}{where}{at}", hint=_HINT)


def _read(node: Any) -> Expr:
    rule = _RULES.get(type(node))
    if rule is None:
        return _call(node)
    if any(node.args.get(name) for name in _UNREAD.get(type(node), ())):
        raise _refuse(node)
    found = rule(node)
    return ~found if node.args.get("negate") else found  # NOT LIKE is one node, not two


def _refuse(node: Any, why: str = "") -> InvalidInputError:
    msg = f"cannot use {node.sql(dialect='duckdb')!r} in a condition{why}"
    return InvalidInputError(msg)


def _column(node: exp.Column) -> Expr:
    return Expr("column", tuple(part.name for part in node.parts))


def _dot(node: exp.Dot) -> Expr:
    inner = _read(node.this)
    return inner.field(node.name)


def _bracket(node: exp.Bracket) -> Expr:
    inner, keys = _read(node.this), node.expressions
    if inner.op == "column" and len(keys) == 1 and keys[0].is_string:
        return inner.field(keys[0].name)
    raise _refuse(node, ": only the fields of a struct can be reached")


def _struct_extract(node: exp.StructExtract) -> Expr:
    return _read(node.this).field(node.expression.name)


def _literal(node: exp.Literal) -> Expr:
    text = str(node.this)
    if node.is_string:
        return lit(text)
    if "e" in text.lower():
        return lit(float(text))
    return lit(Decimal(text) if "." in text else int(text))


def _cast(node: exp.Cast) -> Expr:
    op = "try_cast" if isinstance(node, exp.TryCast) else "cast"
    inner, kind = _read(node.this), _kind(node.to)
    if op == "cast" and inner.op == "literal" and inner.kind is None:
        found = _constant(inner.args[0], kind)
        return Expr(op, (inner,), kind) if found is None else found
    return Expr(op, (inner,), kind)


def _constant(value: Any, kind: str) -> Expr | None:
    """Return the literal that a cast of a literal spells, None where casting may round."""
    if isinstance(value, str):
        found = value if kind in TEXTS else typed_value(kind, value)
    elif isinstance(value, int) and kind in INTEGERS:
        return Expr("literal", (value,)) if natural_kind(value) == kind else None
    elif isinstance(value, int | float | Decimal) and (kind in FLOATS or "(" in kind):
        found = convert(value, kind)
    else:
        return None
    natural = kind in TEXTS or natural_kind(found) == kind or isinstance(found, Decimal)
    return Expr("literal", (found,), None if natural else kind)


def _kind(node: exp.DataType) -> str:
    name = node.this.name
    if name in {"DECIMAL", "BIGDECIMAL"}:
        parts = [part.name for part in node.expressions] or ["18", "3"]
        return f"decimal({parts[0]},{parts[1] if len(parts) > 1 else 0})"
    if name not in _TYPES:
        msg = f"cannot cast to {node.sql(dialect='duckdb')!r} in a condition"
        raise InvalidInputError(msg)
    return _TYPES[name]


def _neg(node: exp.Neg) -> Expr:
    inner = _read(node.this)
    value = inner.args[0] if inner.op == "literal" else None
    if isinstance(value, int | float | Decimal) and not isinstance(node.this, exp.Paren):
        return lit(value.copy_negate() if isinstance(value, Decimal) else -value)
    return Expr("neg", (inner,))


def _is(node: exp.Is) -> Expr:
    inner = _read(node.this)
    if isinstance(node.expression, exp.Null):
        return inner.is_null()
    if isinstance(node.expression, exp.Boolean):
        return inner.is_not_null() & (inner if node.expression.this else ~inner)
    raise _refuse(node)


def _same(node: exp.Binary) -> Expr:
    """Read IS NOT DISTINCT FROM, in which NULL equals NULL."""
    left, right = _read(node.this), _read(node.expression)
    both = left.is_not_null() & right.is_not_null()
    return (left.is_null() & right.is_null()) | (both & (left == right))


def _in(node: exp.In) -> Expr:
    inner = _read(node.this)
    if not node.expressions:
        raise _refuse(node, ": IN needs a list of values")
    return Expr("in", (inner, *map(_read, node.expressions)))


def _between(node: exp.Between) -> Expr:
    low, high = node.args["low"], node.args["high"]
    return Expr("between", (_read(node.this), _read(low), _read(high)))


def _escape(node: exp.Escape) -> Expr:
    inner = _read(node.this)
    negated = inner.op == "not"
    like = inner.args[0] if negated else inner
    if like.op != "like":
        raise _refuse(node)
    found = Expr("like", (*like.args, _read(node.expression)))
    return ~found if negated else found


def _ilike(node: exp.ILike) -> Expr:
    return call("lower", _read(node.this)).like(_lower(_read(node.expression)))


def _lower(expr: Expr) -> Expr:
    value = expr.args[0] if expr.op == "literal" else None
    return lit(value.lower()) if isinstance(value, str) else call("lower", expr)


def _case(node: exp.Case) -> Expr:
    subject = None if node.this is None else _read(node.this)
    args: list[Expr] = []
    for branch in node.args["ifs"]:
        condition = _read(branch.this)
        args += [condition if subject is None else subject == condition, _read(branch.args["true"])]
    default = node.args.get("default")
    return Expr("case", (*args, lit(None) if default is None else _read(default)))


def _if(node: exp.If) -> Expr:
    default = node.args.get("false")
    otherwise = lit(None) if default is None else _read(default)
    return Expr("case", (_read(node.this), _read(node.args["true"]), otherwise))


def _interval(node: exp.Interval) -> Expr:
    unit = str(node.args.get("unit") or "").lower().removesuffix("s")
    text = node.this.name if node.this is not None else ""
    if unit not in _UNITS or not text.lstrip("-").isdigit():
        raise _refuse(node, ": write the moment itself")
    return lit(timedelta(**{f"{unit}s": int(text)}))


def _part(node: exp.Extract) -> Expr:
    return call(node.this.name, _read(node.expression))


def _trunc(node: Any) -> Expr:
    return call("date_trunc", node.args["unit"].name.lower(), _read(node.this))


def _zone(node: exp.AtTimeZone) -> Expr:
    return call("timezone", _read(node.args["zone"]), _read(node.this))


def _two(op: str) -> Callable[[Any], Expr]:
    return lambda node: Expr(op, (_read(node.this), _read(node.expression)))


def _joined(node: exp.DPipe) -> Expr:
    return call("||", _read(node.this), _read(node.expression))


def _call(node: Any) -> Expr:
    """Read any other function by the name and the arguments that it is written with."""
    if isinstance(node, exp.Anonymous):
        return _named(node.name.lower(), [_read(arg) for arg in node.expressions], node)
    if not isinstance(node, exp.Func):
        raise _refuse(node)
    text = node.sql(dialect="duckdb")
    args = list(node.iter_expressions())
    name = text.partition("(")[0]
    if text != f"{name}({', '.join(arg.sql(dialect='duckdb') for arg in args)})":
        name = "" if name.lower() not in _CLOCK_AND_CHANCE else name
    if not name.isidentifier():
        raise _refuse(node)
    return _named(name.lower(), [_read(arg) for arg in args], node)


def _named(name: str, args: list[Expr], node: Any) -> Expr:
    if name in _CLOCK_AND_CHANCE:
        raise _refuse(node, ": its answer changes; write the value itself")
    if name in _AGGREGATES:
        msg = f"a condition looks at one row at a time, {name} is an aggregate"
        raise InvalidInputError(msg)
    name = canonical(name)
    if name == "starts_with" and len(args) == 2:  # noqa: PLR2004  text and prefix
        return args[0].starts_with(args[1])
    if name == "date" and len(args) == 1:
        return args[0].cast("date")
    return args[0].is_nan() if name == "isnan" and len(args) == 1 else call(name, *args)


_UNREAD: dict[type[Any], tuple[str, ...]] = {
    exp.Between: ("symmetric",),
    exp.Cast: ("format", "action", "default"),
    exp.TryCast: ("format", "action", "default"),
    exp.TimestampTrunc: ("zone",),
    exp.DateTrunc: ("zone",),
}
"""Parts that would change what a node means, and that its rule does not look at."""
_AGGREGATES = frozenset({"count_if", "list", "string_agg", "arg_min", "arg_max", "histogram"})
_RULES: dict[type[Any], Callable[[Any], Expr]] = {
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Bracket: _bracket,
    exp.StructExtract: _struct_extract,
    exp.Literal: _literal,
    exp.Boolean: lambda node: lit(bool(node.this)),
    exp.Null: lambda _: lit(None),
    exp.Paren: lambda node: _read(node.this),
    exp.And: lambda node: conjunction(map(_read, node.flatten())),
    exp.Or: lambda node: disjunction(map(_read, node.flatten())),
    exp.Not: lambda node: ~_read(node.this),
    exp.EQ: _two("eq"),
    exp.NEQ: _two("ne"),
    exp.LT: _two("lt"),
    exp.LTE: _two("le"),
    exp.GT: _two("gt"),
    exp.GTE: _two("ge"),
    exp.Add: _two("add"),
    exp.Sub: _two("sub"),
    exp.Mul: _two("mul"),
    exp.Div: _two("div"),
    exp.Mod: _two("mod"),
    exp.Neg: _neg,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda node: ~_same(node),
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _two("like"),
    exp.ILike: _ilike,
    exp.Escape: _escape,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: _if,
    exp.Interval: _interval,
    exp.Extract: _part,
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.AtTimeZone: _zone,
    exp.DPipe: _joined,
    exp.StartsWith: _two("starts_with"),
    exp.IsNan: lambda node: _read(node.this).is_nan(),
    exp.HexString: lambda node: lit(bytes.fromhex(node.name)),
    exp.Date: lambda node: _read(node.this).cast("date"),
}
