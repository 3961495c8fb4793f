"""The DuckLake extension of DuckDB, with its catalog in DuckDB or in SQLite."""

import sysconfig
from collections.abc import Sequence

import duckdb
import pyarrow as pa

_PACKAGES = sysconfig.get_path("purelib")


def _extension(name: str) -> str:
    folder = f"{_PACKAGES}/duckdb_extension_{name}/extensions/v{duckdb.__version__}"
    return f"LOAD '{folder}/{name}.duckdb_extension'"


class DuckdbFiles:
    """A table whose every commit writes files."""

    catalog = "{root}/lake.ducklake"
    needs = ("ducklake",)
    inlined_rows = 0

    def __init__(self, root: str) -> None:
        """Choose the folder."""
        self._root = root

    def open(self) -> None:
        """Load the extension, and attach the lake."""
        self._con = duckdb.connect()
        for name in self.needs:
            self._con.execute(_extension(name))
        self._con.execute(
            f"ATTACH 'ducklake:{self.catalog.format(root=self._root)}' AS lake "
            f"(DATA_PATH '{self._root}/files', DATA_INLINING_ROW_LIMIT {self.inlined_rows})"
        )

    def create(self, schema: pa.Schema, by: Sequence[str] = ("product_id",)) -> None:
        """Make the table."""
        self.open()
        self._con.execute("CALL lake.set_option('parquet_compression', 'zstd')")
        self._con.register("rows", schema.empty_table())
        self._con.execute("CREATE TABLE lake.trades AS FROM rows")
        if by:
            self._con.execute(f"ALTER TABLE lake.trades SET PARTITIONED BY ({', '.join(by)})")

    def append(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Add rows in one commit."""
        self._con.register("rows", rows)
        self._con.execute("INSERT INTO lake.trades FROM rows")

    def read(self, product: str) -> pa.Table:
        """Return one partition."""
        query = f"FROM lake.trades WHERE product_id = '{product}'"
        return self._con.execute(query).to_arrow_table()

    def column(self, name: str) -> pa.Table:
        """Return one column of all rows."""
        return self._con.execute(f"SELECT {name} FROM lake.trades").to_arrow_table()

    def delete(self, products: Sequence[str], first: int, end: int) -> None:
        """Delete the trades of some products whose ids lie in a range."""
        names = ", ".join(f"'{product}'" for product in products)
        self._con.execute(
            f"DELETE FROM lake.trades WHERE product_id IN ({names}) "
            f"AND trade_id >= {first} AND trade_id < {end}"
        )

    def upsert(self, rows: pa.Table, on: Sequence[str]) -> None:
        """Update known keys, insert new ones."""
        self._con.register("rows", rows)
        self._con.execute(
            f"MERGE INTO lake.trades USING rows USING ({', '.join(on)}) "
            "WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT"
        )

    def compact(self) -> None:
        """Merge small files."""
        self._con.execute("CALL ducklake_merge_adjacent_files('lake')")

    def close(self) -> None:
        """Let go of the catalog, which one process at a time may hold."""
        self._con.close()


class DuckdbInlined(DuckdbFiles):
    """A table whose small commits go into the catalog."""

    inlined_rows = 10


class SqliteFiles(DuckdbFiles):
    """A table whose every commit writes files."""

    catalog = "sqlite:{root}/lake.db"
    needs = ("sqlite_scanner", "ducklake")


class SqliteInlined(SqliteFiles):
    """A table whose small commits go into the catalog."""

    inlined_rows = 10
