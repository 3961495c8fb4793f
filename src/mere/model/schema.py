"""Describe a table's columns, and decide how incoming columns fit them.

Types carry the names of the open catalog format (`int64`, `decimal(10,2)`, `list`, `struct`,
`map`); nested types hold their parts as child fields. Every field has an id from its first day,
so a column keeps its identity through renames.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mere.errors import InvalidInputError, SchemaMismatchError, UnknownColumnError
from mere.model.promotion import carries, widens

ROW_ID = 2147483540
"""The field id of the column in which rows that moved keep the id that they had."""
SNAPSHOT_ID = 2147483539
"""The field id of the column that says which snapshot each row of a merged file came with."""
SINCE_ID = 2147483400
"""The field id of our own column in files that were copied: which snapshot each row came with that
was not touched then. Other readers of the format pass it over."""

LEAF_TYPES = frozenset(
    {
        *("boolean", "int8", "int16", "int32", "int64", "int128"),
        *("uint8", "uint16", "uint32", "uint64", "uint128", "float32", "float64"),
        *("date", "time", "timetz", "interval", "varchar", "blob", "json", "uuid"),
        *("timestamp", "timestamptz", "timestamp_s", "timestamp_ms", "timestamp_ns"),
        *("variant", "geometry"),
    }
)
NESTED_TYPES = frozenset({"list", "struct", "map"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column, or one part of a nested column.

    `id` is 0 until the catalog has given one. `initial_default` is what rows read that lie in
    files older than the column; `default` is what rows get that come without it. Both are the
    text of a literal.
    """

    name: str
    type: str
    id: int = 0
    nullable: bool = True
    children: tuple["Field", ...] = ()
    initial_default: str | None = None
    default: str | None = None

    def __post_init__(self) -> None:
        """Refuse a name or a type that no table can hold."""
        if not self.name:
            msg = "a column needs a name, got an empty one"
            raise InvalidInputError(msg)
        nested = self.type in NESTED_TYPES
        known = nested or self.type in LEAF_TYPES or self.type.startswith("decimal(")
        if not known:
            msg = f"column {self.name!r} has the unknown type {self.type!r}"
            raise InvalidInputError(msg, hint=f"known types: {', '.join(sorted(LEAF_TYPES))}")
        if nested != bool(self.children):
            msg = f"column {self.name!r} of type {self.type!r} has {len(self.children)} parts"
            raise InvalidInputError(msg)

    def spell(self) -> str:
        """Spell the whole type, parts included, as messages show it."""
        if self.type == "struct":
            return f"struct<{', '.join(f'{c.name}: {c.spell()}' for c in self.children)}>"
        if self.children:
            return f"{self.type}<{', '.join(c.spell() for c in self.children)}>"
        return self.type


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a table, in order."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        """Refuse two columns whose names differ in nothing but case."""
        seen: dict[str, str] = {}
        for field in self.fields:
            folded = field.name.casefold()
            if folded in seen:
                msg = f"columns {seen[folded]!r} and {field.name!r} have the same name"
                raise InvalidInputError(msg, hint="column names are told apart without case")
            seen[folded] = field.name

    def __iter__(self) -> Iterator[Field]:
        """Iterate over the columns in order."""
        return iter(self.fields)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.fields)

    def __contains__(self, name: object) -> bool:
        """Tell whether a column of that name exists."""
        return isinstance(name, str) and self.find(name) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """List the column names in order."""
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """Find a column by name: as written first, else without case."""
        folded = name.casefold()
        return next((f for f in self.fields if f.name == name), None) or next(
            (f for f in self.fields if f.name.casefold() == folded), None
        )

    def field(self, name: str) -> Field:
        """Return the column of that name.

        Raises:
            UnknownColumnError: If there is none; the message lists what there is.
        """
        found = self.find(name)
        if found is None:
            msg = f"unknown column {name!r}; the table has: {', '.join(self.names)}"
            raise UnknownColumnError(msg)
        return found

    def select(self, names: tuple[str, ...]) -> "Schema":
        """Return the named columns, in the order asked for."""
        return Schema(fields=tuple(self.field(name) for name in names))

    def leaves(self) -> Iterator[tuple[tuple[str, ...], Field]]:
        """Iterate depth first over (path of names, leaf field)."""
        for field in self.fields:
            yield from _leaves((field.name,), field)

    def walk(self) -> Iterator[tuple[Field, Field | None]]:
        """Iterate depth first over every field with its parent."""
        for field in self.fields:
            yield from _walk(field, None)

    def spell(self) -> str:
        """Spell the columns and types on one line."""
        return ", ".join(f"{field.name}: {field.spell()}" for field in self.fields)


def _leaves(path: tuple[str, ...], field: Field) -> Iterator[tuple[tuple[str, ...], Field]]:
    if not field.children:
        yield path, field
    for child in field.children:
        yield from _leaves((*path, child.name), child)


def _walk(field: Field, parent: Field | None) -> Iterator[tuple[Field, Field | None]]:
    yield field, parent
    for child in field.children:
        yield from _walk(child, field)


def with_row_ids(schema: Schema) -> Schema:
    """Return the columns of files whose rows carry their ids."""
    own = Field(name="_ducklake_internal_row_id", type="int64", id=ROW_ID)
    return Schema(fields=(*schema.fields, own))


def with_origins(schema: Schema) -> Schema:
    """Return the columns of files that take the place of others: ids, and since when rows are."""
    return with_since(with_row_ids(schema))


def with_since(schema: Schema) -> Schema:
    """Add the column that says since when rows are that were copied."""
    since = Field(name="_mere_since", type="int64", id=SINCE_ID)
    return Schema(fields=(*schema.fields, since))


def with_versions(schema: Schema) -> Schema:
    """Return the columns of merged files: rows carry their ids, and the snapshots they came with.

    No column is NOT NULL: rows from before that was asked for may be among them.
    """
    fields = tuple(replace(field, nullable=True) for field in with_row_ids(schema))
    came = Field(name="_ducklake_internal_snapshot_id", type="int64", id=SNAPSHOT_ID)
    return Schema(fields=(*fields, came))


def paths(schema: Schema) -> dict[int, str]:
    """Name every column and every part of one by its dotted path, by field id."""
    found: dict[int, str] = {}
    for field, parent in schema.walk():
        found[field.id] = field.name if parent is None else f"{found[parent.id]}.{field.name}"
    return found


def number(schema: Schema, *, start: int = 1) -> Schema:
    """Give every field without an id the next one, depth first, as the catalog counts them."""
    counter = iter(range(start, start + sum(1 for _ in schema.walk())))
    return Schema(fields=tuple(_number(field, counter) for field in schema.fields))


def _number(field: Field, counter: Iterator[int]) -> Field:
    own = field.id or next(counter)
    return replace(field, id=own, children=tuple(_number(c, counter) for c in field.children))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How incoming columns fit a table: the schema to write, and what it changes.

    `schema` is the table's schema after the write; `added` and `widened` name the columns whose
    definition changes; nothing changes when both are empty.
    """

    schema: Schema
    added: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Tell whether the table's definition must change."""
        return bool(self.added or self.widened)


