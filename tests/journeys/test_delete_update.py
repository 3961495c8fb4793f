"""Rows are deleted and updated as SQL means it, whatever the kernel and the catalog."""

from datetime import date

import pyarrow as pa
import pytest

import mere
from mere.errors import InvalidInputError, SchemaMismatchError, UnknownColumnError

COLUMNS = {"id": "int64", "product": "varchar", "price": "float64", "spread": "float64"}


@pytest.fixture(params=["pyarrow", "duckdb", "pyarrow, copy-on-write", "duckdb, copy-on-write"])
def shop(request, tmp_path):
    """Open a fresh lake, once for each kernel and way to store changes."""
    kernel, _, mode = request.param.partition(", ")
    with mere.connect(tmp_path / "shop.db", kernel=kernel) as lake:
        lake.set_option("mere_write_mode", mode or None)
        yield lake


@pytest.fixture
def trades(shop):
    table = shop.create_table("trades", COLUMNS, partition_by=["product"])
    table.append(
        [
            {"id": 1, "product": "A", "price": 1.0, "spread": None},
            {"id": 2, "product": "A", "price": None, "spread": 0.5},
            {"id": 3, "product": "B", "price": 3.0, "spread": None},
            {"id": 4, "product": "B", "price": 4.0, "spread": 0.25},
        ]
    )
    return table


def rows(table, *columns):
    found = table.scan(columns=columns or None).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def test_a_row_for_which_the_condition_is_null_stays(trades):
    report = trades.delete("price > 2.5")
    assert (report.rows_deleted, report.rows_before, report.rows_after) == (2, 4, 2)
    assert rows(trades, "id", "price") == [(1, 1.0), (2, None)]
    assert trades.delete("NOT (price > 2.5)").rows_deleted == 1
    assert rows(trades, "id") == [(2,)]


def test_files_of_which_every_row_goes_are_not_opened(trades, shop, tmp_path):
    for file in (tmp_path / "shop.db.files").rglob("*.parquet"):
        file.rename(file.with_suffix(".away"))
    report = trades.delete("product = 'A'")
    assert (report.rows_deleted, report.files_removed, trades.count()) == (2, 1, 2)
    assert trades.count("product = 'B'") == 2
    assert trades.delete({"product": ["B", "C"]}, dry_run=True).rows_deleted == 2
    assert shop.table("trades").delete("true").rows_deleted == 2


def test_a_dry_run_counts_exactly_and_writes_nothing(trades, shop, tmp_path):
    def lying():
        return sorted(str(file) for file in tmp_path.rglob("*.parquet"))

    before, version = lying(), trades.version
    assert trades.delete("id >= 2", dry_run=True).rows_deleted == 3
    assert trades.update({"price": 0}, where="id >= 2", dry_run=True).rows_updated == 3
    assert lying() == before
    assert trades.version == version
    assert "would be" in str(trades.delete("id = 1", dry_run=True))
    with mere.connect(shop.url, read_only=True) as reader:
        assert reader.table("trades").delete("id = 1", dry_run=True).rows_deleted == 1
        with pytest.raises(InvalidInputError, match="read_only"):
            reader.table("trades").delete("id = 1")


def test_later_deletes_join_the_first_one(trades):
    trades.append([{"id": n, "product": "A", "price": float(n)} for n in range(10, 20)])
    for n in range(10, 20, 2):
        assert trades.delete(f"id = {n}").rows_deleted == 1
    assert trades.delete("id = 10").rows_deleted == 0
    counts = [trades.count(version=version) for version in range(3, trades.version + 1)]
    assert counts == [14, 13, 12, 11, 10, 9]
    told = trades.history().to_pylist()[-5:]
    assert [(row["operation"], row["rows_deleted"]) for row in told] == [("delete", 1)] * 5
    assert [row["rowid"] for row in trades.changes(4).to_pylist()] == [4, 6, 8, 10, 12]


