"""pyarrow alone: a hive-partitioned folder, without commits, durability or a catalog."""

from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as ds

_GROUP_ROWS = 1 << 18


class System:
    """A folder, written with row groups as large as mere makes them.

    With its defaults, pyarrow makes a row group of every batch: several times slower and larger.
    """

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._root = f"{root}/trades"

    def create(self, schema: pa.Schema) -> None:
        """Remember how to partition: a folder needs no making."""
        self._hive = ds.partitioning(pa.schema([schema.field("product_id")]), flavor="hive")

    def open(self) -> None:
        """List the folder."""
        self._dataset = ds.dataset(self._root, format="parquet", partitioning="hive")

    def append(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Write more files."""
        form = ds.ParquetFileFormat()
        ds.write_dataset(
            rows,
            self._root,
            format=form,
            file_options=form.make_write_options(compression="zstd"),
            partitioning=self._hive,
            basename_template=f"{uuid4()}-{{i}}.parquet",
            existing_data_behavior="overwrite_or_ignore",
            min_rows_per_group=_GROUP_ROWS,
            max_rows_per_group=_GROUP_ROWS,
        )

    def read(self, product: str) -> pa.Table:
        """Return one partition."""
        return self._dataset.to_table(filter=ds.field("product_id") == product)

    def column(self, name: str) -> pa.Table:
        """Return one column of all rows."""
        return ds.dataset(self._root, partitioning="hive").to_table(columns=[name])

    def close(self) -> None:
        """Nothing is held."""
