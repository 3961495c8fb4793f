"""Decide what table files that others wrote make, and what each of them is in it; pure.

What only folders tell is a column, too: `day=2026-01-01/`. No partition is put down for such a
file: other clients fail when they merge files of one partition that lie in different places. Its
bounds say the same, and `partition_of` reads it from the folders.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mere.errors import SchemaMismatchError
from mere.model.adoption import Stranger
from mere.model.files import Bounds, DataFile, RowGroup, Value
from mere.model.layout import Layout
from mere.model.mapping import Mapping as Names
from mere.model.mapping import Named, folder_values
from mere.model.predicate import Expr
from mere.model.promotion import common, keeps_bounds, widens
from mere.model.schema import Field, Schema
from mere.model.values import (
    INTEGERS,
    TEXTS,
    from_text,
    is_nan,
    partition_value,
    stat_texts,
)
from mere.plan.prune import Match, match
from mere.plan.spans import column_keys

_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,18})")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LIST_PART = "list"


def folder_columns(strangers: Iterable[Stranger]) -> tuple[Field, ...]:
    """Return the columns that folders tell and not every file holds, with the types of their texts.

    Whole numbers become int64, dates a date, all else text: a number with zeros in front is text.
    """
    values: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for stranger in strangers:
        held = {column.name.casefold() for column in stranger.schema.fields}
        for name, text in stranger.folders.items():
            if name.casefold() not in held:
                names.setdefault(name.casefold(), name)
                values.setdefault(name.casefold(), set()).update([] if text is None else [text])
    return tuple(Field(name=names[key], type=_kind(texts)) for key, texts in values.items())


def _kind(texts: set[str]) -> str:
    low, high = INTEGERS["int64"]
    if texts and all(_WHOLE.fullmatch(text) and low <= int(text) <= high for text in texts):
        return "int64"
    if texts and all(_DAY.fullmatch(text) and from_text("date", text) for text in texts):
        return "date"
    return "varchar"


def merged(strangers: Sequence[Stranger], folders: Iterable[Field] = ()) -> Schema:
    """Return the columns of all files together, each as wide as its widest; then the folders'.

    Raises:
        SchemaMismatchError: Naming a file whose column goes with none of the others.
    """
    fields: dict[str, Field] = {}
    seen: set[Schema] = set()
    for stranger in strangers:
        if stranger.schema in seen:
            continue
        seen.add(stranger.schema)
        for column in stranger.schema.fields:
            known = fields.get(column.name.casefold())
            both = _bare(column) if known is None else _both(known, column)
            if both is None and known is not None:
                msg = (
                    f"{stranger.file.path}: column {column.name!r} is {column.spell()}, "
                    f"other files have {known.spell()}"
                )
                hint = "no type keeps both exactly; append the odd files instead, or leave them out"
                raise SchemaMismatchError(msg, hint=hint)
            if both is not None:
                fields[column.name.casefold()] = both
    for column in folders:
        fields.setdefault(column.name.casefold(), column)
    return Schema(fields=tuple(fields.values()))


def with_blank(columns: Schema, strangers: Iterable[Stranger]) -> Schema:
    """Add the columns that no file has a value or a type for: they become text."""
    fields = {column.name.casefold(): column for column in columns.fields}
    for name in dict.fromkeys(name for stranger in strangers for name in stranger.blank):
        fields.setdefault(name.casefold(), Field(name=name, type="varchar"))
    return Schema(fields=tuple(fields.values()))


def _bare(column: Field) -> Field:
    """Return a column without its number, and free to be NULL."""
    return replace(column, id=0, nullable=True, children=tuple(map(_bare, column.children)))


def _both(one: Field, other: Field) -> Field | None:
    if one.type != other.type:
        kind = None if one.children or other.children else common(one.type, other.type)
        return None if kind is None else replace(one, type=kind)
    if not one.children:
        return one
    if one.type != "struct":
        pairs = zip(one.children, other.children, strict=True)
        parts = [_both(a, b) for a, b in pairs]
        kept = tuple(part for part in parts if part is not None)
        return replace(one, children=kept) if len(kept) == len(parts) else None
    inner: dict[str, Field] = {child.name.casefold(): child for child in one.children}
    for child in other.children:
        known = inner.get(child.name.casefold())
        both = _bare(child) if known is None else _both(known, child)
        if both is None:
            return None
        inner[child.name.casefold()] = both
    return replace(one, children=tuple(inner.values()))


@dataclass(slots=True)
class Placing:
    """Says what files are in one table; files with the same columns are matched once.

    `checks` are the table's, each with what breaks it.
    """

    schema: Schema
    hive: bool = True
    checks: tuple[tuple[str, str, Expr], ...] = ()
    ways: "dict[Schema, _Way]" = field(default_factory=dict)

    def placed(self, stranger: Stranger) -> DataFile:
        """Return a file as one of the table: which column is which, and its bounds.

        Raises:
            SchemaMismatchError: If a column does not fit the table's, or may hold NULL where the
                table has none.
        """
        way = self.ways.get(stranger.schema)
        if way is None:
            self.ways[stranger.schema] = way = _way(stranger, self.schema)
        told = self._told(stranger, way)
        file = stranger.file
        columns = {id_: value for id_, (_, value) in told.items()}
        bounds = self._bounds(file.bounds, way, columns, file.rows)
        self._require_values(stranger, bounds)
        self._require_checks(stranger, bounds)
        hive = tuple(Named(name=name, id=id_, hive=True) for id_, (name, _) in told.items())
        return replace(
            file,
            names=(*way.names, *hive),
            bounds=bounds,
            row_groups=tuple(self._group(group, way, columns) for group in file.row_groups),
        )

    def _told(self, stranger: Stranger, way: "_Way") -> dict[int, tuple[str, Value | None]]:
        """Return the columns that the folders of a file tell, and it does not hold itself."""
        found: dict[int, tuple[str, Value | None]] = {}
        if not self.hive:
            return found
        held = {named.id for named in way.names}
        columns = {column.name.casefold(): column for column in self.schema.fields}
        for name, text in stranger.folders.items():
            column = columns.get(name.casefold())
            if column is None or column.id in held:
                continue
            value = None if text is None else partition_value(column.type, text)
            if text is not None and (column.children or _is_odd(column, value)):
                msg = f"{stranger.file.path}: {text!r} is no {column.spell()} for {column.name!r}"
                raise SchemaMismatchError(msg)
            found[column.id] = (name, value)
        return found

    def _group(self, group: RowGroup, way: "_Way", told: Mapping[int, Value | None]) -> RowGroup:
        return replace(group, bounds=self._bounds(group.bounds, way, told, group.rows))

    def _bounds(
        self,
        known: Mapping[int, Bounds],
        way: "_Way",
        told: Mapping[int, Value | None],
        rows: int,
    ) -> dict[int, Bounds]:
        found = {
            to.id: _as(known[own.id], own.type, to.type)
            for own, to in way.leaves
            if own.id in known
        }
        found |= {id_: _constant(value, rows) for id_, value in told.items()}
        held = {named.id for named in way.names}
        for column in self.schema.fields:
            if column.id not in held and column.id not in told and not column.children:
                text = column.initial_default
                value = None if text is None else partition_value(column.type, text)
                if text is None or not _is_odd(column, value):
                    found[column.id] = _constant(value, rows)
        return found

    def _require_values(self, stranger: Stranger, bounds: Mapping[int, Bounds]) -> None:
        for column in self.schema.fields:
            nulls = None if column.children else bounds.get(column.id, Bounds()).nulls
            if not column.nullable and nulls != 0 and stranger.file.rows:
                seen = "it is not known whether it holds" if nulls is None else f"it has {nulls:,}"
                msg = f"{stranger.file.path}: {column.name!r} is NOT NULL, {seen} NULL"
                raise SchemaMismatchError(msg, hint="append the file instead, to have it looked at")

    def _require_checks(self, stranger: Stranger, bounds: Mapping[int, Bounds]) -> None:
        keys = column_keys(self.schema)
        known = {keys[id_]: found for id_, found in bounds.items() if id_ in keys}
        for name, text, breaks in self.checks:
            if stranger.file.rows and match(breaks, bounds=known) is not Match.NONE:
                msg = (
                    f"{stranger.file.path}: its footer does not prove that every row satisfies "
                    f"the check {name!r} ({text})"
                )
                raise SchemaMismatchError(msg, hint="append the file instead, to have it looked at")


def _is_odd(column: Field, value: Value | None) -> bool:
    """Tell whether a text was none of the type: it stays the text that it is then."""
    return value is None or (isinstance(value, str) and column.type not in TEXTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How files with certain columns fit a table: their names, and which leaf is which."""

    names: Names
    leaves: tuple[tuple[Field, Field], ...]


