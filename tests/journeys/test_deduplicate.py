"""One row of each key stays, the same on every kernel and runner, and in bounded memory."""

import datetime as dt
import math
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import mere
from mere.errors import InvalidInputError, UnknownColumnError, UnsupportedError
from mere.ops.mutate import duplicates
from mere.plan import duplicates as planned
from mere.reading import sifting


@pytest.fixture(params=["pyarrow", "duckdb", "pyarrow, copy-on-write", "duckdb, copy-on-write"])
def shop(request, tmp_path):
    """Open a fresh lake, once for each kernel and way to store changes."""
    kernel, _, mode = request.param.partition(", ")
    with mere.connect(tmp_path / "shop.db", kernel=kernel) as lake:
        lake.set_option("mere_write_mode", mode or None)
        yield lake


@pytest.fixture(params=["one step", "two steps"])
def steps(request, monkeypatch):
    """Compare all keys at once, or in parts, as it is done with many rows."""
    if request.param == "two steps":
        monkeypatch.setattr(planned, "TASK_ROWS", 2)
        monkeypatch.setattr(sifting, "PART_BYTES", 100)
    return request.param


def rows(table, *columns):
    found = table.scan(columns=columns or None).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def test_the_first_or_the_last_row_of_each_key_stays(shop, steps):
    table = shop.create_table("t", {"k": "int64", "at": "int64", "v": "varchar"})
    table.append([{"k": n % 3, "at": n, "v": f"a{n}"} for n in range(6)])
    table.append([{"k": n % 4, "at": 10 - n, "v": f"b{n}"} for n in range(6)])
    version = table.version
    dry = table.deduplicate("k", order_by="at", keep="last", dry_run=True)
    assert (dry.rows_deleted, table.version, dry.dry_run) == (8, version, True)
    done = table.deduplicate("k", order_by="at", keep="last")
    assert (done.rows_deleted, done.rows_before, done.rows_after) == (8, 12, 4)
    assert rows(table, "v") == [("b0",), ("b1",), ("b2",), ("b3",)]
    assert table.count(version=version) == 12
    assert {row["change_type"] for row in table.changes(done.version).to_pylist()} == {"delete"}
    table.restore(version=version)
    table.deduplicate("k", order_by=["at DESC"], keep="last")
    assert rows(table, "v") == [("a0",), ("a1",), ("a2",), ("b3",)]
    table.restore(version=version)
    table.deduplicate("k")
    assert rows(table, "v") == [("a0",), ("a1",), ("a2",), ("b3",)]
    table.restore(version=version)
    table.deduplicate("k", keep="last")
    assert rows(table, "v") == [("b2",), ("b3",), ("b4",), ("b5",)]
    assert "compared 12 keys" in done.plan
    assert ("buckets" in done.plan) == (steps == "two steps")


def test_a_table_without_duplicates_stays_as_it_is(shop, steps, tmp_path):
    table = shop.create_table("t", {"k": "int64"})
    table.append([{"k": n} for n in range(5)])
    version, files = table.version, sorted(tmp_path.rglob("*.parquet"))
    report = table.deduplicate("k")
    assert (report.rows_deleted, table.version, report.version) == (0, version, version)
    assert sorted(tmp_path.rglob("*.parquet")) == files
    assert len(files) == 1
    assert steps


def test_null_equals_null_and_nan_equals_nan(shop, steps):
    table = shop.create_table("t", {"k": "float64", "g": "varchar", "n": "int64"})
    keys = [math.nan, None, 0.0, 1.5]
    for start in (0, 10):
        values = [*keys, -0.0] if start else keys
        columns = {"k": values, "g": ["x"] * 4 + [None] * (len(values) - 4)}
        numbers = [start + n for n in range(len(values))]
        table.append(pa.table({**columns, "n": numbers}))
    table.append(pa.table({"k": [0.0], "g": pa.nulls(1, pa.string()), "n": [20]}))
    assert table.deduplicate(["k", "g"]).rows_deleted == 5
    assert rows(table, "n") == [(0,), (1,), (14,), (2,), (3,)]
    assert steps


