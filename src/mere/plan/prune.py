"""Decide which files can hold a matching row, and which hold nothing else.

Each condition is judged by the set of its possible outcomes in a file, out of true, false and
NULL; `and`, `or`, `not` combine the sets outcome by outcome. No row can match when true is not
among the outcomes; every row matches when nothing else is. What is not known widens the set, so
a file is left out only for certain.

| condition | outcomes |
|---|---|
| a = b, a < b, … | from how the two spans can compare; NULL if either side can be NULL |
| column = literal | never true if the literal belongs into another bucket than the file's rows |
| a IN (…) | as equal to one of them |
| a BETWEEN b AND c | as a >= b AND a <= c |
| a LIKE 'x%', starts_with | from the span of texts that begin like this |
| a IS NULL, is_nan(a) | from what is known of NULLs and NaN |
| anything else | all three |
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from typing import Any, TypeAlias

from mere.model.expr import Expr, conjunction
from mere.model.files import Bounds, DataFile
from mere.model.layout import Layout
from mere.model.schema import Schema
from mere.model.transforms import bucket
from mere.model.values import FLOATS, after_prefix, is_nan
from mere.plan.partitions import joined, partition_facts
from mere.plan.spans import Facts, Span, column_key, column_keys, signs, span

Outcomes: TypeAlias = frozenset[bool | None]
ANY: Outcomes = frozenset({True, False, None})
_ALWAYS: Outcomes = frozenset({True})
_NEVER: Outcomes = frozenset({False})
_SIGNS: dict[str, frozenset[int]] = {
    "eq": frozenset({0}),
    "ne": frozenset({-1, 1}),
    "lt": frozenset({-1}),
    "le": frozenset({-1, 0}),
    "gt": frozenset({1}),
    "ge": frozenset({0, 1}),
}


_GLANCED = frozenset({int, str})
"""Types of Python whose own order is that of the values."""


class Match(Enum):
    """How many rows of a file can match a predicate."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The files that stay, the ids of those whose every row matches, and what went by what."""

    files: tuple[DataFile, ...]
    certain: frozenset[int] = field(default=frozenset())
    by_partition: int = 0
    by_bounds: int = 0


def match(
    expr: Expr,
    *,
    bounds: Mapping[str, Bounds],
    parts: Mapping[tuple[str, str], int] | None = None,
    buckets: Mapping[str, tuple[int, int]] | None = None,
) -> Match:
    """Say how many rows of a file can match a bound predicate, given what is known of the file.

    `bounds` go by `column_key`; a column that is missing there is not known.
    """
    return verdict(expr, Facts(bounds=bounds, parts=parts or {}, buckets=buckets or {}))


def verdict(expr: Expr, facts: Facts) -> Match:
    """Say how many rows of a file can match a bound predicate."""
    found = outcomes(expr, facts)
    if True not in found:
        return Match.NONE
    return Match.ALL if len(found) == 1 else Match.SOME


def prune(
    files: Sequence[DataFile],
    expr: Expr | None,
    schema: Schema,
    layouts: Mapping[int, Layout],
) -> Pruned:
    """Leave out the files in which no row can match a bound predicate.

    `layouts` are those that the files were written under, by partition id; partition values of
    an id that is missing there say nothing.
    """
    if expr is None:
        return Pruned(files=tuple(files), certain=frozenset(f.id for f in files))
    keys = column_keys(schema)
    known: dict[tuple[object, ...], tuple[Facts, Match, Expr]] = {}
    kept: list[DataFile] = []
    certain: set[int] = set()
    gone = {"partition": 0, "bounds": 0}
    for file in files:
        place = (file.partition_id, *map(repr, file.partition))
        if place not in known:
            facts = partition_knowledge(file, schema, layouts)
            known[place] = (facts, verdict(expr, facts), undecided(expr, facts))
        facts, found, left = known[place]
        reason = "partition"
        if found is Match.SOME:
            bounds = known_bounds(file.rows, file.bounds, keys)
            found, reason = verdict(left, joined(facts, bounds)), "bounds"
        if found is Match.NONE:
            gone[reason] += 1
            continue
        kept.append(file)
        if found is Match.ALL:
            certain.add(file.id)
    return Pruned(
        files=tuple(kept),
        certain=frozenset(certain),
        by_partition=gone["partition"],
        by_bounds=gone["bounds"],
    )


