"""Merge small files of a folder, and order its rows: the functions for pyarrow."""

import os
from collections.abc import Sequence
from typing import Any

from mere.datasets.partitions import partition_condition
from mere.datasets.places import LOCAL, Place
from mere.datasets.planning import FileInfo, order_columns, thresholds
from mere.datasets.results import canonical, named
from mere.plan.rewrite import require_files, require_positive


def collect_dataset_stats(
    path: str | os.PathLike[str], filesystem: Any = None, partition_filter: Any = None
) -> dict[str, Any]:
    """Return the Parquet files of a folder: from their footers alone, several at a time.

    Args:
        path: The folder; files are looked for in all folders below it.
        filesystem: An fsspec filesystem that reaches it; None for what the path says.
        partition_filter: Only files of these partitions: `"date=2025-11-04"`, a list of such
            prefixes, a dict, (column, operator, value) tuples or an expression.

    Returns:
        `files`, each a `FileInfo`, with `total_bytes` and `total_rows`, and how many there are.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    return stats_of(Place(path=path, filesystem=filesystem), partition_filter)


def collect_dataset_stats_pyarrow(
    path: str | os.PathLike[str], filesystem: Any = None, partition_filter: Any = None
) -> dict[str, Any]:
    """Return the Parquet files of a folder: `collect_dataset_stats` by its older name."""
    return collect_dataset_stats(path, filesystem, partition_filter)


def compact_parquet_dataset_pyarrow(
    path: str | os.PathLike[str],
    target_mb_per_file: float | None = None,
    target_rows_per_file: int | None = None,
    partition_filter: Any = None,
    compression: str | None = None,
    dry_run: bool = False,
    filesystem: Any = None,
    engine: Any = LOCAL,
) -> dict[str, Any]:
    """Merge small files of each folder into files of about the target size, in one swap.

    Readers that list the folder meanwhile find the old files or the new ones, and after a crash
    whoever opens it next brings the swap to its end. Rows keep their order, files their codec. The
    new files are called `compact-<uuid>.parquet`. A second run finds nothing to do.

    Args:
        path: The folder.
        target_mb_per_file: How large files shall become; large ones are left alone.
        target_rows_per_file: How many rows they shall have at most; no file is split for it.
        partition_filter: Only these partitions; see `collect_dataset_stats`.
        compression: The codec of new files; None keeps the one that files have.
        dry_run: Only say what would be done: nothing is written or deleted.
        filesystem: An fsspec filesystem that reaches the folder.
        engine: `"local"`, or the SparkSession that does the work.

    Returns:
        The canonical statistics; a dry run has `planned_groups`, lists of the files that would
        become one.

    Raises:
        ValueError: If a threshold is not positive, or there is none; nothing was read.
        FileNotFoundError: If there is no Parquet file, or none in these partitions.
    """
    place = Place(path=path, filesystem=filesystem, engine=engine, compression=compression)
    return compact_place(
        place, target_mb_per_file, target_rows_per_file, partition_filter, dry_run=dry_run
    )


def optimize_parquet_dataset_pyarrow(
    path: str | os.PathLike[str],
    zorder_columns: Sequence[str],
    target_mb_per_file: float | None = None,
    target_rows_per_file: int | None = None,
    partition_filter: Any = None,
    compression: str | None = None,
    dry_run: bool = False,
    filesystem: Any = None,
    engine: Any = LOCAL,
) -> dict[str, Any]:
    """Order the rows of each folder by columns, NULLs last, in one swap.

    Rows are in order within each file and from file to file, so that filters on the columns leave
    out files. What memory does not hold is sorted in a temporary folder. The new files are
    called `optimized-<uuid>.parquet`.

    Args:
        path: The folder.
        zorder_columns: The columns; the first counts most.
        target_mb_per_file: How large files become at most, about; None for no limit.
        target_rows_per_file: How many rows they have at most; None for no limit.
        partition_filter: Only these partitions; see `collect_dataset_stats`.
        compression: The codec of new files; None keeps the one that files have.
        dry_run: Only say what would be done: nothing is written or deleted.
        filesystem: An fsspec filesystem that reaches the folder.
        engine: `"local"`, or the SparkSession that does the work.

    Returns:
        The canonical statistics, with `zorder_columns`.

    Raises:
        ValueError: If a threshold is not positive, or a column does not exist: the message lists
            those that there are. No row was read.
        FileNotFoundError: If there is no Parquet file, or none in these partitions.
    """
    place = Place(path=path, filesystem=filesystem, engine=engine, compression=compression)
    return optimize_place(
        place,
        zorder_columns,
        target_mb_per_file,
        target_rows_per_file,
        partition_filter,
        dry_run=dry_run,
    )


def stats_of(place: Place, partition_filter: Any) -> dict[str, Any]:
    """Return what `collect_dataset_stats` tells of a place."""
    where = partition_condition(partition_filter)
    scan = place.table().scan(where)
    require_files(scan.found.files, scan.head, where)
    files = [FileInfo(named(place.path, f.path), f.bytes, f.rows) for f in scan.found.files]
    return {
        "files": files,
        "total_bytes": sum(file.size_bytes for file in files),
        "total_rows": sum(file.num_rows for file in files),
        "file_count": len(files),
    }


def compact_place(
    place: Place, target_mb: float | None, target_rows: int | None, within: Any, *, dry_run: bool
) -> dict[str, Any]:
    """Merge the small files of a place, and return the canonical statistics."""
    sizes = thresholds(target_mb, target_rows)
    where = partition_condition(within)
    report = place.table().compact(
        target_mb=sizes.target_mb, target_rows=sizes.target_rows, where=where, dry_run=dry_run
    )
    return canonical(report, place.path)


def optimize_place(
    place: Place,
    columns: Sequence[str],
    target_mb: float | None,
    target_rows: int | None,
    within: Any,
    *,
    dry_run: bool,
) -> dict[str, Any]:
    """Order the rows of a place, and return the canonical statistics."""
    wanted = order_columns(columns)
    require_positive(target_mb_per_file=target_mb, target_rows_per_file=target_rows)
    where = partition_condition(within)
    report = place.table().cluster(
        wanted, target_mb=target_mb, target_rows=target_rows, where=where, dry_run=dry_run
    )
    return canonical(report, place.path)
