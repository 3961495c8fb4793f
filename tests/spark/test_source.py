"""Spark's format `mere`, for batches."""

import datetime as dt

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, DataSourceReader, GreaterThan, InputPartition

import mere
import mere.spark
from mere.errors import (
    CommitConflictError,
    InvalidInputError,
    SchemaMismatchError,
    SnapshotNotFoundError,
    TableNotFoundError,
)

pytestmark = pytest.mark.spark

COLUMNS = {"id": "int64", "sym": "varchar", "ts": "timestamptz", "price": "decimal(12,2)"}


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "shop.db") as opened:
        yield opened


@pytest.fixture
def url(lake):
    return lake.url


def trades(spark, start, stop):
    """Return trades of three symbols, one per minute, in two Spark partitions."""
    return spark.range(start, stop, numPartitions=2).select(
        "id",
        F.concat(F.lit("s"), F.col("id") % 3).alias("sym"),
        F.timestamp_seconds(1704067200 + F.col("id") * 60).alias("ts"),
        (F.col("id") / 2).cast("decimal(12,2)").alias("price"),
    )


def save(frame, url, name="trades", mode="append", **options):
    frame.write.format("mere").option("lake", url).options(**options).mode(mode).save(name)


def load(spark, url, name="trades", **options):
    return spark.read.format("mere").option("lake", url).options(**options).load(name)


def ids(frame):
    return sorted(row.id for row in frame.select("id").collect())


def test_what_is_saved_is_loaded_and_seen_by_everyone(spark, lake, url):
    save(trades(spark, 0, 100), url, partition_by="sym, day(ts)")
    table = lake.table("trades")
    assert table.count() == 100
    assert {f["partition"][0][1] for f in table.files().to_pylist()} == {"s0", "s1", "s2"}
    found = load(spark, url)
    assert found.schema.simpleString() == (
        "struct<id:bigint,sym:string,ts:timestamp,price:decimal(12,2)>"
    )
    assert sorted(map(tuple, found.collect())) == sorted(
        map(tuple, trades(spark, 0, 100).collect())
    )


def test_a_table_and_its_first_rows_are_one_version(spark, lake, url):
    before = lake.version
    save(trades(spark, 0, 10), url)
    assert lake.version == before + 1
    save(trades(spark, 10, 20), url)
    assert ids(load(spark, url)) == list(range(20))


def test_a_frame_that_fails_leaves_no_table_behind(spark, lake, url):
    boom = trades(spark, 0, 10).withColumn("price", F.expr("1 / (id - 5)").cast("decimal(12,2)"))
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        save(boom, url)
    assert lake.tables() == []


def test_overwriting_replaces_all_rows_or_partitions_or_what_matches(spark, lake, url):
    lake.create_table("trades", COLUMNS, partition_by=["sym"])
    save(trades(spark, 0, 9), url)
    save(trades(spark, 100, 101), url, mode="overwrite", partitions="dynamic")
    assert ids(load(spark, url)) == [0, 2, 3, 5, 6, 8, 100], "s1 was replaced"
    save(trades(spark, 200, 201), url, mode="overwrite", where="sym = 's2'")
    assert ids(load(spark, url)) == [0, 3, 6, 100, 200]
    save(trades(spark, 300, 301), url, mode="overwrite")
    assert ids(load(spark, url)) == [300]


def test_older_versions_are_loaded_by_number_time_and_tag(spark, lake, url):
    save(trades(spark, 0, 3), url)
    first, moment = lake.version, dt.datetime.now(dt.UTC)
    lake.tag("three")
    save(trades(spark, 3, 6), url)
    for option in ({"version": first}, {"as_of": moment.isoformat()}, {"tag": "three"}):
        assert ids(load(spark, url, **option)) == [0, 1, 2], option


def test_a_loaded_frame_stays_at_its_version(spark, url):
    save(trades(spark, 0, 3), url)
    frame = load(spark, url)
    save(trades(spark, 3, 6), url)
    assert frame.count() == 3


