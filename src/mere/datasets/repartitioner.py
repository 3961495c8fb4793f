"""Write a dataset anew under other partition columns: `Repartitioner`."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from mere.datasets.places import LOCAL, Place, transaction
from mere.datasets.planning import listed
from mere.datasets.results import canonical, timed
from mere.datasets.transforming import Transform
from mere.errors import AlreadyExistsError, InvalidInputError
from mere.model.layout import MIB
from mere.model.report import Report
from mere.table import Table


@dataclass(frozen=True)
class Repartitioner:
    """Writes a folder of Parquet anew under other partition columns, beside the old one.

    Args:
        source_dir: The folder to read.
        target_dir: The folder to make; it must hold no Parquet files yet.
        new_partition_cols: The partition columns, from the outermost folder in. Files hold them,
            too, so each can be read alone.
        compression: The codec of new files.
        batch_size: How many rows are transformed at a time.
        engine: `"local"`, or the SparkSession that does the work.
        kernel: `"pyarrow"` or `"duckdb"`.
        filesystem: An fsspec filesystem that reaches both folders.
        storage_options: Region, endpoint, credentials.

    Example:
        >>> repartitioner = Repartitioner("level2/", "level2_new/", ["product_id", "date"])
        >>> repartitioner.repartition()["errors"]
        0
    """

    source_dir: str | os.PathLike[str]
    target_dir: str | os.PathLike[str]
    new_partition_cols: Sequence[str]
    compression: str | None = "zstd"
    batch_size: int = 1_000_000
    engine: Any = LOCAL
    kernel: str = "pyarrow"
    filesystem: Any = field(default=None, repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    def estimate_size(self) -> dict[str, Any]:
        """Say how many partitions there will be: only the columns that tell are read.

        Returns:
            `num_partitions`, `total_rows`, `avg_rows_per_partition`, `estimated_size_mb` and
            `partition_cols`.

        Raises:
            ValueError: If a partition column is not in the data.
            FileNotFoundError: If there is no Parquet file.
        """
        table = self._place(self.source_dir).table()
        self._require_columns(table.schema.names)
        scan = table.scan(columns=self._keys)
        rows, partitions = _counted(scan if self.engine == LOCAL else scan.to_spark(), self._keys)
        return {
            "num_partitions": partitions,
            "total_rows": rows,
            "avg_rows_per_partition": rows / max(partitions, 1),
            "estimated_size_mb": scan.head.bytes / MIB,
            "partition_cols": self._keys,
        }

    def repartition(
        self,
        delete_source: bool = False,
        validate: bool = True,
        dry_run: bool = False,
        transform_fn: Callable[[Any], Any] | None = None,
    ) -> dict[str, Any]:
        """Write all rows to the new folder, where they appear all at once, or not at all.

        Args:
            delete_source: Delete the files that were read, once the new ones are there.
            validate: Demand that as many rows come out as went in.
            dry_run: Only count rows and partitions; `transform_fn` is called for that.
            transform_fn: Takes and returns a polars DataFrame: it may add, change or drop columns.
                On Spark it runs on the executors.

        Returns:
            `files_read`, `files_written`, `records_read`, `records_written`, `partitions_created`,
            `errors` (0: whatever goes wrong is raised), `start_time`, `end_time`, and the
            canonical statistics of the new folder.

        Raises:
            ValueError: If a partition column is not in the data, or with `validate` rows were lost
                or doubled on the way: then nothing was written.
            FileNotFoundError: If there is no Parquet file.
        """
        transform = Transform(transform_fn, batch_rows=self.batch_size)
        with timed() as stats, transaction(self._place(self.source_dir).table()) as source:
            scan = source.scan()
            columns = transform.columns(scan)
            self._require_columns(columns.names)
            target = self._new_table(columns)
            rows, before = transform.rows(scan, columns), scan.count()
            expected = before if validate else None
            if dry_run:
                report = _foreseen(target, rows, self._keys, expected)
            else:
                report = _written(target, rows, expected)
            if delete_source and not dry_run:
                source.delete("true")
            stats.update(
                canonical(report, os.fspath(self.target_dir)),
                files_read=len(scan.found.files),
                files_written=report.files_added,
                records_read=before,
                records_written=report.rows_inserted,
                partitions_created=report.partitions,
                errors=0,
            )
        return stats

    @property
    def _keys(self) -> list[str]:
        return list(listed(self.new_partition_cols))

    def _new_table(self, columns: pa.Schema) -> Table:
        place = self._place(self.target_dir)
        if place.table(schema=columns).scan().found.files:
            msg = f"{place.path} holds Parquet files already"
            raise AlreadyExistsError(msg, hint="rows would be doubled: give a folder without any")
        return place.table(schema=columns, partition_by=self._keys)

    def _place(self, path: str | os.PathLike[str]) -> Place:
        return Place(
            path=os.fspath(path),
            filesystem=self.filesystem,
            storage_options=self.storage_options,
            kernel=self.kernel,
            engine=self.engine,
            compression=self.compression,
        )

    def _require_columns(self, names: Sequence[str]) -> None:
        missing = [name for name in self._keys if name not in names]
        if not self._keys:
            msg = "new_partition_cols names no column"
            raise InvalidInputError(msg)
        if missing:
            found = f"it has: {', '.join(names)}"
            msg = f"Partition columns not found in data: {', '.join(missing)}; {found}"
            raise InvalidInputError(msg, hint="transform_fn can add columns")


def _written(target: Table, rows: Any, expected: int | None) -> Report:
    """Write rows to a new folder, all of them or none."""
    with transaction(target) as staged:
        report = staged.append(rows)
        _require_rows(report.rows_inserted, expected)
    made = target.scan().found.files
    return replace(
        report,
        operation="repartition",
        after_file_count=len(made),
        after_total_bytes=sum(file.bytes for file in made),
        files=made,
        partitions=len({file.partition for file in made}),
    )


def _foreseen(target: Table, rows: Any, keys: Sequence[str], expected: int | None) -> Report:
    """Say what writing rows to a new folder would come to: a file in each partition, or more."""
    found, partitions = _counted(rows, keys)
    _require_rows(found, expected)
    return Report(
        operation="repartition",
        table=target.name,
        dry_run=True,
        after_file_count=partitions,
        files_added=partitions,
        rows_after=found,
        rows_inserted=found,
        partitions=partitions,
    )


def _require_rows(found: int, expected: int | None) -> None:
    """Demand as many rows as went in.

    Raises:
        ValueError: If there are others.
    """
    if expected is not None and found != expected:
        msg = f"Row count mismatch after repartition: source {expected:,}, target {found:,}"
        hint = "nothing was written; validate=False lets transform_fn drop or add rows"
        raise InvalidInputError(msg, hint=hint)


def _counted(rows: Any, keys: Sequence[str]) -> tuple[int, int]:
    """Return how many rows there are, and how many partitions they make."""
    if hasattr(rows, "sparkSession"):
        found = rows.groupBy(*keys).count()
        return found.agg({"count": "sum"}).first()[0] or 0, found.count()
    seen: set[tuple[Any, ...]] = set()
    count = 0
    for batch in pa.RecordBatchReader.from_stream(rows):
        found = pa.Table.from_batches([batch]).group_by(list(keys)).aggregate([])
        seen |= {tuple(row.values()) for row in found.select(list(keys)).to_pylist()}
        count += batch.num_rows
    return count, len(seen)
