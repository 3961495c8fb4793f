"""What goes wrong elsewhere goes right here: each kernel, each storage mode, here and on Spark.

Every story ends in rows that `mere` and DuckDB must both show. Plain folders have their own tests.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mere
from mere.errors import DuplicateKeyError, SchemaMismatchError, UnknownColumnError
from mere.lake import Lake
from mere.table import Table

COLUMNS = pa.schema(
    [
        ("product_id", pa.string()),
        ("date", pa.date32()),
        ("trade_id", pa.int64()),
        ("price", pa.float64()),
        ("spread", pa.float64()),
        ("spread_bps", pa.float64()),
    ]
)
JAN, FEB = date(2026, 1, 31), date(2026, 2, 1)
TRADES = [
    {"product_id": "A", "date": JAN, "trade_id": 1, "price": 2.0, "spread": 0.5, "spread_bps": 1.0},
    {"product_id": "A", "date": FEB, "trade_id": 2, "price": 3.0},
    {"product_id": "B", "date": JAN, "trade_id": 3, "price": None},
    {"product_id": "B", "date": FEB, "trade_id": 4, "price": 4.0, "spread": 0.25},
]
KEY = ["product_id", "date", "trade_id"]


@dataclass(frozen=True)
class Shop:
    """A lake, how sources are handed to it, and DuckDB beside it."""

    lake: Lake
    folder: Path
    oracle: Any
    mode: str
    spark: Any = None

    def create(self, name: str, columns: pa.Schema, *by: str) -> Table:
        """Make a table that stores changes the way that this shop does."""
        made = {"mere_write_mode": self.mode}
        return self.lake.create_table(name, columns, partition_by=by, properties=made)

    def source(self, rows: Iterable[dict[str, Any]], schema: pa.Schema | None = None) -> Any:
        """Return rows as this lake's users have them: on Spark as a DataFrame."""
        table = pa.Table.from_pylist(list(rows), schema)
        return table if self.spark is None else self.spark.createDataFrame(table)

    def shows(self, table: Table, *columns: str) -> list[tuple[Any, ...]]:
        """Return rows as `mere` and DuckDB agree that they are, with NaN spelled."""
        ours = table.scan(columns=columns or None).to_arrow()
        names = ", ".join(f'"{name}"' for name in ours.column_names)
        connection = self.oracle(f"sqlite:{self.folder}/shop.db")
        theirs = connection.execute(f"SELECT {names} FROM lake.{table.name}").to_arrow_table()
        told = connection.execute(f"SELECT count(*) FROM lake.{table.name}").fetchone()
        connection.close()
        assert _spelled(ours) == _spelled(theirs)
        assert told == (table.count(),)
        return _spelled(ours)

    def lying(self) -> list[Path]:
        """Return the files that are there."""
        return sorted(self.folder.rglob("*.parquet"))


