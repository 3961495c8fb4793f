"""The bridge to Arrow: types both ways, rows from anywhere, casts that lose nothing."""

import glob
import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import daft
import datafusion
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.arrow import (
    conform,
    file_name,
    file_schema,
    from_arrow,
    hold,
    schema_from,
    schema_of,
    stream,
    to_arrow,
    uuid7,
)
from mere.arrow.footer import data_file
from mere.arrow.partitions import split, transform_column
from mere.errors import (
    InvalidInputError,
    NoFilesError,
    SchemaMismatchError,
    UnsupportedError,
)
from mere.model.files import Bounds
from mere.model.layout import PartitionKey, parse_key
from mere.model.schema import Field, Schema, number
from mere.model.transforms import transform
from mere.registry import opened
from mere.testing.everything import EVERY_LEAF, every_row, everything, table_of

NOON = datetime(2024, 2, 29, 12, 0, 0, 123456)  # noqa: DTZ001  a timestamp without zone
FROM_ARROW_DIFFERS = {"int128", "uint128", "timetz"}

# --- types ---------------------------------------------------------------------------------------


def test_every_type_comes_back_from_arrow_with_its_ids():
    schema = everything()
    kept = Schema(fields=tuple(f for f in schema if f.type not in FROM_ARROW_DIFFERS))
    assert from_arrow(to_arrow(kept), ids=True) == kept


def test_field_ids_are_forgotten_unless_asked_for():
    assert {f.id for f, _ in from_arrow(to_arrow(everything())).walk()} == {0}
    bare = to_arrow(everything(), ids=False)
    assert all(field.metadata is None for field in bare)


@pytest.mark.parametrize(
    ("arrow", "spelled"),
    [
        (pa.large_string(), "varchar"),
        (pa.string_view(), "varchar"),
        (pa.dictionary(pa.int8(), pa.large_string()), "varchar"),
        (pa.run_end_encoded(pa.int32(), pa.string()), "varchar"),
        (pa.large_binary(), "blob"),
        (pa.binary_view(), "blob"),
        (pa.binary(16), "blob"),
        (pa.float16(), "float32"),
        (pa.date64(), "date"),
        (pa.time32("ms"), "time"),
        (pa.time64("ns"), "time"),
        (pa.timestamp("ns", "Asia/Tokyo"), "timestamptz"),
        (pa.timestamp("s"), "timestamp_s"),
        (pa.duration("s"), "interval"),
        (pa.month_day_nano_interval(), "interval"),
        (pa.null(), "varchar"),
        (pa.bool8(), "boolean"),
        (pa.decimal32(5, 2), "decimal(5,2)"),
        (pa.decimal256(38, 2), "decimal(38,2)"),
        (pa.decimal128(5, -2), "decimal(7,0)"),
        (pa.fixed_shape_tensor(pa.float32(), [2]), "list<float32>"),
        (pa.list_(pa.int64(), 2), "list<int64>"),
        (pa.large_list(pa.int64()), "list<int64>"),
        (pa.list_view(pa.int64()), "list<int64>"),
        (pa.map_(pa.large_string(), pa.null()), "map<varchar, varchar>"),
        (pa.struct([("a", pa.int8())]), "struct<a: int8>"),
    ],
)
def test_an_arrow_type_becomes_the_plain_one(arrow: pa.DataType, spelled: str):
    (field,) = from_arrow(pa.schema([("x", arrow)])).fields
    assert field.spell() == spelled


@pytest.mark.parametrize(
    "arrow", [pa.decimal256(50, 2), pa.dense_union([pa.field("a", pa.int8())])]
)
def test_a_type_that_no_table_holds_is_refused_by_name(arrow: pa.DataType):
    with pytest.raises(UnsupportedError, match=r"'outer\.x'"):
        from_arrow(pa.schema([("outer", pa.struct([("x", arrow)]))]))


def test_a_type_that_arrow_cannot_carry_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="'odd'"):
        to_arrow(Schema(fields=(Field(name="odd", type="geometry"),)))


