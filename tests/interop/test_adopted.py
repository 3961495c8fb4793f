"""Files that DuckDB took in without ids: every reader finds their columns, at every version."""

import pyarrow as pa
import pytest
from tests import adopted

from mere.errors import UnsupportedError

WHERE = ("p = '7'", "p IS NULL", "p > '9'", "id = 2 AND p = 'a b'", "extra = 42 AND s.x = 1")


@pytest.fixture
def both(tmp_path, oracle):
    return adopted.lake_of_duckdb(tmp_path, oracle)


def test_every_reader_reads_what_duckdb_took_in_whatever_became_of_the_table(both):
    lake, ask = both
    wrong = []
    for stage, queries in adopted.STEPS.items():
        if queries:
            ask(*(query.replace("WHERE id", "WHERE ident") for query in queries))
        theirs = adopted.rows(ask("FROM t"))
        for engine, read in adopted.ENGINES.items():
            if adopted.rows(read(lake.table("t").scan())) != theirs:
                wrong.append(f"{engine}, {stage}")
    first = lake.table("t").scan(version=lake.table("t").history()["version"].to_pylist()[3])
    theirs = adopted.rows(ask(f"FROM t AT (VERSION => {first.version})"))
    wrong += [n for n, read in adopted.ENGINES.items() if adopted.rows(read(first)) != theirs]
    assert wrong == []


def test_filters_find_the_rows_that_duckdb_finds(both):
    lake, ask = both
    wrong = []
    for where in WHERE:
        theirs = adopted.rows(ask(f"SELECT id, p FROM t WHERE {where}"))
        for engine, read in adopted.ENGINES.items():
            if adopted.rows(read(lake.table("t").scan(where, ["id", "p"]))) != theirs:
                wrong.append(f"{engine}, {where}")
    assert wrong == []


def test_a_dataset_reads_files_whose_names_are_the_tables_and_names_those_whose_are_not(
    both, tmp_path
):
    lake, ask = both
    with pytest.raises(UnsupportedError, match="'id'"):
        lake.table("t").scan().to_dataset()
    table = pa.table({"id": [1, 2], "extra": [None, 5]})
    only = adopted.written(table, tmp_path / "new" / "p=x" / "a.parquet")
    ask("CREATE TABLE u(id BIGINT, p VARCHAR, extra BIGINT)")
    ask(f"CALL ducklake_add_data_files('lake', 'u', '{only}', hive_partitioning => true)")
    dataset = lake.table("u").scan().to_dataset()
    assert adopted.rows(dataset.to_table()) == adopted.rows(ask("FROM u"))


def test_changes_over_files_that_were_taken_in_are_those_that_duckdb_tells(both):
    lake, ask = both
    ask("DELETE FROM t WHERE id IN (2, 101)", "UPDATE t SET extra = 1 WHERE id = 10")
    last = lake.table("t").version
    ours = lake.table("t").changes(1)
    theirs = ask(f"FROM ducklake_table_changes('lake', 'main', 't', 1, {last})")
    names = ["snapshot_id", "rowid", "change_type", "id", "p", "extra"]
    assert adopted.rows(ours.select(names)) == adopted.rows(theirs.select(names))


def test_a_count_needs_no_file(both, tmp_path):
    lake, _ = both
    for path in (tmp_path / "elsewhere").rglob("*.parquet"):
        path.unlink()
    assert lake.table("t").count() == 20 + 5 * 3 + 1
    assert lake.table("t").count("p = '7'") == 3
