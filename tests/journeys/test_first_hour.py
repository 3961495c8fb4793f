"""The first hour with a lake: make, append, read, travel, ask, on every catalog."""

import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mere
from mere.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    SchemaMismatchError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnknownColumnError,
)

COLUMNS = {"product_id": "varchar", "trade_id": "int64", "ts": "timestamp", "price": "float64"}


def trades(day, *ids, product="A"):
    start = datetime(2026, 1, day)  # noqa: DTZ001  the column has no zone
    return pa.table(
        {
            "product_id": [product] * len(ids),
            "trade_id": pa.array(ids, pa.int64()),
            "ts": pa.array([start + timedelta(seconds=i) for i in ids], pa.timestamp("us")),
            "price": [i / 2 for i in ids],
        }
    )


def ids(scan):
    return sorted(scan.to_arrow()["trade_id"].to_pylist())


def test_rows_come_back_as_they_went_in(any_lake):
    table = any_lake.create_table("trades", COLUMNS)
    report = table.append(trades(1, 1, 2, 3))
    assert (report.rows_inserted, report.files_added, report.rows_after) == (3, 1, 3)
    assert report.version == table.version
    assert table.scan().to_arrow().equals(trades(1, 1, 2, 3))
    assert table.schema.equals(trades(1, 1).schema)


def test_every_version_stays_readable(any_lake):
    table = any_lake.create_table("trades", COLUMNS)
    empty = table.version
    first = table.append(trades(1, 1, 2)).version
    between = datetime.now(UTC)
    second = table.append(trades(2, 3)).version
    assert [table.count(version=v) for v in (empty, first, second)] == [0, 2, 3]
    assert ids(table.scan(version=first)) == [1, 2]
    assert ids(table.scan(as_of=between)) == [1, 2]
    assert ids(table.scan(as_of=between.isoformat())) == [1, 2]
    assert ids(table.scan()) == [1, 2, 3]
    with pytest.raises(SnapshotNotFoundError):
        table.scan(version=99)
    with pytest.raises(SnapshotNotFoundError):
        table.scan(as_of="1999-01-01")


def test_a_scan_is_pinned(any_lake):
    table = any_lake.create_table("trades", COLUMNS)
    table.append(trades(1, 1, 2))
    scan = table.scan()
    table.append(trades(1, 3))
    assert ids(scan) == ids(scan) == [1, 2]
    assert scan.count() == 2


def test_partitions_prune_what_cannot_match(any_lake):
    table = any_lake.create_table("t", COLUMNS, partition_by=["product_id", "day(ts)"])
    for product in "AB":
        for day in (1, 2, 3):
            table.append(trades(day, *range(day * 10, day * 10 + 5), product=product))
    assert table.files().num_rows == 6
    scan = table.scan("product_id = 'A' AND ts >= '2026-01-02' AND ts < '2026-01-03'")
    assert scan.files().num_rows == 1
    assert ids(scan) == [20, 21, 22, 23, 24]
    explained = scan.explain()
    assert (explained.files_kept, explained.files_total) == (1, 6)
    assert explained.bytes_left < explained.bytes_total
    partitions = table.partitions().to_pylist()
    assert len(partitions) == 6
    assert dict(partitions[0]["partition"]) == {"product_id": "A", "day": "1"}


@pytest.mark.parametrize(
    "where",
    [
        "trade_id > 2 AND price < 2.5",
        mere.col("trade_id").between(3, 4),
        (pc.field("trade_id") > 2) & (pc.field("price") < 2.5),
        pl.col("trade_id").is_in([3, 4]),
        {"trade_id": [3, 4]},
        [("trade_id", ">", 2), ("trade_id", "<=", 4)],
    ],
    ids=["sql", "mere", "pyarrow", "polars", "dict", "tuples"],
)
def test_a_predicate_is_said_in_any_language(lake, where):
    table = lake.create_table("t", COLUMNS)
    table.append(trades(1, 1, 2, 3, 4, 5))
    assert ids(table.scan(where)) == [3, 4]
    assert table.count(where) == 2


def test_null_matches_no_comparison(lake):
    table = lake.create_table("t", {"x": "int64"})
    table.append({"x": [1, None, 3]})
    assert table.count("x > 1") == 1
    assert table.count("NOT x > 1") == 1
    assert table.count("x IS NULL") == 1
    assert table.count(mere.col("x") != 1) == 1


