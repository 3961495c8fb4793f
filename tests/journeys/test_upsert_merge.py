"""A source is merged into a table as SQL means it: by keys, in one commit, nothing lost."""

import math
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.errors import (
    DuplicateKeyError,
    InvalidInputError,
    SchemaMismatchError,
    UnknownColumnError,
    UnsupportedError,
)
from mere.reading import probing


@pytest.fixture(params=["pyarrow", "duckdb", "pyarrow, copy-on-write", "duckdb, copy-on-write"])
def shop(request, tmp_path):
    """Open a fresh lake, once for each kernel and way to store changes."""
    kernel, _, mode = request.param.partition(", ")
    with mere.connect(tmp_path / "shop.db", kernel=kernel) as lake:
        lake.set_option("mere_write_mode", mode or None)
        yield lake


@pytest.fixture
def trades(shop):
    table = shop.create_table(
        "trades",
        {"product": "varchar", "id": "int64", "price": "float64", "note": "varchar"},
        partition_by=["product"],
    )
    table.append(
        [
            {"product": "A", "id": 1, "price": 1.0, "note": "one"},
            {"product": "A", "id": 2, "price": 2.0, "note": "two"},
            {"product": "B", "id": 3, "price": 3.0, "note": "three"},
        ]
    )
    return table


def rows(table, *columns):
    found = table.scan(columns=columns or None).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def counts(report):
    return report.rows_inserted, report.rows_updated, report.rows_deleted


def test_known_keys_are_updated_and_new_ones_inserted(trades):
    data = [
        {"product": "A", "id": 2, "price": 20.0, "note": None},
        {"product": "C", "id": 4, "price": 4.0, "note": "four"},
    ]
    dry = trades.upsert(data, on=("product", "id"), dry_run=True)
    assert trades.count() == 3
    done = trades.upsert(data, on=("product", "id"))
    assert counts(dry) == counts(done) == (1, 1, 0)
    assert (done.rows_before, done.rows_after, trades.count()) == (3, 4, 4)
    assert rows(trades)[1:] == [
        ("A", 2, 20.0, None),
        ("B", 3, 3.0, "three"),
        ("C", 4, 4.0, "four"),
    ]
    assert [row["change_type"] for row in trades.changes(done.version).to_pylist()] == [
        "update_preimage",
        "update_postimage",
        "insert",
    ]


def test_columns_that_the_source_lacks_are_kept(trades):
    trades.evolve().add_column("checked", "boolean", default=False).commit()
    trades.upsert([{"id": 1, "price": 10.0}, {"id": 9, "price": 9.0}], on="id")
    assert rows(trades, "id", "product", "price", "note", "checked") == [
        (1, "A", 10.0, "one", False),
        (2, "A", 2.0, "two", False),
        (3, "B", 3.0, "three", False),
        (9, None, 9.0, None, False),
    ]


def test_a_key_in_another_partition_is_found_and_its_row_moves(trades):
    assert counts(trades.upsert([{"product": "Z", "id": 1, "price": 5.0}], on="id")) == (0, 1, 0)
    assert rows(trades, "product", "id", "note") == [
        ("A", 2, "two"),
        ("B", 3, "three"),
        ("Z", 1, "one"),
    ]
    assert trades.count("product = 'Z'") == 1


@pytest.mark.parametrize("extra", [[], [{"id": 50}]])
def test_a_key_that_comes_twice_is_refused_before_anything_is_written(trades, tmp_path, extra):
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(DuplicateKeyError, match=r"2 key\(s\) more than once: id=1; id=7"):
        trades.upsert([{"id": n} for n in (1, 7, 1, 7, 7, 3)] + extra, on="id")
    assert sorted(tmp_path.rglob("*.parquet")) == before


def test_null_keys_match_nothing_and_nan_keys_match_nan(shop):
    table = shop.create_table("t", {"k": "float64", "g": "int64", "v": "varchar"})
    table.append(
        [
            {"k": math.nan, "g": 1, "v": "nan"},
            {"k": None, "g": 1, "v": "null"},
            {"k": 0.0, "g": 1, "v": "zero"},
        ]
    )
    data = pa.table(
        {
            "k": pa.array([math.nan, None, None, -0.0, 1.5], from_pandas=False),
            "g": [1, 1, 1, 1, 1],
            "v": ["NAN", "NULL", "NULL2", "ZERO", "new"],
        }
    )
    assert counts(table.upsert(data, on=("k", "g"))) == (3, 2, 0)
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == [
        *("NAN", "NULL", "NULL2", "ZERO", "new", "null")
    ]