def test_variants_are_read_as_metadata_and_value_and_not_written():
    schema = Schema(fields=(Field(name="odd", type="variant"),))
    assert to_arrow(schema).field("odd").type.names == ["metadata", "value"]
    with pytest.raises(UnsupportedError, match="'odd'"):
        file_schema(schema)


def test_columns_of_nothing_but_null_can_be_left_out():
    schema = pa.schema(
        [
            ("a", pa.int64()),
            ("none", pa.null()),
            ("list", pa.list_(pa.null())),
            ("struct", pa.struct([("x", pa.null()), ("y", pa.int8())])),
        ]
    )
    assert from_arrow(schema, untyped=None).spell() == "a: int64, struct: struct<y: int8>"


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("BIGINT", "int64"),
        ("integer", "int32"),
        ("int", "int32"),
        ("string", "varchar"),
        ("varchar(20)", "varchar"),
        ("double precision", "float64"),
        ("Decimal( 10 , 2 )", "decimal(10,2)"),
        ("decimal", "decimal(18,3)"),
        ("timestamp with time zone", "timestamptz"),
        ("list< int >", "list<int32>"),
        ("int[][]", "list<list<int32>>"),
        ('STRUCT(a INT, "b c" text[])', "struct<a: int32, b c: list<varchar>>"),
        ("map<string, struct<x: double>>", "map<varchar, struct<x: float64>>"),
    ],
)
def test_a_type_can_be_spelled_as_people_do(text: str, spelled: str):
    assert schema_from({"x": text}).fields[0].spell() == spelled


def test_a_spelled_column_can_be_not_null():
    assert [f.nullable for f in schema_from({"a": "int64 NOT NULL", "b": "int64"})] == [False, True]


@pytest.mark.parametrize(
    "text", ["", "nope", "list<", "list<int", "struct<>", "map<int>", "decimal(39,0)", "int)", "é!"]
)
def test_a_type_that_cannot_be_read_is_refused_by_name(text: str):
    with pytest.raises(InvalidInputError, match="'price'"):
        schema_from({"price": text})


@given(st.recursive(st.sampled_from(sorted(EVERY_LEAF)), lambda t: st.builds("list<{}>".format, t)))
def test_what_is_spelled_reads_back(text: str):
    assert schema_from({"x": text}).fields[0].spell() == text


# --- sources -------------------------------------------------------------------------------------

TABLE = pa.table({"a": [1, 2, 3], "s": ["x", None, "z"]})


class Foreign:
    """A one-shot stream of a library that nobody knows."""

    def __init__(self, table: pa.Table) -> None:
        self.reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


def _frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1, 2, 3], "s": pd.Series(["x", None, "z"], dtype="str")})


SOURCES: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "batch": lambda _: TABLE.to_batches()[0],
    "reader": lambda _: TABLE.to_reader(),
    "dataset": lambda _: ds.dataset(TABLE),
    "scanner": lambda _: ds.dataset(TABLE).scanner(),
    "polars": lambda _: pl.from_arrow(TABLE),
    "lazy": lambda _: pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
    "pandas": lambda _: _frame(),
    "duckdb": lambda _: duckdb.sql("FROM (VALUES (1::BIGINT,'x'),(2,NULL),(3,'z')) v(a, s)"),
    "datafusion": lambda _: datafusion.SessionContext().from_arrow(TABLE),
    "daft": lambda _: daft.from_arrow(TABLE),
    "foreign stream": lambda _: Foreign(TABLE),
    "generator": lambda _: (batch for batch in TABLE.to_batches(1)),
    "generator of tables": lambda _: iter([TABLE.slice(0, 1), TABLE.slice(1)]),
    "batches": lambda _: TABLE.to_batches(1),
    "rows": lambda _: [{"a": 1, "s": "x"}, {"a": 2}, {"s": "z", "a": 3}],
    "columns": lambda _: {"a": [1, 2, 3], "s": ["x", None, "z"]},
    "file": lambda tmp: _written(tmp) / "x.parquet",
    "file as text": lambda tmp: str(_written(tmp) / "x.parquet"),
    "folder": lambda tmp: str(_written(tmp)),
    "glob": lambda tmp: f"{glob.escape(str(_written(tmp)))}/*.parq*",
    "deep glob": lambda tmp: str(_written(tmp).parent / "**" / "[x-z]?parquet"),
    "files": lambda tmp: [_written(tmp) / "x.parquet"],
    "url": lambda tmp: _written(tmp).as_uri(),
}


