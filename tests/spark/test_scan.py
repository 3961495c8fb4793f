"""Spark reads exactly the pinned files, by field id, without asking anyone else."""

import datetime as dt
import io
from contextlib import redirect_stdout
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mere.errors import UnsupportedError
from mere.model.files import DataFile, DeleteFile
from mere.model.layout import Layout
from mere.model.predicate import bind, col
from mere.model.schema import Field, Schema
from mere.ports import Reading
from mere.spark import read
from mere.spark.files import files_of, named, open_files, pinned
from mere.spark.types import stored
from mere.stores import open_store

pytestmark = pytest.mark.spark

UUID = "550e8400-e29b-41d4-a716-446655440000"
ID = Field(name="id", type="int64", id=1)
NAME = Field(name="name", type="varchar", id=2)


def reading(folder, files, *fields, **more):
    schema = Schema(fields=fields)
    store = open_store(str(folder))
    more = {"table": schema, **more}
    return Reading(schema=schema, layout=Layout(), files=tuple(files), store=store, **more)


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def write_deletes(folder, name, positions, since=None):
    """Write a delete file as the format says, and return what the catalog would list."""
    fields = [
        pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483646"}),
        pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483645"}),
    ]
    columns = [["somewhere"] * len(positions), positions]
    if since is not None:
        metadata = {"PARQUET:field_id": "2147483539"}
        fields.append(pa.field("_ducklake_internal_snapshot_id", pa.int64(), metadata=metadata))
        columns.append(since)
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), target)
    size = target.stat().st_size
    last = None if since is None else max(since)
    return DeleteFile(path=name, bytes=size, rows=len(positions), last=last)


def at(*parts):
    return dt.datetime(*parts)  # noqa: DTZ001  the column has no zone


DIGITS = "12345678901234567890.125"
LEAVES = [
    ("boolean", "true", True),
    ("int8", "(-8)::tinyint", -8),
    ("int16", "(-16)::smallint", -16),
    ("int32", "(-32)::integer", -32),
    ("int64", "(-9223372036854775808)::bigint", -(2**63)),
    ("uint8", "255::utinyint", 255),
    ("uint16", "65535::usmallint", 65535),
    ("uint32", "4294967295::uinteger", 4294967295),
    ("uint64", "18446744073709551615::ubigint", Decimal(18446744073709551615)),
    ("float32", "1.5::float4", 1.5),
    ("float64", "(-0.1)::float8", -0.1),
    ("decimal(5,2)", "(-12.50)::decimal(5,2)", Decimal("-12.50")),
    ("decimal(38,3)", f"{DIGITS}::decimal(38,3)", Decimal(DIGITS)),
    ("date", "DATE '0001-01-01'", dt.date(1, 1, 1)),
    ("time", "TIME '23:59:59.999999'", dt.time(23, 59, 59, 999999)),
    ("timestamp", "TIMESTAMP '1969-12-31 23:59:59.999999'", at(1969, 12, 31, 23, 59, 59, 999999)),
    ("timestamp_s", "TIMESTAMP_S '2024-01-02 03:04:05'", at(2024, 1, 2, 3, 4, 5)),
    ("timestamp_ms", "TIMESTAMP_MS '2024-01-02 03:04:05.678'", at(2024, 1, 2, 3, 4, 5, 678000)),
    (
        "timestamp_ns",
        "TIMESTAMP_NS '1960-01-02 03:04:05.678901234'",
        at(1960, 1, 2, 3, 4, 5, 678901),
    ),
    ("varchar", "'ä\U0001f600''\"'", "ä\U0001f600'\""),
    ("blob", "'\\x00\\xFF'::blob", b"\x00\xff"),
    ("json", "'{\"a\": 1}'::json", '{"a": 1}'),
    ("uuid", f"'{UUID}'::uuid", UUID),
]


