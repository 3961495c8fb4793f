"""Tie an expression to a schema: columns that exist, types that fit, literals of those types.

Afterwards every column carries its exact path and type, a literal stands on the right of its
comparison and is a value of the type beside it, and comparisons that no such value can say are
rewritten: over an int8, `x > 2.5` becomes `x > 2`, `x < 300` is true for all that is not NULL.
"""

from collections.abc import Callable

from mere.errors import InvalidInputError, UnknownColumnError
from mere.model.evaluation import evaluate
from mere.model.expr import Expr, conjunction, disjunction, rebuilt
from mere.model.files import Value
from mere.model.functions import FUNCTIONS, UNITS, canonical, date_trunc
from mere.model.literals import TICKS, Place, natural_kind, place, typed_value
from mere.model.promotion import decimal_parts
from mere.model.schema import LEAF_TYPES, NESTED_TYPES, Field, Schema
from mere.model.values import FLOATS, INTEGERS, TEXTS

_FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_INEXACT = {"lt": "le", "le": "le", "gt": "gt", "ge": "gt"}
_FAMILIES: dict[str, str] = {
    **dict.fromkeys((*INTEGERS, *FLOATS, "boolean"), "number"),
    **dict.fromkeys(TEXTS, "text"),
    **dict.fromkeys(TICKS, "moment"),
}


def bind(expr: Expr, schema: Schema) -> Expr:
    """Return the expression tied to the columns of a schema; binding twice changes nothing.

    Raises:
        UnknownColumnError: If a column does not exist; the message lists what there is.
        InvalidInputError: If types do not go together, or it is no condition.
    """
    bound = _bind(expr, schema)
    _demand_truth(bound)
    return bound


def bind_value(expr: Expr, schema: Schema) -> Expr:
    """Return an expression of any type tied to the columns of a schema.

    Raises:
        UnknownColumnError: If a column does not exist; the message lists what there is.
        InvalidInputError: If types do not go together.
    """
    return _bind(expr, schema)


def _bind(expr: Expr, schema: Schema) -> Expr:
    if expr.op == "column":
        path, field = _resolve(expr.args, schema)
        return Expr("column", path, field.type)
    if expr.op == "literal":
        return _natural(expr)
    args = tuple(_bind(a, schema) if isinstance(a, Expr) else a for a in expr.args)
    rule = _BINDERS.get(expr.op)
    if rule is None:
        msg = f"unknown operation {expr.op!r} in an expression"
        raise InvalidInputError(msg)
    return _folded(rule(rebuilt(expr, args)))


def _folded(expr: Expr) -> Expr:
    """Compute sums and differences of literals, so that bounds can be compared with them."""
    if expr.op not in {"add", "sub", "mul"} or not all(_is_literal(arg) for arg in expr.args):
        return expr
    value = evaluate(expr, {})
    return Expr("literal", (value,), natural_kind(value) or expr.kind)


def _resolve(path: tuple[str, ...], schema: Schema) -> tuple[tuple[str, ...], Field]:
    """Find a column by its path; one name with dots may mean a path."""
    if len(path) == 1 and path[0] not in schema and "." in path[0]:
        path = _split(path[0], schema)
    field = schema.field(path[0])
    found = [field.name]
    for name in path[1:]:
        parts = Schema(fields=field.children if field.type == "struct" else ())
        child = parts.find(name)
        if child is None:
            known = ", ".join(parts.names) or f"no fields, it is {field.spell()}"
            msg = f"unknown field {name!r}; {'.'.join(found)} has: {known}"
            raise UnknownColumnError(msg)
        field = child
        found.append(field.name)
    return tuple(found), field


def _split(text: str, schema: Schema) -> tuple[str, ...]:
    """Split a dotted name behind the longest beginning that is a column."""
    parts = text.split(".")
    for end in range(len(parts) - 1, 0, -1):
        if ".".join(parts[:end]) in schema:
            return (".".join(parts[:end]), *parts[end:])
    return (text,)


def _natural(expr: Expr) -> Expr:
    return expr if expr.kind is not None else Expr("literal", expr.args, natural_kind(expr.args[0]))


def _is_literal(expr: Expr) -> bool:
    return expr.op == "literal"


