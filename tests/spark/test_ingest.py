"""Files of others are loaded on executors as they are by threads."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.errors import InvalidInputError, StorageError
from mere.stores import open_store

pytestmark = pytest.mark.spark
COLUMNS = {"id": "int64", "day": "date", "price": "decimal(9,2)", "at": "timestamptz"}


@pytest.fixture
def folder(tmp_path):
    """Make six files of three formats in folders of two days."""
    for n in range(6):
        place = tmp_path / f"in/day=2026-01-0{1 + n // 3}"
        place.mkdir(parents=True, exist_ok=True)
        ids = list(range(10 * n, 10 * n + 10))
        at = "2026-01-01T00:00:00Z"
        if n % 3 == 0:
            lines = [json.dumps({"id": i, "price": i / 4, "at": at}) for i in ids]
            (place / f"{n}.json").write_text("\n".join(lines))
        elif n % 3 == 1:
            lines = [f"{i},{i / 4},{at}" for i in ids]
            (place / f"{n}.csv").write_text("\n".join(["id,price,at", *lines]))
        else:
            pq.write_table(pa.table({"id": ids}), place / f"{n}.parquet")
    return tmp_path / "in"


def test_spark_and_threads_load_the_same(spark, tmp_path, folder):
    told, tables = [], []
    for runner in (None, spark):
        with mere.connect(tmp_path / f"{runner is None}.db") as lake:
            made = lake.on(runner).ingest(folder, "t", schema=COLUMNS, partition_by=["day"])
            again = lake.on(runner).ingest(folder, "t")
            tables.append(lake.table("t").scan().to_arrow().sort_by("id"))
            told.append((made.rows, len(made.sources), made.bytes, again.skipped))
            assert lake.table("t").partitions()["rows"].to_pylist() == [30, 30]
    assert told == [(60, 6, made.bytes, 6)] * 2
    assert tables[0].equals(tables[1])


def test_a_bad_file_is_named_by_the_executor_that_met_it(spark, tmp_path, folder):
    bad = folder / "day=2026-01-02/bad.csv"
    bad.write_text("id,price\n1,dear\n")
    with mere.connect(tmp_path / "lake.db") as lake:
        there = lake.on(spark)
        with pytest.raises(InvalidInputError, match=r"cannot read '.*bad\.csv' as csv"):
            there.ingest(folder, "t", schema=COLUMNS)
        assert lake.tables() == []
        done = there.ingest(folder, "t", schema=COLUMNS, on_error="skip")
        assert [failed.path for failed in done.failed] == [str(bad)]
        assert lake.table("t").count() == 60


def test_keys_of_a_bucket_stay_with_the_driver(spark, tmp_path, s3):
    given = {"access_key_id": s3.key, "secret_access_key": "hunter2", "endpoint": s3.endpoint}
    bucket = open_store(f"{s3.url}/raw", storage_options=given)
    bucket.put("a.ndjson", b'{"id": 1}\n')
    with mere.connect(tmp_path / "lake.db") as lake:
        with pytest.raises(StorageError, match=r"a\.ndjson: .* stays in the process") as told:
            lake.on(spark).ingest(f"{s3.url}/raw", "t", storage_options=given)
        assert "hunter2" not in str(told.value) + str(told.value.__cause__)
        assert lake.ingest(f"{s3.url}/raw", "t", storage_options=given).rows == 1
