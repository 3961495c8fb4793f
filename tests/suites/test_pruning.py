"""Each shape of predicate opens exactly the files, and the row groups, in which a row can match.

The same five blocks of rows lie in a table as five files, and in another one as five row groups
of one file. A line of the table below names the blocks that must be looked at; DuckDB says which
of them hold a row that matches, and none of those may be left out.
"""

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.jobs import dialect_of

import mere
from mere.lake import Lake
from mere.model.transforms import bucket
from mere.table import Table

NAN = float("nan")
TYPES = {
    "block": pa.string(),
    "n": pa.int32(),
    "s": pa.string(),
    "x": pa.float64(),
    "price": pa.decimal128(9, 2),
    "day": pa.date32(),
    "ts": pa.timestamp("us"),
    "tz": pa.timestamp("us", tz="UTC"),
    "ok": pa.bool_(),
}


def block(letter: str, **columns: Any) -> pa.Table:
    """Return five rows; a column that is not given is NULL."""
    given = {"block": [letter] * 5, **columns}
    columns = {name: pa.array(given.get(name, [None] * 5), kind) for name, kind in TYPES.items()}
    return pa.table(columns)


def moments(first: datetime) -> dict[str, list[Any]]:
    """Return five days, five moments an hour apart, and the same moments in UTC."""
    found = [first + timedelta(hours=n) for n in range(5)]
    return {
        "day": [first.date() + timedelta(days=n) for n in range(5)],
        "ts": found,
        "tz": [moment.replace(tzinfo=UTC) for moment in found],
    }


def prices(first: int) -> list[Decimal]:
    return [Decimal(first) + Decimal(n) / 10 for n in range(5)]


BLOCKS = {
    "A": block(
        "A",
        n=range(5),
        s=["apple", "apricot", "avocado", "almond", "aronia"],
        x=[0.0, -0.0, 0.2, 0.3, 0.4],
        price=prices(1),
        ok=[True] * 5,
        **moments(datetime(2024, 1, 1, 1)),  # noqa: DTZ001  no zone by type
    ),
    "B": block(
        "B",
        n=range(10, 15),
        s=["banana", "bilberry", "blackberry", "blueberry", "boysenberry"],
        x=[10.0, 11.0, 12.0, 13.0, 14.0],
        price=prices(2),
        ok=[False] * 5,
        **moments(datetime(2024, 2, 1, 1)),  # noqa: DTZ001  as above
    ),
    "C": block(
        "C",
        n=[20, 21, None, 23, 24],
        s=["cherry", None, "cloudberry", "coconut", "cranberry"],
        x=[20.0, 21.0, 22.0, None, 24.0],
        price=prices(3),
        ok=[False, None, False, False, False],
        **moments(datetime(2024, 3, 1, 13)),  # noqa: DTZ001  as above
    ),
    "D": block("D"),
    "E": block(
        "E",
        n=range(30, 35),
        s=["x%y", "xigua", "ximenia", "xylocarp", "xylophone"],
        x=[30.0, NAN, 32.0, 33.0, 34.0],
        price=prices(4),
        ok=[True, False, True, False, True],
        **moments(datetime(2025, 2, 1, 13)),  # noqa: DTZ001  as above
    ),
}