def test_a_null_to_order_by_never_wins_unless_it_is_said(shop):
    table = shop.create_table("t", {"k": "int64", "at": "float64"})
    data = [(1, None), (1, 5.0), (1, math.nan), (2, 1.0), (2, None), (3, None), (3, None)]
    table.append(pa.table({"k": [k for k, _ in data], "at": [at for _, at in data]}))
    version = table.version
    for order, keep, stays in (
        ("at", "first", ["(1, 5.0)", "(2, 1.0)", "(3, None)"]),
        ("at", "last", ["(1, nan)", "(2, 1.0)", "(3, None)"]),
        ("at NULLS LAST", "last", ["(1, None)", "(2, None)", "(3, None)"]),
        ("at DESC", "first", ["(1, nan)", "(2, 1.0)", "(3, None)"]),
        ("at DESC NULLS FIRST", "first", ["(1, None)", "(2, None)", "(3, None)"]),
    ):
        assert table.deduplicate("k", order_by=order, keep=keep).rows_deleted == 4
        assert [str(row) for row in rows(table)] == stays, (order, keep)
        table.restore(version=version)


def test_keys_of_every_kind_are_compared(shop, steps):
    one, other = uuid.UUID(int=1), uuid.UUID(int=2)
    day = dt.date(2026, 1, 1)
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    kinds = {
        "boolean": (True, False),
        "decimal(9,2)": (Decimal("1.50"), Decimal("-2.25")),
        "date": (day, day + dt.timedelta(1)),
        "timestamptz": (moment, moment + dt.timedelta(seconds=1)),
        "uuid": (one, other),
        "blob": (b"a\x00", b"a"),
        "varchar": ("it's", ""),
        "uint64": (2**64 - 1, 0),
    }
    for number, (kind, (a, b)) in enumerate(kinds.items()):
        table = shop.create_table(f"t{number}", {"k": kind, "n": "int64"})
        table.append([{"k": a, "n": 1}, {"k": b, "n": 2}, {"k": None, "n": 3}])
        table.append([{"k": b, "n": 4}, {"k": None, "n": 5}, {"k": a, "n": 6}])
        assert table.deduplicate("k", order_by="k").rows_deleted == 3, kind
        assert rows(table, "n") == [(1,), (2,), (3,)], kind
    assert steps


def test_what_cannot_be_asked_is_refused_before_any_file_is_opened(shop, tmp_path):
    table = shop.create_table(
        "t", pa.schema([("k", pa.int64()), ("l", pa.list_(pa.int64())), ("v", pa.string())])
    )
    table.append(pa.table({"k": [1, 1], "l": [[1], [2]], "v": ["a", "b"]}))
    for file in tmp_path.rglob("*.parquet"):
        file.write_bytes(b"")
    with pytest.raises(UnknownColumnError, match="unknown column 'key'"):
        table.deduplicate("key")
    with pytest.raises(UnknownColumnError, match="unknown column 'ts'"):
        table.deduplicate("k", order_by="ts DESC")
    with pytest.raises(InvalidInputError, match="one or more different columns"):
        table.deduplicate([])
    with pytest.raises(InvalidInputError, match="'first' or 'last', got 'newest'"):
        table.deduplicate("k", keep="newest")
    with pytest.raises(UnsupportedError, match="'l', which is list"):
        table.deduplicate("l")
    with pytest.raises(UnsupportedError, match="'l', which is list"):
        table.deduplicate("k", order_by="l")


def test_partitions_without_a_common_key_are_compared_apart(shop, monkeypatch):
    monkeypatch.setattr(planned, "TASK_ROWS", 4)
    table = shop.create_table("t", {"p": "varchar", "k": "int64"}, partition_by=["p"])
    for _ in range(2):
        table.append([{"p": p, "k": n} for p in ("a", "b", None) for n in (1, 2)])
    report = table.deduplicate(["p", "k"])
    assert (report.rows_deleted, report.files_removed) == (6, 3)
    assert "compared 12 keys in 3 tasks" in report.plan
    table.append([{"p": "c", "k": 1}])
    across = table.deduplicate("k")
    assert (across.rows_deleted, table.count()) == (5, 2)


