"""Find a table's columns in a file: by field id, by name only in files that carry no ids.

Adopted files have a mapping, which tells by what names.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow import to_arrow
from mere.arrow.types import is_text
from mere.errors import CorruptionError
from mere.model.files import DataFile
from mere.model.mapping import Named, folder_values
from mere.model.schema import Field, Schema
from mere.model.values import TEXTS

_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One column of a file, or one part of a nested one; `leaves` are its paths in the file."""

    name: str
    id: int | None
    type: pa.DataType
    leaves: tuple[str, ...]
    children: tuple["Part", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the values of one field come from; `part` None: the file does not hold it.

    Then all rows have `value`, or the field's default.
    """

    field: Field
    part: Part | None
    children: tuple["Source", ...] = ()
    value: pa.Scalar | None = None

    def paths(self) -> tuple[str, ...]:
        """Return the leaf columns to read, at least one where the part exists."""
        if self.part is None:
            return ()
        if self.field.type != "struct":
            wanted = [path for child in self.children for path in child.paths()]
            whole = self.field.type == "map" or not wanted
            return self.part.leaves if whole else tuple(wanted)
        wanted = [path for child in self.children for path in child.paths()]
        return tuple(wanted) or self.part.leaves[:1]


def parts(parquet: pq.ParquetFile) -> tuple[Part, ...]:
    """Describe the columns of an open file."""
    schema, footer = parquet.schema_arrow, parquet.metadata.schema
    paths = [footer.column(i).path for i in range(len(footer))]
    if sum(_width(f.type) for f in schema) != len(paths):
        # Some types are one leaf in Arrow and several in the file: take such files column-wise.
        return tuple(_whole(f, paths) for f in schema)
    rest = iter(paths)
    return tuple(_part(f, rest) for f in schema)


@dataclass(slots=True)
class Forms:
    """How the columns lie in the file that was looked at last: most others of a table are alike.

    Threads may share it: what is kept is always replaced as a whole.
    """

    last: tuple[pa.Schema, list[str], tuple[Part, ...]] | None = None
    matched: tuple[tuple[Part, ...], Schema, tuple["Source", ...]] | None = None
    wanted: tuple[Schema, pa.Schema] | None = None

    def of(self, parquet: pq.ParquetFile) -> tuple[Part, ...]:
        """Describe the columns of an open file; of equal files, by the same object."""
        schema, footer, last = parquet.schema_arrow, parquet.metadata.schema, self.last
        paths = [footer.column(i).path for i in range(len(footer))]
        if last is None or last[1] != paths or not last[0].equals(schema, check_metadata=True):
            self.last = last = (schema, paths, parts(parquet))
        return last[2]

    def sources(
        self, file: DataFile, found: tuple[Part, ...], schema: Schema
    ) -> tuple["Source", ...]:
        """Match every field of the schema, as `sources` does."""
        known = self.matched
        if file.names is not None:
            return sources(file, found, schema)
        if known is None or known[0] is not found or known[1] != schema:
            self.matched = known = (found, schema, sources(file, found, schema))
        return known[2]

    def target(self, schema: Schema) -> pa.Schema:
        """Return the Arrow schema that rows come out with."""
        known = self.wanted
        if known is None or known[0] != schema:
            self.wanted = known = (schema, to_arrow(schema, ids=False))
        return known[1]


def _width(kind: pa.DataType) -> int:
    children = _children(kind)
    return sum(_width(child.type) for child in children) if children else 1


def _children(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return []
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.field(i) for i in range(kind.num_fields)]


def _part(described: pa.Field, rest: Iterator[str]) -> Part:
    children = tuple(_part(child, rest) for child in _children(described.type))
    leaves = tuple(p for c in children for p in c.leaves) if children else (next(rest),)
    return _made(described, leaves, children)


def _whole(described: pa.Field, paths: Sequence[str]) -> Part:
    name = described.name
    leaves = tuple(p for p in paths if p == name or p.startswith(f"{name}."))
    return _made(described, leaves, ())


def _made(described: pa.Field, leaves: tuple[str, ...], children: tuple[Part, ...]) -> Part:
    text = (described.metadata or {}).get(_ID)
    return Part(
        name=described.name,
        id=None if text is None or int(text) < 0 else int(text),
        type=described.type,
        leaves=leaves,
        children=children,
    )


def has_ids(found: Iterable[Part]) -> bool:
    """Tell whether a file carries field ids."""
    return any(part.id is not None or has_ids(part.children) for part in found)


def sources(file: DataFile, found: Sequence[Part], schema: Schema) -> tuple[Source, ...]:
    """Match every field of the schema: by the file's own names, else by id, where it has ids.

    Raises:
        CorruptionError: If a file that was adopted lies in other folders than it should.
    """
    if file.names is not None:
        return named_sources(file, found, schema)
    by_name = not has_ids(found)
    return tuple(_source(f, _choose(f, found, by_name=by_name), by_name) for f in schema)


def named_sources(file: DataFile, found: Sequence[Part], schema: Schema) -> tuple[Source, ...]:
    """Match every field by the names that an adopted file has for it.

    What its folders say is what the file reads as where it does not hold the column.
    """
    known = {named.id: named for named in file.names or ()}
    return tuple(_mapped(file, field, known.get(field.id), found) for field in schema)


def _mapped(file: DataFile, field: Field, named: Named | None, among: Sequence[Part]) -> Source:
    if named is None:
        return Source(field=field, part=None)
    if named.hive:
        return Source(field=replace(field, initial_default=folder_value(file, named)), part=None)
    return _mapped_part(field, named, next((p for p in among if p.name == named.name), None))


def folder_value(file: DataFile, named: Named) -> str | None:
    """Return what the folders of an adopted file say of a column; None is NULL.

    Raises:
        CorruptionError: If they say nothing.
    """
    values = folder_values(file.path)
    name = named.name.casefold()
    if name not in values:
        msg = f"{file.path} was adopted with {named.name!r} in its path, which is not there"
        raise CorruptionError(msg)
    return values[name]


def _mapped_part(field: Field, named: Named, part: Part | None) -> Source:
    if part is None or not (part.children and field.children):
        return Source(field=field, part=part)
    known = {child.id: child for child in named.children}
    if field.type != "struct":
        pairs = zip(field.children, part.children, strict=True)
        children = (
            _mapped_part(f, known[f.id], p) if f.id in known else _source(f, p, by_name=True)
            for f, p in pairs
        )
        return Source(field=field, part=part, children=tuple(children))
    inside = {found.name: found for found in part.children}
    return Source(
        field=field,
        part=part,
        children=tuple(
            _mapped_part(child, known[child.id], inside.get(known[child.id].name))
            if child.id in known
            else Source(field=child, part=None)
            for child in field.children
        ),
    )


def _source(wanted: Field, part: Part | None, by_name: bool) -> Source:  # noqa: FBT001  recursion
    if part is None or not part.children or not wanted.children:
        return Source(field=wanted, part=part)
    pairs: Iterable[tuple[Field, Part | None]]
    if wanted.type == "struct":
        pairs = [(f, _choose(f, part.children, by_name=by_name)) for f in wanted.children]
    else:  # the elements of a list, the keys and values of a map: there is nothing to choose
        pairs = zip(wanted.children, part.children, strict=True)
    children = tuple(_source(f, p, by_name) for f, p in pairs)
    return Source(field=wanted, part=part, children=children)


def _choose(wanted: Field, among: Sequence[Part], *, by_name: bool) -> Part | None:
    if not by_name:
        return next((p for p in among if p.id == wanted.id), None)
    folded = wanted.name.casefold()
    exact = next((p for p in among if p.name == wanted.name), None)
    return exact or next((p for p in among if p.name.casefold() == folded), None)


def lines_up(source: Source, *, named: bool = True) -> bool:
    """Tell whether a reader that goes by names finds exactly this field, parts included.

    Types may be narrower than the table's; names, places and parts must be the same, but for
    what a list calls its elements and a map its keys and values.
    """
    part = source.part
    if part is None or (named and part.name != source.field.name):
        return False
    return len(source.children) == len(part.children) and all(
        child.part is found and lines_up(child, named=source.field.type == "struct")
        for child, found in zip(source.children, part.children, strict=True)
    )


def spelled_alike(source: Source) -> bool:
    """Tell whether no text of the table lies in the file as another type: engines spell it so."""
    part = source.part
    if part is None or source.children:
        return all(map(spelled_alike, source.children))
    return source.field.type not in TEXTS or is_text(part.type)


def special(found: Sequence[Part], column: int) -> Part | None:
    """Find an internal column, such as the snapshot that a row came with."""
    return next((part for part in found if part.id == column), None)