def test_columns_come_in_the_order_asked_for(lake):
    table = lake.create_table("t", COLUMNS)
    table.append(trades(1, 1, 2))
    assert table.scan(columns=["price", "trade_id"]).to_arrow().schema.names == [
        "price",
        "trade_id",
    ]
    assert table.scan(limit=1).to_arrow().num_rows == 1
    assert table.scan(limit=0).to_arrow().num_rows == 0


def test_overwriting_replaces_everything_or_some_partitions(any_lake):
    table = any_lake.create_table("t", COLUMNS, partition_by=["product_id"])
    table.append(trades(1, 1, 2, product="A"))
    table.append(trades(1, 3, 4, product="B"))
    report = table.overwrite(trades(2, 5, product="B"), partitions="dynamic")
    assert (report.rows_deleted, report.rows_inserted) == (2, 1)
    assert (report.files_removed, report.rows_after) == (1, 3)
    assert ids(table.scan()) == [1, 2, 5]
    table.overwrite(trades(2, 6, product="A"), where="product_id = 'A'")
    assert ids(table.scan()) == [5, 6]
    before = table.version
    table.overwrite(trades(2, 7, product="C"))
    assert ids(table.scan()) == [7]
    assert ids(table.scan(version=before)) == [5, 6]


def test_overwriting_refuses_what_files_cannot_tell_apart(lake):
    table = lake.create_table("t", COLUMNS)
    table.append(trades(1, 1, 2, 3))
    before = table.version
    with pytest.raises(InvalidInputError, match="do not match"):
        table.overwrite(trades(1, 2), where="trade_id < 2")
    assert table.version == before
    with pytest.raises(InvalidInputError, match="no partitions"):
        table.overwrite(trades(1, 1), partitions="dynamic")


def test_overwriting_refuses_new_rows_that_would_not_be_found_again(lake):
    table = lake.create_table("t", COLUMNS, partition_by=["product_id"])
    table.append(trades(1, 1, product="A"))
    with pytest.raises(InvalidInputError, match="1 of the new rows 0 to 0 do not match"):
        table.overwrite(trades(1, 1, product="B"), where="product_id = 'A'")
    assert ids(table.scan()) == [1]


def test_a_schema_grows_when_asked(any_lake):
    table = any_lake.create_table("t", {"id": "int32", "note": "varchar"})
    table.append({"id": pa.array([1], pa.int32()), "note": ["a"]})
    wider = pa.table({"id": pa.array([2**40]), "day": [date(2026, 1, 1)]})
    with pytest.raises(SchemaMismatchError) as caught:
        table.append(wider)
    assert "id: expected int32, got int64" in str(caught.value)
    assert "day: not in the table, got date" in str(caught.value)
    table.append(wider, merge_schema=True)
    rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [
        {"id": 1, "note": "a", "day": None},
        {"id": 2**40, "note": None, "day": date(2026, 1, 1)},
    ]
    assert table.scan(version=2).to_arrow().schema.names == ["id", "note"]


def test_a_column_becomes_text_when_asked(any_lake):
    table = any_lake.create_table("t", {"code": "int64"})
    table.append({"code": [1, 2]})
    table.append({"code": ["x3"]}, promote_to_string=True)
    assert sorted(table.scan().to_arrow()["code"].to_pylist()) == ["1", "2", "x3"]
    assert table.count("code = '2'") == 1
    assert table.count("code = 'x3'") == 1


def test_several_tables_change_in_one_commit(any_lake):
    any_lake.create_table("a", {"x": "int64"})
    before = any_lake.version
    with any_lake.transaction(message="both", author="me") as tx:
        tx.table("a").append({"x": [1, 2]})
        made = tx.create_table("b", {"y": "varchar"})
        made.append({"y": ["z"]})
        assert tx.table("a").count() == 2
        assert made.scan().to_arrow()["y"].to_pylist() == ["z"]
        assert any_lake.table("a").count() == 0
    assert any_lake.version == before + 1
    assert any_lake.table("b").count() == 1
    last = any_lake.snapshots().to_pylist()[-1]
    assert (last["message"], last["author"]) == ("both", "me")


def test_a_transaction_that_fails_leaves_nothing(any_lake):
    table = any_lake.create_table("a", {"x": "int64"})
    before = any_lake.version

    def fail():
        with any_lake.transaction() as tx:
            tx.table("a").append({"x": [1]})
            tx.create_table("b", {"y": "varchar"})
            msg = "stop"
            raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert any_lake.version == before
    assert table.count() == 0
    assert any_lake.tables() == ["main.a"]


