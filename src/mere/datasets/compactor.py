"""Merge small files of a dataset: `ParquetCompactor`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mere.datasets.places import LOCAL, Place, backup_in
from mere.datasets.results import compacted, timed
from mere.plan.rewrite import require_positive


@dataclass(frozen=True)
class ParquetCompactor:
    """Merges many small files into few, within the partitions that they lie in.

    Args:
        dataset_dir: The folder.
        target_file_size_mb: How large files shall become.
        compression: The codec of new files.
        engine: `"local"`, or the SparkSession that does the work.
        kernel: `"pyarrow"` or `"duckdb"`.
        filesystem: An fsspec filesystem that reaches the folder.
        storage_options: Region, endpoint, credentials.

    Example:
        >>> compactor = ParquetCompactor("trades/", target_file_size_mb=100)
        >>> compactor.compact(min_file_count=5)["files_after"]
        1
    """

    dataset_dir: str | os.PathLike[str]
    target_file_size_mb: float = 100
    compression: str | None = "zstd"
    engine: Any = LOCAL
    kernel: str = "pyarrow"
    filesystem: Any = field(default=None, repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    def compact(
        self,
        min_file_count: int = 2,
        max_file_size_mb: float | None = None,
        delete_source_files: bool = True,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Merge small files, in one swap: readers find the old ones or the new ones.

        Args:
            min_file_count: Only in partitions with this many small files; one alone stays.
            max_file_size_mb: Only files below this size; None: three quarters of the target.
            delete_source_files: False keeps the files that were merged, in the folder `_mere/kept`,
                where nobody reads them as data: rows are never there twice.
            dry_run: Only say what would be done.

        Returns:
            `files_before`, `files_after`, `bytes_before`, `bytes_after`, `partitions_scanned`,
            `partitions_compacted`, `start_time`, `end_time`, and the canonical statistics.

        Raises:
            ValueError: If a size cannot be meant; nothing was read.
            FileNotFoundError: If there is no Parquet file.
        """
        path = os.fspath(self.dataset_dir)
        place = Place(
            path=path,
            filesystem=self.filesystem,
            storage_options=self.storage_options,
            kernel=self.kernel,
            engine=self.engine,
            compression=self.compression,
            backup=None if delete_source_files else backup_in(f"{path}/_mere/kept"),
        )
        require_positive(
            target_file_size_mb=self.target_file_size_mb,
            max_file_size_mb=max_file_size_mb,
            min_file_count=min_file_count,
        )
        with timed() as stats:
            table = place.table()
            report = table.compact(
                target_mb=self.target_file_size_mb,
                min_files=max(min_file_count, 2),
                max_file_mb=max_file_size_mb,
                dry_run=dry_run,
            )
            stats.update(compacted(report, place.path))
            stats["partitions_scanned"] = table.partitions().num_rows
        return stats