def test_only_asked_columns_and_rows_are_read(spark, url):
    save(trades(spark, 0, 30), url, partition_by="sym")
    found = load(spark, url, columns="sym, id", where="sym = 's1' AND id < 10")
    assert found.columns == ["sym", "id"]
    assert sorted(map(tuple, found.collect())) == [("s1", i) for i in (1, 4, 7)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id = 4", [4]),
        ("id IN (4, 5, 400)", [4, 5]),
        ("sym = 's1' AND id > 20", [22, 25, 28]),
        ("price >= 14.00", [28, 29]),
        ("ts < timestamp'2024-01-01 00:02:00Z'", [0, 1]),
        ("sym LIKE 's2%' AND NOT (id < 28)", [29]),
        ("sym IS NULL", []),
        ("id = 1 OR sym = 'none'", [1]),
        ("id % 10 = 3", [3, 13, 23]),
    ],
)
def test_filters_of_spark_keep_exactly_the_rows_that_match(spark, url, condition, expected):
    save(trades(spark, 0, 30), url, partition_by="sym")
    assert ids(load(spark, url).where(condition)) == expected


def test_the_rows_that_a_frame_is_asked_for_spare_files(spark, url, tmp_path):
    """The files of the other partitions are gone, and nobody misses them."""
    save(trades(spark, 0, 30), url, partition_by="sym")
    for file in (tmp_path / "shop.db.files").rglob("sym=s[02]/*.parquet"):
        file.unlink()
    assert ids(load(spark, url, where="sym = 's1'")) == list(range(1, 30, 3))
    with pytest.raises(PySparkException):
        load(spark, url).collect()


def test_filters_of_one_query_take_no_rows_from_another(spark, url):
    """Also where a session lets Spark push filters into sources in Python."""
    save(trades(spark, 0, 30), url, partition_by="sym")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = load(spark, url)
        assert ids(frame.where("id > 25")) == [26, 27, 28, 29]
        assert (frame.count(), len(frame.collect())) == (30, 30)
        assert ids(frame.where("id < 2")) == [0, 1]
        late, early = frame.where("id >= 20"), frame.where("id < 10")
        assert sorted(row.id for row in late.union(early).collect()) == [*range(10), *range(20, 30)]
        pairs = late.alias("a").join(early.alias("b"), "sym")
        assert pairs.count() == 10 * 10 // 3
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_spark_keeps_the_filters_of_one_query_for_the_next(spark):
    """Why the format takes none, not even to spare files: once this fails, it may."""

    class Reader(DataSourceReader):
        least = 0

        def pushFilters(self, filters):  # noqa: N802  Spark's name
            self.least = max(f.value + 1 for f in filters if isinstance(f, GreaterThan))
            return list(filters)  # Spark is to ask every one of them again

        def partitions(self):
            return [InputPartition(number) for number in range(self.least, 4)]

        def read(self, partition):
            yield (partition.value,)

    class Numbers(DataSource):
        @classmethod
        def name(cls):
            return "numbers"

        def schema(self):
            return "id int"

        def reader(self, schema):
            del schema
            return Reader()

    spark.dataSource.register(Numbers)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = spark.read.format("numbers").load()
        assert ids(frame.where("id > 2")) == [3]
        assert ids(frame) == [3], "0, 1 and 2 are lost"
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_every_type_comes_out_as_a_native_scan_shows_it(spark, lake, url, oracle):
    lake.close()
    con = oracle(url.replace("sqlite://", "sqlite:"))
    con.execute(
        "CREATE TABLE kinds AS SELECT true b, 1::TINYINT i1, 2::UBIGINT u8, 1.5::FLOAT f, "
        "uuid() u, 'x' s, '\\x01'::BLOB x, DATE '2024-01-01' d, "
        "TIMESTAMP '2024-01-01 01:02:03.000004' t, "
        "TIMESTAMPTZ '2024-01-01 01:02:03+01' z, TIMESTAMP_NS '1960-01-01 00:00:00.000001999' n, "
        "12.34::DECIMAL(30,2) m, {'a': 1, 'l': [uuid()]} st, MAP {'k': 1} mp, '{}'::JSON j"
    )
    con.execute("INSERT INTO kinds (b) VALUES (NULL)")
    con.close()
    with mere.connect(url) as opened:
        native = opened.table("kinds").scan().to_spark(spark)
        found = load(spark, url, "kinds")
        assert found.schema.simpleString() == native.schema.simpleString()
        assert sorted(map(str, found.collect())) == sorted(map(str, native.collect()))


