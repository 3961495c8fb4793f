"""Give the tests of Spark files as another writer makes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mere.model.files import DataFile


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., DataFile]:
    """Write a query's rows with DuckDB, with the field ids that are given, as a data file."""

    def to_file(query: str, ids: str, name: str = "a.parquet", **known: Any) -> DataFile:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        path = str(target).replace("'", "''")
        con = duckdb.connect()
        con.execute("SET timezone = 'UTC'")
        con.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, FIELD_IDS {{{ids}}})")
        rows = con.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
        con.close()
        return DataFile(path=name, bytes=target.stat().st_size, rows=rows, **known)

    return to_file
