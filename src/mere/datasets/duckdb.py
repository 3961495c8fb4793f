"""Do on DuckDB what the functions for pyarrow do: the same plan, the same statistics."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa

from mere import registry
from mere.datasets.maintaining import compact_place, optimize_place, stats_of
from mere.datasets.places import LOCAL, Place
from mere.datasets.results import canonical


@dataclass(frozen=True)
class DuckDBParquetHandler:
    """Reads, writes and maintains folders of Parquet with DuckDB; it holds nothing open.

    Args:
        filesystem: An fsspec filesystem that reaches the folders; None for what their paths say.
        storage_options: Region, endpoint, credentials.
        engine: `"local"`, or the SparkSession that does the work.

    Example:
        >>> handler = DuckDBParquetHandler()
        >>> handler.compact_parquet_dataset("trades/", target_mb_per_file=128)["after_file_count"]
        1
    """

    filesystem: Any = field(default=None, repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    engine: Any = LOCAL

    def __enter__(self) -> Self:
        """Use the handler for the length of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of nothing: each call opens what it needs."""

    def _place(self, path: str | os.PathLike[str], compression: str | None = None) -> Place:
        return Place(
            path=path,
            filesystem=self.filesystem,
            storage_options=self.storage_options,
            kernel="duckdb",
            engine=self.engine,
            compression=compression,
        )

    def _collect_dataset_stats(
        self, path: str | os.PathLike[str], partition_filter: Any = None
    ) -> dict[str, Any]:
        """Return the Parquet files of a folder, as `collect_dataset_stats` does."""
        return stats_of(self._place(path), partition_filter)

    def compact_parquet_dataset(
        self,
        path: str | os.PathLike[str],
        target_mb_per_file: float | None = None,
        target_rows_per_file: int | None = None,
        partition_filter: Any = None,
        compression: str | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Merge small files of each folder; see `compact_parquet_dataset_pyarrow`."""
        place = self._place(path, compression)
        return compact_place(
            place, target_mb_per_file, target_rows_per_file, partition_filter, dry_run=dry_run
        )

    def optimize_parquet_dataset(
        self,
        path: str | os.PathLike[str],
        zorder_columns: Sequence[str],
        target_mb_per_file: float | None = None,
        target_rows_per_file: int | None = None,
        partition_filter: Any = None,
        compression: str | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Order the rows of each folder; see `optimize_parquet_dataset_pyarrow`."""
        place = self._place(path, compression)
        return optimize_place(
            place,
            zorder_columns,
            target_mb_per_file,
            target_rows_per_file,
            partition_filter,
            dry_run=dry_run,
        )

    def read_parquet(
        self, path: str | os.PathLike[str], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Read the rows of a folder, or only some columns of them.

        Raises:
            FileNotFoundError: If there is no Parquet file.
        """
        return self._place(path).table().scan(columns=columns).to_arrow()

    def write_parquet(
        self,
        data: Any,
        path: str | os.PathLike[str],
        compression: str | None = None,
        partition_by: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Add rows to a folder, in new files that appear all at once; it is made if it is missing.

        Args:
            data: Anything with an Arrow stream, or rows as Python values.
            path: The folder.
            compression: The codec; None for zstd.
            partition_by: The partition columns of a new folder; an older one keeps its own.

        Returns:
            The canonical statistics, with `rows_inserted` and `files_added`.
        """
        place = self._place(path, compression)
        table = place.table(schema=registry.schema_of(data), partition_by=partition_by)
        return canonical(table.append(data), path)