def test_a_delete_file_that_was_read_is_not_read_again(trades, tmp_path):
    before = set((tmp_path / "shop.db.files").rglob("*.parquet"))
    trades.delete("id = 1")
    rest = rows(trades, "id")
    for file in set((tmp_path / "shop.db.files").rglob("*.parquet")) - before:
        if "delete" in file.name:
            file.rename(file.with_suffix(".away"))
    assert rows(trades, "id") == rest == [(2,), (3,), (4,)]


def test_every_value_is_computed_from_the_row_as_it_was(trades):
    report = trades.update({"price": "spread", "spread": "price"}, where="spread IS NULL")
    assert (report.rows_updated, report.rows_inserted, report.rows_deleted) == (2, 0, 0)
    assert rows(trades, "id", "price", "spread") == [
        (1, None, 1.0),
        (2, None, 0.5),
        (3, None, 3.0),
        (4, 4.0, 0.25),
    ]


def test_a_text_is_an_expression_and_lit_is_the_text(trades):
    trades.update({"product": mere.lit("id"), "price": "id * 1.5"}, where="id = 3")
    trades.update({"spread": "CASE WHEN price > 2 THEN 1 ELSE -1 END"})
    assert rows(trades)[2] == (3, "id", 4.5, 1.0)
    assert rows(trades, "spread") == [(-1.0,), (-1.0,), (1.0,), (1.0,)]


def test_a_row_whose_partition_changes_moves(trades):
    trades.update({"product": mere.lit("C")}, where="product = 'A' AND price = 1")
    found = {tuple(row["partition"][0]): row["rows"] for row in trades.partitions().to_pylist()}
    assert found == {("product", "A"): 1, ("product", "B"): 2, ("product", "C"): 1}
    assert trades.scan("product = 'C'").to_arrow().to_pylist()[0]["id"] == 1
    assert [row["change_type"] for row in trades.changes(trades.version).to_pylist()] == [
        "update_preimage",
        "update_postimage",
    ]


def test_what_cannot_fit_is_refused_before_anything_is_read(trades, tmp_path):
    for file in (tmp_path / "shop.db.files").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(UnknownColumnError, match="unknown column 'prize'"):
        trades.delete("prize > 3")
    with pytest.raises(UnknownColumnError, match="unknown column 'prize'"):
        trades.update({"prize": 3})
    with pytest.raises(UnknownColumnError, match="unknown column 'prize'"):
        trades.update({"price": "prize"})
    with pytest.raises(InvalidInputError, match="column 'price' is float64, product is varchar"):
        trades.update({"price": "product"})
    with pytest.raises(InvalidInputError, match=r"cannot hold 1\.5"):
        trades.update({"id": 1.5})
    with pytest.raises(InvalidInputError, match="column 'id' is int64, price is float64"):
        trades.update({"id": "price"})
    with pytest.raises(InvalidInputError, match="needs a condition"):
        trades.delete(None)
    with pytest.raises(InvalidInputError, match="needs columns"):
        trades.update({})


def test_rules_of_the_table_hold_for_updates(shop):
    table = shop.create_table("t", {"id": "int8", "day": "date", "at": "timestamp"})
    table.append([{"id": n, "day": date(2026, 1, n)} for n in (1, 2)])
    table.evolve().set_not_null("id").add_check("small", "id < 100").commit()
    version = table.version
    with pytest.raises(InvalidInputError, match="NOT NULL"):
        table.update({"id": None})
    with pytest.raises(SchemaMismatchError, match="NOT NULL"):
        table.update({"id": "CASE WHEN id = 1 THEN 5 END"})
    with pytest.raises(SchemaMismatchError, match="small"):
        table.update({"id": "id + 98"})
    with pytest.raises(SchemaMismatchError, match="does not fit"):
        table.update({"id": "id * 127"}, where="id = 2")
    assert table.version == version
    table.update({"day": date(2027, 1, 1), "at": "day"}, where="id = 2")
    assert table.count("id = 2 AND day = '2027-01-01' AND at = '2026-01-02 00:00:00'") == 1