def test_every_type_comes_out_as_its_value_and_null_as_null(spark, write, tmp_path):
    values = ", ".join(f"{sql} AS c{i}" for i, (_, sql, _) in enumerate(LEAVES))
    nulls = ", ".join("NULL" for _ in LEAVES)
    ids = ", ".join(f"c{i}: {i + 1}" for i in range(len(LEAVES)))
    file = write(f"SELECT {values} UNION ALL SELECT {nulls}", ids)
    fields = [Field(name=f"x{i}", type=kind, id=i + 1) for i, (kind, _, _) in enumerate(LEAVES)]
    found = read(reading(tmp_path, [file], *fields), spark=spark).collect()
    full = next(row for row in found if row[0] is not None)
    assert tuple(full) == tuple(value for _, _, value in LEAVES)
    assert any(all(value is None for value in row) for row in found)


def test_a_moment_with_a_zone_is_the_same_moment(spark, write, tmp_path):
    file = write("SELECT TIMESTAMPTZ '2024-01-02 03:04:05.678901+02' AS ts", "ts: 1")
    frame = read(reading(tmp_path, [file], Field(name="ts", type="timestamptz", id=1)), spark=spark)
    assert frame.schema.simpleString() == "struct<ts:timestamp>"
    assert frame.selectExpr("unix_micros(ts)").collect()[0][0] == 1704157445678901


def test_nested_columns_are_matched_and_spelled_inside(spark, write, tmp_path):
    file = write(
        f"SELECT ['{UUID}'::uuid, NULL] AS l, {{'u': '{UUID}'::uuid, 'n': 1}} AS s, "
        f"MAP {{'k': '{UUID}'::uuid}} AS m UNION ALL SELECT NULL, NULL, NULL",
        "l: {__duckdb_field_id: 1, element: 2}, s: {__duckdb_field_id: 3, u: 4, n: 5}, "
        "m: {__duckdb_field_id: 6, key: 7, value: 8}",
    )
    element = Field(name="element", type="uuid", id=2)
    parts = (Field(name="uu", type="uuid", id=4), Field(name="nn", type="int64", id=5))
    pair = (Field(name="key", type="varchar", id=7), Field(name="value", type="uuid", id=8))
    frame = read(
        reading(
            tmp_path,
            [file],
            Field(name="l", type="list", id=1, children=(element,)),
            Field(name="s", type="struct", id=3, children=parts),
            Field(name="m", type="map", id=6, children=pair),
        ),
        spark=spark,
    )
    found = [row.asDict(recursive=True) for row in frame.collect()]
    assert {"l": [UUID, None], "s": {"uu": UUID, "nn": 1}, "m": {"k": UUID}} in found
    assert {"l": None, "s": None, "m": None} in found


def test_columns_are_found_by_id_whatever_they_are_called_and_wherever_they_lie(
    spark, write, tmp_path
):
    old = write("SELECT 1::int32 AS a, 'x' AS b", "a: 1, b: 2", "old.parquet")
    new = write("SELECT 'y' AS id, 2::int64 AS b", "id: 2, b: 1", "new.parquet")
    found = read(reading(tmp_path, [old, new], ID, NAME), spark=spark)
    assert rows(found) == [(1, "x"), (2, "y")]


SWAPPED = (
    Field(name="b", type="int64", id=1),
    Field(name="a", type="int64", id=2),
    Field(
        name="s",
        type="struct",
        id=3,
        children=(Field(name="y", type="int64", id=4), Field(name="x", type="int64", id=5)),
    ),
    Field(name="c", type="int64", id=6),
)