def _demand_truth(*args: Expr) -> None:
    for arg in args:
        if arg.kind not in {None, "boolean"}:
            msg = f"expected a condition, {arg} is of type {arg.kind}"
            raise InvalidInputError(msg, hint="compare it with something")


def _bind_logic(expr: Expr) -> Expr:
    _demand_truth(*expr.args)
    return Expr(expr.op, expr.args, "boolean")


def _bind_truth(expr: Expr) -> Expr:
    return Expr(expr.op, expr.args, "boolean")


def _bind_is_nan(expr: Expr) -> Expr:
    if family(expr.args[0].kind) not in {None, "number"}:
        msg = f"is_nan takes numbers, {expr.args[0]} is of type {expr.args[0].kind}"
        raise InvalidInputError(msg)
    return _bind_truth(expr)


def family(kind: str | None) -> str | None:
    """Return which types a type can be compared with; None when the type is not known."""
    if kind is None:
        return None
    return "number" if decimal_parts(kind) else _FAMILIES.get(kind, kind)


def _bind_comparison(expr: Expr) -> Expr:
    op, (left, right) = expr.op, expr.args
    if _is_literal(left) and not _is_literal(right):
        op, left, right = _FLIPPED[op], right, left
    if _is_literal(right) and left.kind is not None:
        return _against(op, left, right)
    families = {family(left.kind), family(right.kind)} - {None}
    nested = families & {*NESTED_TYPES, "variant", "geometry"}
    if len(families) > 1 or nested:
        msg = f"cannot compare {left} of type {left.kind} with {right} of type {right.kind}"
        raise InvalidInputError(msg, hint="cast one side")
    return Expr(op, (left, right), "boolean")


def _against(op: str, operand: Expr, literal: Expr) -> Expr:
    """Compare with a literal as a value of the operand's own type."""
    kind = operand.kind or ""
    if literal.args[0] is None:
        return Expr(op, (operand, Expr("literal", (None,), kind)), "boolean")
    found = _place(operand, literal)
    if found.exact:
        return _compared(op, operand, found.floor)
    if op in {"eq", "ne"}:
        return _always(operand, truth=op == "ne")
    if found.floor is None:
        return _always(operand, truth=op in {"gt", "ge"})
    return _compared(_INEXACT[op], operand, found.floor)


def _compared(op: str, operand: Expr, value: Value | None) -> Expr:
    return Expr(op, (operand, Expr("literal", (value,), operand.kind)), "boolean")


def _place(operand: Expr, literal: Expr) -> Place:
    name = str(operand) if not _is_literal(operand) else ""
    found = place(operand.kind or "", literal.args[0], value_kind=literal.kind, name=name)
    return _cut(operand, found)


def _cut(operand: Expr, found: Place) -> Place:
    """Place a literal among the values of date_trunc, which are further apart."""
    if operand.op != "call" or operand.args[0] != "date_trunc" or found.floor is None:
        return found
    unit = operand.args[1].args[0] if _is_literal(operand.args[1]) else None
    if not isinstance(unit, str) or unit.lower() not in UNITS:
        return found
    start = date_trunc(unit.lower(), found.floor)
    return Place(start, exact=found.exact and start == found.floor)


def _always(operand: Expr, *, truth: bool) -> Expr:
    """Build what is true (or false) for every value, and NULL for NULL."""
    null = Expr("is_null", (operand,), "boolean")
    unknown = Expr("literal", (None,), "boolean")
    if truth:
        return Expr("or", (Expr("not", (null,), "boolean"), unknown), "boolean")
    return Expr("and", (null, unknown), "boolean")


def _bind_in(expr: Expr) -> Expr:
    operand, candidates = expr.args[0], expr.args[1:]
    if operand.kind is None or not all(_is_literal(c) for c in candidates):
        parts = [_bind_comparison(Expr("eq", (operand, c))) for c in candidates]
        return _typed(disjunction(parts))
    kept: list[Expr] = []
    for candidate in candidates:
        if candidate.args[0] is None:
            kept.append(Expr("literal", (None,), operand.kind))
        elif (found := _place(operand, candidate)).exact:
            kept.append(Expr("literal", (found.floor,), operand.kind))
    return Expr("in", (operand, *kept), "boolean") if kept else _always(operand, truth=False)