def _spelled(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = (tuple(row.values()) for row in table.to_pylist())
    spelled = (tuple("nan" if value != value else value for value in row) for row in rows)  # noqa: PLR0124  NaN
    return sorted(spelled, key=repr)


WAYS = {
    "pyarrow": ("pyarrow", "merge-on-read", False),
    "duckdb": ("duckdb", "merge-on-read", False),
    "pyarrow, copies": ("pyarrow", "copy-on-write", False),
    "duckdb, copies": ("duckdb", "copy-on-write", False),
    "duckdb on spark": ("duckdb", "merge-on-read", True),
    "pyarrow on spark, copies": ("pyarrow", "copy-on-write", True),
}


@pytest.fixture(params=WAYS)
def shop(request, tmp_path, oracle):
    """Open a fresh lake: each kernel and each storage mode, here and on Spark."""
    kernel, mode, on_spark = WAYS[request.param]
    spark = request.getfixturevalue("spark") if on_spark else None
    with mere.connect(tmp_path / "shop.db", kernel=kernel) as lake:
        yield Shop(lake.on(spark) if on_spark else lake, tmp_path, oracle, mode, spark)


@pytest.fixture
def trades(shop):
    """Make trades in four partitions of two keys."""
    table = shop.create("trades", COLUMNS, "product_id", "date")
    table.append(shop.source(TRADES, COLUMNS))
    return table


def counts(report):
    return report.rows_inserted, report.rows_updated, report.rows_deleted


def test_a_delete_by_price_keeps_rows_without_a_price(shop, trades):
    assert counts(trades.delete("price > 2.5")) == (0, 0, 2)
    assert shop.shows(trades, "trade_id", "price") == [(1, 2.0), (3, None)]


def test_an_update_sets_every_column_of_the_rows_that_matched_before(shop, trades):
    sets = {"spread": "price - 1", "spread_bps": "coalesce(spread, -1) * 100"}
    assert counts(trades.update(sets, where="spread IS NULL")) == (0, 2, 0)
    assert shop.shows(trades, "trade_id", "spread", "spread_bps") == [
        (1, 0.5, 1.0),
        (2, 2.0, -100.0),
        (3, None, -100.0),
        (4, 0.25, None),
    ]


def test_rows_are_found_by_the_first_or_the_second_partition_key_alone(shop, trades):
    assert trades.delete({"date": FEB}, dry_run=True).rows_deleted == 2
    assert trades.delete({"product_id": "A"}, dry_run=True).rows_deleted == 2
    assert counts(trades.update({"price": 0}, where={"date": JAN, "product_id": "B"})) == (0, 1, 0)
    assert counts(trades.delete({"date": FEB})) == (0, 0, 2)
    assert shop.shows(trades, "trade_id", "price") == [(1, 2.0), (3, 0.0)]


def test_a_value_of_a_partition_is_not_a_prefix_of_others(shop):
    columns = pa.schema([("month", pa.string()), ("n", pa.int64())])
    table = shop.create("m", columns, "month")
    months = ["1", "01", "10", "11", "1.0", "it's 1", "true"]
    table.append(shop.source(({"month": m, "n": n} for n, m in enumerate(months)), columns))
    assert counts(table.delete("month = '1'")) == (0, 0, 1)
    source = shop.source([{"month": "01", "n": -1}, {"month": "it's 1", "n": -5}], columns)
    assert counts(table.upsert(source, on="month")) == (0, 2, 0)
    expected = [("01", -1), ("1.0", 4), ("10", 2), ("11", 3), ("it's 1", -5), ("true", 6)]
    assert shop.shows(table) == sorted(expected, key=repr)


def test_an_upsert_counts_what_it_did_and_a_dry_run_what_it_would(shop, trades):
    new = [TRADES[0] | {"price": 20.0}, TRADES[1] | {"trade_id": 9, "price": 9.0}]
    source = shop.source(new, COLUMNS)
    lying, version = shop.lying(), trades.version
    dry = [
        trades.upsert(source, on=KEY, dry_run=True),
        trades.update({"price": 1}, where="price IS NULL", dry_run=True),
        trades.delete("true", dry_run=True),
    ]
    assert [counts(report) for report in dry] == [(1, 1, 0), (0, 1, 0), (0, 0, 4)]
    assert (shop.lying(), trades.version) == (lying, version)
    report = trades.upsert(source, on=KEY)
    assert (counts(report), report.rows_before, report.rows_after) == ((1, 1, 0), 4, 5)
    assert shop.shows(trades, "trade_id", "price") == [
        *[(1, 20.0), (2, 3.0), (3, None), (4, 4.0), (9, 9.0)]
    ]


def test_an_upsert_writes_null_over_a_value_also_when_it_brings_nothing_else(shop, trades):
    one = pa.table({"trade_id": pa.array([1]), "price": pa.nulls(1), "spread": pa.nulls(1)})
    source = one
    if shop.spark is not None:
        source = shop.spark.sql("SELECT 1L AS trade_id, NULL AS price, NULL AS spread")
    assert counts(trades.upsert(source, on="trade_id")) == (0, 1, 0)
    assert counts(trades.upsert(one, on="trade_id")) == (0, 1, 0)
    assert counts(trades.upsert([{"trade_id": 4, "price": None}], on="trade_id")) == (0, 1, 0)
    assert shop.shows(trades, "trade_id", "price", "spread") == [
        (1, None, None),
        (2, 3.0, None),
        (3, None, None),
        (4, None, 0.25),
    ]


def test_keys_that_come_twice_are_refused_and_nothing_is_written(shop, trades):
    lying, version = shop.lying(), trades.version
    with pytest.raises(DuplicateKeyError, match="trade_id=1"):
        trades.upsert(shop.source([*TRADES, TRADES[0]], COLUMNS), on=KEY)
    assert (shop.lying(), trades.version) == (lying, version)


def test_an_upsert_of_some_columns_keeps_the_others_and_inserts_new_rows(shop, trades):
    source = shop.source([{"trade_id": 1, "price": 10.0}, {"trade_id": 7, "price": 7.0}])
    assert counts(trades.upsert(source, on="trade_id")) == (1, 1, 0)
    assert shop.shows(trades, "trade_id", "product_id", "date", "price", "spread") == [
        (1, "A", JAN, 10.0, 0.5),
        (2, "A", FEB, 3.0, None),
        (3, "B", JAN, None, None),
        (4, "B", FEB, 4.0, 0.25),
        (7, None, None, 7.0, None),
    ]
    assert trades.count("product_id = 'A'") == 2
    assert trades.count("product_id IS NULL") == 1


def test_a_key_that_lies_in_another_partition_is_found_and_its_row_moves(shop, trades):
    source = shop.source([{"product_id": "Z", "date": FEB, "trade_id": 1, "price": 5.0}])
    assert counts(trades.upsert(source, on="trade_id")) == (0, 1, 0)
    assert shop.shows(trades, "product_id", "trade_id", "spread") == [
        ("A", 2, None),
        ("B", 3, None),
        ("B", 4, 0.25),
        ("Z", 1, 0.5),
    ]
    assert (trades.count("product_id = 'Z'"), trades.count("product_id = 'A'")) == (1, 1)


def test_a_column_that_the_table_lacks_is_refused_and_taken_once_it_has_it(shop, trades):
    version = trades.version
    source = shop.source([{"trade_id": 1, "venue": "X"}])
    with pytest.raises(SchemaMismatchError, match="does not have: venue"):
        trades.upsert(source, on="trade_id")
    with pytest.raises(UnknownColumnError, match="nope"):
        shop.create("u", COLUMNS, "nope")
    assert trades.version == version
    trades.evolve().add_column("venue", "varchar").commit()
    assert counts(trades.upsert(source, on="trade_id")) == (0, 1, 0)
    assert shop.shows(trades, "trade_id", "venue") == [(1, "X"), (2, None), (3, None), (4, None)]


def test_a_text_is_never_put_into_a_number(shop, trades):
    for data in ([{"trade_id": 1, "price": "4"}], [{"trade_id": 99, "price": "4"}]):
        with pytest.raises(SchemaMismatchError, match="price: expected float64, got varchar"):
            trades.upsert(shop.source(data), on="trade_id")
    assert len(shop.shows(trades)) == 4


def test_nan_is_a_key_and_minus_zero_is_zero_and_null_is_none(shop):
    columns = pa.schema([("k", pa.float64()), ("v", pa.int64())])
    table = shop.create("k", columns)
    keys = (math.nan, -0.0, None, 1.5)
    table.append(shop.source([{"k": k, "v": n} for n, k in enumerate(keys)], columns))
    source = shop.source([{"k": k, "v": 10} for k in (math.nan, 0.0, None)], columns)
    assert counts(table.upsert(source, on="k")) == (1, 2, 0)
    expected = [("nan", 10), (0.0, 10), (None, 2), (None, 10), (1.5, 3)]
    assert [(0.0 if k == 0 else k, v) for k, v in shop.shows(table)] == sorted(expected, key=repr)
    assert table.delete("k = 'NaN'").rows_deleted == 1
    assert table.delete("NOT (k < 1)").rows_deleted == 1
    assert len(shop.shows(table)) == 3


FILTERS = {
    "f IS TRUE": [1, 5],
    "f IS NOT TRUE": [2, 3, 4],
    "s NOT IN ('a', 'b')": [4, 5],
    "s IN ('a', NULL)": [1],
    "n BETWEEN -2 AND -1": [1, 2],
    "s LIKE 'a%' OR n < -1": [1, 2],
    "x IS NULL": [3],
    "x > 1e300": [4],
    "upper(s) = 'C' AND n % 2 = 0": [4],
    "NOT (f OR n > 0)": [2],
    "s = 'it''s'": [5],
}


@pytest.mark.parametrize("shop", [way for way in WAYS if "spark" not in way], indirect=True)
def test_a_filter_changes_the_rows_that_sql_says(shop):
    kinds = zip("fsnx", (pa.bool_(), pa.string(), pa.int64(), pa.float64()), strict=True)
    columns = pa.schema([("id", pa.int64()), *kinds])
    table = shop.create("f", columns)
    cells = [
        (True, "a", -1, 1.0),
        (False, "b", -2, -1.0),
        (None, None, None, None),
        (False, "c", 2, math.nan),
        (True, "it's", 3, 0.0),
    ]
    rows = [dict(zip(columns.names, (n, *cell), strict=True)) for n, cell in enumerate(cells, 1)]
    table.append(pa.Table.from_pylist(rows, columns))
    version = table.version
    connection = shop.oracle(f"sqlite:{shop.folder}/shop.db")
    theirs = {w: connection.execute(f"SELECT id FROM lake.f WHERE {w}").fetchall() for w in FILTERS}
    connection.close()
    assert {where: sorted(n for (n,) in found) for where, found in theirs.items()} == FILTERS
    for where, wanted in FILTERS.items():
        assert table.update({"id": "id + 100"}, where=where).rows_updated == len(wanted), where
        found = sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
        assert found == sorted(n + 100 * (n in wanted) for n in range(1, 6)), where
        table.restore(version=version)
    assert len(shop.shows(table)) == len(cells)


def test_untouched_rows_keep_their_order_and_all_files_their_types(shop):
    columns = pa.schema([("id", pa.int64()), ("v", pa.float64())])
    table = shop.create("o", columns)
    ids = [(n * 37) % 101 for n in range(101)]
    table.append(pa.table({"id": ids, "v": [0.0] * 101}, schema=columns))
    narrow = pa.table(
        {"id": pa.array([5, 50, 500], pa.int16()), "v": pa.array([1, 2, 3], pa.float32())}
    )
    assert counts(table.upsert(narrow, on="id")) == (1, 2, 0)
    found = table.scan().to_arrow()["id"].to_pylist()
    assert [n for n in found if n not in (5, 50, 500)] == [n for n in ids if n not in (5, 50)]
    assert len(shop.shows(table)) == 102


def test_of_each_key_the_newest_row_is_left_and_only_once(shop, trades):
    again = [row | {"price": 10.0 + n} for n, row in enumerate(TRADES[:2])]
    trades.append(shop.source(again, COLUMNS))
    assert trades.deduplicate(KEY, order_by="price", keep="last", dry_run=True).rows_deleted == 2
    assert counts(trades.deduplicate(KEY, order_by="price", keep="last")) == (0, 0, 2)
    assert counts(trades.deduplicate(KEY, order_by="price", keep="last")) == (0, 0, 0)
    expected = [(1, 10.0), (2, 11.0), (3, None), (4, 4.0)]
    assert shop.shows(trades, "trade_id", "price") == expected


def test_a_merge_touches_many_files_in_one_step(shop, trades):
    before = trades.version
    everywhere = [row | {"price": -1.0} for row in TRADES]
    report = trades.upsert(shop.source(everywhere, COLUMNS), on=KEY)
    assert (counts(report), report.version) == ((0, 4, 0), before + 1)
    assert shop.shows(trades, "trade_id", "price") == [(n, -1.0) for n in (1, 2, 3, 4)]
    assert trades.count("price = -1", version=before) == 0
    changes = trades.changes(report.version)
    assert changes["change_type"].to_pylist().count("update_postimage") == 4
