"""Rows that match are replaced in one commit, wherever they lie, beside rows that do not."""

import pytest

import mere
from mere.errors import InvalidInputError, SchemaMismatchError, UnknownColumnError

COLUMNS = {"day": "int64", "product": "varchar", "price": "float64"}


@pytest.fixture(params=["pyarrow", "duckdb", "pyarrow, copy-on-write", "duckdb, copy-on-write"])
def shop(request, tmp_path):
    """Open a fresh lake, once for each kernel and way to store changes."""
    kernel, _, mode = request.param.partition(", ")
    with mere.connect(tmp_path / "shop.db", kernel=kernel) as lake:
        lake.set_option("mere_write_mode", mode or None)
        yield lake


@pytest.fixture
def prices(shop):
    table = shop.create_table("prices", COLUMNS, partition_by=["product"])
    for start in (0, 3):
        table.append([{"day": start + n // 2, "product": "ab"[n % 2]} for n in range(6)])
    return table


def rows(table, *columns):
    found = table.scan(columns=columns or None).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def priced(day, product="a"):
    return {"day": day, "product": product, "price": float(day)}


def test_rows_that_match_go_wherever_they_lie(prices):
    before = prices.version
    report = prices.overwrite([priced(1), priced(4, "c")], where="day IN (1, 4)")
    assert (report.rows_deleted, report.rows_inserted, report.rows_after) == (4, 2, 10)
    assert rows(prices, "day", "product") == [
        *((day, p) for day in (0,) for p in "ab"),
        (1, "a"),
        *((day, p) for day in (2, 3) for p in "ab"),
        (4, "c"),
        *((5, p) for p in "ab"),
    ]
    assert (prices.count(), prices.count(version=before)) == (10, 12)
    told = [row["change_type"] for row in prices.changes(report.version).to_pylist()]
    assert (told.count("delete"), told.count("insert"), len(told)) == (4, 2, 6)
    kinds = prices.history().to_pylist()[-1]
    assert (kinds["rows_inserted"], kinds["rows_deleted"]) == (2, 4)


def test_it_is_done_again_and_again_and_by_nothing(prices):
    for _ in range(3):
        prices.overwrite([priced(2)], where="day = 2")
        assert prices.count("day = 2") == 1
    report = prices.overwrite(prices.schema.empty_table(), where="day < 2 OR product = 'b'")
    assert (report.rows_deleted, report.rows_inserted) == (7, 0)
    assert rows(prices, "day", "product") == [(day, "a") for day in (2, 3, 4, 5)]
    version = prices.version
    prices.overwrite(prices.schema.empty_table(), where="day > 100")
    assert prices.version == version


def test_new_rows_that_do_not_match_are_refused_and_nothing_stays(prices, tmp_path):
    lying, version = sorted(tmp_path.rglob("*.parquet")), prices.version
    with pytest.raises(InvalidInputError, match=r"2 of the new rows 0 to 2 do not match .*day"):
        prices.overwrite([priced(1), priced(2), {"product": "a"}], where="day = 1")
    with pytest.raises(UnknownColumnError):
        prices.overwrite([priced(1)], where="dya = 1")
    with pytest.raises(SchemaMismatchError):
        prices.overwrite([{"day": "one"}], where="day = 1")
    assert sorted(tmp_path.rglob("*.parquet")) == lying
    assert prices.version == version


def test_columns_may_grow_with_it(prices):
    report = prices.overwrite(
        [{**priced(1), "note": "new"}], where="day = 1 AND product = 'a'", merge_schema=True
    )
    assert (report.rows_deleted, report.rows_inserted) == (1, 1)
    assert prices.count("note IS NULL") == 11
    assert rows(prices, "day", "note")[2:4] == [(1, "new"), (1, None)]


def test_what_others_did_meanwhile_is_replaced_too(prices, meanwhile):
    meanwhile(
        lambda: prices.append([priced(1, "z"), priced(7, "z")]),
        lambda: prices.delete("day = 0 OR (day = 1 AND product = 'a')"),
    )
    report = prices.overwrite([priced(1, "new")], where="day = 1")
    assert (report.rows_deleted, report.retries) == (2, 2)
    assert rows(prices, "day", "product")[:2] == [(1, "new"), (2, "a")]
    assert prices.count() == 10


def test_it_takes_part_in_a_transaction(shop, prices):
    with shop.transaction() as tx:
        inside = tx.table("prices")
        inside.append([priced(1, "x"), priced(9, "x")])
        assert inside.overwrite([priced(1, "y")], where="day = 1").rows_deleted == 3
        assert inside.count() == 12
    assert rows(prices, "day", "product")[2:3] == [(1, "y")]
    assert (prices.count(), prices.count("day = 9")) == (12, 1)
