"""Files are adopted wherever they and the catalog are: in buckets, in folders, in any database."""

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import adopted

import mere
from mere.stores import open_store

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})


def put(root, *paths):
    """Write the same small file at each path below a root, wherever that is."""
    store = open_store(root)
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink)
    for path in paths:
        store.put(path, sink.getvalue().to_pybytes())


HIVE = ("day=2026-01-01/a b.parquet", "day=2026-01-02/c.parquet", "_SUCCESS", ".hidden/d.parquet")


@pytest.mark.parametrize("where", ["same bucket", "other prefix", "from here", "to a folder"])
def test_buckets_and_folders_in_every_combination(s3, tmp_path, where):
    data = tmp_path / "data" if where == "to a folder" else f"s3://{s3.bucket}/lake/"
    lake = mere.connect(tmp_path / "lake.db", data_path=data)
    if where == "from here":
        source = f"{tmp_path}/old/"
    elif where == "same bucket":
        source = f"s3://{s3.bucket}/lake/old/"
    else:
        source = f"s3://{s3.bucket}/old/"
    put(source, *HIVE)
    assert lake.adopt(source, "t").files_added == 2
    t = lake.table("t")
    for engine, read in adopted.ENGINES.items():
        assert read(t.scan("day = DATE '2026-01-02'")).num_rows == 3, engine
    t.append({"id": [9], "day": [dt.date(2026, 1, 1)]})
    t.delete("id = 2")
    t.update(set={"name": "'z'"}, where="id = 1 AND day = DATE '2026-01-01'")
    assert sorted(t.scan(columns=["id"]).to_arrow().column("id").to_pylist()) == [1, 1, 3, 3, 9]
    with pytest.raises(mere.AlreadyExistsError):
        lake.adopt(f"{source}day=2026-01-01/a b.parquet", "u")
    lake.adopt(f"{source}**/d.parquet", "hidden")
    assert lake.doctor().healthy
    lake.drop_table("t")
    lake.drop_table("hidden")
    lake.expire(0)
    lake.vacuum(0)
    left = sorted(file.path for file in open_store(source).list())
    assert left == sorted(HIVE)


@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
def test_every_catalog_keeps_what_was_adopted(kind, tmp_path, request, oracle):
    if kind == "postgres":
        url = request.getfixturevalue("pg_url")
        attached = f"postgres:{url}"
    else:
        url = f"duckdb:///{tmp_path}/lake.ducklake"
        attached = str(tmp_path / "lake.ducklake")
    lake = mere.connect(url, data_path=tmp_path / "data")
    put(f"{tmp_path}/old/", *HIVE)
    put(f"{tmp_path}/data/inside/", *HIVE[:3])
    lake.adopt(tmp_path / "old", "t")
    lake.adopt(tmp_path / "data" / "inside", "u")
    first = lake.version
    t = lake.table("t")
    t.delete("id = 1")
    t.overwrite({"id": [5], "day": [dt.date(2026, 1, 1)]}, partitions="dynamic")
    assert t.count() == 3
    t.restore(version=first)
    assert adopted.rows(t.scan().to_arrow()) == adopted.rows(t.scan(version=first).to_arrow())
    assert t.count("day = DATE '2026-01-01'") == 3
    lake.close()
    connection = oracle(attached)
    theirs = connection.sql("FROM t").to_arrow_table()
    connection.close()
    assert adopted.rows(theirs) == adopted.rows(t.scan().to_arrow())
    for name in ("t", "u"):
        lake.drop_table(name)
    lake.expire(0)
    lake.vacuum(0)
    kept = list((tmp_path / "old").rglob("*.parquet")) + list(tmp_path.rglob("inside/**/*.parquet"))
    assert len(kept) == 5
    lake.close()