def fit(
    table: Schema, incoming: Schema, *, merge_schema: bool = False, promote_to_string: bool = False
) -> Fit:
    """Decide how `incoming` columns fit the `table`.

    A column that is missing reads as its default or NULL. A narrower type is widened on the way
    in; text fits JSON and UUID columns, and is checked when it is written. With `merge_schema`,
    new columns are added and a wider incoming type widens the table's;
    with `promote_to_string`, a type that cannot be widened becomes text.

    Raises:
        SchemaMismatchError: Naming every column that does not fit, what was expected, what came.
    """
    problems: list[str] = []
    found = {field.name.casefold(): field for field in incoming.fields}
    fields: list[Field] = []
    widened: list[str] = []
    for field in table.fields:
        other = found.pop(field.name.casefold(), None)
        merged = field if other is None else _fit_field(field, other, merge_schema=merge_schema)
        if other is None and not field.nullable and field.default is None:
            problems.append(f"{field.name}: expected {field.spell()} NOT NULL, it is missing")
        if merged is None and promote_to_string and not field.children:
            merged = replace(field, type="varchar")
        if merged is None and other is not None:
            problems.append(f"{field.name}: expected {field.spell()}, got {other.spell()}")
        elif merged != field:
            widened.append(field.name)
        fields.append(merged or field)
    added = tuple(field.name for field in found.values())
    if added and not merge_schema:
        problems.extend(f"{n}: not in the table, got {found[n.casefold()].spell()}" for n in added)
    if problems:
        msg = "the data does not fit the table:\n  " + "\n  ".join(problems)
        hint = f"the table has: {table.spell()}; merge_schema=True adds and widens columns"
        raise SchemaMismatchError(msg, hint=hint)
    fields.extend(replace(field, nullable=True, id=0) for field in found.values())
    return Fit(schema=Schema(fields=tuple(fields)), added=added, widened=tuple(widened))


def _fit_field(field: Field, other: Field, *, merge_schema: bool) -> Field | None:
    """Return the field that holds both, or None when none does."""
    if field.type == other.type and field.children:
        return _fit_children(field, other, merge_schema=merge_schema)
    if field.type == other.type or widens(other.type, field.type):
        return field
    if merge_schema and not field.children and widens(field.type, other.type):
        return replace(field, type=other.type)
    return field if carries(other.type, field.type) else None


def _fit_children(field: Field, other: Field, *, merge_schema: bool) -> Field | None:
    if field.type != "struct":
        pairs = zip(field.children, other.children, strict=True)
        parts = [_fit_field(a, b, merge_schema=merge_schema) for a, b in pairs]
        kept = tuple(part for part in parts if part is not None)
        return replace(field, children=kept) if len(kept) == len(parts) else None
    try:
        inner = fit(
            Schema(fields=field.children), Schema(fields=other.children), merge_schema=merge_schema
        )
    except SchemaMismatchError:
        return None
    return replace(field, children=inner.schema.fields)


def from_mapping(columns: Mapping[str, str]) -> Schema:
    """Build a schema from `{"id": "int64", "ts": "timestamp"}` with leaf types only."""
    return Schema(fields=tuple(Field(name=name, type=kind) for name, kind in columns.items()))