def test_deleted_and_inlined_rows_are_right(spark, lake, url, oracle):
    lake.close()
    con = oracle(url.replace("sqlite://", "sqlite:"))
    con.execute("CREATE TABLE t AS SELECT range AS id FROM range(20)")
    con.execute("DELETE FROM t WHERE id % 2 = 0")
    con.execute("INSERT INTO t VALUES (100), (101)")
    con.close()
    assert ids(load(spark, url, "t")) == [*range(1, 20, 2), 100, 101]
    assert ids(load(spark, url, "t").where("id > 15")) == [17, 19, 100, 101]


def test_sql_takes_the_format_as_a_view_and_inserts_into_it(spark, lake, url):
    save(trades(spark, 0, 3), url)
    spark.sql(f"CREATE TEMPORARY VIEW v USING mere OPTIONS (lake '{url}', path 'trades')")
    try:
        assert spark.sql("SELECT count(*) AS n FROM v").collect()[0].n == 3
        trades(spark, 3, 5).createTempView("more")
        spark.sql("INSERT INTO v SELECT * FROM more")
    finally:
        spark.catalog.dropTempView("v")
        spark.catalog.dropTempView("more")
    assert lake.table("trades").count() == 5


def test_an_empty_frame_makes_a_table_and_appends_nothing(spark, lake, url):
    save(trades(spark, 0, 0), url)
    assert lake.table("trades").count() == 0
    assert load(spark, url).collect() == []


def test_a_token_commits_once(spark, lake, url):
    for _ in range(2):
        save(trades(spark, 0, 3), url, token="monday")
    assert lake.table("trades").count() == 3
    assert lake.table("trades").files().num_rows == len(lake.table("trades").files())


def test_a_column_may_come_later_when_that_is_asked_for(spark, url):
    save(trades(spark, 0, 3), url)
    save(trades(spark, 3, 4).withColumn("venue", F.lit("x")), url, merge_schema="true")
    assert [row.venue for row in load(spark, url).orderBy("id").collect()] == [None] * 3 + ["x"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s, u: load(s, u, "nope"), (TableNotFoundError, "nope")),
        (lambda s, u: load(s, u, version=999), (SnapshotNotFoundError, "999")),
        (lambda s, u: load(s, u, vershun=1), (InvalidInputError, "vershun")),
        (lambda s, u: load(s, u, version="x"), (InvalidInputError, "whole number")),
        (lambda s, _: s.read.format("mere").load("trades"), (InvalidInputError, "lake")),
        (
            lambda s, u: save(trades(s, 0, 1).withColumn("price", F.lit("dear")), u),
            (SchemaMismatchError, "price"),
        ),
        (lambda s, u: save(trades(s, 0, 1), u, "no_schema.t"), (mere.NotFoundError, "no_schema")),
    ],
)
def test_an_error_is_found_again_inside_sparks(spark, lake, call, error):
    kind, says = error
    lake.create_table("trades", COLUMNS)
    with pytest.raises(PySparkException, match=says) as caught:
        call(spark, lake.url)
    found = mere.spark.original(caught.value)
    assert type(found) is kind
    assert says in str(found)


def test_an_error_of_others_is_nobodys():
    assert mere.spark.original(ValueError("x")) is None
    assert type(mere.spark.original(CommitConflictError("x"))) is CommitConflictError


def test_an_unknown_column_is_named_before_anything_is_read(spark, lake, url):
    lake.create_table("trades", COLUMNS)
    with pytest.raises(PySparkException, match="UnknownColumn"):
        load(spark, url, columns="nope")