def test_files_apart_by_bounds_are_compared_apart_but_for_nulls(shop, monkeypatch):
    monkeypatch.setattr(planned, "TASK_ROWS", 3)
    table = shop.create_table("t", {"k": "int64", "n": "int64"})
    table.append([{"k": 1, "n": 1}, {"k": 2, "n": 2}, {"k": 2, "n": 3}])
    table.append([{"k": 10, "n": 4}, {"k": 10, "n": 5}, {"k": 11, "n": 6}])
    assert "compared 6 keys in 2 tasks" in table.deduplicate("k").plan
    assert rows(table, "n") == [(1,), (2,), (4,), (6,)]
    table.append([{"k": 20, "n": 7}, {"k": None, "n": 8}])
    table.append([{"k": 30, "n": 9}, {"k": None, "n": 10}])
    assert table.deduplicate("k").rows_deleted == 1
    assert rows(table, "n") == [(1,), (2,), (4,), (6,), (7,), (8,), (9,)]


def test_it_agrees_with_sql_whatever_was_deleted_and_updated_before(shop, steps):
    seed = np.random.default_rng(7)
    table = shop.create_table(
        "t", {"p": "varchar", "k": "varchar", "ts": "int64", "n": "int64"}, partition_by=["p"]
    )
    count = 0
    for _ in range(4):
        data = []
        for _ in range(40):
            key = [None, *"abcdef"][seed.integers(7)]
            part = "xy"[seed.integers(2)]
            data.append({"p": part, "k": key, "ts": int(seed.integers(5)), "n": count})
            count += 1
        table.append(data)
        table.delete(f"n % 7 = {seed.integers(7)}")
        table.update({"ts": "ts + 1", "p": mere.lit("z")}, where=f"n % 11 = {seed.integers(11)}")
    query = (
        "SELECT n FROM (SELECT n, row_number() OVER (PARTITION BY p, k ORDER BY ts DESC, n DESC) "
        "AS place FROM t) WHERE place = 1"
    )
    expected = sorted(shop.sql(query).fetchall(), key=repr)
    table.deduplicate(["k", "p"], order_by="ts", keep="last")
    assert rows(table, "n") == expected
    assert table.deduplicate(["k", "p"]).rows_deleted == 0
    assert steps


def test_rows_that_a_transaction_wrote_came_last(shop):
    table = shop.create_table("t", {"k": "int64", "v": "varchar"})
    table.append([{"k": 1, "v": "old"}, {"k": 2, "v": "old"}])
    with shop.transaction() as tx:
        inside = tx.table("t")
        inside.append([{"k": 1, "v": "new"}, {"k": 3, "v": "new"}])
        inside.append([{"k": 3, "v": "newer"}])
        assert inside.deduplicate("k").rows_deleted == 2
        assert inside.count() == 3
    assert rows(table) == [(1, "old"), (2, "old"), (3, "new")]
    with shop.transaction() as tx:
        tx.table("t").append([{"k": 1, "v": "newest"}])
        tx.table("t").deduplicate("k", keep="last")
    assert rows(table) == [(1, "newest"), (2, "old"), (3, "new")]


def test_what_others_append_meanwhile_is_compared_too(shop, meanwhile, steps):
    table = shop.create_table("t", {"k": "int64", "v": "varchar"})
    table.append([{"k": 1, "v": "a"}, {"k": 1, "v": "b"}])
    table.append([{"k": 2, "v": "a"}])
    meanwhile(
        lambda: table.append([{"k": 2, "v": "late"}]),
        lambda: table.delete("v = 'a'"),
    )
    report = table.deduplicate("k")
    assert rows(table) == [(1, "b"), (2, "late")]
    assert (report.retries, report.rows_deleted) == (2, 0)
    assert steps


@pytest.mark.usefixtures("steps")
def test_rows_that_others_move_while_keys_are_compared_go_all_the_same(shop, tmp_path, monkeypatch):
    table = shop.create_table("t", {"k": "int64", "v": "int64"})
    for n in range(3):
        table.append([{"k": 1, "v": n}, {"k": 2, "v": n}])
    real, left = sifting.sift, [1]

    def between(*args, **settings):
        result = real(*args, **settings)
        if left and left.pop():
            with mere.connect(tmp_path / "shop.db") as other:
                assert other.table("t").compact().files_removed == 3
        return result

    monkeypatch.setattr(duplicates, "sift", between)
    assert table.deduplicate("k").rows_deleted == 4
    assert rows(table) == [(1, 0), (2, 0)]