def test_only_named_columns_are_updated_or_rows_only_inserted(trades):
    data = [{"id": 1, "price": 10.0, "note": "x"}, {"id": 8, "price": 8.0, "note": "y"}]
    assert counts(trades.upsert(data, on="id", update=["price"], insert=False)) == (0, 1, 0)
    assert rows(trades, "id", "price", "note")[0] == (1, 10.0, "one")
    assert counts(trades.upsert(data, on="id", update=[])) == (1, 0, 0)
    assert rows(trades, "id", "price", "note")[-1] == (8, 8.0, "y")


def test_what_cannot_fit_is_refused(shop, trades):
    with pytest.raises(SchemaMismatchError, match="price: expected float64, got varchar"):
        trades.upsert([{"id": 1, "price": "10"}], on="id")
    with pytest.raises(SchemaMismatchError, match="does not have: extra: int64"):
        trades.upsert([{"id": 1, "extra": 1}], on="id")
    with pytest.raises(UnknownColumnError, match="unknown column 'key'"):
        trades.upsert([{"id": 1}], on="key")
    with pytest.raises(InvalidInputError, match="no column 'id' to match rows by"):
        trades.upsert([{"price": 1.0}], on="id")
    with pytest.raises(InvalidInputError, match="one or more different columns"):
        trades.upsert([{"id": 1}], on=[])
    with pytest.raises(InvalidInputError, match="which the source does not have"):
        trades.upsert([{"id": 1}], on="id", update=["price"])
    with pytest.raises(InvalidInputError, match="without a clause"):
        trades.merge([{"id": 1}], on="id").run()
    nested = shop.create_table("n", pa.schema([("k", pa.list_(pa.int64())), ("v", pa.int64())]))
    with pytest.raises(UnsupportedError, match=r"rows are not matched by 'k', which is list"):
        nested.upsert(pa.table({"k": [[1]], "v": [1]}), on="k")
    assert trades.version == nested.version


def test_a_new_row_without_a_value_that_it_needs_is_refused(shop):
    table = shop.create_table("t", {"id": "int64", "need": "int64", "v": "int64"})
    table.append([{"id": 1, "need": 1, "v": 1}])
    table.evolve().set_not_null("need").add_check("positive", "v > 0").commit()
    assert counts(table.upsert([{"id": 1, "v": 2}], on="id")) == (0, 1, 0)
    with pytest.raises(SchemaMismatchError, match="need"):
        table.upsert([{"id": 1, "v": 3}, {"id": 2, "v": 3}], on="id")
    with pytest.raises(SchemaMismatchError, match="positive"):
        table.upsert([{"id": 1, "v": 0}], on="id")
    assert rows(table) == [(1, 1, 2)]


def test_only_files_that_can_hold_a_key_are_opened(shop, tmp_path):
    table = shop.create_table(
        "t", {"day": "date", "n": "int64", "v": "int64"}, partition_by=["day"]
    )
    for day in range(1, 6):
        for part in range(3):
            start = day * 100 + part * 10
            numbers = range(start, start + 10)
            table.append({"day": [date(2026, 1, day)] * 10, "n": numbers, "v": [0] * 10})
    kept = {row["path"] for row in table.files().to_pylist() if "2026-01-03" in row["path"]}
    for file in (tmp_path / "shop.db.files").rglob("*.parquet"):
        if not any(str(file).endswith(path) for path in kept):
            file.rename(file.with_suffix(".away"))
    data = {"day": [date(2026, 1, 3)] * 2, "n": [315, 999], "v": [1, 1]}
    report = table.upsert(data, on=("day", "n"))
    assert counts(report) == (1, 1, 0)
    assert "looked into 1 of 15 files" in report.plan


@pytest.mark.parametrize("held", [1, probing._HELD_BYTES])  # noqa: SLF001  the limit itself is the case
def test_new_versions_are_the_same_however_many_are_made_at_once(shop, monkeypatch, held):
    monkeypatch.setattr(probing, "_HELD_BYTES", held)
    table = shop.create_table("t", {"id": "int64", "v": "int64", "w": "int64"})
    for start in range(0, 40, 10):
        ids = list(range(start, start + 10))
        table.append({"id": ids, "v": [n * 2 for n in ids], "w": ids})
    for turn in (1, 2):
        table.upsert({"id": range(5, 45, 5), "v": [turn] * 8, "w": [-turn] * 8}, on="id")
        table.update({"v": "v + w", "w": "v"}, where="id % 10 = 3")
    expected = {n: (n * 2, n) for n in range(40)} | dict.fromkeys(range(5, 45, 5), (2, -2))
    expected |= {n: (n * 5, n * 3) for n in range(3, 40, 10)}
    found = table.scan().to_arrow().to_pylist()
    assert {row["id"]: (row["v"], row["w"]) for row in found} == expected
    assert len(found) == len(expected)
    updated = table.changes(table.version - 1).to_pylist()
    images = [row["rowid"] for row in updated if row["change_type"] == "update_preimage"]
    renewed = [row["rowid"] for row in updated if row["change_type"] == "update_postimage"]
    assert sorted(images) == sorted(renewed)
    assert len(renewed) == 8 + 4