def _written(tmp: Path) -> Path:
    folder = tmp / "a [folder]"
    folder.mkdir(exist_ok=True)
    pq.write_table(TABLE, folder / "x.parquet")
    (folder / "_SUCCESS").write_text("")
    return folder


@pytest.mark.parametrize("name", SOURCES)
def test_rows_can_be_taken_from(name: str, tmp_path: Path):
    data = hold(opened(SOURCES[name](tmp_path)))
    assert from_arrow(schema_of(data)).spell() == "a: int64, s: varchar"
    assert stream(data).read_all().to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize(
    "data", [None, 3, b"x", object(), [1, 2], ["a", 3], pa.array([1]), {"a": 1}, pl.Series([1])]
)
def test_anything_else_is_refused_with_what_is_accepted(data: Any):
    for ask in (stream, schema_of):
        with pytest.raises(InvalidInputError):
            ask(opened(data))


def test_a_bare_iterator_must_be_held_first():
    with pytest.raises(InvalidInputError, match="iterator") as caught:
        schema_of(iter(TABLE.to_batches()))
    assert "hold" in str(caught.value)


def test_an_iterator_of_something_else_is_refused_when_it_comes():
    with pytest.raises(InvalidInputError, match="int"):
        stream(iter([1]))


def test_no_rows_at_all_are_fine():
    nothing: tuple[Any, ...] = ([], iter(()), {})
    for data in nothing:
        assert stream(hold(data)).read_all().num_rows == 0


def test_a_path_without_files_says_so(tmp_path: Path):
    for path in (tmp_path, tmp_path / "no.parquet", tmp_path / "*.parquet"):
        with pytest.raises(NoFilesError):
            opened(path)


def test_a_file_that_is_no_parquet_says_so(tmp_path: Path):
    (tmp_path / "x.parquet").write_text("hello hello hello")
    with pytest.raises(InvalidInputError, match=r"x\.parquet"):
        opened(tmp_path / "x.parquet")


def test_folders_add_the_columns_that_files_lack(tmp_path: Path):
    for day, table in (("2024-01-01", TABLE), ("2024-01-02", TABLE.append_column("n", TABLE["a"]))):
        place = tmp_path / f"day={day}" / "s=folder"
        place.mkdir(parents=True)
        pq.write_table(table, place / "x.parquet")
    rows = stream(opened(tmp_path)).read_all()
    assert rows.column_names == ["a", "s", "n", "day"]
    assert rows["s"].to_pylist() == ["x", None, "z"] * 2
    assert rows["n"].to_pylist() == [None, None, None, 1, 2, 3]
    assert {str(day) for day in rows["day"].to_pylist()} == {"2024-01-01", "2024-01-02"}


def test_a_reader_is_never_read_ahead():
    taken: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(100):
            taken.append(i)
            yield pa.record_batch({"a": [i]})

    reader = stream(batches())
    assert len(taken) == 1
    reader.read_next_batch()
    assert len(taken) <= 2


def test_a_lazy_frame_is_computed_in_batches():
    frame = pl.LazyFrame({"a": range(500_000)}).filter(pl.col("a") % 2 == 0)
    sizes = [batch.num_rows for batch in stream(frame)]
    assert sum(sizes) == 250_000
    assert len(sizes) > 1


