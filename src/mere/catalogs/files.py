"""Build the files of a head from their rows: paths, partition values, bounds, delete files."""

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from typing import Any

from mere.catalogs import inlined_places
from mere.catalogs.dialect import Link, Row
from mere.catalogs.heads import transform
from mere.errors import UnsupportedError
from mere.model.feed import Trace
from mere.model.files import Bounds, DataFile, DeleteFile, Value
from mere.model.history import Head
from mere.model.layout import PartitionKey
from mere.model.mapping import Mapping, MapRow, built
from mere.model.schema import Schema
from mere.model.transforms import same_partitions
from mere.model.values import bounds_from_text, partition_value, to_float32
from mere.plan.adopt import partition_of

CHUNK = 50_000
"""How many ids one query names: beyond it, they are rather cut into several."""
MANY = 50_000
"""From how many ids on it is quicker to read all rows than to look each up."""


def chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    """Cut a list of ids into what one query can name."""
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What it takes to read the files of one head: the open transaction and the lake's root."""

    link: Link
    head: Head
    data_path: str
    own: Collection[str]

    def rows(self, ids: Sequence[int] | None) -> list[Row]:
        """Return the rows of the named files (None: all) that are alive at the head."""
        link, table, at = self.link, self.head.table_id, self.head.snapshot
        if ids is None:
            return link.rows("files", table=table, at=at)
        parts = (link.rows("files_by_id", table=table, at=at, ids=part) for part in chunks(ids))
        return [row for part in parts for row in part]

    def files(self, ids: Sequence[int] | None, columns: Iterable[int]) -> list[DataFile]:
        """Return the named files (None: all) with the bounds of the given columns."""
        if ids is not None and len(ids) > MANY:
            wanted = frozenset(ids)
            rows, ids = [row for row in self.rows(None) if row[0] in wanted], None
        else:
            rows = self.rows(ids)
        few = None if ids is None else [row[0] for row in rows]
        keys = partition_keys(self.link, self.head.table_id)
        values = self._partitions(few, keys)
        deletes = self._deletes(few)
        bounds = self._bounds(few, tuple(columns))
        folder, root = self.head.folder, self.data_path
        names = self._names(rows)
        return [
            self._placed(
                replace(
                    _file(row, folder, root, values),
                    names=names.get(row[10]),
                    **deletes.get(row[0], {}),
                    bounds=bounds.get(row[0], {}),
                )
            )
            for row in rows
        ]

    def _placed(self, file: DataFile) -> DataFile:
        """Return a file with its partition, which only the folders of an adopted one may tell."""
        if file.names is None or file.partition_id is not None:
            return file
        layout = self.head.layout
        partition = partition_of(file, layout, self.head.schema)
        return replace(file, partition=partition, partition_id=layout.id) if partition else file

    def touched(self, since: int) -> list[DataFile]:
        """Return the files that were there at a snapshot or later, up to the head."""
        rows = self.link.rows(
            "files_touched", table=self.head.table_id, since=since, at=self.head.snapshot
        )
        nothing = _Partitions(keys={}, kinds={}, texts={})
        names = self._names(rows)
        folder, root = self.head.folder, self.data_path
        return [replace(_file(r, folder, root, nothing), names=names.get(r[10])) for r in rows]

    def traced(self, files: Sequence[DataFile]) -> tuple[Trace, ...]:
        """Return living files with all that ever took rows out of them."""
        link, head = self.link, self.head
        gone: dict[int, list[tuple[int, int]]] = {}
        where = inlined_places.places(link, head.table_id)
        for file, position, snapshot in inlined_places.deletes(link, where, head.snapshot):
            gone.setdefault(file, []).append((position, snapshot))
        deletes: dict[int, list[DeleteFile]] = {}
        for part in chunks([file.id for file in files]):
            place = {"table": head.table_id, "at": head.snapshot, "ids": part}
            for row in link.rows("delete_files_of", **place):
                found = delete_file(row, head.folder, self.data_path)
                deletes.setdefault(row[1], []).append(found)
        return tuple(
            Trace(file=f, deletes=tuple(deletes.get(f.id, ())), gone=tuple(gone.get(f.id, ())))
            for f in files
        )

    def _names(self, rows: Iterable[Row]) -> Table[int | None, Mapping | None]:
        """Return the mappings of the table by id, when one of the files has one."""
        if all(row[10] is None for row in rows):
            return {}
        found = mappings(self.link, self.head.table_id)
        return {number: found.get(number) for number in {row[10] for row in rows}}

    def deletes_ever(self) -> list[tuple[int, DeleteFile]]:
        """Return all delete files up to the head, ended or not, each with its data file."""
        head = self.head
        rows = self.link.rows("delete_files_ever", table=head.table_id, at=head.snapshot)
        return [(row[1], delete_file(row, head.folder, self.data_path)) for row in rows]

    def _partitions(
        self, ids: Sequence[int] | None, keys: Table[int, tuple[PartitionKey, ...]]
    ) -> "_Partitions":
        if not keys:
            return _Partitions(keys=keys, kinds={}, texts={})
        link, table = self.link, self.head.table_id
        if ids is None:
            rows = link.rows("partition_values", table=table)
        else:
            rows = [
                row
                for key in range(max(map(len, keys.values())))
                for part in chunks(ids)
                for row in link.rows("partition_values_by_id", table=table, key=key, ids=part)
            ]
        texts: dict[int, dict[int, str | None]] = {}
        for file, index, text in rows:
            texts.setdefault(file, {})[index] = text
        kinds = column_kinds(self.head.schema, link.rows("column_types", table=table))
        return _Partitions(keys=keys, kinds=kinds, texts=texts)

    def _deletes(self, ids: Sequence[int] | None) -> dict[int, dict[str, Any]]:
        """Return the delete files by data file.

        There is one, but for a file that ended: DuckDB flushes inlined deletes to it as another.
        """
        link, head = self.link, self.head
        place = {"table": head.table_id, "at": head.snapshot}
        if ids is None:
            rows = link.rows("delete_files", **place)
        else:
            parts = (link.rows("delete_files_by_id", ids=part, **place) for part in chunks(ids))
            rows = [row for part in parts for row in part]
        found: dict[int, list[DeleteFile]] = {}
        for row in rows:
            found.setdefault(row[1], []).append(delete_file(row, head.folder, self.data_path))
        return {n: {"deletes": d, "more_deletes": tuple(m)} for n, (d, *m) in found.items()}

    def _bounds(
        self, ids: Sequence[int] | None, columns: tuple[int, ...]
    ) -> dict[int, dict[int, Bounds]]:
        link, table = self.link, self.head.table_id
        found: dict[int, dict[int, Bounds]] = {}
        leaves = {field.id: field.type for _, field in self.head.schema.leaves()}
        narrow = _once_float32(link, table, leaves) if columns else frozenset()
        for column in columns:
            rows = (
                link.rows("column_stats", table=table, column=column)
                if ids is None
                else self._stats_of(ids, column)
            )
            for row in rows:
                bounds = read_bounds(leaves[column], row)
                if column in narrow:
                    bounds = _either_float(bounds)
                found.setdefault(row[0], {})[column] = bounds
        return found

    def _stats_of(self, ids: Sequence[int], column: int) -> Iterable[Row]:
        for part in chunks(ids):
            yield from self.link.rows(
                "column_stats_by_id", table=self.head.table_id, column=column, ids=part
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Partitions:
    """The partition values of files as text, and what types they have."""

    keys: Table[int, tuple[PartitionKey, ...]]
    kinds: Table[int, str]
    texts: Table[int, Table[int, str | None]]

    def of(self, file: int, partition: int | None) -> tuple[Value | None, ...]:
        """Return the typed values of a file, empty when it has none."""
        texts = self.texts.get(file)
        if partition is None or texts is None:
            return ()
        return tuple(
            partition_value(key_kind(key, self.kinds), texts.get(index))
            for index, key in enumerate(self.keys.get(partition, ()))
        )


def mappings(link: Link, table: int) -> dict[int, Mapping]:
    """Return how adopted files of a table name its columns, by the id of the mapping."""
    found: dict[int, list[MapRow]] = {}
    for number, place, name, field, parent, hive in link.rows("name_mappings", table=table):
        found.setdefault(number, []).append((place, name, field, parent, bool(hive)))
    return {number: built(rows) for number, rows in found.items()}


def key_kind(key: PartitionKey, kinds: Table[int, str]) -> str:
    """Return the type of a partition key's values."""
    return kinds.get(key.column, "varchar") if key.transform == "identity" else "int64"


def column_kinds(schema: Schema, every: Iterable[Row]) -> dict[int, str]:
    """Return the type of each leaf column, of dropped ones too."""
    kinds: dict[int, str] = {row[0]: row[1] for row in every}
    return kinds | {field.id: field.type for _, field in schema.leaves()}


def partition_keys(link: Link, table: int) -> dict[int, tuple[PartitionKey, ...]]:
    """Return the partition keys of every layout that the table ever had."""
    specs: dict[int, tuple[PartitionKey, ...]] = {}
    for partition, _, column, text in link.rows("partition_specs", table=table):
        specs[partition] = (*specs.get(partition, ()), transform(column, text))
    return specs


def telling_keys(link: Link, head: Head) -> dict[int, tuple[PartitionKey, ...]]:
    """Return the partition keys of every layout as far as they tell of the columns' values now.

    A key whose column had a type of which the values lay elsewhere keeps its place, but names no
    column any more.
    """
    specs = partition_keys(link, head.table_id)
    if head.stable or not specs:
        return specs
    now = {field.id: field.type for _, field in head.schema.leaves()}
    rows = link.rows("column_types", table=head.table_id)
    moved = {
        (column, key.transform)
        for keys in specs.values()
        for key in keys
        for column, kind in rows
        if column == key.column and not _tells(key, kind, now.get(column) or kind)
    }
    return {
        id_: tuple(replace(k, column=0) if (k.column, k.transform) in moved else k for k in keys)
        for id_, keys in specs.items()
    }


def _tells(key: PartitionKey, old: str, now: str) -> bool:
    """Tell whether a partition value means the same in both types, as far as it can be read."""
    once_single = key.transform == "identity" and old == "float32" and now != old
    return same_partitions(key.transform, old, now) and not once_single


def read_bounds(kind: str, row: Row) -> Bounds:
    """Read the bounds of one column of one file from its row of statistics."""
    _, _, size, values, nulls, low, high, nan = row
    return bounds_from_text(
        kind, low, high, nulls=nulls, values=values, nan=None if nan is None else bool(nan),
        bytes=size,
    )  # fmt: skip


def _once_float32(link: Link, table: int, leaves: Table[int, str]) -> frozenset[int]:
    """Return the columns of double precision that had single precision before."""
    rows = link.rows("column_types", table=table)
    return frozenset(c for c, kind in rows if kind == "float32" and leaves.get(c) == "float64")


def _either_float(bounds: Bounds) -> Bounds:
    """Widen bounds whose text may have been spelled in either precision."""
    low, high = bounds.minimum, bounds.maximum
    return replace(
        bounds,
        minimum=None if low is None else min(low, to_float32(low)),
        maximum=None if high is None else max(high, to_float32(high)),
        exact=False,
    )


def _file(row: Row, folder: str, data_path: str, values: _Partitions) -> DataFile:
    (number, path, relative, count, size, footer, begin, end, row_id, partition, mapping, last,
     form, key) = row  # fmt: skip
    if (form or "parquet").lower() != "parquet":
        msg = f"data file {path!r} has the format {form!r}; this version reads parquet"
        raise UnsupportedError(msg)
    _refuse_key(path, key)
    return DataFile(
        path=path_of(path, folder, data_path, relative=bool(relative)),
        bytes=size or 0,
        rows=count,
        footer_bytes=footer,
        id=number,
        since=begin,
        until=end,
        row_id_start=row_id,
        partition_id=partition,
        partition=values.of(number, partition),
        mapping_id=mapping,
        last=last,
    )


def delete_file(row: Row, folder: str, data_path: str) -> DeleteFile:
    """Build a delete file from its row.

    Raises:
        UnsupportedError: If it is encrypted, or no Parquet file.
    """
    number, _, path, relative, form, count, size, footer, begin, last, key = row
    if (form or "parquet").lower() != "parquet":
        msg = f"delete file {path!r} has the format {form!r}; this version reads parquet"
        raise UnsupportedError(msg)
    _refuse_key(path, key)
    return DeleteFile(
        id=number,
        path=path_of(path, folder, data_path, relative=bool(relative)),
        bytes=size or 0,
        rows=count,
        footer_bytes=footer,
        since=begin,
        last=last,
    )


def _refuse_key(path: str, key: str | None) -> None:
    if key:
        msg = f"file {path!r} is encrypted, which this version cannot read"
        raise UnsupportedError(msg)


def path_of(path: str, folder: str, data_path: str, *, relative: bool) -> str:
    """Return a path of a table's row as one below the root, or whole when it lies elsewhere."""
    return folder + path if relative else path.removeprefix(data_path)
