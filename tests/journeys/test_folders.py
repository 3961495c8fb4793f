"""A plain folder of Parquet files takes every verb of a table, and stays a plain folder."""

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import mere
from mere.datasets import folder
from mere.errors import (
    InvalidInputError,
    NoFilesError,
    SchemaMismatchError,
    UnsupportedError,
)


def filled(path: Path, files: int = 3) -> str:
    """Make a folder of files with ten rows each, as somebody else would."""
    path.mkdir(parents=True, exist_ok=True)
    for n in range(files):
        rows = {"id": range(n * 10, n * 10 + 10), "v": [f"v{n}"] * 10}
        pq.write_table(pa.table(rows), path / f"f{n}.parquet")
    return str(path)


def names(path: str) -> list[str]:
    """Return the names in a folder that are not hidden."""
    return [entry.name for entry in Path(path).iterdir() if entry.name[0] not in "._"]


def others(path: str) -> list[Any]:
    """Return the rows that another reader finds by a glob."""
    return duckdb.sql(f"SELECT * FROM '{path}/**/*.parquet' ORDER BY ALL").fetchall()


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_rows_come_change_and_go_and_others_see_the_same(tmp_path, kernel):
    path = filled(tmp_path / "d")
    table = folder(path, kernel=kernel)
    assert table.count() == 30
    table.append({"id": [100, 101], "v": ["a", None]})
    assert table.compact().compacted_file_count == 4
    assert table.delete("id < 5").rows_deleted == 5
    assert table.update(set={"v": "'q'"}, where="id = 7").rows_updated == 1
    done = table.upsert([{"id": 7, "v": "up"}, {"id": 500, "v": "new"}], on="id")
    assert (done.rows_inserted, done.rows_updated) == (1, 1)
    expected = {n: f"v{n // 10}" for n in range(5, 30)} | {7: "up", 100: "a", 101: None, 500: "new"}
    assert dict(others(path)) == expected
    assert dict(folder(path).scan().to_duckdb().fetchall()) == expected
    assert all(name.endswith(".parquet") for name in names(path))


def test_files_are_named_by_what_was_done(tmp_path):
    path = filled(tmp_path / "d")
    table = folder(path)
    table.compact()
    assert [name.partition("-")[0] for name in names(path)] == ["compact"]
    table.cluster("id")
    assert [name.partition("-")[0] for name in names(path)] == ["optimized"]


def test_a_folder_that_is_missing_or_empty_is_told_so(tmp_path):
    with pytest.raises(NoFilesError, match="no matching Parquet files were found under"):
        folder(tmp_path / "nowhere")
    begun = folder(tmp_path / "new", schema={"id": "int64", "d": "date"}, partition_by="d")
    assert begun.count() == 0
    begun.append([{"id": 1, "d": date(2026, 1, 2)}])
    assert [p.parent.name for p in (tmp_path / "new").rglob("*.parquet")] == ["d=2026-01-02"]


def test_what_only_a_lake_remembers_is_refused(tmp_path):
    table = folder(filled(tmp_path / "d"))
    for ask in (
        table.history,
        lambda: table.scan(version=99),
        lambda: table.changes(1),
        lambda: table.restore(version=99),
        lambda: table.evolve().drop_column("v").commit(),
        lambda: table.set_option("auto_compact", "true"),
        lambda: table.append({"id": [1]}, token="t"),
    ):
        with pytest.raises(UnsupportedError, match="plain folder"):
            ask()
    with mere.connect(tmp_path / "up.db") as lake:
        lake.adopt(str(tmp_path / "d"), "t")
        assert lake.table("t").count() == 30


def hive(path: Path) -> str:
    """Make a folder whose partitions only the paths tell, as Spark and Hive make them."""
    for month in ("01", "02"):
        for n in (1, 2):
            below = path / f"m={month}" / f"day=2026-01-0{n}"
            below.mkdir(parents=True)
            for name, ids in {"x": [n, n + 10], "y": [n + 20]}.items():
                pq.write_table(pa.table({"id": [i + 100 * int(month) for i in ids]}), below / name)
                (below / name).rename(below / f"{name}.parquet")
    return str(path)


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_columns_that_only_folders_tell_stay_there(tmp_path, kernel):
    path = hive(tmp_path / "d")
    table = folder(path, kernel=kernel)
    assert table.partition_by == ("m", "day")
    assert table.scan("m = '02' AND day = DATE '2026-01-01'").explain().files_kept == 2
    assert table.compact().after_file_count == 4
    assert table.cluster(["m", "id"]).files_added == 4
    assert table.delete("id = 101").rows_deleted == 1
    new = [{"id": 101, "m": "01", "day": date(2026, 1, 1)}, {"id": 7, "m": "03", "day": None}]
    assert table.upsert(new, on="id").rows_inserted == 2
    for file in Path(path).rglob("*.parquet"):
        assert pq.ParquetFile(file).schema_arrow.names == ["id"]
    ids = [m + n for m in (100, 200) for n in (1, 11, 21, 2, 12, 22)]
    assert _months(path) == {**{n: f"0{n // 100}" for n in ids}, 7: "03"}
    assert ds.dataset(path, partitioning="hive").count_rows() == 13


