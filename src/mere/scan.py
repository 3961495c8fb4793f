"""Read a pinned version of a table: one method per engine that takes the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mere import plan, registry
from mere.arrow import to_arrow
from mere.errors import InvalidInputError, SnapshotNotFoundError
from mere.listing import files_table
from mere.model.files import DataFile, FileSet, Kept
from mere.model.history import Head, at
from mere.model.predicate import Expr, conjunction
from mere.ports import Reading, Session
from mere.where import as_expr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    import pyarrow as pa

    from mere.model.feed import Feed
    from mere.model.report import Pruning


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Rows of one table at one snapshot: asked twice, it answers the same.

    Nothing is read until a `to_*` method is called; which files are needed is already known.
    Any Arrow library can also take the scan itself, as a stream.
    """

    session: Session
    head: Head
    found: FileSet
    where: Expr | None = None
    columns: tuple[str, ...] | None = None
    limit: int | None = None

    @property
    def version(self) -> int:
        """Return the snapshot that the scan is pinned to."""
        return self.head.snapshot

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows that come out."""
        return to_arrow(self.reading().schema, ids=False)

    def reading(self) -> Reading:
        """Return what a reader is asked for."""
        table = self.head.schema
        return Reading(
            table=table,
            schema=table if self.columns is None else table.select(self.columns),
            layout=self.head.layout,
            files=self.found.files,
            store=self.session.store,
            where=self.where,
            limit=self.limit,
            certain=self.found.certain,
            kept=self.found.kept,
            snapshot=self.head.snapshot,
            stable=self.head.stable,
            inlined=self.found.inlined,
        )

    def _read(self, engine: str, **options: Any) -> Any:
        return registry.reader(engine).read(self.reading(), **options)

    def to_arrow(self) -> pa.Table:
        """Read the rows into a pyarrow Table."""
        return self._read("arrow")

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows as record batches, in bounded memory."""
        batches: Iterator[pa.RecordBatch] = registry.reader("arrow").batches(self.reading())
        return batches

    def to_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as a pyarrow RecordBatchReader."""
        return registry.reader("arrow").reader(self.reading())

    def to_dataset(self) -> Any:
        """Return a pyarrow Dataset of the files, with what is known of each as its guarantee."""
        return self._read("dataset")

    def to_pandas(self, **options: Any) -> Any:
        """Read the rows into a pandas DataFrame."""
        return self._read("pandas", **options)

    def to_polars(self) -> Any:
        """Return a polars LazyFrame: filters and columns are pushed down into the files."""
        return self._read("polars")

    def to_duckdb(self, con: Any = None) -> Any:
        """Return a DuckDB relation, on `con` or on a connection of its own."""
        return self._read("duckdb", con=con)

    def to_datafusion(self, ctx: Any = None) -> Any:
        """Return a DataFusion DataFrame, in `ctx` or in a context of its own."""
        return self._read("datafusion", ctx=ctx)

    def to_daft(self) -> Any:
        """Return a Daft DataFrame."""
        return self._read("daft")

    def to_spark(self, spark: Any = None) -> Any:
        """Return a Spark DataFrame: Spark's own scan of exactly the files that can match.

        What Spark filters afterwards leaves out files as well.
        """
        if spark is None:
            spark = getattr(self.session.runner, "spark", None)
        return self._read("spark", spark=spark, find=self._holding)

    def _holding(self, expr: Expr) -> frozenset[int]:
        """Return the ids of the files that can hold a row for which this is true as well.

        All can, when rows were moved since this scan was pinned: the catalog lists other files now.
        """
        both = expr if self.where is None else conjunction((self.where, expr))
        found = frozenset(file.id for file in self.session.catalog.files(self.head, both).files)
        pinned = frozenset(file.id for file in self.found.files)
        return pinned if found - pinned else found

    def count(self) -> int:
        """Count the rows: from the catalog alone where bounds decide, else by reading the rest."""
        open_files, kept, known = self._undecided()
        inlined = self.found.inlined
        if inlined is not None and inlined.exact:
            known, inlined = known + len(inlined.row_ids), None
        if open_files or inlined is not None:
            narrow = replace(self.reading(), schema=self._narrow(), limit=None)
            reading = replace(narrow, files=open_files, kept=kept, inlined=inlined)
            rows = registry.reader("arrow").batches(reading)
            known += sum(batch.num_rows for batch in rows)
        return known if self.limit is None else min(known, self.limit)

    def min(self, column: str) -> Any:
        """Return the least value of a column, None without one: see `max`."""
        return self._extreme(column, -1)

    def max(self, column: str) -> Any:
        """Return the greatest value of a column, None without one.

        The catalog alone answers where bounds decide; files that bounds leave open are read, as
        far as they can hold a greater value. NULL does not count; NaN is above all numbers. A
        `timestamp_ns` comes out as nanoseconds since 1970.

        Raises:
            UnknownColumnError: If there is no such column.
            InvalidInputError: If its values have no order, as those of nested columns.
        """
        return self._extreme(column, 1)

    def _extreme(self, column: str, sign: int) -> Any:
        asked = self.head.schema.select((column,))
        (wanted,) = asked.fields
        plan.extremes.require_order(wanted)
        if self.limit is not None:
            return registry.reader("extremes").read(
                replace(self.reading(), schema=asked), sign=sign
            )
        found = self.session.catalog.files(self.head, self.where, bounds=(wanted.id,))
        known = plan.extremes.extreme(
            found.files,
            wanted,
            sign=sign,
            whole=lambda f: self._is_certain(f) and not f.deleted and not self._later(f),
        )
        rest = replace(self.reading(), schema=asked, files=known.open)
        read = registry.reader("extremes").read(rest, sign=sign)
        return plan.extremes.better(known.best, read, wanted, sign)

    def _is_certain(self, file: DataFile) -> bool:
        return self.where is None or file.id in self.found.certain

    def _undecided(self) -> tuple[tuple[DataFile, ...], dict[int, Kept], int]:
        """Return the files and row groups to read to know how many rows match, and the others'."""
        files: list[DataFile] = []
        kept = dict(self.found.kept)
        known = 0
        for file in self.found.files:
            later = self._later(file)
            if self._is_certain(file) and not later:
                known += file.rows - file.deleted
                continue
            some = kept.get(file.id)
            if some is not None and not later and not file.deleted:
                known += sum(g.rows for g in some.groups if g.ordinal in some.certain)
                left = tuple(g for g in some.groups if g.ordinal not in some.certain)
                kept[file.id] = replace(some, groups=left)
                if not left:
                    continue
            files.append(file)
        return tuple(files), kept, known

    def _later(self, file: DataFile) -> bool:
        """Tell whether a file or its deletes hold later things, or the same thing twice."""
        last = [file.last, *(deletes.last for deletes in file.every_delete)]
        return bool(file.more_deletes) or any(
            snapshot is not None and snapshot > self.version for snapshot in last
        )

    def _narrow(self) -> Any:
        """Return the one column that costs least to count rows by."""
        fields = self.head.schema.fields
        cheap = next((f for f in fields if f.type in ("boolean", "int32", "int64", "date")), None)
        return self.head.schema.select(((cheap or fields[0]).name,))

    def files(self) -> pa.Table:
        """List the files that the scan reads, as an Arrow table."""
        return files_table(self.head, self.found.files)

    def explain(self) -> Pruning:
        """Tell how many files and row groups were pruned, by what, and how many bytes remain."""
        files = self.session.catalog.files
        groups = files(self.head, self.where, groups=True)
        return plan.explain.explain(self.head, groups, self.where)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the rows to any Arrow library as a stream."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Show what is read, in one line."""
        kept, total = len(self.found.files), self.found.total_files
        rows = f", where {self.where}" if self.where is not None else ""
        name, version = self.head.full_name, self.head.snapshot
        return f"Scan({name} at version {version}: {kept} of {total} files{rows})"


