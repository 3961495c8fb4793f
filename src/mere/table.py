"""The verbs of a table, documented; their work is done elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mere import editing, listing, ops, registry, upkeep
from mere.arrow import to_arrow
from mere.evolution import Evolution
from mere.model.history import at as _at
from mere.model.layout import key_texts, order_texts
from mere.model.schema import paths
from mere.scan import Changes, Scan
from mere.scan import changes as _changes
from mere.scan import scan as _scan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import pyarrow as pa

    from mere.model.history import Head
    from mere.model.report import Report
    from mere.model.schema import Schema
    from mere.ports import Session


class Table:
    """A name and a session: every call starts from the newest version, unless told otherwise.

    Example:
        >>> lake = mere.connect("shop.db")
        >>> orders = lake.create_table("orders", {"id": "int64", "day": "date"})
        >>> report = orders.append([{"id": 1, "day": date(2026, 1, 1)}])
        >>> orders.count()
        1
    """

    __slots__ = ("_session", "name")

    delete = editing.delete
    update = editing.update
    upsert = editing.upsert
    merge = editing.merge
    deduplicate = editing.deduplicate
    compact = upkeep.compact
    cluster = upkeep.cluster
    repartition = upkeep.repartition
    health = upkeep.health

    def __init__(self, session: Session, name: str) -> None:
        """Name a table of a lake; `Lake.table` is the way to get one."""
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        """Show the name and the lake."""
        return f"Table({self.name!r} of {self._session.catalog.url})"

    def _head(
        self,
        version: int | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
    ) -> Head:
        return self._session.catalog.head(self.name, _at(version, as_of, tag))

    def _columns(self) -> Schema:
        return self._head().schema

    @property
    def version(self) -> int:
        """Return the newest version of the lake."""
        return self._head().snapshot

    @property
    def schema(self) -> pa.Schema:
        """Return the columns as an Arrow schema."""
        return to_arrow(self._head().schema, ids=False)

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Return the partition keys, as `create_table` takes them."""
        head = self._head()
        return key_texts(head.layout, head.schema)

    @property
    def sort_by(self) -> tuple[str, ...]:
        """Return the order of rows inside files, as `create_table` takes it."""
        head = self._head()
        return order_texts(head.layout, head.schema)

    @property
    def comment(self) -> str | None:
        """Return what is said of the table; `evolve().comment(...)` says it."""
        return self._session.catalog.comments(self._head()).get(None)

    @property
    def column_comments(self) -> dict[str, str]:
        """Return what is said of columns, by name or dotted path."""
        head = self._head()
        found = self._session.catalog.comments(head)
        names = paths(head.schema)
        return {names[about]: text for about, text in found.items() if about in names}

    @property
    def checks(self) -> dict[str, str]:
        """Return the conditions that every row must satisfy, by name."""
        return dict(self._head().checks)

    @property
    def options(self) -> dict[str, str]:
        """Return the options that hold for this table: its own, its schema's, the lake's."""
        return dict(self._head().layout.options)

    def set_option(self, key: str, value: object) -> None:
        """Set an option of the format for this table; None removes it."""
        ops.define.set_option(self._session, key, value, table=self.name)

    def evolve(self) -> Evolution:
        """Begin a change of columns, layout, comments or checks; `commit()` makes it.

        Example:
            >>> table.evolve().add_column("x", "int64", default=0).drop_column("old").commit()
        """
        return Evolution(session=self._session, table=self.name)

    def append(
        self,
        data: Any,
        *,
        merge_schema: bool = False,
        promote_to_string: bool = False,
        token: str | None = None,
        message: str | None = None,
    ) -> Report:
        """Add rows in one commit; readers see all of them or none.

        `data` is anything with an Arrow stream (pyarrow, polars, pandas, DuckDB, …), an iterator
        of record batches, rows or columns as Python values, paths of Parquet files, or a Spark
        DataFrame. It is read once and streamed. Missing columns get their default or NULL. The
        same `token` twice appends once.

        Args:
            data: The rows.
            merge_schema: Add columns that the table lacks, and widen types where needed.
            promote_to_string: Turn a column into text when types do not fit otherwise.
            token: A name for this commit, to make a repeated call safe.
            message: What the history says of it.

        Raises:
            SchemaMismatchError: If columns do not fit; nothing was written.
        """
        options = ops.write.WriteOptions(
            merge_schema=merge_schema,
            promote_to_string=promote_to_string,
            token=token,
            message=message,
        )
        session, rows = registry.taken(self._session, data, self._columns)
        return ops.write.append(session, self.name, rows, options=options)

    def overwrite(
        self,
        data: Any,
        *,
        where: Any = None,
        partitions: str | None = None,
        merge_schema: bool = False,
        promote_to_string: bool = False,
        token: str | None = None,
        message: str | None = None,
    ) -> Report:
        """Replace rows in one commit: readers see the old ones or the new ones.

        Args:
            data: The new rows, as `append` takes them.
            where: Replace only what matches; None replaces everything. The new rows must match,
                too, or they would not be found again by what they replace.
            partitions: `"dynamic"` replaces exactly the partitions that occur in `data`.
            merge_schema: Add columns that the table lacks, and widen types where needed.
            promote_to_string: Turn a column into text when types do not fit otherwise.
            token: A name for this commit, to make a repeated call safe.
            message: What the history says of it.

        Raises:
            InvalidInputError: If new rows do not match `where`; nothing was changed.
            SchemaMismatchError: If columns do not fit; nothing was written.
        """
        options = ops.write.WriteOptions(
            merge_schema=merge_schema,
            promote_to_string=promote_to_string,
            token=token,
            message=message,
        )
        session, rows = registry.taken(self._session, data, self._columns)
        return ops.write.overwrite(
            session, self.name, rows, options=options, where=where, partitions=partitions
        )

    def scan(
        self,
        where: Any = None,
        columns: Sequence[str] | None = None,
        *,
        version: int | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Pin a read of one version; nothing is read before one of its `to_*` methods is called.

        Args:
            where: SQL text, a `mere.col` expression, a pyarrow or polars expression, or a dict or
                list of (column, operator, value). NULL never matches a comparison.
            columns: The columns to return, in order; None for all.
            version: The version to read; None for the newest.
            as_of: The time whose newest version to read.
            tag: The tag whose version to read.
            limit: The most rows to return.

        Raises:
            UnknownColumnError: If a column does not exist; no file was opened.
            SnapshotNotFoundError: If there is no such version.
        """
        head = self._head(version, as_of, tag)
        return _scan(self._session, head, where=where, columns=columns, limit=limit)

    def count(
        self,
        where: Any = None,
        *,
        version: int | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
    ) -> int:
        """Count rows, from the catalog alone where bounds decide."""
        return self.scan(where, version=version, as_of=as_of, tag=tag).count()

    def min(self, column: str, where: Any = None, *, version: int | None = None) -> Any:
        """Return the least value of a column, None without one: see `max`."""
        return self.scan(where, version=version).min(column)

    def max(self, column: str, where: Any = None, *, version: int | None = None) -> Any:
        """Return the greatest value of a column, from the catalog alone where bounds decide.

        NULL does not count; NaN is above all numbers. Without any value, the answer is None.

        Args:
            column: The column, by name.
            where: Which rows, as `scan` takes it.
            version: The version to look at; None for the newest.
        """
        return self.scan(where, version=version).max(column)

    def changes(
        self,
        since: int | datetime | str,
        until: int | datetime | str | None = None,
        *,
        where: Any = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return every row that came, went or was updated in a range of versions.

        One row per row version: `snapshot_id`, `rowid`, `change_type` (`insert`, `delete`,
        `update_preimage`, `update_postimage`), then the columns as the table has them at `until`.
        Both ends belong to the range. Maintenance changes nothing: the answer is the same before
        and after files were merged or rewritten.

        Args:
            since: The first version, or a time: then the first version that is not older.
            until: The last version, or a time: then the last version that is not younger. None
                for the newest.
            where: Which rows, as `scan` takes it.
            columns: The table's columns to return, in order; None for all.

        Raises:
            SnapshotNotFoundError: If versions that are asked for have expired.
            InvalidInputError: If the range ends before it begins.
        """
        return self._changed(since, until, where, columns).to_arrow()

    def stream_changes(
        self,
        since: int | datetime | str,
        until: int | datetime | str | None = None,
        *,
        where: Any = None,
        columns: Sequence[str] | None = None,
    ) -> pa.RecordBatchReader:
        """Stream what `changes` returns, in bounded memory: file by file, in no other order."""
        return self._changed(since, until, where, columns).to_reader()

    def _changed(self, since: Any, until: Any, where: Any, columns: Any) -> Changes:
        head = self._head(until) if isinstance(until, int) else self._head(as_of=until)
        return _changes(self._session, head, since, where=where, columns=columns)

    def restore(
        self,
        *,
        version: int | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> Report:
        """Make the table again what it was: a new version whose rows equal those of an older one.

        Columns, partitions, order, comments and checks come back with the rows; the table's name
        and options stay. No file is copied: those of the older version are listed again, and rows
        keep their ids. All versions in between stay readable. `message` and `author` go into the
        history.

        Example:
            >>> table.restore(tag="before-import")

        Raises:
            SnapshotNotFoundError: If there is no such version, or it has expired.
            TableNotFoundError: If the table was not there at that version.
        """
        at = _at(version, as_of, tag)
        return ops.restore.restore(self._session, self.name, at, message=message, author=author)

    def history(self) -> pa.Table:
        """List the versions that changed this table, newest last."""
        return listing.history_table(self._session.catalog.history(self._head()))

    def files(self) -> pa.Table:
        """List the files: path, bytes, rows, partition, since, deletes."""
        head = self._head()
        return listing.files_table(head, self._session.catalog.files(head).files)

    def row_groups(self) -> pa.Table:
        """List the row groups: path, ordinal, rows, bytes, raw_bytes, bounds."""
        head = self._head()
        found = self._session.catalog.files(head, bounds=True, groups=True)
        return listing.row_groups_table(head, found.files)

    def partitions(self) -> pa.Table:
        """Sum up files, rows and bytes per partition."""
        head = self._head()
        return listing.partitions_table(head, self._session.catalog.files(head).files)
