"""The systems that are measured: each module wraps one library the way its users do.

A module's `System(root)` creates, opens, appends to and reads one table of trades, partitioned by
product. These modules are imported in measured processes, so each imports its library and little
else.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "mere": "benchmarks.systems.mere_sqlite:System",
    "mere (DuckDB catalog)": "benchmarks.systems.mere_duckdb:System",
    "pyarrow": "benchmarks.systems.plain:System",
    "fsspeckit": "benchmarks.systems.fsspeckit_pyarrow:System",
    "deltalake": "benchmarks.systems.delta:System",
    "deltalake (SQL)": "benchmarks.systems.delta_sql:System",
    "pyiceberg (SQLite)": "benchmarks.systems.iceberg:System",
    "DuckLake (DuckDB)": "benchmarks.systems.ducklake:DuckdbFiles",
    "DuckLake (DuckDB, inlining)": "benchmarks.systems.ducklake:DuckdbInlined",
    "DuckLake (SQLite)": "benchmarks.systems.ducklake:SqliteFiles",
    "DuckLake (SQLite, inlining)": "benchmarks.systems.ducklake:SqliteInlined",
}


def load(name: str) -> Any:
    """Import what a system needs, and return its class."""
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute)