def test_rows_and_order_of_untouched_rows_stay(shop):
    table = shop.create_table("t", {"id": "int64", "v": "int64"})
    ids = [(n * 7919) % 5000 for n in range(5000)]
    table.append({"id": ids, "v": [0] * 5000})
    table.upsert({"id": range(0, 5000, 50), "v": [1] * 100}, on="id")
    found = table.scan().to_arrow()["id"].to_pylist()
    if "mere_write_mode" in table.options:
        assert found == ids, "copied files keep all rows in place"
    else:
        assert found[:4900] == [n for n in ids if n % 50]
    assert sorted(found) == list(range(5000))


def test_a_large_source_is_staged_in_files_and_cleared_away(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("mere.ops.mutate.source.FEW_BYTES", 1000)
    monkeypatch.setattr("mere.ops.mutate.source.CHUNK_BYTES", 2000)
    table = shop.create_table("t", {"id": "int64", "v": "int64", "s": "varchar"})
    table.append({"id": range(20_000), "v": [0] * 20_000, "s": ["x"] * 20_000})
    source = {"id": range(10_000, 30_000), "v": range(20_000)}
    report = table.upsert(pa.table(source), on="id")
    assert counts(report) == (10_000, 10_000, 0)
    assert "chunks of files" in report.plan
    found = table.scan().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(30_000))
    assert found["v"].to_pylist() == [0] * 10_000 + list(range(20_000))
    assert found["s"].to_pylist() == ["x"] * 20_000 + [None] * 10_000
    older = table.scan(version=report.version - 1).files()
    listed = {row["path"] for found in (table.files(), older) for row in found.to_pylist()}
    lying = {str(f.relative_to(tmp_path / "shop.db.files")) for f in tmp_path.rglob("*.parquet")}
    assert {path for path in lying if not path.endswith("-delete.parquet")} == listed
    with pytest.raises(DuplicateKeyError, match="once: id=5"):
        table.upsert(pa.table({"id": [*range(5000), 5], "v": range(5001)}), on="id")


def test_a_merge_decides_by_the_first_clause_that_holds(trades):
    source = [
        {"id": 1, "price": 10.0, "op": "change"},
        {"id": 2, "price": 0.0, "op": "drop"},
        {"id": 3, "price": 30.0, "op": "ignore"},
        {"id": 4, "price": 40.0, "op": "change"},
        {"id": 5, "price": 50.0, "op": "drop"},
    ]
    merge = (
        trades.merge(source, on="id")
        .when_matched_delete(when="source.op = 'drop'")
        .when_matched_update(
            {"price": "target.price + source.price", "note": "source.op"},
            when=mere.col("source.op") == "change",
        )
        .when_not_matched_insert(
            {"id": "id", "price": "source.price / 2", "note": mere.lit("new")}, when="op != 'drop'"
        )
    )
    assert counts(merge.run(dry_run=True)) == (1, 1, 1)
    report = merge.run(message="daily")
    assert counts(report) == (1, 1, 1)
    assert rows(trades, "id", "price", "note") == [
        (1, 11.0, "change"),
        (3, 3.0, "three"),
        (4, 20.0, "new"),
    ]
    told = trades.history().to_pylist()[-1]
    assert (told["operation"], told["message"], told["rows_updated"]) == ("merge", "daily", 1)


@pytest.mark.parametrize("typed", [True, False])
def test_a_column_of_the_source_that_is_null_in_every_row_is_null_in_clauses(trades, typed):
    kind = pa.float64() if typed else pa.null()
    empty = pa.array([None, None], kind)
    source = pa.table({"id": [1, 4], "price": [10.0, 40.0], "fee": empty, "Gone": empty})
    merge = (
        trades.merge(source, on="id")
        .when_matched_delete(when="source.gone > 1 OR source.fee <> 0")
        .when_matched_update(
            {"price": "source.fee", "note": mere.lit("m")}, when="source.gone IS NULL"
        )
        .when_not_matched_insert({"id": "id", "price": "price + fee"}, when="fee IS NOT NULL")
        .when_not_matched_insert(
            {"id": "id", "price": "coalesce(source.Fee, source.price)", "note": mere.lit("n")}
        )
    )
    assert counts(merge.run()) == (1, 1, 0)
    assert rows(trades, "id", "price", "note") == [
        (1, None, "m"),
        (2, 2.0, "two"),
        (3, 3.0, "three"),
        (4, 40.0, "n"),
    ]
    with pytest.raises(UnknownColumnError, match="fees"):
        trades.merge(source, on="id").when_matched_update({"price": "source.fees"}).run()


