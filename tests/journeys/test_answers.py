"""Counts, least and greatest values come from the catalog where its bounds decide."""

from datetime import UTC, date, datetime
from decimal import Decimal
from math import isnan, nan
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.errors import CorruptionError, InvalidInputError, UnknownColumnError

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "int8": [3, None, -7],
    "uint64": [2**64 - 1, 0],
    "int64": [2**53 + 1, 2**53, None],
    "float32": [1.5, -0.5],
    "float64": [2.5, float("inf"), -1.0],
    "decimal(9,2)": [Decimal("1.50"), Decimal("-2.25")],
    "date": [date(2026, 1, 2), date(1969, 12, 31)],
    "time": [datetime(2026, 1, 1, 12).time(), datetime(2026, 1, 1, 3).time()],  # noqa: DTZ001
    "timestamp": [datetime(2026, 1, 1, 12), datetime(2025, 1, 1)],  # noqa: DTZ001
    "timestamptz": [datetime(2026, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)],
    "varchar": ["b", "a", None, "é"],
    "blob": [b"\x00", b"\xff\x01"],
    "uuid": [UUID(int=7), UUID(int=1 << 100)],
}


def paths(table):
    root = table._session.store.url  # noqa: SLF001  where the files are
    return [root.removeprefix("file://") + path for path in table.files()["path"].to_pylist()]


def gone(table):
    """Move the files away: whoever answers now did not open them."""
    for path in paths(table):
        Path(path).rename(f"{path}.away")


def present(values):
    return [value for value in values if value is not None]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_least_and_greatest_values_need_no_file(tmp_path, kind, kernel):
    lake = mere.connect(tmp_path / "lake.db", kernel=kernel)
    table = lake.create_table("t", {"x": kind})
    for value in VALUES[kind]:
        table.append([{"x": value}])
    if kind.startswith("float"):
        table.append([{"x": None}])
    gone(table)
    known = present(VALUES[kind])
    assert (table.min("x"), table.max("x")) == (min(known), max(known))
    assert table.count() == len(VALUES[kind]) + kind.startswith("float")


def test_what_bounds_leave_open_is_read(tmp_path):
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"n": "int64", "s": "varchar"})
    long = "x" * 300
    table.append([{"n": 1, "s": long + "a"}, {"n": 2, "s": long + "b"}])
    table.append([{"n": 3, "s": "a"}, {"n": 4, "s": "b"}])
    assert (table.min("s"), table.max("s")) == ("a", long + "b")
    assert (table.min("n", "n >= 2"), table.max("n", "n <= 3")) == (2, 3)
    assert (table.max("n", "s = 'a'"), table.max("n", "n > 100")) == (3, None)
    assert (table.scan(limit=1).max("n"), table.max("n", version=2)) == (1, 2)


def test_nan_is_above_all_numbers_and_never_the_least_beside_one(tmp_path):
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"x": "float64", "part": "int64"}, partition_by=["part"])
    table.append([{"x": nan, "part": 1}, {"x": 1.0, "part": 2}, {"x": 2.0, "part": 2}])
    table.append([{"x": nan, "part": 3}, {"x": 0.5, "part": 3}, {"x": None, "part": 4}])
    assert isnan(table.max("x"))
    assert table.min("x") == 0.5
    assert isnan(table.min("x", "part = 1"))
    assert (table.max("x", "part = 2"), table.max("x", "part = 4")) == (2.0, None)


def test_deleted_rows_are_no_answer(tmp_path, oracle):
    path = tmp_path / "lake.db"
    table = mere.connect(path).create_table("t", {"n": "int64"})
    table.append([{"n": n} for n in range(10)])
    with oracle(f"sqlite:{path}") as con:
        con.execute("DELETE FROM lake.t WHERE n IN (0, 9)")
        con.execute("INSERT INTO lake.t VALUES (20)")
    table = mere.connect(path).table("t")
    assert (table.min("n"), table.max("n"), table.max("n", "n < 15")) == (1, 20, 8)
    assert (table.count("n < 5"), table.count()) == (4, 9)


def damage(path, *, but):
    """Spoil all row groups of a file but some: whoever reads them trips over a checksum."""
    footer = pq.read_metadata(path)
    data = bytearray(Path(path).read_bytes())
    for ordinal in set(range(footer.num_row_groups)) - set(but):
        chunk = footer.row_group(ordinal).column(0)
        start = min(p for p in (chunk.dictionary_page_offset, chunk.data_page_offset) if p)
        end = start + chunk.total_compressed_size
        data[end - 20 : end] = bytes(20)
    Path(path).write_bytes(data)


def test_only_row_groups_that_bounds_leave_open_are_read(tmp_path):
    table = mere.connect(tmp_path / "lake.db").create_table("t", {"n": "int64"})
    table.set_option("parquet_row_group_size", 2048)
    table.append(pa.table({"n": list(range(20_480))}))
    groups = table.row_groups()
    assert groups.num_rows == 10
    scan = table.scan("n >= 2048 AND n < 10240")
    (kept,) = scan.found.kept.values()
    assert [g.ordinal for g in kept.groups] == [1, 2, 3, 4]
    assert kept.certain == {1, 2, 3, 4}
    explained = table.scan("n = 4100").explain()
    assert (explained.row_groups_kept, explained.row_groups_total) == (1, 10)
    assert explained.bytes_left == groups["bytes"][2].as_py()
    (path,) = paths(table)
    damage(path, but=[2, 5])
    with pytest.raises(CorruptionError):
        table.scan("n >= 2048 AND n < 4100").to_arrow()
    assert scan.count() == 8192
    assert table.count("n >= 2048 AND n < 10241") == 8193
    one = table.scan("n = 4100")
    assert one.to_arrow()["n"].to_pylist() == [4100]
    assert one.to_pandas()["n"].tolist() == [4100]
    assert one.to_dataset().count_rows() == 1
    assert one.to_polars().collect()["n"].to_list() == [4100]
    assert one.to_duckdb().fetchall() == [(4100,)]
    assert one.to_datafusion().to_pydict() == {"n": [4100]}
    assert one.to_daft().to_pydict() == {"n": [4100]}


def test_a_column_without_order_is_refused_before_anything_is_read(tmp_path):
    table = mere.connect(tmp_path / "lake.db").create_table("t", {"l": pa.list_(pa.int64())})
    with pytest.raises(InvalidInputError, match="no order"):
        table.max("l")
    with pytest.raises(UnknownColumnError, match="the table has: l"):
        table.min("x")