def test_a_change_of_nothing_makes_no_version(trades):
    version = trades.version
    assert trades.delete("id = 99").version == version
    assert trades.update({"price": 1}, where="id = 99").version == version
    assert trades.version == version


def test_the_same_token_changes_rows_once(trades):
    first = trades.update({"price": "price + 1"}, token="once")
    again = trades.update({"price": "price + 1"}, token="once")
    assert (first.rows_updated, again.rows_updated) == (4, 0)
    assert first.version == again.version == trades.version


def test_columns_added_and_renamed_later_are_seen_by_updates(trades):
    trades.evolve().add_column("note", "varchar", default="old").rename_column(
        "price", "value"
    ).commit()
    trades.update({"value": "value * 2"}, where="note = 'old' AND id = 4")
    trades.delete("value = 3")
    assert rows(trades, "id", "value", "note") == [
        (1, 1.0, "old"),
        (2, None, "old"),
        (4, 8.0, "old"),
    ]


def test_a_transaction_sees_its_own_changes_and_commits_them_together(shop, trades):
    version = trades.version
    with shop.transaction() as tx:
        table = tx.table("trades")
        table.delete("id = 1")
        table.update({"price": "price + 1"}, where="product = 'B'")
        assert table.count() == 3
        table.update({"price": "price * 10"}, where="id = 3")
        table.delete("id = 4")
        assert rows(table, "id", "price") == [(2, None), (3, 40.0)]
        table.append([{"id": 5, "product": "A", "price": 5.0}])
        table.delete("id = 5 OR id = 2")
        assert rows(table, "id") == [(3,)]
    assert trades.version == version + 1
    assert rows(trades, "id", "price") == [(3, 40.0)]
    assert trades.count(version=version) == 4


def test_rows_written_in_a_transaction_can_be_changed_in_it(shop, trades):
    with shop.transaction() as tx:
        inside = tx.table("trades")
        inside.append([{"id": 9, "product": "Z", "price": 9.0}, {"id": 10, "product": "A"}])
        assert inside.update({"price": "price + 1", "product": mere.lit("B")}).rows_updated == 6
        assert inside.delete("id IN (1, 10)").rows_deleted == 2
        assert inside.upsert([{"id": 9, "price": 0.5}, {"id": 11}], on="id").rows_updated == 1
        made = tx.create_table("made", {"k": "int64", "v": "int64"})
        made.append([{"k": 1, "v": 1}, {"k": 2, "v": 2}])
        made.update({"v": "v * 10"}, where="k = 2")
        assert made.count("v = 20") == 1
    assert rows(trades, "id", "price") == [(11, None), (2, None), (3, 4.0), (4, 5.0), (9, 0.5)]
    assert rows(shop.table("made")) == [(1, 1), (2, 20)]
    told = trades.changes(trades.version).to_pylist()
    assert sorted((row["change_type"], row["id"]) for row in told) == [
        ("delete", 1),
        *(("insert", n) for n in (9, 11)),
        *(("update_postimage", n) for n in (2, 3, 4)),
        *(("update_preimage", n) for n in (2, 3, 4)),
    ]


def test_a_wide_change_goes_through_files_of_many_row_groups(shop):
    table = shop.create_table("t", {"n": "int64", "s": "varchar"})
    table.set_option("parquet_row_group_size", 5000)
    table.append(pa.table({"n": range(40_000), "s": [f"text {n}" for n in range(40_000)]}))
    assert table.delete("n % 7 = 3").rows_deleted == 5714
    assert (
        table.update({"s": "upper(s)", "n": "n + 100000"}, where="n % 5 = 0").rows_updated == 6857
    )
    expected = [
        (n + 100_000, f"TEXT {n}") if n % 5 == 0 else (n, f"text {n}")
        for n in range(40_000)
        if n % 7 != 3
    ]
    assert rows(table) == sorted(expected, key=repr)
