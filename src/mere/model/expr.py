"""Write expressions over columns: the nodes of the one expression language.

| op | args |
|---|---|
| column | the path of names: `("a",)`, `("address", "city")` |
| literal | one typed value, or None for NULL |
| eq ne lt le gt ge | left, right |
| and or | two or more |
| not neg is_null is_nan | one |
| in | the operand, then the candidates |
| between | operand, low, high; both ends belong |
| like starts_with | operand, pattern or prefix |
| add sub mul div mod | left, right; `div` is the division that keeps fractions |
| cast try_cast | one; the target type is the node's `kind` |
| case | condition, value, condition, value, …, value otherwise |
| call | the function's name in lower case, then its arguments |

`kind` is the type of the node's value, as far as it is known: `bind` fills it in.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NoReturn

from mere.errors import InvalidInputError
from mere.model.values import plain, timestamp_ns_of

_SYMBOLS = {
    "eq": "=",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "mod": "%",
    "like": "LIKE",
}
_JOINING = frozenset({*_SYMBOLS, "in"})


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """One node: what it does, on what, and the type of what it yields (None: not known).

    Comparing two expressions with `==` builds an expression; `same` tells whether they are equal.
    """

    op: str
    args: tuple[Any, ...] = ()
    kind: str | None = None

    def key(self) -> tuple[Any, ...]:
        """Return what makes two expressions the same, as plain hashable values."""
        parts = (a.key() if isinstance(a, Expr) else (type(a).__name__, repr(a)) for a in self.args)
        return (self.op, self.kind, *parts)

    def same(self, other: object) -> bool:
        """Tell whether the other expression is equal, node by node."""
        return isinstance(other, Expr) and self.key() == other.key()

    def __hash__(self) -> int:
        """Hash by value: expressions that are the same hash the same."""
        return hash(self.key())

    def __bool__(self) -> NoReturn:
        """Refuse to be taken for true or false."""
        msg = f"the expression {self} has no truth value before it meets a row"
        raise InvalidInputError(msg, hint="combine with & | ~ in parentheses, not and, or, not")

    def __eq__(self, other: object) -> "Expr":  # type: ignore[override]  # builds, as documented
        """Build `self = other`; NULL on either side yields NULL."""
        return _two("eq", self, other)

    def __ne__(self, other: object) -> "Expr":  # type: ignore[override]  # builds, as documented
        """Build `self != other`."""
        return _two("ne", self, other)

    def __lt__(self, other: object) -> "Expr":
        """Build `self < other`."""
        return _two("lt", self, other)

    def __le__(self, other: object) -> "Expr":
        """Build `self <= other`."""
        return _two("le", self, other)

    def __gt__(self, other: object) -> "Expr":
        """Build `self > other`; NaN is greater than every number."""
        return _two("gt", self, other)

    def __ge__(self, other: object) -> "Expr":
        """Build `self >= other`."""
        return _two("ge", self, other)

    def __and__(self, other: object) -> "Expr":
        """Build `self AND other`."""
        return conjunction((self, lit(other)))

    def __rand__(self, other: object) -> "Expr":
        """Build `other AND self`."""
        return conjunction((lit(other), self))

    def __or__(self, other: object) -> "Expr":
        """Build `self OR other`."""
        return disjunction((self, lit(other)))

    def __ror__(self, other: object) -> "Expr":
        """Build `other OR self`."""
        return disjunction((lit(other), self))

    def __invert__(self) -> "Expr":
        """Build `NOT self`."""
        return Expr("not", (self,))

    def __add__(self, other: object) -> "Expr":
        """Build `self + other`."""
        return _two("add", self, other)

    def __radd__(self, other: object) -> "Expr":
        """Build `other + self`."""
        return _two("add", other, self)

    def __sub__(self, other: object) -> "Expr":
        """Build `self - other`."""
        return _two("sub", self, other)

    def __rsub__(self, other: object) -> "Expr":
        """Build `other - self`."""
        return _two("sub", other, self)

    def __mul__(self, other: object) -> "Expr":
        """Build `self * other`."""
        return _two("mul", self, other)

    def __rmul__(self, other: object) -> "Expr":
        """Build `other * self`."""
        return _two("mul", other, self)

    def __truediv__(self, other: object) -> "Expr":
        """Build `self / other`, the division that keeps fractions."""
        return _two("div", self, other)

    def __rtruediv__(self, other: object) -> "Expr":
        """Build `other / self`."""
        return _two("div", other, self)

    def __mod__(self, other: object) -> "Expr":
        """Build `self % other`; the sign is that of `self`, as in SQL."""
        return _two("mod", self, other)

    def __rmod__(self, other: object) -> "Expr":
        """Build `other % self`."""
        return _two("mod", other, self)

    def __neg__(self) -> "Expr":
        """Build `-self`."""
        return Expr("neg", (self,))

    def is_null(self) -> "Expr":
        """Build `self IS NULL`."""
        return Expr("is_null", (self,))

    def is_not_null(self) -> "Expr":
        """Build `self IS NOT NULL`."""
        return ~self.is_null()

    def is_nan(self) -> "Expr":
        """Build a test for NaN; NULL for NULL."""
        return Expr("is_nan", (self,))

    def is_in(self, values: Iterable[object]) -> "Expr":
        """Build `self IN (values)`; no values match nothing, and NULL among them matches nothing.

        Raises:
            InvalidInputError: If `values` is one text, or holds what no column can hold.
        """
        if isinstance(values, str | bytes):
            msg = f"is_in takes several values, got the one text {values!r}"
            raise InvalidInputError(msg, hint=f"write is_in([{values!r}])")
        found = sorted(values, key=repr) if isinstance(values, AbstractSet) else values
        candidates = tuple(lit(value) for value in found)
        return Expr("in", (self, *candidates)) if candidates else lit(value=False)

    def between(self, low: object, high: object) -> "Expr":
        """Build `self BETWEEN low AND high`; both ends belong."""
        return Expr("between", (self, lit(low), lit(high)))

    def like(self, pattern: object) -> "Expr":
        """Build `self LIKE pattern`: `%` stands for any text, `_` for one character."""
        return Expr("like", (self, lit(pattern)))

    def starts_with(self, prefix: object) -> "Expr":
        """Build a test for text that begins with `prefix`, taken as it is."""
        return Expr("starts_with", (self, lit(prefix)))

    def cast(self, kind: str) -> "Expr":
        """Build a conversion to another type, named as in a schema: `"int64"`, `"date"`."""
        return Expr("cast", (self,), kind)

    def field(self, name: str) -> "Expr":
        """Reach into a struct column."""
        if self.op != "column":
            msg = f"only a column has fields, this is {self}"
            raise InvalidInputError(msg)
        return Expr("column", (*self.args, name))

    def __str__(self) -> str:
        """Show the expression, close to SQL, for messages; not meant to be parsed."""
        if self.op == "column":
            return ".".join(self.args)
        if self.op == "literal":
            return "NULL" if self.args[0] is None else _show(self.args[0])
        parts = [f"({a})" if getattr(a, "op", "") in _JOINING else str(a) for a in self.args]
        if self.op in _SYMBOLS:
            return f" {_SYMBOLS[self.op]} ".join(parts)
        if self.op == "in":
            return f"{parts[0]} IN ({', '.join(parts[1:])})"
        if self.op == "call":
            return f"{self.args[0]}({', '.join(map(str, self.args[1:]))})"
        of = f" AS {self.kind}" if self.op.endswith("cast") else ""
        return f"{self.op}({', '.join(map(str, self.args))}{of})"

    def __repr__(self) -> str:
        """Show the expression for people."""
        return f"<Expr {self}>"


def _show(value: object) -> str:
    return repr(value) if isinstance(value, bool | int | float | str | bytes) else f"'{value}'"


def _two(op: str, left: object, right: object) -> Expr:
    return Expr(op, (lit(left), lit(right)))


def col(name: str) -> Expr:
    """Name a column: `col("x") > 3`; a dotted name or `.field()` reaches into a struct.

    Raises:
        InvalidInputError: If the name is not a text, or empty.
    """
    if issubclass(type(name), str) and name:
        return Expr("column", (str(name),))
    msg = f"a column is named by a text, got {name!r}"
    raise InvalidInputError(msg)


def lit(value: object) -> Expr:
    """Make a literal of a Python, numpy, pandas or Arrow scalar; None is NULL.

    Raises:
        InvalidInputError: If no column can hold such a value.
    """
    if isinstance(value, Expr):
        return value
    nanoseconds = timestamp_ns_of(value)
    if nanoseconds is not None:
        return Expr("literal", (nanoseconds,), "timestamp_ns")
    return Expr("literal", (plain(value),))


def conjunction(parts: Iterable[Expr]) -> Expr:
    """Join by AND, flattening; nothing at all is TRUE."""
    return _join("and", parts, empty=True)


def disjunction(parts: Iterable[Expr]) -> Expr:
    """Join by OR, flattening; nothing at all is FALSE."""
    return _join("or", parts, empty=False)


def _join(op: str, parts: Iterable[Expr], *, empty: bool) -> Expr:
    flat: list[Expr] = []
    for part in parts:
        flat.extend(part.args if part.op == op else (part,))
    if not flat:
        return lit(empty)
    return flat[0] if len(flat) == 1 else Expr(op, tuple(flat))


def call(name: str, *args: object) -> Expr:
    """Build a call of an SQL function by name."""
    return Expr("call", (name.lower(), *(lit(arg) for arg in args)))


def nodes(expr: Expr) -> Iterator[Expr]:
    """Iterate over all nodes, the expression itself first."""
    yield expr
    for arg in expr.args:
        if isinstance(arg, Expr):
            yield from nodes(arg)


def columns(expr: Expr) -> frozenset[str]:
    """Return the names of the top-level columns that the expression reads.

    Of an expression that is not bound, a dotted name counts as it is written.
    """
    return frozenset(node.args[0] for node in nodes(expr) if node.op == "column")


def rebuilt(expr: Expr, args: Iterable[Any], kind: str | None = None) -> Expr:
    """Return the same node over other arguments."""
    return Expr(expr.op, tuple(args), expr.kind if kind is None else kind)