def test_a_pandas_index_is_a_column_when_it_has_a_name():
    named = pd.DataFrame({"a": [1]}, index=pd.Index([7], name="k"))
    assert stream(named).read_all().to_pylist() == [{"a": 1, "k": 7}]
    bare = pd.DataFrame({"a": [1]}, index=[7])
    assert stream(bare).read_all().to_pylist() == [{"a": 1}]


def test_pandas_columns_need_names_of_their_own():
    for columns in ([0, 1], ["a", "a"]):
        with pytest.raises(InvalidInputError, match="names"):
            stream(pd.DataFrame([[1, 2]], columns=columns))


@pytest.mark.parametrize(
    "thing",
    [
        {"a": "int64", "s": "varchar"},
        {"a": pa.int64(), "s": pa.string()},
        pl.Schema({"a": pl.Int64, "s": pl.String}),
        TABLE.schema,
        TABLE,
        {"a": [1], "s": ["x"]},
        [{"a": 1, "s": "x"}],
        schema_from({"a": "int64", "s": "varchar"}),
    ],
)
def test_a_table_can_take_its_columns_from(thing: Any):
    assert schema_from(thing).spell() == "a: int64, s: varchar"


def test_a_table_needs_columns():
    nothing: tuple[Any, ...] = ({}, [], pa.schema([]))
    for thing in nothing:
        with pytest.raises(InvalidInputError, match="columns"):
            schema_from(thing)


# --- casts ---------------------------------------------------------------------------------------


def _one(value: Any, arrow: pa.DataType | None, wanted: str) -> Any:
    batch = pa.record_batch({"x": pa.array([value, None], arrow)})
    out = conform(batch, schema_from({"x": wanted}))
    assert out.schema.equals(file_schema(schema_from({"x": wanted})))
    found, nothing = out.column(0).to_pylist()
    assert nothing is None
    return found


@pytest.mark.parametrize(
    ("value", "arrow", "wanted", "expected"),
    [
        (5, pa.int8(), "int64", 5),
        (5, pa.int64(), "int8", 5),
        (5, pa.uint64(), "decimal(38,0)", Decimal(5)),
        (2.0, pa.float64(), "int32", 2),
        (1.5, pa.float64(), "float32", 1.5),
        (1.5, pa.float16(), "float64", 1.5),
        (Decimal("1.50"), pa.decimal128(9, 2), "decimal(9,1)", Decimal("1.5")),
        (NOON, pa.timestamp("ns"), "timestamp", NOON),
        (
            NOON.replace(tzinfo=UTC),
            pa.timestamp("ns", "Asia/Tokyo"),
            "timestamptz",
            NOON.replace(tzinfo=UTC),
        ),
        (
            NOON.replace(microsecond=0),
            pa.timestamp("us"),
            "timestamp_s",
            NOON.replace(microsecond=0),
        ),
        (date(2024, 1, 1), pa.date64(), "date", date(2024, 1, 1)),
        (date(2024, 1, 1), pa.date32(), "timestamp", datetime(2024, 1, 1)),  # noqa: DTZ001
        (datetime(2024, 1, 1), pa.timestamp("us"), "date", date(2024, 1, 1)),  # noqa: DTZ001
        (time(1, 2), pa.time32("s"), "time", time(1, 2)),
        ("x", pa.dictionary(pa.int8(), pa.large_string()), "varchar", "x"),
        ("x", pa.string_view(), "varchar", "x"),
        (b"x", pa.binary(1), "blob", b"x"),
        ("[1]", pa.large_string(), "json", "[1]"),
        (str(UUID(int=7)), pa.string(), "uuid", UUID(int=7)),
        (UUID(int=7).bytes, pa.binary(16), "uuid", UUID(int=7)),
        ("[1]", pa.json_(), "varchar", "[1]"),
        (7, pa.int32(), "varchar", "7"),
        (1e16, pa.float64(), "varchar", "1e+16"),
        (100.0, pa.float64(), "varchar", "100.0"),
        (True, pa.bool_(), "varchar", "true"),
        (NOON, pa.timestamp("us"), "varchar", "2024-02-29 12:00:00.123456"),
        (Decimal("1.50"), pa.decimal128(9, 2), "varchar", "1.50"),
        (None, pa.null(), "uuid", None),
        ([1, 2], pa.large_list(pa.int8()), "list<int64>", [1, 2]),
        ([1, 2], pa.list_(pa.int8(), 2), "list<int64>", [1, 2]),
        ([1, 2], pa.list_view(pa.int64()), "list<int64>", [1, 2]),
        (
            {"B": "q", "a": 1},
            pa.struct([("B", pa.large_string()), ("a", pa.int8())]),
            "struct<a: int64, b: varchar, c: date>",
            {"a": 1, "b": "q", "c": None},
        ),
        ([("k", 1)], pa.map_(pa.large_string(), pa.int8()), "map<varchar, int64>", [("k", 1)]),
        (
            timedelta(days=1),
            pa.duration("s"),
            "interval",
            pa.MonthDayNano([0, 0, 86_400_000_000_000]),
        ),
    ],
)
def test_a_value_that_survives_is_cast(value: Any, arrow: pa.DataType, wanted: str, expected: Any):
    assert _one(value, arrow, wanted) == expected


