"""deltalake, the Python package of delta-rs."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, WriterProperties, write_deltalake


class System:
    """A table, read through a pyarrow dataset."""

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._root = f"{root}/trades"
        self._zstd = WriterProperties(compression="ZSTD")

    def create(self, schema: pa.Schema, by: Sequence[str] = ("product_id",)) -> None:
        """Make the table."""
        self._table = DeltaTable.create(self._root, schema, partition_by=list(by))

    def open(self) -> None:
        """Open the table."""
        self._table = DeltaTable(self._root)

    def append(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Add rows in one commit."""
        write_deltalake(self._table, rows, mode="append", writer_properties=self._zstd)

    def read(self, product: str) -> pa.Table:
        """Return one partition."""
        dataset = self._table.to_pyarrow_dataset()
        return dataset.to_table(filter=ds.field("product_id") == product)

    def column(self, name: str) -> pa.Table:
        """Return one column of all rows."""
        return self._table.to_pyarrow_dataset().to_table(columns=[name])

    def delete(self, products: Sequence[str], first: int, end: int) -> None:
        """Delete the trades of some products whose ids lie in a range."""
        names = ", ".join(f"'{product}'" for product in products)
        self._table.delete(
            f"product_id IN ({names}) AND trade_id >= {first} AND trade_id < {end}",
            writer_properties=self._zstd,
        )

    def upsert(self, rows: pa.Table, on: Sequence[str]) -> None:
        """Update known keys, insert new ones."""
        same = " AND ".join(f"target.{name} = source.{name}" for name in on)
        merge = self._table.merge(
            rows, same, source_alias="source", target_alias="target", writer_properties=self._zstd
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def compact(self) -> None:
        """Merge small files."""
        self._table.optimize.compact(target_size=128 << 20, writer_properties=self._zstd)

    def zorder(self) -> None:
        """Order rows along a curve."""
        columns = ["ts", "price"]
        self._table.optimize.z_order(columns, target_size=128 << 20, writer_properties=self._zstd)

    def close(self) -> None:
        """Nothing is held."""
