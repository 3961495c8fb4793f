"""Variants that DuckDB took apart in files are put together again, for every reader."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import adopted

import mere
from mere.errors import UnsupportedError

VALUES = (
    "NULL",
    "42",
    "1::TINYINT",
    "-7::SMALLINT",
    "9000000000",
    "1.5::DOUBLE",
    "1.25::FLOAT",
    "true",
    "'text'",
    f"'{'long ' * 20}'",
    "DATE '2026-01-02'",
    "TIMESTAMP '2026-01-02 03:04:05.678901'",
    "TIMESTAMPTZ '2026-01-02 03:04:05+00'",
    "TIME '01:02:03.5'",
    "12.345::DECIMAL(9,3)",
    "-1234567890123.45::DECIMAL(18,2)",
    "'ab'::BLOB",
    "'8c3b0a5e-3f7c-4f5f-9d57-2f3b8f8f9f11'::UUID",
    "[1, NULL, 3]",
    "{'a': 1, 'b': {'c': ['x', 'y'], 'd': NULL}}",
    "{'z': 1, 'a': 'first by name'}",
    "[{'a': 1}, {'a': 2, 'b': 'more'}]",
)
MIXED = (
    "INSERT INTO t SELECT range, CASE range % 4 WHEN 0 THEN {'a': range, 'b': 'x'}::VARIANT"
    " WHEN 1 THEN {'a': 'text', 'rest': [range]}::VARIANT WHEN 2 THEN range::VARIANT END"
    " FROM range(200)"
)


def decoded(value: Mapping[str, Any] | None) -> Any:
    """Read a variant by the rules of the format, on their own."""
    if value is None:
        return None
    metadata, data = value["metadata"], value["value"]
    size = (metadata[0] >> 6) + 1
    number = lambda at, n: int.from_bytes(metadata[at : at + n], "little")  # noqa: E731  short
    count = number(1, size)
    ends = [number(1 + size * (i + 1), size) for i in range(count + 1)]
    start = 1 + size * (count + 2)
    names = [metadata[start + a : start + b].decode() for a, b in pairwise(ends)]
    return item(data, names)


def item(data: bytes, names: list[str]) -> Any:
    kind, header = data[0] & 3, data[0] >> 2
    if kind == 1:
        return data[1 : 1 + header].decode()
    if kind == 0:
        return plain(header, data[1:])
    size = (header & 3) + 1
    wide = (header >> 2 & 3) + 1 if kind == 2 else 0
    first = 5 if header >> (4 if kind == 2 else 2) & 1 else 2
    count = int.from_bytes(data[1:first], "little")
    cut = lambda at, n: int.from_bytes(data[at : at + n], "little")  # noqa: E731  short
    ids = [cut(first + i * wide, wide) for i in range(count)] if wide else []
    places = first + count * wide
    offsets = [cut(places + i * size, size) for i in range(count)]
    start = places + (count + 1) * size
    parts = [item(data[start + at :], names) for at in offsets]
    return dict(zip((names[i] for i in ids), parts, strict=True)) if wide else parts


def plain(tag: int, data: bytes) -> Any:
    whole = {3: 1, 4: 2, 5: 4, 6: 8, 11: 4, 12: 8, 13: 8, 17: 8}
    if tag in whole:
        return int.from_bytes(data[: whole[tag]], "little", signed=True)
    if tag in (0, 1, 2):
        return (None, True, False)[tag]
    if tag in (8, 9, 10):
        size = {8: 4, 9: 8, 10: 16}[tag]
        return data[0], int.from_bytes(data[1 : 1 + size], "little", signed=True)
    if tag in (15, 16):
        length = int.from_bytes(data[:4], "little")
        return data[4 : 4 + length] if tag == 15 else data[4 : 4 + length].decode()
    return tag, data[: {7: 8, 14: 4, 20: 16}[tag]]


@pytest.fixture
def shredded(tmp_path, oracle):
    """Write each value alone in a file, which shreds it, and among all others, which does not."""
    connection = oracle(f"sqlite:{tmp_path / 'l.db'}", data_path=tmp_path / "data",
                        data_inlining_row_limit=0)  # fmt: skip
    connection.execute("CREATE TABLE t(id BIGINT, v VARIANT)")
    for number, value in enumerate(VALUES):
        connection.execute(f"INSERT INTO t VALUES ({number}, ({value})::VARIANT)")
    every = ", ".join(
        f"({number + 1000}, ({value})::VARIANT)" for number, value in enumerate(VALUES)
    )
    connection.execute(f"INSERT INTO t VALUES {every}")
    connection.close()
    return mere.connect(tmp_path / "l.db")


def test_what_was_shredded_reads_as_what_was_not(shredded, tmp_path):
    kinds = [pq.read_schema(path).field("v").type for path in tmp_path.rglob("*.parquet")]
    assert sum(kind.get_field_index("typed_value") >= 0 for kind in kinds) > len(VALUES) // 2
    rows = {r["id"]: decoded(r["v"]) for r in shredded.table("t").scan().to_arrow().to_pylist()}
    wrong = [
        (VALUES[number], rows[number], rows[number + 1000])
        for number in range(len(VALUES))
        if rows[number] != rows[number + 1000]
    ]
    assert wrong == []
    assert rows[19] == {"a": 1, "b": {"c": ["x", "y"], "d": None}}


def test_every_reader_hands_out_the_same_variants(shredded):
    scan = shredded.table("t").scan("id < 12 OR id >= 1000")
    want = adopted.rows(scan.to_arrow())
    for engine, read in adopted.ENGINES.items():
        if engine not in ("duckdb", "pandas"):
            assert adopted.rows(read(scan)) == want, engine
    assert str(scan.to_duckdb().types[1]) == "VARIANT"
    assert scan.to_pandas()["v"].notna().sum() == len(want) - 2


def test_objects_of_many_forms_in_one_file(shredded, oracle, tmp_path):
    connection = oracle(f"sqlite:{tmp_path / 'l.db'}")
    connection.execute("DELETE FROM t")
    connection.execute(MIXED)
    connection.close()
    rows = {r["id"]: decoded(r["v"]) for r in shredded.table("t").scan().to_arrow().to_pylist()}
    for number in range(0, 200, 4):
        assert rows[number] == {"a": number, "b": "x"}
        assert rows[number + 1] == {"a": "text", "rest": [number + 1]}
        assert rows[number + 2] == number + 2
        assert rows[number + 3] is None


def test_rows_with_variants_are_deleted_and_not_written(shredded):
    t = shredded.table("t")
    t.delete("id >= 1000")
    assert t.count() == len(VALUES)
    with pytest.raises(UnsupportedError, match="'v'"):
        t.append({"id": [1]})
    with pytest.raises(UnsupportedError, match="'v'"):
        t.update(set={"id": "id + 1"})
    with pytest.raises(UnsupportedError, match="'v'"):
        t.scan().to_dataset()
    assert t.count() == len(VALUES)
    assert isinstance(t.changes(1), pa.Table)