def test_a_value_that_no_folder_can_tell_is_refused_where_only_folders_tell_it(tmp_path):
    table = folder(hive(tmp_path / "d"))
    for month in ("null", "x" * 200):
        with pytest.raises(InvalidInputError, match="cannot tell the value"):
            table.append([{"id": 1, "m": month, "day": date(2026, 1, 1)}])
    assert table.count() == 12
    table.repartition(["m"])
    table.append(
        [{"id": 1, "m": month, "day": None} for month in ("null", "x" * 200, "a/'b", None)]
    )
    found = folder(tmp_path / "d").scan("id = 1").to_arrow()["m"].to_pylist()
    assert sorted(found, key=str) == [None, "a/'b", "null", "x" * 200]


def _months(path: str) -> dict[int, str]:
    words = "hive_partitioning=true, hive_types={'m': VARCHAR}"
    query = f"SELECT id, m FROM read_parquet('{path}/**/*.parquet', {words})"
    return dict(duckdb.sql(query).fetchall())


def test_folders_that_tell_nothing_keep_their_files_apart(tmp_path):
    for room in ("a", "b"):
        filled(tmp_path / room, files=2)
    table = folder(tmp_path)
    assert table.compact().after_file_count == 2
    table.delete("id < 3")
    table.update(set={"v": "'w'"}, where="id = 5")
    assert sorted(p.parent.name for p in tmp_path.rglob("*.parquet")) == ["a", "b"]
    assert table.count() == 34


def test_files_of_other_columns_and_types_are_one_table(tmp_path):
    path = filled(tmp_path / "d", files=1)
    pq.write_table(pa.table({"id": pa.array([50], pa.int32()), "w": [1.5]}), f"{path}/g.parquet")
    table = folder(path)
    assert table.scan("id = 50").to_arrow().to_pylist() == [{"id": 50, "v": None, "w": 1.5}]
    assert table.compact().after_file_count == 1
    assert table.scan("w IS NOT NULL").count() == 1
    pq.write_table(pa.table({"id": ["text"]}), f"{path}/h.parquet")
    with pytest.raises(SchemaMismatchError, match=r"h\.parquet: column 'id' is varchar"):
        table.count()


def test_a_path_that_says_other_than_its_file_is_not_believed(tmp_path):
    (tmp_path / "d=1").mkdir()
    pq.write_table(pa.table({"d": [1, 2], "v": ["a", "b"]}), tmp_path / "d=1" / "f.parquet")
    table = folder(tmp_path)
    assert table.count("d = 2") == 1
    table.update(set={"v": "'c'"}, where="d = 2")
    assert sorted(p.parent.name for p in tmp_path.rglob("*.parquet")) == ["d=1", "d=2"]


def test_rows_go_through_a_function_into_other_partitions(tmp_path):
    path = hive(tmp_path / "d")
    table = folder(path)

    def with_year(rows: pa.Table) -> pa.Table:
        return rows.append_column("year", pc.year(rows["day"]))

    assert table.repartition(["year"], transform=with_year).rows_after == 12
    assert [p.name for p in Path(path).iterdir() if p.name[0] != "_"] == ["year=2026"]
    assert table.schema.names == ["id", "m", "day", "year"]
    assert sorted(set(table.scan().to_arrow()["m"].to_pylist())) == ["01", "02"]
    with pytest.raises(InvalidInputError, match="partitioned by the values of its columns"):
        table.repartition(["month(day)"])
    with pytest.raises(UnsupportedError, match="no table 'other'"):
        table.repartition(["m"], into="other")


def test_health_says_what_to_call(tmp_path):
    told = folder(filled(tmp_path / "d", files=5)).health().to_pylist()
    assert [row["advice"] for row in told if row["verdict"] == "act"] == [
        f"folder({str(tmp_path) + '/d/'!r}).compact(target_mb=128, min_files=4)"
    ]


def test_what_would_be_hidden_or_is_unknown_is_refused_before_anything_changes(tmp_path):
    path = filled(tmp_path / "d")
    for prefix in ("_x", "a/b", ""):
        with pytest.raises(InvalidInputError, match="how names of files begin"):
            folder(path, prefix=prefix)
    with pytest.raises(InvalidInputError, match="takes a codec"):
        folder(path, compression="zip")
    with pytest.raises(InvalidInputError, match="named by a path"):
        folder("")
    table = folder(path, prefix="mine", compression="snappy")
    table.append({"id": [1], "v": ["x"], "_p": ["y"]}, merge_schema=True)
    with pytest.raises(InvalidInputError, match="would be hidden"):
        table.repartition(["_p"])
    assert table.count() == 31
    (new,) = (name for name in names(path) if name.startswith("mine-"))
    assert pq.ParquetFile(f"{path}/{new}").metadata.row_group(0).column(0).compression == "SNAPPY"
    (tmp_path / "d" / "_delta_log").mkdir()
    (tmp_path / "d" / "_delta_log" / "0.json").touch()
    with pytest.raises(InvalidInputError, match="is a Delta table"):
        folder(path)