@pytest.mark.parametrize(
    ("value", "arrow", "wanted"),
    [
        (300, pa.int64(), "int8"),
        (-1, pa.int64(), "uint64"),
        (1.5, pa.float64(), "int32"),
        (2**53 + 1, pa.int64(), "float64"),
        (0.1, pa.float64(), "float32"),
        (1e300, pa.float64(), "float32"),
        (Decimal("1.55"), pa.decimal128(9, 2), "decimal(9,1)"),
        (Decimal("123.4"), pa.decimal128(9, 1), "decimal(3,1)"),
        (0.123, pa.float64(), "decimal(9,1)"),
        (1, pa.timestamp("ns"), "timestamp"),
        (NOON, pa.timestamp("us"), "timestamp_s"),
        (NOON, pa.timestamp("us"), "date"),
        (1, pa.time64("ns"), "time"),
        ("{", pa.string(), "json"),
        ("NaN", pa.string(), "json"),
        ("x", pa.string(), "uuid"),
        (b"x", pa.binary(), "uuid"),
        ([300], pa.list_(pa.int64()), "list<int8>"),
        ([("k", 0.1)], pa.map_(pa.string(), pa.float64()), "map<varchar, float32>"),
    ],
)
def test_a_value_that_would_change_is_refused_by_column(value: Any, arrow: Any, wanted: str):
    with pytest.raises(SchemaMismatchError, match="'x'"):
        _one(value, arrow, wanted)


@pytest.mark.parametrize(
    ("arrow", "wanted"),
    [
        (pa.string(), "int64"),
        (pa.int64(), "boolean"),
        (pa.bool_(), "int64"),
        (pa.timestamp("us"), "timestamptz"),
        (pa.list_(pa.int64()), "int64"),
        (pa.int64(), "list<int64>"),
        (pa.struct([("z", pa.int64())]), "struct<a: int64>"),
        (pa.binary(), "varchar[]"),
    ],
)
def test_a_type_that_cannot_fit_is_refused_before_any_value(arrow: pa.DataType, wanted: str):
    with pytest.raises(SchemaMismatchError, match="x"):
        conform(pa.record_batch({"x": pa.array([], arrow)}), schema_from({"x": wanted}))


def test_every_column_that_does_not_fit_is_named():
    batch = pa.record_batch({"a": ["x"], "b": ["y"], "z": [1]})
    with pytest.raises(SchemaMismatchError) as caught:
        conform(batch, schema_from({"a": "int64", "b": "date", "c": "int8"}))
    for part in ("a: expected int64, got varchar", "b: expected date", "z: not in the table"):
        assert part in str(caught.value)


