"""Spark's format `mere`, for streams."""

import pytest
from pyspark.errors import StreamingQueryException
from tests.spark.streams import ended

import mere
import mere.spark
from mere.errors import UnsupportedError

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "shop.db") as opened:
        opened.create_table("src", {"id": "int64"})
        opened.create_table("other", {"id": "int64"})
        yield opened


def put(lake, *ids, name="src"):
    return lake.table(name).append([{"id": i} for i in ids]).version


def copy(spark, lake, tmp_path, *, query="q", source="src", target="copy", **options):
    """Copy what is new from one table to another, and return how many batches had rows."""
    read = spark.readStream.format("mere").option("lake", lake.url).options(**options)
    write = read.load(source).writeStream.format("mere").option("lake", lake.url)
    write = write.option("checkpointLocation", str(tmp_path / query)).trigger(availableNow=True)
    told = ended(write.queryName(query), target)
    return [p.numInputRows for p in told if p.numInputRows]


def ids(lake, name="copy"):
    return sorted(lake.table(name).scan().to_arrow()["id"].to_pylist())


def test_a_stream_begins_with_the_whole_table_and_goes_on_with_what_comes(spark, lake, tmp_path):
    put(lake, 1, 2)
    put(lake, 3)
    assert copy(spark, lake, tmp_path) == [3]
    assert ids(lake) == [1, 2, 3]
    put(lake, 4)
    put(lake, 100, name="other")
    assert copy(spark, lake, tmp_path) == [1]
    assert copy(spark, lake, tmp_path) == [], "nothing came"
    assert ids(lake) == [1, 2, 3, 4]


def test_a_limit_counts_whole_versions(spark, lake, tmp_path):
    first = put(lake, 1)
    for i in range(2, 6):
        put(lake, i, i * 10)
    told = {"from_version": first}
    assert copy(spark, lake, tmp_path, query="a", max_snapshots=2, **told) == [3, 4, 2]
    assert copy(spark, lake, tmp_path, query="b", max_rows=5, **told) == [5, 4]
    assert copy(spark, lake, tmp_path, query="c", max_files=1, **told) == [1, 2, 2, 2, 2]
    assert ids(lake) == sorted([1, *range(2, 6), *range(20, 60, 10)] * 3)


def test_a_stream_reads_each_row_once_beside_compacted_files(spark, lake, tmp_path, oracle):
    """Maintenance makes files of old rows: they are not new."""
    put(lake, 1)
    copy(spark, lake, tmp_path)
    put(lake, 2)
    put(lake, 3)
    lake.close()
    con = oracle(lake.url.replace("sqlite://", "sqlite:"))
    con.execute("CALL ducklake_merge_adjacent_files('lake')")
    con.close()
    put(lake, 4)
    assert sum(copy(spark, lake, tmp_path)) == 3
    assert ids(lake) == [1, 2, 3, 4]


def test_a_deletion_stops_a_stream_of_appends_and_not_one_of_inserts(spark, lake, tmp_path, oracle):
    put(lake, 1, 2)
    copy(spark, lake, tmp_path, query="a")
    copy(spark, lake, tmp_path, query="b", target="other_copy")
    lake.close()
    con = oracle(lake.url.replace("sqlite://", "sqlite:"))
    con.execute("DELETE FROM src WHERE id = 1")
    con.execute("UPDATE src SET id = 20 WHERE id = 2")
    con.close()
    put(lake, 3)
    with pytest.raises(StreamingQueryException, match="deleted or updated") as caught:
        copy(spark, lake, tmp_path, query="a")
    assert type(mere.spark.original(caught.value)) is UnsupportedError
    copy(spark, lake, tmp_path, query="b", target="other_copy", changes="insert")
    assert ids(lake, "other_copy") == [1, 2, 3, 20]


def test_a_batch_that_was_committed_before_a_crash_is_not_written_again(spark, lake, tmp_path):
    """Spark forgets that it was done, as when its driver dies between the two commits."""
    put(lake, 1, 2)
    copy(spark, lake, tmp_path)
    put(lake, 3)
    copy(spark, lake, tmp_path)
    done = sorted((tmp_path / "q" / "commits").glob("[0-9]*"))
    assert len(done) == 2
    for name in (done[-1], done[-1].with_name(f".{done[-1].name}.crc")):
        name.unlink(missing_ok=True)
    before = lake.version
    copy(spark, lake, tmp_path)
    assert ids(lake) == [1, 2, 3]
    assert lake.version == before


def test_two_queries_do_not_take_each_others_batches_for_their_own(spark, lake, tmp_path):
    put(lake, 1)
    copy(spark, lake, tmp_path, query="a")
    copy(spark, lake, tmp_path, query="b")
    assert ids(lake) == [1, 1]


def test_nothing_is_left_announced_when_streams_are_done(spark, lake, tmp_path):
    for i in range(3):
        put(lake, i)
        copy(spark, lake, tmp_path)
    cleared = lake.vacuum(grace=0)
    assert cleared.fenced == ()
    assert ids(lake) == [0, 1, 2]