def test_a_transaction_sees_its_own_changes_and_undoes_them(lake):
    table = lake.create_table("a", {"x": "int64"})
    table.append({"x": [1]})
    with lake.transaction() as tx:
        inner = tx.table("a")
        inner.append({"x": [2]})
        inner.overwrite({"x": [3, 4]})
        assert sorted(inner.scan().to_arrow()["x"].to_pylist()) == [3, 4]
        assert inner.count("x > 3") == 1
        tx.rename_table("a", "c")
        assert tx.tables() == ["main.c"]
    assert sorted(lake.table("c").scan().to_arrow()["x"].to_pylist()) == [3, 4]


def test_tables_are_renamed_dropped_and_made_again(any_lake):
    table = any_lake.create_table("a", {"x": "int64"})
    table.append({"x": [1]})
    old = any_lake.version
    renamed = any_lake.rename_table("a", "b")
    assert renamed.count() == 1
    assert any_lake.tables() == ["main.b"]
    any_lake.drop_table("b")
    assert any_lake.tables() == []
    with pytest.raises(TableNotFoundError):
        any_lake.table("b")
    any_lake.drop_table("b", missing_ok=True)
    again = any_lake.create_table("a", {"y": "varchar"})
    assert again.count() == 0
    assert again.scan(version=any_lake.version).to_arrow().schema.names == ["y"]
    assert any_lake.table("a").scan(version=old).to_arrow()["x"].to_pylist() == [1]


def test_schemas_hold_tables(any_lake):
    any_lake.create_schema("market")
    any_lake.create_table("market.trades", COLUMNS).append(trades(1, 1))
    assert any_lake.tables() == ["market.trades"]
    assert any_lake.tables(schema="main") == []
    assert any_lake.schemas() == ["main", "market"]
    with pytest.raises(InvalidInputError, match="holds 1 table"):
        any_lake.drop_schema("market")
    any_lake.drop_schema("market", cascade=True)
    assert any_lake.schemas() == ["main"]
    with pytest.raises(NotFoundError, match="no schema 'market'"):
        any_lake.create_table("market.x", COLUMNS)


def test_what_to_do_when_a_table_exists(lake):
    lake.create_table("t", {"x": "int64"}).append({"x": [1]})
    with pytest.raises(AlreadyExistsError, match=r"main\.t"):
        lake.create_table("t", {"x": "int64"})
    assert lake.create_table("t", {"y": "int64"}, if_exists="ok").count() == 1
    assert lake.create_table("t", {"y": "int64"}, if_exists="replace").count() == 0


def test_the_same_token_appends_once(any_lake):
    table = any_lake.create_table("t", {"x": "int64"})
    first = table.append({"x": [1]}, token="batch-7")
    again = table.append({"x": [1]}, token="batch-7")
    assert table.count() == 1
    assert again.version == first.version
    assert again.rows_inserted == 0


def test_history_tells_what_happened(any_lake):
    table = any_lake.create_table("t", {"x": "int64"})
    table.append({"x": [1, 2]}, message="two rows")
    table.overwrite({"x": [3]})
    history = table.history().to_pylist()
    assert [row["rows_inserted"] for row in history] == [0, 2, 1]
    assert history[-1]["rows_deleted"] == 2
    assert history[1]["message"] == "two rows"
    assert [row["version"] for row in history] == sorted(row["version"] for row in history)


def test_row_groups_are_known_to_the_catalog(lake):
    table = lake.create_table("t", {"x": "int64"}, properties={"parquet_row_group_size": 1000})
    table.append({"x": list(range(2500))})
    groups = table.row_groups().to_pylist()
    assert [group["rows"] for group in groups] == [1000, 1000, 500]
    assert all(group["bytes"] > 0 and group["raw_bytes"] > 0 for group in groups)


def test_sql_asks_over_all_tables(any_lake):
    any_lake.create_table("t", {"id": "int64", "name": "varchar"}).append(
        {"id": [1, 2, 3], "name": ["a", "b", None]}
    )
    any_lake.create_schema("s")
    any_lake.create_table("s.u", {"id": "int64"}).append({"id": [2, 3]})
    query = "SELECT name FROM t JOIN s.u USING (id) ORDER BY id"
    assert any_lake.sql(query).fetchall() == [("b",), (None,)]
    old = any_lake.version
    any_lake.table("t").append({"id": [4], "name": ["d"]})
    assert any_lake.sql("SELECT count(*) FROM main.t").fetchone() == (4,)
    assert any_lake.sql("SELECT count(*) FROM t", version=old).fetchone() == (3,)