CASES = {
    # comparisons
    "n = 12": "B",
    "12 = n": "B",
    "n = 15": "",
    "n <> 12": "ABCE",
    "n < 10": "A",
    "n <= 10": "AB",
    "n < 0": "",
    "n > 24": "E",
    "n >= 24": "CE",
    "24 <= n": "CE",
    "n > 24.5": "E",
    "n = NULL": "",
    # ranges and lists
    "n BETWEEN 4 AND 10": "AB",
    "n BETWEEN 5 AND 9": "",
    "n NOT BETWEEN 5 AND 29": "AE",
    "n IN (3, 21)": "AC",
    "n IN (3, NULL)": "A",
    "n IN (5, 6)": "",
    "n NOT IN (3, 21)": "ABCE",
    "n NOT IN (3, NULL)": "",
    "n BETWEEN 14 AND NULL": "",
    "s BETWEEN 'b' AND 'cz'": "BC",
    "s IN ('banana', 'x%y', 'nothing')": "BE",
    "day BETWEEN DATE '2024-02-04' AND DATE '2024-03-01'": "BC",
    "price IN (1.4, 2.2, 9)": "AB",
    "ts IN ('2024-01-01 03:00:00', '2025-02-01 13:30:00')": "AE",
    # NULL
    "s IS NULL": "CD",
    "ts IS NOT NULL AND n IS NULL": "C",
    "n IS NULL": "CD",
    "n IS NOT NULL": "ABCE",
    "NOT (n IS NULL)": "ABCE",
    "n IS NOT DISTINCT FROM 12": "B",
    "n IS DISTINCT FROM 12": "ABCDE",
    # texts
    "s = 'banana'": "B",
    "s >= 'c'": "CE",
    "s < 'apple'": "A",
    "s < 'a'": "",
    "s LIKE 'b%'": "B",
    "s LIKE 'bl%'": "B",
    "s LIKE 'ba_ana'": "B",
    "s LIKE 'bz%'": "",
    "s LIKE 'xy%e'": "E",
    "s NOT LIKE 'a%'": "BCE",
    "starts_with(s, 'ch')": "C",
    "s LIKE 'banana'": "B",
    "s LIKE '%'": "ABCE",
    "NOT (s LIKE 'b%' OR s LIKE 'x%')": "AC",
    # floats: NaN is the greatest
    "x < 0.2": "A",
    "x = 0.0": "A",
    "x = 'NaN'::DOUBLE": "E",
    "x > 1e9": "E",
    "isnan(x)": "E",
    "x <= 1e9": "ABCE",
    # decimals, booleans
    "price = 1.20": "A",
    "price >= 3": "CE",
    "price > 4.405": "",
    "ok": "AE",
    "NOT ok": "BCE",
    "ok = TRUE": "AE",
    # dates and moments
    "day = DATE '2024-02-03'": "B",
    "day = '2024-02-03'": "B",
    "day >= DATE '2025-01-01'": "E",
    "day < '2024-01-01'": "",
    "ts >= TIMESTAMP '2024-02-01 01:00:00'": "BCE",
    "ts > TIMESTAMP '2024-02-01 05:00:00'": "CE",
    "ts = '2024-03-01 14:00:00'": "C",
    "tz >= TIMESTAMPTZ '2024-03-01 00:00:00+00'": "CE",
    "tz >= TIMESTAMPTZ '2024-03-01 20:00:00+02'": "E",
    # functions of columns
    "year(ts) = 2024": "ABC",
    "year(ts) > 2024": "E",
    "month(ts) = 1": "A",
    "day(ts) = 2": "",
    "hour(ts) < 3": "AB",
    "year(day) = 2025": "E",
    # casts
    "CAST(ts AS DATE) = DATE '2024-02-01'": "B",
    "ts::DATE >= '2024-03-01'": "CE",
    "CAST(n AS BIGINT) > 24": "E",
    "CAST(n AS DOUBLE) <= 10.5": "AB",
    "CAST(n AS SMALLINT) IN (12, 21)": "BC",
    "CAST('12' AS INTEGER) = n": "B",
    "day::TIMESTAMP >= '2025-02-01 00:00:00'": "E",
    "CAST(ts AS DATE) BETWEEN '2024-02-01' AND '2024-03-01'": "BC",
    # nothing is concluded from bounds, and all is looked at
    "s LIKE 'x\\%%' ESCAPE '\\'": "ABCDE",
    "CAST(price AS DOUBLE) > 3.9": "ABCDE",
    # put together
    "n < 10 AND s > 'b'": "",
    "n >= 10 AND s < 'd'": "BC",
    "n < 10 OR s LIKE 'x%'": "AE",
    "n < 10 OR n IS NULL": "ACD",
    "NOT (n < 25)": "E",
    "NOT (n < 25 OR s = 'nothing')": "E",
    "NOT (n >= 10 AND n < 30)": "AE",
    "NOT (NOT (n = 12))": "B",
    "n = 12 AND ts < '2024-02-01'": "",
    "year(ts) = 2024 AND (n = 0 OR n > 20)": "AC",
}


