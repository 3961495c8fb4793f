"""What the format allows and this version cannot read is refused by name, by every reader."""

import sqlite3

import pytest
from tests import adopted

import mere
from mere.errors import UnsupportedError


@pytest.fixture
def lake(tmp_path, oracle):
    """Let DuckDB write a file and delete rows of it."""
    connection = oracle(f"sqlite:{tmp_path / 'l.db'}", data_path=tmp_path / "data",
                        data_inlining_row_limit=0)  # fmt: skip
    connection.execute("CREATE TABLE t AS SELECT range AS id FROM range(10)")
    connection.execute("DELETE FROM t WHERE id < 3")
    connection.close()
    return mere.connect(tmp_path / "l.db")


def plant(tmp_path, statement):
    connection = sqlite3.connect(tmp_path / "l.db")
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE ducklake_delete_file SET format = 'puffin'", "'puffin'"),
        ("UPDATE ducklake_delete_file SET encryption_key = 'a2V5'", "encrypted"),
        ("UPDATE ducklake_data_file SET encryption_key = 'a2V5'", "encrypted"),
        ("UPDATE ducklake_data_file SET file_format = 'vortex'", "'vortex'"),
    ],
)
def test_deletion_vectors_and_encrypted_files_are_refused_by_name(lake, tmp_path, statement, named):
    plant(tmp_path, statement)
    table = lake.table("t")
    for engine, read in adopted.ENGINES.items():
        with pytest.raises(UnsupportedError, match=named):
            read(table.scan())
        assert engine
    for verb in (
        lambda: table.delete("id = 5"),
        lambda: table.count("id > 4"),
        lambda: table.changes(1),
        lambda: lake.sql("FROM t"),
    ):
        with pytest.raises(UnsupportedError, match=named):
            verb()


def test_a_lake_that_is_encrypted_is_refused_when_it_is_opened(tmp_path, oracle):
    where = f"sqlite:{tmp_path / 'e.db'}"
    oracle(where, data_path=tmp_path / "data", encrypted=True).close()
    with pytest.raises(UnsupportedError, match="encrypted"):
        mere.connect(tmp_path / "e.db")
