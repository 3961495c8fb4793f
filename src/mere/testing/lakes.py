"""Build heads, files and changes for catalogs under test: no bytes lie behind them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from mere.model.files import Bounds, DataFile, RowGroup, Value
from mere.model.history import Change, Committed, CreateTable, Edit, EditFiles, Evolve, Head
from mere.model.layout import Layout
from mere.model.names import split_name
from mere.model.schema import Field, Schema, number
from mere.ports import Catalog

_names = count(1)
PLAIN = {"id": "int64", "name": "varchar"}


def schema_of(columns: Mapping[str, str]) -> Schema:
    """Return a schema of leaf columns with ids."""
    fields = (Field(name=name, type=kind) for name, kind in columns.items())
    return number(Schema(fields=tuple(fields)))


def new_head(name: str, schema: Schema, layout: Layout | None = None) -> Head:
    """Return the head of a table that is to be made."""
    namespace, table = split_name(name)
    return Head(
        snapshot=0,
        schema_version=0,
        table_id=-next(_names),
        uuid="",
        namespace=namespace,
        name=table,
        folder=f"{namespace}/{table}/" if f"{namespace}{table}".isidentifier() else "main/odd/",
        schema=schema,
        layout=layout or Layout(),
    )


def change(catalog: Catalog, *edits: Edit, base: int | None = None, **more: Any) -> Committed:
    """Commit edits on the newest snapshot, or on an older one."""
    on = catalog.snapshot().id if base is None else base
    return catalog.commit(Change(base=on, edits=edits, **more))


def create(
    catalog: Catalog,
    name: str,
    schema: Schema | Mapping[str, str] = PLAIN,
    layout: Layout | None = None,
) -> Head:
    """Make a table and return its head."""
    known = schema if isinstance(schema, Schema) else schema_of(schema)
    change(catalog, CreateTable(head=new_head(name, known, layout)))
    return catalog.head(name)


def file_of(
    head: Head,
    bounds: Mapping[str, tuple[Value | None, Value | None]] | None = None,
    *,
    rows: int = 10,
    partition: tuple[Value | None, ...] = (),
    row_groups: tuple[RowGroup, ...] = (),
) -> DataFile:
    """Return a new file of a table; `bounds` are (minimum, maximum) by column."""
    known = {
        head.schema.field(name).id: Bounds(
            minimum=low, maximum=high, nulls=0, values=rows, nan=False, bytes=rows * 8
        )
        for name, (low, high) in (bounds or {}).items()
    }
    return DataFile(
        path=f"{head.folder}file-{next(_names)}.parquet",
        bytes=1000,
        rows=rows,
        footer_bytes=100,
        bounds=known,
        partition_id=head.layout.id if partition else None,
        partition=partition,
        row_groups=row_groups,
    )


def adding(head: Head, *files: DataFile) -> EditFiles:
    """Return the edit that appends files."""
    return EditFiles(table_id=head.table_id, operation="append", adds=files, schema=head.schema)


def replacing(head: Head, removes: Iterable[int], *files: DataFile) -> EditFiles:
    """Return the edit that overwrites files."""
    return EditFiles(
        table_id=head.table_id,
        operation="overwrite",
        adds=files,
        removes=tuple(removes),
        schema=head.schema,
    )


def append(catalog: Catalog, name: str, *numbers: int, **more: Any) -> Committed:
    """Append one file per number, which is its only value of the column id."""
    head = catalog.head(name)
    files = (file_of(head, {"id": (n, n)}) for n in numbers)
    return change(catalog, adding(head, *files), **{"base": head.snapshot, **more})


def evolving(head: Head, *fields: Field, layout: Layout | None = None) -> Evolve:
    """Return the edit that gives a table these columns."""
    return Evolve(
        table_id=head.table_id, schema=Schema(fields=fields), layout=layout or head.layout
    )


def numbers_in(catalog: Catalog, head: Head) -> list[int]:
    """Return the numbers that `append` wrote into the files of a head."""
    files = catalog.files(head, bounds=True).files
    column = head.schema.field("id").id
    return sorted(int(file.bounds[column].minimum or 0) for file in files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """A table with one file for each number, as several checks need it."""

    catalog: Catalog
    head: Head

    @classmethod
    def of(cls, catalog: Catalog, *numbers: int, name: str = "t") -> "Lineup":
        """Make the table and its files."""
        create(catalog, name)
        append(catalog, name, *numbers)
        return cls(catalog=catalog, head=catalog.head(name))

    def ids(self) -> list[int]:
        """Return the ids of the files."""
        return [file.id for file in self.catalog.files(self.head).files]

    def renamed(self, name: str) -> Field:
        """Return the first column under another name."""
        return replace(self.head.schema.fields[0], name=name)


def refused(kind: type[Exception], call: Callable[[], Any]) -> Exception:
    """Make sure that a call raises, and return its error."""
    try:
        call()
    except kind as error:
        return error
    msg = f"expected {kind.__name__}, but the call succeeded"
    raise AssertionError(msg)


def same(found: Any, expected: Any) -> None:
    """Make sure that two values are equal."""
    if found != expected:
        msg = f"expected {expected!r:.800}, found {found!r:.800}"
        raise AssertionError(msg)