@pytest.mark.parametrize(
    "condition", ["b < 5", "a < 1005", "s.y < 5", "s.x < 5005 AND c IS NULL", "b < 5 AND a > 0"]
)
def test_a_filter_means_the_column_and_not_what_the_file_calls_by_its_name(
    spark, write, tmp_path, condition
):
    file = write(
        "SELECT range AS a, 1000 + range AS b, 1 AS c, {'x': range, 'y': 5000 + range} AS s "
        "FROM range(5000)",
        "a: 1, b: 2, c: 9, s: {__duckdb_field_id: 3, x: 4, y: 5}",
    )
    found = read(reading(tmp_path, [file], *SWAPPED), spark=spark).where(condition)
    assert found.columns == ["b", "a", "s", "c"]
    assert sorted(row.b for row in found.collect()) == [0, 1, 2, 3, 4]
    assert found.select("s.y", "s.x").where("y = 3").collect()[0].asDict() == {"y": 3, "x": 5003}


def test_with_stable_names_a_filter_skips_row_groups(spark, write, tmp_path):
    """Spark would lose these rows: so it is seen that the filter reaches the file by name."""
    file = write("SELECT range AS b, 1000 + range AS a FROM range(5000)", "b: 2, a: 1")
    columns = Field(name="b", type="int64", id=1), Field(name="c", type="int64", id=2)
    found = read(reading(tmp_path, [file], *columns, stable=True), spark=spark)
    assert found.where("b >= 5500").count() == 0
    found = read(reading(tmp_path, [file], *columns), spark=spark)
    assert found.where("b >= 5500").count() == 500


def test_a_column_younger_than_the_file_reads_as_its_default(spark, write, tmp_path):
    file = write("SELECT 1::int64 AS id", "id: 1")
    defaults = {
        "varchar": ("it's \\ x", "it's \\ x"),
        "int32": ("-5", -5),
        "float64": ("1.5", 1.5),
        "boolean": ("true", True),
        "decimal(10,2)": ("1.50", Decimal("1.50")),
        "date": ("2024-01-02", dt.date(2024, 1, 2)),
        "time": ("01:02:03.5", dt.time(1, 2, 3, 500000)),
        "timestamp": ("2024-01-02 03:04:05.5", at(2024, 1, 2, 3, 4, 5, 500000)),
        "uint64": ("7", Decimal(7)),
    }
    fields = [
        Field(name=f"d{i}", type=kind, id=10 + i, initial_default=text)
        for i, (kind, (text, _)) in enumerate(defaults.items())
    ]
    frame = read(
        reading(tmp_path, [file], ID, *fields, Field(name="n", type="uuid", id=99)), spark=spark
    )
    assert rows(frame) == [(1, *(value for _, value in defaults.values()), None)]
    assert frame.where("d0 = 'it''s \\\\ x' AND d1 = -5 AND id = 1").count() == 1


def test_a_default_that_spark_cannot_fill_in_is_refused_by_name(spark, write, tmp_path):
    file = write("SELECT 1::int64 AS id", "id: 1")
    young = Field(name="key", type="uuid", id=2, initial_default=UUID)
    with pytest.raises(UnsupportedError, match="'key'"):
        read(reading(tmp_path, [file], ID, young), spark=spark)


def test_planning_opens_lists_and_asks_for_no_file(spark, tmp_path):
    gone = [DataFile(path=f"gone-{i}.parquet", bytes=1000, rows=1) for i in range(200)]
    frame = read(reading(tmp_path, gone, ID, stable=True), spark=spark)
    buffer = io.StringIO()
    with redirect_stdout(buffer):
        frame.where("id > 5").explain()
    plan = buffer.getvalue()
    assert "FileScan parquet" in plan
    assert "PinnedFiles" in plan
    assert "GreaterThan(id,5)" in plan, "the filter reaches the Parquet reader"
    assert len(frame.inputFiles()) == 200
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_no_files_are_an_empty_frame_with_the_columns(spark, tmp_path):
    frame = read(reading(tmp_path, [], ID, NAME), spark=spark)
    assert frame.columns == ["id", "name"]
    assert frame.collect() == []


def test_the_limit_holds(spark, write, tmp_path):
    file = write("SELECT range AS id FROM range(100)", "id: 1")
    assert read(reading(tmp_path, [file], ID, limit=7), spark=spark).count() == 7