def test_null_in_a_not_null_column_is_refused_however_deep():
    flat = schema_from({"x": "int64 not null"})
    for batch in (pa.record_batch({"x": [1, None]}), pa.record_batch({"y": pa.nulls(1)})):
        with pytest.raises(SchemaMismatchError, match="'x' is NOT NULL"):
            conform(batch, flat)
    inner = Field(name="i", type="int64", nullable=False)
    deep = Schema(fields=(Field(name="x", type="struct", children=(inner,)),))
    fine = pa.record_batch({"x": pa.array([{"i": 1}, None])})
    assert conform(fine, deep).num_rows == 2
    with pytest.raises(SchemaMismatchError, match=r"'x\.i' is NOT NULL"):
        conform(
            pa.record_batch({"x": pa.array([{"i": None}], pa.struct([("i", pa.int64())]))}), deep
        )


def test_names_match_as_written_before_they_match_without_case():
    batch = pa.record_batch({"A": [1], "b": [2]})
    assert conform(batch, schema_from({"a": "int64", "B": "int64"})).to_pylist() == [
        {"a": 1, "B": 2}
    ]
    both = pa.record_batch({"A": [1], "a": [2]})
    with pytest.raises(SchemaMismatchError, match="more than once"):
        conform(both, schema_from({"a": "int64"}))


def test_a_missing_column_is_filled_with_its_default():
    defaults = {"int32": "7", "varchar": "it's", "date": "2024-01-01", "uuid": str(UUID(int=7))}
    fields = tuple(Field(name=kind, type=kind, default=text) for kind, text in defaults.items())
    (row,) = conform(pa.record_batch({"x": pa.nulls(1)}), Schema(fields=fields)).to_pylist()
    assert row == {"int32": 7, "varchar": "it's", "date": date(2024, 1, 1), "uuid": UUID(int=7)}


def test_slices_of_nested_columns_keep_their_rows():
    schema, rows = everything(), every_row()
    batch = table_of(rows, schema).combine_chunks().to_batches()[0]
    large = pa.schema(
        [
            (f.name, pa.large_list(f.type.value_type) if pa.types.is_list(f.type) else f.type)
            for f in batch.schema
        ]
    )
    whole = conform(batch.cast(large), schema).to_pylist()
    for start in range(5):
        part = conform(batch.cast(large).slice(start, 2), schema).to_pylist()
        assert repr(part) == repr(whole[start : start + 2])


# --- partitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY_LEAF)
def test_a_column_is_bucketed_like_its_values_one_by_one(kind: str):
    schema = number(schema_from({"x": kind}))
    values = [*EVERY_LEAF[kind], None]
    column = conform(table_of([{"x": v} for v in values], schema).to_batches()[0], schema).column(0)
    key = PartitionKey(column=1, transform="bucket", buckets=1000)
    found = transform_column(key, schema.fields[0], column).to_pylist()
    assert found == [transform(key, kind, value) for value in values]


@given(st.lists(st.one_of(st.none(), st.text(), st.text(min_size=30)), max_size=20))
def test_texts_are_bucketed_like_one_by_one(values: list[str | None]):
    key = PartitionKey(column=1, transform="bucket", buckets=97)
    found = transform_column(key, Field(name="x", type="varchar"), pa.array(values, pa.string()))
    assert found.to_pylist() == [transform(key, "varchar", value) for value in values]


@given(st.lists(st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1)), max_size=20))  # noqa: DTZ001
def test_calendar_parts_are_those_of_each_value(values: list[datetime]):
    for kind, arrow in (
        ("timestamp", pa.timestamp("us")),
        ("timestamptz", pa.timestamp("us", "UTC")),
    ):
        column = pa.array(values, pa.timestamp("us")).cast(arrow)
        aware = [v.replace(tzinfo=UTC) if kind == "timestamptz" else v for v in values]
        for part in ("year", "month", "day", "hour"):
            key = PartitionKey(column=1, transform=part)
            found = transform_column(key, Field(name="x", type=kind), column).to_pylist()
            assert found == [transform(key, kind, value) for value in aware]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), max_size=50))
