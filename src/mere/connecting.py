"""Open a lake by the names of its parts: a catalog, a place for the files, a kernel, a runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mere import registry
from mere.lake import Lake
from mere.ports import Session

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from mere.ports import Kernel


def connect(
    url: str | os.PathLike[str],
    *,
    data_path: str | os.PathLike[str] | None = None,
    create: bool = True,
    read_only: bool = False,
    kernel: str | Kernel = "pyarrow",
    runner: Any = None,
    storage_options: Mapping[str, str] | None = None,
    schema: str = "public",
) -> Lake:
    """Open a lake, or make it.

    Args:
        url: The catalog: a SQLite file (`"shop.db"`), `"duckdb:///path/shop.ducklake"` or
            `"postgresql://user@host/db"`.
        data_path: Where the files lie: a folder or `"s3://bucket/prefix/"`; by default a folder
            beside the catalog file. A lake remembers it.
        create: Make the lake if it is missing.
        read_only: Refuse every change, and open the catalog for reading only.
        kernel: `"pyarrow"` or `"duckdb"`: how files are written and rewritten.
        runner: None for local threads, a SparkSession, or a Runner.
        storage_options: What the store needs: region, endpoint, credentials. They stay in memory.
        schema: The PostgreSQL schema that holds the catalog.

    Raises:
        NotFoundError: If there is no lake and `create` is False.
        CatalogError: If the catalog database cannot be reached.
    """
    root = None if data_path is None else registry.root_of(data_path)
    catalog = registry.catalog(
        url, data_path=root, create=create and not read_only, read_only=read_only, schema=schema
    )
    return Lake(
        Session(
            catalog=catalog,
            store=registry.store(catalog.data_path, storage_options),
            kernel=registry.kernel(kernel),
            runner=registry.runner(runner),
            read_only=read_only,
        )
    )