def test_only_rows_that_match_come_out_and_only_asked_columns(spark, write, tmp_path):
    file = write("SELECT range AS id, 'n' || range AS name FROM range(10)", "id: 1, name: 2")
    table = Schema(fields=(ID, NAME))
    where = bind((col("name") >= "n7") & (col("name") != "n8"), table)
    frame = read(reading(tmp_path, [file], ID, table=table, where=where), spark=spark)
    assert frame.columns == ["id"]
    assert rows(frame) == [(7,), (9,)]


ODD = ["p=a%20b/x y/a.parquet", "c[1]{2}*?.parquet", "ä/€ü+&;=,@!$'()~.parquet", "%2F%25.parquet"]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("way", [pinned, named])
def test_odd_paths_are_read_both_ways(spark, write, tmp_path, name, way):
    file = write("SELECT range AS id FROM range(3)", "id: 1", name)
    columns = stored(Schema(fields=(ID,)))
    found = way(spark, files_of(open_store(str(tmp_path)), [file]), columns)
    assert rows(found) == [(0,), (1,), (2,)]


@pytest.mark.parametrize("name", ODD)
def test_deleted_rows_of_odd_paths_stay_out(spark, write, tmp_path, name):
    deletes = write_deletes(tmp_path, f"del/{name}", [0, 2])
    file = write("SELECT range AS id FROM range(4)", "id: 1", name, deletes=deletes)
    clean = write("SELECT 10 + range AS id FROM range(2)", "id: 1", "clean.parquet")
    found = read(reading(tmp_path, [file, clean], ID, snapshot=9), spark=spark)
    assert rows(found) == [(1,), (3,), (10,), (11,)]


def test_positions_count_for_their_own_file_only(spark, write, tmp_path):
    files = [
        write(
            f"SELECT {i} * 10 + range AS id FROM range(3)",
            "id: 1",
            f"f{i}.parquet",
            deletes=write_deletes(tmp_path, f"d{i}.parquet", [i]),
        )
        for i in range(3)
    ]
    found = read(reading(tmp_path, files, ID, snapshot=9), spark=spark)
    assert rows(found) == [(1,), (2,), (10,), (12,), (20,), (21,)]


def test_a_snapshot_sees_the_deletions_and_rows_of_its_time(spark, write, tmp_path):
    deletes = write_deletes(tmp_path, "d.parquet", [0, 1, 2], since=[3, 5, 7])
    file = write(
        "SELECT range AS id, 2 + range AS s FROM range(6)",
        "id: 1, s: 2147483539",
        deletes=deletes,
        last=7,
    )
    for snapshot, expected in ((4, [1, 2]), (5, [2, 3]), (7, [3, 4, 5])):
        found = read(reading(tmp_path, [file], ID, snapshot=snapshot), spark=spark)
        assert rows(found) == [(i,) for i in expected]


def test_named_files_give_the_same_rows_as_pinned_ones(spark, write, tmp_path):
    deletes = write_deletes(tmp_path, "d.parquet", [1])
    file = write("SELECT range AS x, 'a' AS y FROM range(3)", "x: 1, y: 2", deletes=deletes)
    listed = files_of(open_store(str(tmp_path)), [file])
    columns = stored(Schema(fields=(ID, NAME)))
    assert rows(named(spark, listed, columns)) == rows(pinned(spark, listed, columns))
    assert named(spark, files_of(open_store(str(tmp_path)), []), columns).count() == 0


def test_equal_scans_are_recognised_as_equal(spark, write, tmp_path):
    file = write("SELECT range AS id FROM range(3)", "id: 1")
    listed = files_of(open_store(str(tmp_path)), [file])
    columns = stored(Schema(fields=(ID,)))
    one, other = (open_files(spark, listed, columns) for _ in range(2))
    assert one.sameSemantics(other)