def test_rows_that_the_source_no_longer_has_go_or_change(trades):
    merge = (
        trades.merge([{"id": 2, "price": 5.0}, {"id": 9, "price": 9.0}], on="id")
        .when_matched_update()
        .when_not_matched_insert()
        .when_not_matched_by_source_update({"note": mere.lit("old")}, when="price < 2")
        .when_not_matched_by_source_delete()
    )
    assert counts(merge.run()) == (1, 2, 1)
    assert rows(trades, "id", "price", "note") == [
        (1, 1.0, "old"),
        (2, 5.0, "two"),
        (9, 9.0, None),
    ]
    assert counts(
        trades.merge(pa.table({"id": pa.array([], pa.int64())}), on="id")
        .when_not_matched_by_source_delete()
        .run()
    ) == (0, 0, 3)


def test_names_of_clauses_are_checked_before_anything_is_read(trades):
    source = [{"id": 1, "price": 1.0}]
    with pytest.raises(UnknownColumnError, match=r"source\.prize"):
        trades.merge(source, on="id").when_matched_update({"price": "source.prize"}).run()
    with pytest.raises(InvalidInputError, match="no row of the table to look at"):
        trades.merge(source, on="id").when_not_matched_insert({"id": "target.id"}).run()
    with pytest.raises(InvalidInputError, match="column 'id' is int64"):
        trades.merge(source, on="id").when_matched_update({"id": "source.price"}).run()
    with pytest.raises(UnknownColumnError, match="source"):
        trades.merge(source, on="id").when_not_matched_by_source_delete(when="source.id = 1").run()


def test_keys_of_many_types_match(shop):
    everything = pa.table(
        {
            "s": pa.array(["a", "b", "ü"]),
            "d": pa.array([date(2026, 1, 1), date(1969, 1, 1), None]),
            "t": pa.array([1, 2, 3], pa.timestamp("us")),
            "z": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
            "n": pa.array([1, 2, 3], pa.timestamp("ns")),
            "b": pa.array([b"x", b"", b"\xff"]),
            "f": pa.array([True, False, None]),
            "m": pa.array(["1.50", "2.25", "-3.00"]).cast(pa.decimal128(10, 2)),
            "u": pa.array([2**63 + 5, 1, 0], pa.uint64()),
            "i": pa.array([1, 2, 3], pa.int8()),
        }
    )
    for name in everything.column_names:
        table = shop.create_table(
            f"by_{name}", pa.schema([everything.schema.field(name), ("v", pa.int64())])
        )
        half = everything.select([name]).slice(0, 2).append_column("v", pa.array([1, 2]))
        table.append(half)
        full = everything.select([name]).append_column("v", pa.array([10, 20, 30]))
        assert counts(table.upsert(full, on=name)) == (1, 2, 0), name
        assert sorted(table.scan().to_arrow()["v"].to_pylist()) == [10, 20, 30], name


def test_an_upsert_inside_a_transaction_sees_what_came_before(shop, trades):
    with shop.transaction() as tx:
        table = tx.table("trades")
        table.upsert([{"id": 1, "price": 10.0}, {"id": 7, "price": 7.0}], on="id")
        table.upsert([{"id": 1, "note": "again"}], on="id")
        table.delete("id = 7")
    assert rows(trades, "id", "price", "note") == [
        (1, 10.0, "again"),
        (2, 2.0, "two"),
        (3, 3.0, "three"),
    ]


def test_rows_of_adopted_files_are_updated_and_move_and_the_files_stay(shop, tmp_path):
    for part, ids in (("a", [1, 2, 3]), ("b", [4, 5])):
        folder = tmp_path / "strange" / f"p={part}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": ids, "v": [n / 2 for n in ids]}), folder / "x.parquet")
    there = {file: file.read_bytes() for file in (tmp_path / "strange").rglob("*.parquet")}
    shop.adopt(str(tmp_path / "strange"), "strange", partition_by="hive")
    table = shop.table("strange")
    source = [{"id": 2, "v": 20.0, "p": "b"}, {"id": 9, "v": None, "p": "c"}]
    assert counts(table.upsert(source, on="id")) == (1, 1, 0)
    assert counts(table.delete("p = 'b' AND id = 4")) == (0, 0, 1)
    assert counts(table.update({"v": "v + 1"}, where="id = 1")) == (0, 1, 0)
    assert rows(table, "id", "p", "v") == [
        *[(1, "a", 1.5), (2, "b", 20.0), (3, "a", 1.5), (5, "b", 2.5), (9, "c", None)]
    ]
    assert {file: file.read_bytes() for file in there} == there