def undecided(expr: Expr, facts: Facts) -> Expr:
    """Leave out what is true of every row that these facts are about."""
    if expr.op != "and":
        return expr
    return conjunction([arg for arg in expr.args if outcomes(arg, facts) != _ALWAYS])


def partition_knowledge(file: DataFile, schema: Schema, layouts: Mapping[int, Layout]) -> Facts:
    """Return what a file's partition values tell of its rows."""
    layout = None if file.partition_id is None else layouts.get(file.partition_id)
    return Facts() if layout is None else partition_facts(layout, schema, file.partition)


def known_bounds(
    rows: int, bounds: Mapping[int, Bounds], keys: Mapping[int, str]
) -> dict[str, Bounds]:
    """Return the bounds of some rows by `column_key`, counting values where NULLs are counted."""
    return {
        keys[id_]: replace(found, values=max(rows - found.nulls, 0))
        if found.values is None and found.nulls is not None
        else found
        for id_, found in bounds.items()
        if id_ in keys
    }


def outcomes(expr: Expr, facts: Facts) -> Outcomes:
    """Return which of true, false and NULL a condition can yield in a file."""
    if expr.op in _SIGNS:
        return _comparison(expr.op, *expr.args, facts=facts)
    rule = _RULES.get(expr.op)
    return ANY if rule is None else rule(expr, facts)


def _comparison(op: str, left: Expr, right: Expr, *, facts: Facts) -> Outcomes:
    a, b = span(left, facts), span(right, facts)
    possible = signs(a, b)
    if left.op == "column" and left.same(right):
        possible &= {0}
    elif _other_bucket(left, right, facts):
        possible -= {0}
    return _with_null((sign in _SIGNS[op] for sign in possible), null=a.null or b.null)


def _with_null(found: Iterable[bool], *, null: bool) -> Outcomes:
    return frozenset([*found, None]) if null else frozenset(found)


def _other_bucket(column: Expr, literal: Expr, facts: Facts) -> bool:
    """Tell whether the literal belongs into another bucket than all values of the file."""
    if column.op != "column" or literal.op != "literal" or literal.args[0] is None:
        return False
    known = facts.buckets.get(column_key(column.args))
    if known is None or column.kind is None:
        return False
    return bucket(column.kind, literal.args[0], known[0]) != known[1]


def _logic(expr: Expr, facts: Facts) -> Outcomes:
    combine, settled = (_and, _NEVER) if expr.op == "and" else (_or, _ALWAYS)
    found = outcomes(expr.args[0], facts)
    for arg in expr.args[1:]:
        if found == settled:  # nothing that follows can change it
            break
        found = frozenset(combine(a, b) for a, b in product(found, outcomes(arg, facts)))
    return found


