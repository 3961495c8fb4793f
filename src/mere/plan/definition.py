"""Work out what a table becomes, one step after the other: columns, layout, comments, checks.

Every step takes a `Definition` and returns another one, or refuses; nothing is asked or written.
Parts of nested columns are named by a dotted path: `point.x`, `points.element.x`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from mere.errors import AlreadyExistsError, InvalidInputError, NotFoundError, UnknownColumnError
from mere.model.files import Value
from mere.model.layout import Layout, parse_key, parse_order
from mere.model.literals import place
from mere.model.names import RESERVED
from mere.model.promotion import widens
from mere.model.schema import Field, Schema, number
from mere.model.values import partition_text, plain
from mere.plan.evolve import require_same_partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What every row must satisfy: SQL text, and the columns that it names."""

    name: str
    text: str
    columns: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a table is to become; a column that is added gets `next_id`.

    `comments` are those that change, by column id (None: the table's own). `required` are ids of
    columns that must not hold NULL any more, `fresh` the names of checks that rows must be asked.
    """

    table: str
    schema: Schema
    layout: Layout
    next_id: int
    checks: tuple[Check, ...] = ()
    comments: tuple[tuple[int | None, str | None], ...] = ()
    required: tuple[int, ...] = ()
    fresh: tuple[str, ...] = ()


Step: TypeAlias = Callable[[Definition], Definition]
_Change: TypeAlias = Callable[[Field], tuple[Field, ...]]


def find(schema: Schema, path: str) -> tuple[Field, ...]:
    """Return a column and, for a dotted path, its parts down to the one that is named.

    Raises:
        UnknownColumnError: If there is none; the message lists what there is.
    """
    whole = schema.find(path)
    if whole is not None:
        return (whole,)
    found: list[Field] = []
    fields = schema.fields
    for name in path.split("."):
        part = next((f for f in fields if f.name.casefold() == name.casefold()), None)
        if part is None:
            owner = ".".join(f.name for f in found) or "the table"
            known = ", ".join(f.name for f in fields) or "no parts"
            msg = f"unknown column {path!r}; {owner} has: {known}"
            raise UnknownColumnError(msg)
        found.append(part)
        fields = part.children
    return tuple(found)


def _with(now: Definition, chain: tuple[Field, ...], change: _Change) -> Definition:
    ids = tuple(field.id for field in chain)
    return replace(now, schema=Schema(fields=_changed(now.schema.fields, ids, change)))


def _changed(fields: tuple[Field, ...], ids: tuple[int, ...], change: _Change) -> tuple[Field, ...]:
    made: list[Field] = []
    for field in fields:
        if field.id != ids[0]:
            made.append(field)
        elif len(ids) == 1:
            made.extend(change(field))
        else:
            made.append(replace(field, children=_changed(field.children, ids[1:], change)))
    return tuple(made)


def _siblings(now: Definition, chain: tuple[Field, ...]) -> tuple[Field, ...]:
    return chain[-2].children if len(chain) > 1 else now.schema.fields


def _require_free(name: str, siblings: Sequence[Field]) -> None:
    taken = next((f.name for f in siblings if f.name.casefold() == name.casefold()), None)
    if taken is not None:
        msg = f"a column {taken!r} exists" + ("" if taken == name else f", so {name!r} is taken")
        raise AlreadyExistsError(msg, hint="column names are told apart without case")
    if not name or name.casefold().startswith(RESERVED):
        msg = f"a column cannot be called {name!r}"
        raise InvalidInputError(msg, hint=f"names that begin with {RESERVED} are the format's own")


def _require_named_part(chain: tuple[Field, ...], what: str) -> None:
    """Refuse what can only be done to a column or to a field of a struct."""
    if len(chain) > 1 and chain[-2].type != "struct":
        msg = f"{chain[-1].name!r} of a {chain[-2].type} cannot be {what}"
        raise InvalidInputError(msg)


def _require_unchecked(now: Definition, column: Field, what: str) -> None:
    using = [check.name for check in now.checks if column.name in check.columns]
    if using:
        msg = f"column {column.name!r} cannot be {what}: the check {using[0]!r} uses it"
        raise InvalidInputError(msg, hint=f"drop_check({using[0]!r}) first, and add it again after")


def add_column(
    now: Definition, *, path: str, column: Field, default: Value | None, after: str | None
) -> Definition:
    """Add a column, or a field of a struct; rows that exist read its default."""
    above, _, name = path.rpartition(".")
    chain = find(now.schema, above) if above else ()
    if chain and chain[-1].type != "struct":
        hint = f"name its struct: {above}.element.{name}" if chain[-1].type == "list" else None
        msg = f"column {above!r} is a {chain[-1].type}: only a struct takes another field"
        raise InvalidInputError(msg, hint=hint)
    siblings = chain[-1].children if chain else now.schema.fields
    _require_free(name, siblings)
    text = default_text(column, default)
    if chain and not column.nullable:
        msg = f"field {path!r} of a struct cannot be NOT NULL"
        raise InvalidInputError(msg)
    made = number(Schema(fields=(replace(column, name=name, id=0),)), start=now.next_id)
    added = replace(made.fields[0], initial_default=text, default=text)
    following = now.next_id + sum(1 for _ in made.walk())
    placed = _placed(siblings, added, after=after or siblings[-1].name)
    now = replace(now, next_id=following)
    if not added.nullable:
        now = replace(now, required=(*now.required, added.id))
    if not chain:
        return replace(now, schema=Schema(fields=placed))
    return _with(now, chain, lambda parent: (replace(parent, children=placed),))


def _placed(siblings: tuple[Field, ...], field: Field, *, after: str | None) -> tuple[Field, ...]:
    others = [other for other in siblings if other.id != field.id]
    if after is None:
        return (field, *others)
    left = Schema(fields=tuple(others)).field(after)
    at = others.index(left) + 1
    return (*others[:at], field, *others[at:])


def move_column(now: Definition, *, path: str, after: str | None) -> Definition:
    """Put a column, or a field of a struct, behind another one; None puts it first."""
    chain = find(now.schema, path)
    _require_named_part(chain, "moved")
    placed = _placed(_siblings(now, chain), chain[-1], after=after)
    if len(chain) == 1:
        return replace(now, schema=Schema(fields=placed))
    return _with(now, chain[:-1], lambda parent: (replace(parent, children=placed),))


def rename_column(now: Definition, *, path: str, name: str) -> Definition:
    """Give a column, or a field of a struct, another name."""
    chain = find(now.schema, path)
    _require_named_part(chain, "renamed")
    _require_unchecked(now, chain[0], "renamed")
    _require_free(name, [f for f in _siblings(now, chain) if f.id != chain[-1].id])
    return _with(now, chain, lambda field: (replace(field, name=name),))


def drop_column(now: Definition, *, path: str) -> Definition:
    """Take a column, or a field of a struct, away."""
    chain = find(now.schema, path)
    _require_named_part(chain, "dropped")
    _require_unchecked(now, chain[0], "dropped")
    column = chain[-1].id
    for ids, what in (
        ({key.column for key in now.layout.keys}, "partitioned"),
        ({key.column for key in now.layout.order}, "sorted"),
    ):
        if column in ids:
            msg = f"column {path!r} cannot be dropped: {now.table} is {what} by it"
            hint = "partition_by([]) or sort_by([]) before it, or by other columns"
            raise InvalidInputError(msg, hint=hint)
    if len(_siblings(now, chain)) == 1:
        msg = f"column {path!r} cannot be dropped: it is the only one"
        raise InvalidInputError(msg)
    now = replace(
        now,
        required=tuple(id_ for id_ in now.required if id_ != column),
        comments=tuple(pair for pair in now.comments if pair[0] != column),
    )
    return _with(now, chain, lambda _: ())


def widen(now: Definition, *, path: str, kind: str) -> Definition:
    """Give a column a type that keeps every value."""
    chain = find(now.schema, path)
    old = chain[-1]
    if old.type == kind:
        return now
    key = len(chain) > 1 and chain[-2].type == "map" and old.name == chain[-2].children[0].name
    if old.children or key or not widens(old.type, kind):
        msg = f"column {path!r} cannot become {kind}: not every {old.spell()} is one"
        raise InvalidInputError(msg, hint="only a wider type can be had without a rewrite")
    wider = _with(now, chain, lambda field: (replace(field, type=kind),))
    require_same_partitions(now.layout.keys, now.schema, wider.schema)
    return wider


def set_default(now: Definition, *, path: str, value: Value | None) -> Definition:
    """Set what rows get that come without the column; None takes it away."""
    chain = find(now.schema, path)
    _require_named_part(chain, "given a default")
    text = default_text(chain[-1], value)
    return _with(now, chain, lambda field: (replace(field, default=text),))


def set_nullable(now: Definition, *, path: str, nullable: bool) -> Definition:
    """Let a column hold NULL, or no more."""
    chain = find(now.schema, path)
    if len(chain) > 1:
        msg = f"only a whole column can be NOT NULL, {path!r} is part of one"
        raise InvalidInputError(msg)
    column = chain[0].id
    required = tuple(id_ for id_ in now.required if id_ != column)
    if not nullable and chain[0].nullable:
        required += (column,)
    now = replace(now, required=required)
    return _with(now, chain, lambda field: (replace(field, nullable=nullable),))


def comment(now: Definition, *, path: str | None, text: str | None) -> Definition:
    """Say what the table, or a column, is about; None takes it back."""
    about = None if path is None else find(now.schema, path)[-1].id
    kept = tuple(pair for pair in now.comments if pair[0] != about)
    return replace(now, comments=(*kept, (about, text or None)))


def partition_by(now: Definition, *, keys: Sequence[str]) -> Definition:
    """Partition the files to come; those that exist stay as they lie."""
    parsed = tuple(parse_key(text, now.schema) for text in keys)
    if len(set(parsed)) != len(parsed):
        msg = f"partition_by names a key twice: {', '.join(keys)}"
        raise InvalidInputError(msg)
    if parsed == now.layout.keys:
        return now
    return replace(now, layout=replace(now.layout, keys=parsed, id=None))


def sort_by(now: Definition, *, order: Sequence[str]) -> Definition:
    """Order the rows of files to come."""
    parsed = tuple(parse_order(text, now.schema) for text in order)
    return replace(now, layout=replace(now.layout, order=parsed))


def add_check(now: Definition, *, check: Check) -> Definition:
    """Hold every row to a predicate from now on."""
    if not check.name or any(known.name == check.name for known in now.checks):
        msg = f"a check {check.name!r} exists" if check.name else "a check needs a name"
        raise AlreadyExistsError(msg) if check.name else InvalidInputError(msg)
    for name in check.columns:
        now.schema.field(name)
    return replace(now, checks=(*now.checks, check), fresh=(*now.fresh, check.name))


def drop_check(now: Definition, *, name: str) -> Definition:
    """Hold rows to a predicate no more."""
    kept = tuple(check for check in now.checks if check.name != name)
    if len(kept) == len(now.checks):
        known = ", ".join(check.name for check in now.checks) or "none"
        msg = f"no check {name!r}; {now.table} has: {known}"
        raise NotFoundError(msg)
    return replace(now, checks=kept, fresh=tuple(n for n in now.fresh if n != name))


def default_text(field: Field, value: Value | None) -> str | None:
    """Spell a default as the catalog keeps it.

    Raises:
        InvalidInputError: If it is no value of the column's type.
    """
    value = plain(value)
    if value is None:
        return None
    if field.children:
        msg = f"column {field.name!r} of type {field.spell()} can have no default but NULL"
        raise InvalidInputError(msg)
    found = place(field.type, value, name=field.name)
    text = partition_text(field.type, found.floor) if found.exact else None
    if text is None or text == "NULL":
        msg = f"column {field.name!r} of type {field.type} cannot have the default {value!r}"
        hint = "the format spells no default as NULL" if text else None
        raise InvalidInputError(msg, hint=hint)
    return text