@dataclass(frozen=True)
class Kept:
    """The tables, and what is known of where blocks lie."""

    files: Table
    groups: Table
    lake: Lake


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Lay the blocks out as files, and as row groups."""
    folder = tmp_path_factory.mktemp("pruning")
    with mere.connect(folder / "x.db") as lake:
        whole = pa.concat_tables(BLOCKS.values())
        files = lake.create_table("files", whole.schema)
        for rows in BLOCKS.values():
            files.append(rows)
        groups = lake.create_table("groups", whole.schema, properties={"parquet_row_group_size": 5})
        groups.append(whole)
        assert (files.files().num_rows, groups.row_groups().num_rows) == (5, 5)
        yield Kept(files, groups, lake)


def matching(where):
    """Ask DuckDB which blocks hold a row that matches."""
    with duckdb.connect() as con:
        con.register("given", pa.concat_tables(BLOCKS.values()))
        con.execute("SET TimeZone = 'UTC'")
        con.execute("CREATE TABLE rows AS SELECT * FROM given")  # else Arrow would judge NaN
        found = con.execute(f"SELECT DISTINCT block FROM rows WHERE {where}").fetchall()
    return {letter for (letter,) in found}


def in_files(table, where):
    letters = dict(zip(table.files()["since"].to_pylist(), BLOCKS, strict=True))
    found = table.scan(where).files()["since"].to_pylist()
    return "".join(sorted(letters[since] for since in found))


def in_groups(table, where):
    every = table.row_groups().select(["path", "ordinal"]).to_pylist()  # in the order of blocks
    letters = {tuple(row.values()): letter for row, letter in zip(every, BLOCKS, strict=True)}
    scan = table.scan(where)
    kept = {
        (file.path, group)
        for file in scan.found.files
        for group in _ordinals(scan.found.kept.get(file.id), len(every))
    }
    assert scan.explain().row_groups_kept == len(kept & letters.keys())
    return "".join(sorted(letters[place] for place in kept & letters.keys()))


def _ordinals(some, most):
    return range(most) if some is None else [group.ordinal for group in some.groups]


@pytest.mark.parametrize(("where", "blocks"), CASES.items())
def test_exactly_the_files_are_opened_in_which_a_row_can_match(kept, where, blocks):
    assert matching(where) <= set(blocks)
    assert in_files(kept.files, where) == blocks


@pytest.mark.parametrize(("where", "blocks"), CASES.items())
def test_exactly_the_row_groups_are_read_in_which_a_row_can_match(kept, where, blocks):
    assert in_groups(kept.groups, where) == blocks


PARTITIONS = {
    ("block",): {
        "block = 'B'": "B",
        "block IN ('A', 'E', 'X')": "AE",
        "block > 'C'": "DE",
        "block LIKE 'A%'": "A",
        "NOT (block < 'D')": "DE",
        "block <> 'B' AND block <> 'C'": "ADE",
        "block = 'X' OR n = 12": "ABCDE",
        "block = 'B' AND n = 12": "B",
        "block BETWEEN 'B' AND 'C'": "BC",
        "block IS NULL": "",
        "NOT (block IN ('A', 'B') OR block LIKE 'C%')": "DE",
        "CAST(block AS VARCHAR) = 'B'": "B",
    },
    ("year(ts)",): {
        "year(ts) = 2024": "ABC",
        "year(ts) <> 2024": "E",
        "year(ts) IN (2025, 2026)": "E",
        "ts >= '2024-02-01'": "ABCE",
        "ts >= '2025-01-01'": "E",
        "ts < TIMESTAMP '2024-01-01 00:00:00'": "",
        "CAST(ts AS DATE) = DATE '2025-07-01'": "E",
        "ts IS NULL": "D",
        "ts IS NOT NULL": "ABCE",
        "NOT (year(ts) = 2024)": "E",
        "year(ts) BETWEEN 2020 AND 2024": "ABC",
        "year(ts) = 2025 OR ts IS NULL": "DE",
        "CAST(year(ts) AS BIGINT) > 2024": "E",
    },
    ("year(ts)", "month(ts)"): {
        "ts = '2024-02-20 00:00:00'": "B",
        "ts >= '2024-02-01' AND ts < '2024-03-01'": "B",
        "ts BETWEEN '2024-02-10' AND '2024-03-01'": "BC",
        "month(ts) = 2": "BE",
        "month(ts) = 2 AND year(ts) = 2025": "E",
        "ts::DATE < '2024-02-01'": "A",
    },
    # a month without its year says nothing of a date but that it is none
    ("month(day)",): {"month(day) = 2": "BE", "month(day) > 2": "C", "day = '2024-05-01'": "ABCE"},
    ("day(ts)",): {"day(ts) = 1": "ABCE", "day(ts) = 2": "", "ts IS NULL": "D"},
    ("hour(ts)",): {"hour(ts) >= 13": "CE", "hour(ts) = 6": "", "hour(ts) BETWEEN 5 AND 6": "AB"},
    ("price",): {"price = 1.2": "A", "price >= 3": "CE", "price IS NULL": "D"},
    # a partition of NaN is not told apart from one of numbers
    ("x",): {"isnan(x)": "E", "x > 33.5": "E", "x = 0": "AE", "x IS NULL": "CD"},
    ("ok",): {"ok": "AE", "NOT ok": "BCE", "ok IS NULL": "CD"},
}


def forget_bounds(lake):
    """Leave the partitions as all that is known of files: bounds would prune, too."""
    with closing(dialect_of(lake.url)) as dialect, dialect.writing() as link:
        for name in ("ducklake_file_column_stats", "mere_row_group", "mere_segment"):
            link.ask(f"DELETE FROM {name}")


@pytest.fixture(scope="module")
def partitioned(tmp_path_factory):
    """Lay the blocks out in partitions, and forget all that is known of their columns."""
    with mere.connect(tmp_path_factory.mktemp("partitions") / "x.db") as lake:
        found = {}
        for number, keys in enumerate(PARTITIONS):
            table = lake.create_table(f"t{number}", BLOCKS["A"].schema, partition_by=keys)
            for rows in BLOCKS.values():
                table.append(rows)
            found[keys] = table
        forget_bounds(lake)
        yield found


@pytest.mark.parametrize(
    ("keys", "where", "blocks"),
    [
        (keys, where, blocks)
        for keys, cases in PARTITIONS.items()
        for where, blocks in cases.items()
    ],
)
def test_exactly_the_partitions_are_opened_in_which_a_row_can_match(
    partitioned, keys, where, blocks
):
    table = partitioned[keys]
    letters = dict(zip(sorted(set(table.files()["since"].to_pylist())), BLOCKS, strict=True))
    scan = table.scan(where)
    found = scan.files()
    assert matching(where) <= set(blocks)
    assert "".join(sorted({letters[since] for since in found["since"].to_pylist()})) == blocks
    gone = table.files().num_rows - found.num_rows
    assert scan.explain().pruned_by_partition == gone


def test_a_value_is_looked_for_in_its_bucket_alone(tmp_path):
    with mere.connect(tmp_path / "x.db") as lake:
        table = lake.create_table("t", BLOCKS["A"].schema, partition_by=["bucket(4, n)"])
        table.append(pa.concat_tables(BLOCKS.values()))
        forget_bounds(lake)
        for where, numbers in {
            "n = 12": [12],
            "n IN (3, 30)": [3, 30],
            "n = 12 OR n = 30": [12, 30],
            "n > 12": [],
        }.items():
            found = table.scan(where).files()["partition"].to_pylist()
            wanted = {str(bucket("int32", n, 4)) for n in numbers} or set("0123")
            assert {value for ((_, value),) in found} == wanted, where
