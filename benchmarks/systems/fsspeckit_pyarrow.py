"""fsspeckit on pyarrow: merges into a plain folder, rewriting the files that it touches."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem
from fsspeckit.core.ext.dataset import compact_parquet_dataset
from fsspeckit.datasets.pyarrow.io import PyarrowDatasetIO


class System:
    """A folder with a file of each product per commit.

    It is flat: with a hive-partitioned one, whose files lack the column, a merge by that column
    fails.
    """

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._root = f"{root}/trades"

    def create(self, schema: pa.Schema, by: Sequence[str] = ("product_id",)) -> None:
        """Make the folder."""
        del schema
        self._by = tuple(by)
        Path(self._root).mkdir(parents=True)

    def open(self) -> None:
        """Nothing is opened."""

    def append(self, rows: pa.Table) -> None:
        """Write more files."""
        parts = [rows]
        if self._by:
            values = rows["product_id"].unique()
            parts = [rows.filter(pc.equal(rows["product_id"], value)) for value in values]
        for part in parts:
            pq.write_table(part, f"{self._root}/{uuid4()}.parquet", compression="zstd")

    def upsert(self, rows: pa.Table, on: Sequence[str]) -> None:
        """Update known keys and insert new ones."""
        PyarrowDatasetIO().merge(rows, self._root, "upsert", list(on), compression="zstd")

    def compact(self) -> None:
        """Merge small files: of a flat folder it knows no partitions, so files go by their rows."""
        rows = ds.dataset(self._root).count_rows()
        files = LocalFileSystem()
        compact_parquet_dataset(
            files, self._root, target_rows_per_file=-(-rows // 100), compression="zstd"
        )

    def column(self, name: str) -> pa.Table:
        """Return one column of all rows."""
        return ds.dataset(self._root).to_table(columns=[name])

    def close(self) -> None:
        """Nothing is held."""