def test_a_lake_is_opened_again_by_its_url(tmp_path):
    path = tmp_path / "shop.db"
    with mere.connect(path) as lake:
        lake.create_table("t", {"x": "int64"}).append({"x": [1]})
        url = lake.url
    assert mere.connect(url).table("t").count() == 1
    assert mere.connect(f"sqlite:///{path}").table("t").count() == 1
    assert mere.connect(str(path), read_only=True).table("t").count() == 1
    assert (tmp_path / "shop.db.files" / "main" / "t").is_dir()


def test_a_read_only_lake_refuses_every_change(tmp_path):
    mere.connect(tmp_path / "shop.db").create_table("t", {"x": "int64"})
    lake = mere.connect(tmp_path / "shop.db", read_only=True)
    for change in (
        lambda: lake.table("t").append({"x": [1]}),
        lambda: lake.create_table("u", {"x": "int64"}),
        lambda: lake.drop_table("t"),
        lambda: lake.transaction().__enter__(),
    ):
        with pytest.raises(InvalidInputError, match="read_only"):
            change()


def test_a_missing_lake_is_not_made_when_that_is_not_wanted(tmp_path):
    with pytest.raises(NotFoundError, match="no lake at"):
        mere.connect(tmp_path / "none.db", create=False)
    with pytest.raises(NotFoundError, match="no lake at"):
        mere.connect(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_catalog_is_refused(tmp_path):
    (tmp_path / "x.db").write_text("hello, this is no database")
    with pytest.raises(InvalidInputError, match="neither a SQLite nor a DuckDB file"):
        mere.connect(tmp_path / "x.db")
    with pytest.raises(InvalidInputError, match="is a folder"):
        mere.connect(tmp_path)
    with pytest.raises(InvalidInputError, match="unknown kind of catalog 's3'"):
        mere.connect("s3://bucket/lake")


def test_a_lake_is_not_pickled(lake):
    with pytest.raises(InvalidInputError, match="cannot be pickled"):
        pickle.dumps(lake)


def test_mistakes_are_answered_with_what_is_possible(lake):
    table = lake.create_table("orders", {"id": "int64", "user_id": "int64"})
    with pytest.raises(UnknownColumnError, match=r"unknown column 'usr_id'; .* id, user_id"):
        table.scan("usr_id = 3")
    with pytest.raises(UnknownColumnError, match="unknown column 'nope'"):
        table.scan(columns=["nope"])
    with pytest.raises(TableNotFoundError, match="orders"):
        lake.table("ordres")
    with pytest.raises(InvalidInputError):
        table.append(42)
    with pytest.raises(InvalidInputError):
        table.scan("id = = 3")
    with pytest.raises(InvalidInputError, match="version and as_of"):
        table.scan(version=1, as_of="2026-01-01")
    with pytest.raises(UnknownColumnError, match="'day'"):
        lake.create_table("x", {"id": "int64"}, partition_by=["day"])
    assert table.version == 1


def test_exact_values_survive(any_lake):
    values = {
        "d": pa.array([Decimal("1.50"), Decimal("-99999999.99"), None], pa.decimal128(10, 2)),
        "day": pa.array([date(1, 1, 1), date(9999, 12, 31), None]),
        "z": pa.array(
            [datetime(2026, 3, 29, 1, 59, 59, 999999, tzinfo=UTC), None, None],
            pa.timestamp("us", "UTC"),
        ),
        "f": pa.array([float("nan"), -0.0, float("inf")]),
        "b": pa.array([b"\x00\xff", b"", None]),
        "l": pa.array([[1, None], [], None], pa.list_(pa.int64())),
    }
    rows = pa.table(values)
    table = any_lake.create_table("t", rows)
    table.append(rows)
    back = table.scan().to_arrow()
    assert back.schema.equals(rows.schema)
    assert str(back.to_pylist()) == str(rows.to_pylist())
    assert table.count("f = 'nan'") == 1
    assert table.count("day = '9999-12-31'") == 1
    assert table.count("d < 0") == 1
