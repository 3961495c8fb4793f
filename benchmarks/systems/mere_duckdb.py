"""mere, with the catalog in DuckDB."""

from benchmarks.systems.mere_sqlite import System as OnSqlite


class System(OnSqlite):
    """A lake with one table."""

    catalog = "lake.ducklake"
