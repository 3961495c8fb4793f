"""mere, with the catalog in SQLite."""

from collections.abc import Sequence

import pyarrow as pa

from mere import col, connect


class System:
    """A lake with one table."""

    catalog = "lake.db"

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._url = f"{root}/{self.catalog}"

    def create(self, schema: pa.Schema, by: Sequence[str] = ("product_id",)) -> None:
        """Make the table."""
        self._lake = connect(self._url)
        self._table = self._lake.create_table("trades", schema, partition_by=by)

    def open(self) -> None:
        """Open the table."""
        self._lake = connect(self._url)
        self._table = self._lake.table("trades")

    def append(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Add rows in one commit."""
        self._table.append(rows)

    def read(self, product: str) -> pa.Table:
        """Return one partition."""
        return self._table.scan(col("product_id") == product).to_arrow()

    def column(self, name: str) -> pa.Table:
        """Return one column of all rows."""
        return self._table.scan(columns=[name]).to_arrow()

    def delete(self, products: Sequence[str], first: int, end: int) -> None:
        """Delete the trades of some products whose ids lie in a range."""
        ids = (col("trade_id") >= first) & (col("trade_id") < end)
        self._table.delete(col("product_id").is_in(products) & ids)

    def upsert(self, rows: pa.Table, on: Sequence[str]) -> None:
        """Update known keys, insert new ones."""
        self._table.upsert(rows, on=on)

    def compact(self) -> None:
        """Merge small files."""
        self._table.compact()

    def zorder(self) -> None:
        """Order rows along a curve."""
        self._table.cluster(["ts", "price"], order="zorder")

    def dear(self, price: float) -> pa.Table:
        """Return the few trades at a price, or just above it."""
        return self._table.scan((col("price") >= price) & (col("price") < price + 0.01)).to_arrow()

    def order(self, memory_mb: int) -> None:
        """Order all rows by one column, in so much memory."""
        self._table.cluster("size", target_mb=16, memory_mb=memory_mb)

    def close(self) -> None:
        """Let go."""
        self._lake.close()
