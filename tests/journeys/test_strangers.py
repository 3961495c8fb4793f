"""What strangers do on their first day: odd data, odd names, and honest mistakes."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mere
from mere.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    SchemaMismatchError,
)


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_batches_that_order_their_columns_otherwise_keep_their_values(lake, kernel):
    table = lake.on(kernel=kernel).create_table("t", {"a": "int64", "b": "int64"})
    batches = [
        pa.record_batch({"a": [1], "b": [10]}),
        pa.record_batch({"b": [20], "a": [2]}),
        pa.record_batch({"a": [3]}),
        pa.record_batch({"b": pa.array([40], pa.int32()), "a": pa.array([4], pa.int8())}),
    ]
    table.append(iter(batches))
    rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["a"])
    assert rows == [{"a": 1, "b": 10}, {"a": 2, "b": 20}, {"a": 3, "b": None}, {"a": 4, "b": 40}]


def test_a_later_batch_with_an_unknown_column_is_refused(lake):
    table = lake.create_table("t", {"a": "int64"})
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"a": [2], "z": [3]})]
    with pytest.raises(SchemaMismatchError, match="z: not in the table, got int64"):
        table.append(iter(batches))
    assert table.count() == 0


def test_values_after_a_batch_of_nulls_are_kept(lake):
    table = lake.create_table("t", {"a": "int64"})
    table.append(iter([pa.record_batch({"a": pa.nulls(2)}), pa.record_batch({"a": [7]})]))
    assert table.count("a = 7") == 1
    assert table.count("a IS NULL") == 2


def test_columns_of_one_name_are_refused_wherever_they_come_from(lake):
    twice = pa.schema([("a", pa.int64()), ("a", pa.int64())])
    with pytest.raises(InvalidInputError, match="columns 'a' and 'a' have the same name"):
        lake.create_table("t", twice)
    with pytest.raises(InvalidInputError, match="columns 'a' and 'A' have the same name"):
        lake.create_table("t", {"a": "int64", "A": "int64"})


def test_names_that_differ_only_in_case_are_one_name(any_lake):
    any_lake.create_table("orders", {"x": "int64"}).append({"x": [1]})
    other = any_lake.create_table("other", {"x": "int64"})
    with pytest.raises(AlreadyExistsError, match=r"main\.orders exists, so 'Orders' is taken"):
        any_lake.create_table("Orders", {"x": "int64"})
    with pytest.raises(AlreadyExistsError, match=r"main\.orders exists"):
        any_lake.rename_table("other", "ORDERS")
    any_lake.create_schema("shop")
    with pytest.raises(AlreadyExistsError, match="'shop' exists"):
        any_lake.create_schema("Shop")
    assert any_lake.rename_table("orders", "Orders").count() == 1
    assert any_lake.tables() == ["main.Orders", "main.other"]
    assert other.count() == 0
    assert any_lake.sql("SELECT count(*) FROM Orders").fetchone() == (1,)


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["tea", "coffee"])], ids=str)
@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_categories_of_polars_are_stored_as_text(lake, kind, kernel):
    frame = pl.DataFrame({"p": pl.Series(["tea", None, "coffee"], dtype=kind)})
    nested = frame.with_columns(l=pl.concat_list("p", "p"))
    table = lake.on(kernel=kernel).create_table("t", nested)
    table.append(nested)
    rows = table.scan().to_arrow().to_pydict()
    assert rows["p"] == ["tea", None, "coffee"]
    assert rows["l"] == [["tea", "tea"], [None, None], ["coffee", "coffee"]]
    assert mere.connect(lake.url).table("t").count("p = 'tea'") == 1


def test_columns_are_described_in_every_library_s_words(lake):
    wanted = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us"))])
    descriptions: list[Any] = [
        {"id": "int64", "name": "string", "at": "timestamp"},
        {"id": pl.Int64, "name": pl.String, "at": pl.Datetime("us")},
        {"id": pa.int64(), "name": pa.string(), "at": pa.timestamp("us")},
        {"id": int, "name": str, "at": datetime},
        {"id": "bigint", "name": pl.String, "at": datetime},
        [("id", "int64"), ("name", "string"), ("at", "timestamp")],
        wanted,
        pl.Schema([("id", pl.Int64), ("name", pl.String), ("at", pl.Datetime("us"))]),
    ]
    for number, described in enumerate(descriptions):
        assert lake.create_table(f"t{number}", described).schema.equals(wanted)


@pytest.mark.parametrize(
    ("described", "answer"),
    [
        ({1: "int64"}, "needs a text as its name, got 1"),
        ({"": "int64"}, "needs a text as its name, got ''"),
        ({"a": "int64", "b": None}, "column 'b': None is no type"),
        ({"a": {"x": "int64"}}, "column 'a' needs a list of values, got dict"),
        ({"a": "object"}, "column 'a': cannot read the type 'object'"),
        (pa.schema([]), "a table needs columns"),
        (5, "cannot take columns from int"),
        (iter([pa.record_batch({"a": [1]})]), "an iterator shows its columns only"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_a_description_that_says_nothing_is_refused(lake, described, answer):
    with pytest.raises(InvalidInputError, match=answer):
        lake.create_table("t", described)


def test_python_s_numbers_are_as_wide_as_the_columns_they_go_to(lake):
    table = lake.create_table(
        "t",
        {
            "small": "int8",
            "real": "float64",
            "half": "float32",
            "money": "decimal(10,2)",
            "large": "uint64",
            "parts": "struct<a: int16, b: list<double>>",
            "tags": "map<string, int32>",
        },
    )
    row = {
        "small": 1,
        "real": 3,
        "half": 0.5,
        "money": 7,
        "large": 2**63,
        "parts": {"a": 1, "b": [1, 2]},
        "tags": {"k": 1},
    }
    table.append([row])
    table.append({name: [value] for name, value in row.items()})
    back = table.scan().to_arrow().to_pylist()
    assert back == [{**row, "money": Decimal("7.00"), "tags": [("k", 1)]}] * 2


@pytest.mark.parametrize(
    "row",
    [{"small": 300}, {"small": 1.5}, {"small": True}, {"real": 2**60 + 1}, {"at": "2026-01-01"}],
    ids=str,
)
def test_python_values_that_would_change_are_refused(lake, row):
    columns = {"small": "int8", "real": "float64", "at": "timestamp"}
    table = lake.create_table("t", columns)
    with pytest.raises(SchemaMismatchError, match=f"{next(iter(row))}: expected"):
        table.append([row])


@pytest.mark.parametrize("value", ["tea", 1, {"x": 1}, {1, 2}], ids=str)
def test_a_lone_value_is_no_column(lake, value):
    table = lake.create_table("t", {"a": "string"})
    with pytest.raises(InvalidInputError, match="column 'a' needs a list of values"):
        table.append({"a": value})
    assert table.count() == 0


def test_objects_are_refused_by_the_name_of_their_column(lake):
    table = lake.create_table("t", {"id": "int64", "b": "blob"})
    with pytest.raises(InvalidInputError, match="column 'b' has the polars type Object"):
        table.append(pl.DataFrame({"b": pl.Series([object()], dtype=pl.Object)}))
    with pytest.raises(InvalidInputError, match="column 'id' have no common type"):
        table.append(pd.DataFrame({"id": pd.Series([1, "x"], dtype=object)}))
    with pytest.raises(InvalidInputError, match="column 'id' have no common type"):
        table.append([{"id": 1}, {"id": "x"}])


def test_a_list_of_frames_is_appended_whole(lake):
    table = lake.create_table("t", {"id": "int64"})
    table.append([pd.DataFrame({"id": [1]}), pl.DataFrame({"id": [2]}), pa.table({"id": [3]})])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_a_lake_is_named_in_many_ways(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with mere.connect("shop.db") as lake:
        lake.create_table("t", {"x": "int64"}).append([{"x": 1}])
    for url in (
        tmp_path / "shop.db",
        "./shop.db",
        "~/shop.db",
        "sqlite:shop.db",
        "sqlite:~/shop.db",
        "sqlite:///~/shop.db",
        f"sqlite://{tmp_path}/shop.db",
        "ducklake:sqlite:shop.db",
    ):
        with mere.connect(url, create=False) as again:
            assert again.table("t").count() == 1


@pytest.mark.parametrize("url", [":memory:", "sqlite:///:memory:", "duckdb:///:memory:"])
def test_a_lake_in_memory_is_refused(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match="does not live in memory"):
        mere.connect(url)
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_are_answered_by_what_is_right(lake, tmp_path):
    number: Any = 5
    with pytest.raises(InvalidInputError, match="a path or a URL, got 5"):
        mere.connect(number)
    with pytest.raises(NotFoundError, match="read_only=True is not made"):
        mere.connect(tmp_path / "none.db", read_only=True)
    with pytest.raises(InvalidInputError, match="number of local threads, got '4'"):
        lake.on(workers="4")
    with pytest.raises(InvalidInputError, match="unknown runner 'spark'; known: local"):
        lake.on("spark")
    for name in (5, None, ["t"]):
        with pytest.raises(InvalidInputError, match="a table is named by text"):
            lake.table(name)