def _way(stranger: Stranger, schema: Schema) -> _Way:
    columns = {column.name.casefold(): column for column in schema.fields}
    pairs: list[tuple[Field, Field]] = []
    names = []
    for own in stranger.schema.fields:
        to = columns.get(own.name.casefold())
        problem = None if to is None else _unfit(own, to)
        if to is None or problem:
            found = f"got {own.spell()}" if to is None else problem
            expected = "not in the table" if to is None else f"expected {to.spell()}"
            msg = f"{stranger.file.path}: {own.name}: {expected}, {found}"
            raise SchemaMismatchError(msg, hint=f"the table has: {schema.spell()}")
        names.append(_named(own, to, pairs))
    return _Way(names=tuple(names), leaves=tuple(pairs))


def _unfit(own: Field, to: Field) -> str | None:
    """Say what of a column does not fit: readers widen it, and change nothing else."""
    if not own.children and not to.children:
        fits = own.type == to.type or widens(own.type, to.type)
        return None if fits else f"got {own.spell()}"
    if own.type != to.type:
        return f"got {own.spell()}"
    inside = {child.name.casefold(): child for child in to.children}
    parts: Iterable[tuple[Field, Field | None]]
    if to.type == "struct":
        parts = [(child, inside.get(child.name.casefold())) for child in own.children]
    else:
        parts = list(zip(own.children, to.children, strict=True))
    for child, other in parts:
        problem = f"got {own.spell()}" if other is None else _unfit(child, other)
        if problem:
            return problem
    return None


