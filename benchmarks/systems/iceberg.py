"""pyiceberg, with its SQL catalog in SQLite."""

from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, GreaterThanOrEqual, In, LessThan


class System:
    """A table in a namespace."""

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._root = root

    def _connect(self) -> SqlCatalog:
        return SqlCatalog(
            "bench", uri=f"sqlite:///{self._root}/catalog.db", warehouse=f"file://{self._root}"
        )

    def create(self, schema: pa.Schema) -> None:
        """Make the table."""
        catalog = self._connect()
        catalog.create_namespace("main")
        self._table = catalog.create_table("main.trades", schema)
        with self._table.update_spec() as spec:
            spec.add_identity("product_id")

    def open(self) -> None:
        """Open the table."""
        self._table = self._connect().load_table("main.trades")

    def append(self, rows: pa.Table) -> None:
        """Add rows in one commit."""
        self._table.append(rows)

    def read(self, product: str) -> pa.Table:
        """Return one partition."""
        return self._table.scan(row_filter=f"product_id = '{product}'").to_arrow()

    def column(self, name: str) -> pa.Table:
        """Return one column of all rows."""
        return self._table.scan(selected_fields=(name,)).to_arrow()

    def delete(self, products: Sequence[str], first: int, end: int) -> None:
        """Delete the trades of some products whose ids lie in a range."""
        ids = And(GreaterThanOrEqual("trade_id", first), LessThan("trade_id", end))
        self._table.delete(And(In("product_id", products), ids))

    def upsert(self, rows: pa.Table, on: Sequence[str]) -> None:
        """Update known keys, insert new ones."""
        self._table.upsert(rows, join_cols=list(on))

    def close(self) -> None:
        """Nothing is held."""
