"""Open a plain folder of Parquet files as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mere import registry
from mere.ports import Session
from mere.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from mere.ports import Kernel


def folder(
    path: str | os.PathLike[str],
    *,
    filesystem: Any = None,
    storage_options: Mapping[str, str] | None = None,
    schema: Any = None,
    partition_by: Sequence[str] = (),
    compression: str | None = None,
    prefix: str | None = None,
    backup: str | os.PathLike[str] | None = None,
    kernel: str | Kernel = "pyarrow",
    runner: Any = None,
    read_only: bool = False,
) -> Table:
    """Return a table of the Parquet files in a folder; what it does there, it does whole.

    Args:
        path: A folder, or a URL such as `s3://bucket/prefix`; with `filesystem`, a path there.
        filesystem: An fsspec or pyarrow filesystem that has the folder.
        storage_options: What the store needs: region, endpoint, credentials.
        schema: The columns of a folder that has no file yet, as `create_table` takes them.
        partition_by: The columns that name folders, in a folder that has no file yet.
        compression: The codec of files that are written; None: zstd, and files keep theirs.
        prefix: How names of new files begin; None: `compact`, `optimized` or `part`.
        backup: A folder that files are copied to before they go; with `filesystem`, one there.
        kernel: `"pyarrow"` or `"duckdb"`.
        runner: None for local threads, a SparkSession, or a Runner.
        read_only: Refuse every change.

    Raises:
        NoFilesError: If there is no such folder or nothing in it, and no `schema` is given.

    Example:
        >>> trades = folder("data/trades")
        >>> trades.compact(target_mb=128).after_file_count
        1
    """
    reach: dict[str, Any] = {"filesystem": filesystem, "storage_options": storage_options}
    store = registry.store_of(path, **reach)
    catalog = registry.folder_catalog(
        store,
        schema=None if schema is None else registry.schema_of(schema),
        partition_by=(partition_by,) if isinstance(partition_by, str) else tuple(partition_by),
        compression=compression,
        prefix=prefix,
        backup=None if backup is None else registry.store_of(backup, **reach),
        read_only=read_only,
    )
    session = Session(
        catalog=catalog,
        store=store,
        kernel=registry.kernel(kernel),
        runner=registry.runner(runner),
        read_only=read_only,
    )
    return Table(session, catalog.head("").name)