def scan(
    session: Session,
    head: Head,
    *,
    where: Any = None,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
) -> Scan:
    """Pin a read: check names, find the files that can match, read nothing.

    Raises:
        UnknownColumnError: If `where` or `columns` names a column that the table has not.
        InvalidInputError: If `limit` is negative or no column is asked for.
    """
    columns = _asked(head, columns)
    if limit is not None and limit < 0:
        msg = f"limit must not be negative, got {limit}"
        raise InvalidInputError(msg)
    expr = as_expr(where, head.schema)
    found = session.catalog.files(head, expr)
    return Scan(session=session, head=head, found=found, where=expr, columns=columns, limit=limit)


def _asked(head: Head, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if not columns:
        msg = "columns is empty; leave it out to read all"
        raise InvalidInputError(msg)
    return head.schema.select((columns,) if isinstance(columns, str) else tuple(columns)).names


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How the rows of a table changed in a range of versions: asked twice, it answers the same."""

    reading: Reading
    feed: Feed

    def to_arrow(self) -> pa.Table:
        """Read the changes into one table, in the order in which they happened."""
        table: pa.Table = registry.reader("changes").read(self.reading, self.feed)
        return table

    def to_reader(self) -> pa.RecordBatchReader:
        """Stream the changes file by file, in bounded memory."""
        return registry.reader("changes").reader(self.reading, self.feed)


def changes(
    session: Session,
    head: Head,
    since: int | datetime | str,
    *,
    where: Any = None,
    columns: Sequence[str] | None = None,
) -> Changes:
    """Pin what changed from a version or time up to a head; read nothing.

    Raises:
        UnknownColumnError: If `where` or `columns` names a column that the table has not.
        SnapshotNotFoundError: If versions that are asked for have expired.
        InvalidInputError: If the range ends before it begins.
    """
    names = _asked(head, columns)
    expr = as_expr(where, head.schema)
    first = _first(session, head, since)
    head = session.catalog.widest(head, first)
    reading = Scan(
        session=session,
        head=head,
        found=FileSet(files=(), total_files=0, total_rows=0, total_bytes=0),
        where=expr,
        columns=names,
    ).reading()
    return Changes(reading=reading, feed=session.catalog.feed(head, first))


def _first(session: Session, head: Head, since: int | datetime | str) -> int:
    """Return the first version of a range, whichever way it is named."""
    known = session.catalog.snapshots()
    if isinstance(since, int):
        if since < known[0].id:
            oldest = known[0].id
            msg = f"version {since} has expired, and with it what changed; the oldest is {oldest}"
            raise SnapshotNotFoundError(msg, hint=f"begin with version {oldest}")
        first = since
    else:
        moment = at(as_of=since).as_of
        later = (s.id for s in known if moment is not None and s.at >= moment)
        first = next(later, head.snapshot + 1)
        if first > head.snapshot:
            return first
    if first > head.snapshot:
        msg = f"changes since version {first} cannot end at version {head.snapshot}"
        raise InvalidInputError(msg, hint="both ends belong to the range: since <= until")
    return first
