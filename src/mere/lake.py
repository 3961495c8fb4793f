"""Open the house: a catalog, a root folder and a default engine."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from mere import ingesting, listing, ops, registry, upkeep
from mere.errors import InvalidInputError
from mere.model.history import at as _at
from mere.model.names import join_name
from mere.ports import Session
from mere.scan import scan as _scan
from mere.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime, timedelta
    from types import TracebackType

    import pyarrow as pa

    from mere.model.clearing import Cleared
    from mere.model.diagnosis import Diagnosis
    from mere.model.report import Report
    from mere.ports import Kernel, Reading


ISOLATION = ("snapshot", "serializable")


class Lake:
    """A catalog, a root folder and a default engine; opens tables.

    Safe to share between threads. It cannot be pickled: another process connects by URL.
    """

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        """Wrap a session; `mere.connect` is the way to get a lake."""
        self._session = session

    def __repr__(self) -> str:
        """Show the catalog and the root, without credentials."""
        return f"Lake({self._session.catalog.url}, data in {self._session.store.url})"

    def __enter__(self) -> Self:
        """Use the lake for the length of a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of connections."""
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        msg = "a Lake cannot be pickled"
        hint = f"connect again on the other side: mere.connect({self._session.catalog.url!r})"
        raise InvalidInputError(msg, hint=hint)

    def close(self) -> None:
        """Let go of connections and caches; the lake can still be used."""
        self._session.catalog.close()

    @property
    def url(self) -> str:
        """Return the catalog's URL, without credentials."""
        return self._session.catalog.url

    @property
    def data_path(self) -> str:
        """Return the absolute root of the data."""
        return self._session.store.url

    @property
    def version(self) -> int:
        """Return the newest version."""
        return self._session.catalog.snapshot().id

    def on(
        self, runner: Any = None, *, workers: int | None = None, kernel: str | Kernel | None = None
    ) -> Lake:
        """Return the same lake, with its work done elsewhere.

        Example:
            >>> lake.on(spark).table("trades").append(spark_df)
            >>> lake.on(workers=4, kernel="duckdb")
        """
        session = self._session
        if runner is not None or workers is not None:
            session = replace(session, runner=registry.runner(runner, workers=workers))
        if kernel is not None:
            session = replace(session, kernel=registry.kernel(kernel))
        return Lake(session)

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        partition_by: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        properties: Mapping[str, object] | None = None,
        if_exists: str = "error",
    ) -> Table:
        """Make an empty table.

        Args:
            name: `"table"` or `"schema.table"`.
            schema: Anything with an Arrow schema: a pyarrow or polars schema, a dictionary such as
                `{"id": "int64", "ts": "timestamp"}`, a Spark StructType, or data to take it from.
            partition_by: Columns or transforms: `"day(ts)"`, `"bucket(16, user_id)"`.
            sort_by: The order of rows inside files: `"ts"`, `"price DESC"`.
            properties: Options of the format, such as `{"parquet_compression": "zstd"}`.
            if_exists: `"error"`, `"ok"` to keep what is there, `"replace"`.

        Raises:
            AlreadyExistsError: If the table exists and `if_exists` is `"error"`.
        """
        full = ops.define.create_table(
            self._session,
            name,
            registry.schema_of(schema),
            partition_by=partition_by,
            sort_by=sort_by,
            properties=properties,
            if_exists=if_exists,
        )
        return Table(self._session, full)

    def adopt(
        self,
        url: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        name: str,
        *,
        partition_by: str | Sequence[str] | None = "hive",
        merge_schema: bool = False,
        message: str | None = None,
        author: str | None = None,
        dry_run: bool = False,
    ) -> Report:
        """Make existing Parquet a table, or part of one; files stay as and where they are.

        Only footers are read, many at a time. Columns are found by their names, and are as wide
        as the widest in any file. All files are taken in, in one commit, or none is.

        Args:
            url: A folder, a file, a glob, or several of them; names that begin with `.` or `_`
                are left out of folders.
            name: The table; it is made if it is missing, else its columns must take the files'.
            partition_by: `"hive"`: folders such as `day=2026-01-01/` are columns and partitions;
                None: folders mean nothing; a list: the keys of a new table, as `create_table`
                takes them, of which folders may hold some.
            merge_schema: Let files bring new columns, and wider ones, into a table that exists.
            message: What the commit says of itself.
            author: Who it is from.
            dry_run: Look at every footer and only say what would be adopted.

        Example:
            >>> lake.adopt("s3://bucket/old/trades/", "market.trades")

        Raises:
            NoFilesError: If there is no file.
            AlreadyExistsError: If a file is in the lake already.
            CorruptionError: Naming the files that are broken.
            SchemaMismatchError: Naming a file that fits neither the others nor the table.
        """
        terms = ops.adopt.Terms.of(
            partition_by,
            merge_schema=merge_schema,
            message=message,
            author=author,
            dry_run=dry_run,
        )
        return ops.adopt.adopt(self._session, registry.places_of(url), name, terms=terms)

    def table(self, name: str) -> Table:
        """Open a table.

        Raises:
            TableNotFoundError: If there is none of that name; the message lists what there is.
        """
        return Table(self._session, self._session.catalog.head(name).full_name)

    def tables(self, schema: str | None = None) -> list[str]:
        """List the tables as `"schema.table"`, of one schema or of all."""
        names = self._session.catalog.tables()
        return [join_name(*name) for name in names if schema in (None, name[0])]

    def views(self, schema: str | None = None) -> dict[str, str]:
        """Return the SQL text of each view, by `"schema.view"`; `sql` reads them like tables.

        Views are made by other clients of the format, such as DuckDB.
        """
        found = self._session.catalog.views()
        return {v.full_name: v.sql for v in found if schema in (None, v.namespace)}

    def schemas(self) -> list[str]:
        """List the schemas."""
        return list(self._session.catalog.namespaces())

    def create_schema(self, name: str, *, if_exists: str = "error") -> None:
        """Make a schema, a room for tables."""
        ops.define.create_schema(self._session, name, if_exists=if_exists)

    def drop_schema(self, name: str, *, missing_ok: bool = False, cascade: bool = False) -> None:
        """Drop a schema, with `cascade` also the tables in it."""
        ops.define.drop_schema(self._session, name, missing_ok=missing_ok, cascade=cascade)

    def drop_table(self, name: str, *, missing_ok: bool = False) -> None:
        """Drop a table; older versions still show it."""
        ops.define.drop_table(self._session, name, missing_ok=missing_ok)

    def rename_table(self, name: str, to: str) -> Table:
        """Give a table another name in the same schema."""
        return Table(self._session, ops.define.rename_table(self._session, name, to))

    ingest = ingesting.load_files
    health = upkeep.lake_health
    maintain = upkeep.maintain

    @contextmanager
    def transaction(
        self,
        message: str | None = None,
        author: str | None = None,
        *,
        token: str | None = None,
        isolation: str = "snapshot",
    ) -> Iterator[Lake]:
        """Change several tables in one commit: all or nothing.

        The lake that the block gets sees its own changes; nobody else does before the end. An
        exception inside the block undoes all of it.

        Args:
            message: What the history says of it.
            author: Who the history says it was.
            token: A name for this commit, to make a repeated block safe.
            isolation: `"snapshot"`: the block reads one version, and fails when others changed
                what it changes. `"serializable"`: also when others changed rows of a table that
                it has read, so that it did as if it had been alone.

        Example:
            >>> with lake.transaction(message="one day") as tx:
            ...     tx.table("trades").append(trades)
            ...     tx.table("quotes").append(quotes)

        Raises:
            CommitConflictError: If others changed what the block stands on; nothing changed.
        """
        if isolation not in ISOLATION:
            msg = f"isolation takes one of {', '.join(ISOLATION)}, got {isolation!r}"
            raise InvalidInputError(msg)
        ops.carry.require_writable(self._session)
        staged = ops.staging.StagedCatalog(
            self._session.catalog, serializable=isolation == "serializable"
        )
        try:
            yield Lake(replace(self._session, catalog=staged, staged=True))
            staged.finish(message=message, author=author, token=token)
        except BaseException:
            staged.abandon()
            raise

    def sql(
        self,
        query: str,
        *,
        version: int | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
    ) -> Any:
        """Ask DuckDB over all tables and views of one version; the answer is a DuckDB relation.

        Example:
            >>> lake.sql("SELECT side, count(*) FROM market.trades GROUP BY ALL").pl()
        """
        catalog = self._session.catalog
        pinned = _at(catalog.snapshot(_at(version, as_of, tag)).id)

        def reading(name: str, where: Any = None) -> Reading:
            return _scan(self._session, catalog.head(name, pinned), where=where).reading()

        names = [join_name(*name) for name in catalog.tables(pinned)]
        return registry.reader("sql").relation(query, names, reading, catalog.views(pinned))

    def snapshots(self) -> pa.Table:
        """List the versions: version, at, changes, author, message."""
        return listing.snapshots_table(self._session.catalog.snapshots())

    def tag(self, name: str, *, version: int | None = None) -> int:
        """Name a version (None: the newest) and keep it from expiring; return the version.

        Example:
            >>> lake.tag("audit-2026")
            >>> lake.table("trades").scan(tag="audit-2026")

        Raises:
            AlreadyExistsError: If the name is taken by another version.
        """
        ops.carry.require_writable(self._session)
        return self._session.catalog.tag(name, _at(version)).id

    def tags(self) -> dict[str, int]:
        """Return the version that each tag names."""
        return {tag.name: tag.version for tag in self._session.catalog.tags()}

    def untag(self, name: str, *, missing_ok: bool = False) -> None:
        """Drop a tag; the version that it named may expire then."""
        ops.clear.untag(self._session, name, missing_ok=missing_ok)

    def expire(
        self,
        older_than: str | float | timedelta | None = None,
        *,
        keep_last: int = 1,
        dry_run: bool = False,
    ) -> Cleared:
        """Let old versions go: they cannot be read any more, and nothing is deleted yet.

        Tagged versions stay, and so do the newest `keep_last`. Files that no version shows are
        scheduled: `vacuum` deletes them when the time of grace is over.

        Args:
            older_than: The least age: `"7 days"`, a timedelta, or seconds; None takes the lake's
                option `expire_older_than`, or else 7 days.
            keep_last: How many of the newest versions stay, whatever their age.
            dry_run: Only say what would go.
        """
        return ops.clear.expire(
            self._session, older_than=older_than, keep_last=keep_last, dry_run=dry_run
        )

    def vacuum(
        self,
        grace: str | float | timedelta | None = None,
        *,
        dry_run: bool = False,
        adopted: bool = False,
    ) -> Cleared:
        """Delete files that no version shows and nobody can commit any more.

        What is listed stays, and so does what a living writer has announced. A writer that is
        wrongly taken for dead cannot commit afterwards: it gets a CommitConflictError and writes
        again. Files outside the lake's root are never deleted. On S3, uploads in parts that nobody
        will finish are aborted, too, through s3fs; `notes` say so where that could not be done.

        Args:
            grace: How long files stay after their last version expired, for those who still read
                them, and how old a file must be that nobody knows; None takes the lake's option
                `delete_older_than`, or else 1 day.
            dry_run: Only list the files, with their bytes.
            adopted: Also delete files below the root that were adopted and that no version shows
                any more; without it they stay, since the lake did not write them.
        """
        return ops.clear.vacuum(self._session, grace=grace, dry_run=dry_run, adopted=adopted)

    def doctor(self, *, deep: bool = False) -> Diagnosis:
        """Look for damage, and change nothing: what the catalog says against itself and the files.

        Every file that a version lists must be there with its length, its footer and its rows;
        nothing else may lie below the root, but for what clean-up has scheduled and living
        writers have announced. Footers are read side by side, in bounded memory.

        Args:
            deep: Also read every page of every file, and compare the checksums in them.

        Example:
            >>> lake.doctor().require()  # raises CorruptionError when something is wrong
        """
        return ops.diagnose.doctor(self._session, deep=deep)

    def options(self, *, schema: str | None = None) -> dict[str, str]:
        """Return the options that are set for the lake itself, or for one schema."""
        return dict(self._session.catalog.options(schema=schema))

    def set_option(
        self, key: str, value: object, *, table: str | None = None, schema: str | None = None
    ) -> None:
        """Set an option of the format for the lake, a schema or a table; None removes it."""
        ops.define.set_option(self._session, key, value, table=table, schema=schema)