def _named(own: Field, to: Field, pairs: list[tuple[Field, Field]], name: str = "") -> Named:
    if not own.children:
        pairs.append((own, to))
    children: list[Named] = []
    if to.type == "struct":
        inside = {child.name.casefold(): child for child in to.children}
        children = [_named(c, inside[c.name.casefold()], pairs) for c in own.children]
    else:
        for child, other in zip(own.children, to.children, strict=True):
            part = _LIST_PART if to.type == "list" else child.name
            children.append(_named(child, other, pairs, part))
    return Named(name=name or own.name, id=to.id, children=tuple(children))


def _as(bounds: Bounds, old: str, new: str) -> Bounds:
    """Return bounds in the table's type; the ends go where they would mean something else."""
    if old == new or (bounds.minimum is None and bounds.maximum is None):
        return bounds
    if old in TEXTS and new in TEXTS:
        return bounds
    low, high = stat_texts(old, bounds) if keeps_bounds(old, new) else (None, None)
    return replace(bounds, minimum=from_text(new, low), maximum=from_text(new, high))


def _constant(value: Value | None, rows: int) -> Bounds:
    """Return the bounds of a column that is the same in every row."""
    if value is None:
        return Bounds(nulls=rows, values=0, nan=False, bytes=0)
    if is_nan(value):
        return Bounds(nulls=0, values=rows, nan=True, bytes=0)
    return Bounds(minimum=value, maximum=value, nulls=0, values=rows, nan=False, bytes=0)


def partition_of(file: DataFile, layout: Layout, schema: Schema) -> tuple[Value | None, ...]:
    """Return the partition of an adopted file as its folders tell it; empty when they do not."""
    hive = {named.id: named.name.casefold() for named in file.names or () if named.hive}
    told = all(key.transform == "identity" and key.column in hive for key in layout.keys)
    if not (layout.keys and told):
        return ()
    kinds = {column.id: column.type for column in schema.fields}
    texts = folder_values(file.path)
    if any(key.column not in kinds or hive[key.column] not in texts for key in layout.keys):
        return ()
    pairs = ((kinds[key.column], texts[hive[key.column]]) for key in layout.keys)
    return tuple(partition_value(kind, text) for kind, text in pairs)