def _and(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001  operands of logic
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001  operands of logic
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def _not(expr: Expr, facts: Facts) -> Outcomes:
    return frozenset(None if o is None else not o for o in outcomes(expr.args[0], facts))


def _literal(expr: Expr, _facts: Facts) -> Outcomes:
    value = expr.args[0]
    return frozenset({None if value is None else bool(value)})


def _column(expr: Expr, facts: Facts) -> Outcomes:
    truth = Expr("literal", (True,), "boolean")
    return _comparison("eq", expr, truth, facts=facts)


def _is_null(expr: Expr, facts: Facts) -> Outcomes:
    operand = expr.args[0]
    if operand.op in _SIGNS or operand.op in _RULES.keys() - {"column", "literal"}:
        return frozenset(o is None for o in outcomes(operand, facts))
    found = span(operand, facts)
    return frozenset(o for o, can in ((True, found.null), (False, found.value)) if can)


def _in(expr: Expr, facts: Facts) -> Outcomes:
    operand = expr.args[0]
    within = span(operand, facts)
    outside = _with_null((False,), null=within.null)
    found = _NEVER
    for candidate in expr.args[1:]:
        if found == _ALWAYS:
            break
        if _is_outside(candidate, within):
            equal = outside
        else:
            equal = _comparison("eq", operand, candidate, facts=facts)
        if equal != _NEVER:
            found = frozenset(_or(a, b) for a, b in product(found, equal))
    return found


def _is_outside(candidate: Expr, within: Span) -> bool:
    """Tell at a glance that a text or a whole number lies beyond a span: most of a long list do."""
    value: Any = candidate.args[0] if candidate.op == "literal" else None
    kind = type(value)
    if kind not in _GLANCED or not within.value or within.kind == "timestamp_ns":
        return False
    low: Any = within.low
    high: Any = within.high
    return bool((type(low) is kind and value < low) or (type(high) is kind and value > high))


def _between(expr: Expr, facts: Facts) -> Outcomes:
    operand, low, high = expr.args
    above = _comparison("ge", operand, low, facts=facts)
    if above == _NEVER:
        return above
    below = _comparison("le", operand, high, facts=facts)
    return frozenset(_and(a, b) for a, b in product(above, below))


def _is_nan(expr: Expr, facts: Facts) -> Outcomes:
    found = span(expr.args[0], facts)
    if not found.value:
        return frozenset({None})
    can = found.high is None or is_nan(found.high)
    if found.kind is not None and found.kind not in FLOATS:
        can = False
    return _with_null({can, is_nan(found.low)} if can else {False}, null=found.null)


def _starts_with(expr: Expr, facts: Facts) -> Outcomes:
    operand, prefix = expr.args
    if prefix.op != "literal":
        return ANY
    return _begins(span(operand, facts), prefix.args[0], only=True)


def _like(expr: Expr, facts: Facts) -> Outcomes:
    operand, pattern, *escape = expr.args
    if pattern.op != "literal" or escape:
        return ANY
    text = pattern.args[0]
    if text is None:
        return frozenset({None})
    prefix, rest = like_prefix(text)
    if not rest:
        same = Expr("literal", (text,), operand.kind)
        return _comparison("eq", operand, same, facts=facts)
    return _begins(span(operand, facts), prefix, only=not rest.strip("%"))


def like_prefix(pattern: str) -> tuple[str, str]:
    """Split a LIKE pattern into what a match begins with and the rest."""
    end = next((i for i, c in enumerate(pattern) if c in "%_"), len(pattern))
    return pattern[:end], pattern[end:]


def _begins(found: Span, prefix: str | None, *, only: bool) -> Outcomes:
    """Judge whether texts begin with a prefix; `only` says that nothing else is asked."""
    if prefix is None or not found.value:
        return frozenset({None})
    first = Span(low=prefix, high=prefix, kind=found.kind)
    after = after_prefix(prefix)
    beyond = Span(low=after, high=after, kind=found.kind)
    below = signs(found, first) - {0, 1}
    above = signs(found, beyond) - {-1} if after is not None else frozenset()
    inside = signs(found, first) - {-1} and (after is None or signs(found, beyond) - {0, 1})
    can = {True} if inside or not prefix else set()
    cannot = {False} if (prefix and (below or above)) or not only else set()
    return _with_null(can | cannot, null=found.null)


_RULES: dict[str, Callable[[Expr, Facts], Outcomes]] = {
    "and": _logic,
    "or": _logic,
    "not": _not,
    "literal": _literal,
    "column": _column,
    "is_null": _is_null,
    "in": _in,
    "between": _between,
    "is_nan": _is_nan,
    "starts_with": _starts_with,
    "like": _like,
}
