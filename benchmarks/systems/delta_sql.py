"""deltalake, read through the query engine that comes with it."""

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


class System:
    """A table that is only read; it is written as the other one is."""

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._root = f"{root}/trades"

    def open(self) -> None:
        """Open the table."""
        self._table = DeltaTable(self._root)

    def read(self, product: str) -> pa.Table:
        """Return one partition."""
        query = QueryBuilder().register("trades", self._table)
        return pa.table(query.execute(f"SELECT * FROM trades WHERE product_id = '{product}'"))

    def close(self) -> None:
        """Nothing is held."""