def _bind_between(expr: Expr) -> Expr:
    operand, low, high = expr.args
    parts = (Expr("ge", (operand, low)), Expr("le", (operand, high)))
    first, second = (_bind_comparison(part) for part in parts)
    kept = first.op == "ge" and second.op == "le" and not _is_literal(operand)
    if kept and first.args[0] is operand and second.args[0] is operand:
        return Expr("between", (operand, first.args[1], second.args[1]), "boolean")
    return _typed(conjunction((first, second)))


def _typed(expr: Expr) -> Expr:
    return expr if expr.kind is not None else Expr(expr.op, expr.args, "boolean")


def _bind_text(expr: Expr) -> Expr:
    for arg in expr.args:
        if family(arg.kind) not in {None, "text"}:
            msg = f"{expr.op} takes texts, {arg} is of type {arg.kind}"
            raise InvalidInputError(msg, hint="cast it to varchar")
    return _bind_truth(expr)


def _bind_arithmetic(expr: Expr) -> Expr:
    kinds = tuple(arg.kind for arg in expr.args)
    families = {family(kind) for kind in kinds} - {None}
    if families <= {"number"}:
        return Expr(expr.op, expr.args, _number_kind(expr.op, kinds))
    if expr.op in {"add", "sub"} and families <= {"number", "moment", "interval"}:
        return Expr(expr.op, expr.args, _moment_kind(expr.op, kinds))
    msg = f"cannot compute {expr} with {' and '.join(str(kind) for kind in kinds)}"
    raise InvalidInputError(msg, hint="cast the operands to numbers")


def _number_kind(op: str, kinds: tuple[str | None, ...]) -> str | None:
    if op == "div" or FLOATS.intersection(kinds):
        return "float64"
    whole = all(kind in INTEGERS for kind in kinds)
    return "int128" if whole else None


def _moment_kind(op: str, kinds: tuple[str | None, ...]) -> str | None:
    left, right = kinds[0], kinds[-1]
    if op == "sub" and family(left) == family(right) == "moment":
        return "int64" if left == right == "date" else "interval"
    moment = left if family(left) == "moment" else right
    if "interval" not in kinds:
        return moment
    return "timestamp" if moment == "date" else moment


def _bind_cast(expr: Expr) -> Expr:
    kind = expr.kind or ""
    if kind not in LEAF_TYPES and decimal_parts(kind) is None:
        msg = f"cannot cast to the unknown type {kind!r}"
        raise InvalidInputError(msg, hint=f"known types: {', '.join(sorted(LEAF_TYPES))}")
    value = expr.args[0].args[0] if _is_literal(expr.args[0]) else None
    if isinstance(value, str) and expr.op == "cast" and kind not in TEXTS:
        return Expr("literal", (typed_value(kind, value),), kind)
    return expr


def _bind_case(expr: Expr) -> Expr:
    _demand_truth(*expr.args[:-1:2])
    results = (*expr.args[1::2], expr.args[-1])
    kind = next((r.kind for r in results if r.kind is not None), None)
    return Expr("case", expr.args, kind)


def _bind_call(expr: Expr) -> Expr:
    name, args = canonical(expr.args[0]), expr.args[1:]
    if name == "starts_with" and len(args) == 2:  # noqa: PLR2004  text and prefix
        return _bind_text(Expr("starts_with", args))
    if name == "isnan" and len(args) == 1:
        return _bind_is_nan(Expr("is_nan", args))
    known = FUNCTIONS.get(name)
    kind = known.kind([arg.kind for arg in args]) if known else None
    return Expr("call", (name, *args), kind)


_BINDERS: dict[str, Callable[[Expr], Expr]] = {
    **dict.fromkeys(_FLIPPED, _bind_comparison),
    **dict.fromkeys(("and", "or", "not"), _bind_logic),
    **dict.fromkeys(("add", "sub", "mul", "div", "mod", "neg"), _bind_arithmetic),
    **dict.fromkeys(("cast", "try_cast"), _bind_cast),
    **dict.fromkeys(("like", "starts_with"), _bind_text),
    "is_null": _bind_truth,
    "is_nan": _bind_is_nan,
    "in": _bind_in,
    "between": _bind_between,
    "case": _bind_case,
    "call": _bind_call,
}