def test_a_split_loses_no_row_and_keeps_their_order(pairs: list[tuple[int, str | None]]):
    schema = number(schema_from({"p": "int32", "q": "varchar", "n": "int64"}))
    rows = [{"p": p, "q": q, "n": n} for n, (p, q) in enumerate(pairs)]
    batch = (
        conform(table_of(rows, schema).combine_chunks().to_batches()[0], schema) if rows else None
    )
    keys = [parse_key("p", schema), parse_key("q", schema)]
    seen: dict[Any, list[Any]] = {}
    for _, values, pieces in split(batch, keys, schema) if batch else ():
        assert values not in seen
        seen[values] = [row for piece in pieces for row in piece.to_pylist()]
    expected: dict[Any, list[Any]] = {}
    for row in rows:
        expected.setdefault((row["p"], row["q"]), []).append(row)
    assert seen == expected
    assert list(seen) == list(expected)


# --- names and footers ---------------------------------------------------------------------------


def test_new_names_sort_by_time_and_tell_the_writer():
    names = [uuid7() for _ in range(1000)]
    assert len(set(names)) == 1000
    assert {name.version for name in names} == {7}
    assert {name.variant for name in names} == {"specified in RFC 4122"}
    assert [n.int >> 80 for n in names] == sorted(n.int >> 80 for n in names)
    assert file_name("abc").endswith("-abc.parquet")


def test_a_footer_of_another_writer_tells_no_bounds_of_floats(tmp_path: Path):
    """Whether NaN is among the values, and whether it counts as a bound, is not known."""
    pq.write_table(pa.table({"f": [1.0, math.nan], "i": [1, 2]}), tmp_path / "x")
    schema = number(schema_from({"f": "float64", "i": "int64"}))
    file = data_file(pq.read_metadata(tmp_path / "x"), schema=schema, path="x", size=1)
    assert (file.bounds[1].minimum, file.bounds[1].nan) == (None, None)
    assert (file.bounds[2].minimum, file.bounds[2].maximum) == (1, 2)


def test_a_footer_without_statistics_tells_nothing(tmp_path: Path):
    pq.write_table(pa.table({"i": [1, 2]}), tmp_path / "x", write_statistics=False)
    schema = number(schema_from({"i": "int64"}))
    bounds = data_file(pq.read_metadata(tmp_path / "x"), schema=schema, path="x", size=1).bounds[1]
    assert bounds == Bounds(bytes=bounds.bytes)


def test_one_group_that_knows_nothing_makes_the_file_know_nothing(tmp_path: Path):
    long = "x" * 5000
    with pq.ParquetWriter(tmp_path / "x", pa.schema([("s", pa.string())])) as writer:
        for text in ("a", long):
            writer.write_table(pa.table({"s": [text]}))
    schema = number(schema_from({"s": "varchar"}))
    file = data_file(pq.read_metadata(tmp_path / "x"), schema=schema, path="x", size=1)
    assert file.row_groups[0].bounds[1].minimum == "a"
    assert (file.bounds[1].minimum, file.bounds[1].nulls) == (None, 0)


def test_times_that_python_cannot_hold_have_no_bounds(tmp_path: Path):
    far = pa.array(np.array([2**62], dtype="int64"), pa.timestamp("us"))
    pq.write_table(pa.table({"t": far}), tmp_path / "x")
    schema = number(schema_from({"t": "timestamp"}))
    file = data_file(pq.read_metadata(tmp_path / "x"), schema=schema, path="x", size=1)
    assert file.bounds[1] == Bounds(nulls=0, values=1, bytes=file.bounds[1].bytes)


def test_a_zone_is_kept_as_the_moment_that_it_means():
    tokyo = datetime(2024, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    batch = pa.record_batch({"t": pa.array([tokyo], pa.timestamp("us", "Asia/Tokyo"))})
    (row,) = conform(batch, schema_from({"t": "timestamptz"})).to_pylist()
    assert row["t"] == datetime(2024, 1, 1, tzinfo=UTC)
