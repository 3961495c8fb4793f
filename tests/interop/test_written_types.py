"""DuckDB reads every type that a kernel writes, with the values and the extremes that went in."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import mere
from mere.testing.everything import every_row, everything, table_of

PLAIN = {"timestamp_ns", "json"}


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_every_type_reads_as_it_was_written(
    kernel: str, tmp_path: Path, oracle: Callable[..., duckdb.DuckDBPyConnection]
):
    schema, rows = everything(), every_row()
    with mere.connect(str(tmp_path / "lake.db"), kernel=kernel) as lake:
        lake.create_table("t", schema).append(table_of(rows, schema))
    con = oracle(f"sqlite:{tmp_path}/lake.db")
    expected = table_of(rows, schema)
    for number, field in enumerate(schema.fields):
        found = con.sql(f"SELECT {_name(field.name)} FROM t").fetchall()
        if field.type not in PLAIN and not field.children:
            assert _shown(row[0] for row in found) == _shown(row[field.name] for row in rows)
        assert len(found) == expected.column(number).length()


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_bounds_answer_as_the_values_would(
    kernel: str, tmp_path: Path, oracle: Callable[..., duckdb.DuckDBPyConnection]
):
    """DuckDB answers min, max and count from statistics, without reading a row."""
    schema, rows = everything(), every_row()
    with mere.connect(str(tmp_path / "lake.db"), kernel=kernel) as lake:
        lake.create_table("t", schema)
        for row in rows:
            lake.table("t").append(table_of([row], schema))
    con = oracle(f"sqlite:{tmp_path}/lake.db")
    for field in schema.fields:
        if field.children:
            continue
        name = _name(field.name)
        copied = f"SELECT unnest(list({name})) AS x FROM t"
        truth = con.sql(f"SELECT min(x), max(x), count(x) FROM ({copied})").fetchall()
        told = con.sql(f"SELECT min({name}), max({name}), count({name}) FROM t").fetchall()
        assert _shown(told[0]) == _shown(truth[0]), field


def test_values_of_128_bits_keep_all_their_digits(
    tmp_path: Path, oracle: Callable[..., duckdb.DuckDBPyConnection]
):
    big = [Decimal(12345678901234567890123456789012345678), Decimal(-1)]
    with mere.connect(str(tmp_path / "lake.db")) as lake:
        table = lake.create_table("t", {"x": "int128"})
        table.append(pa.table({"x": pa.array(big, pa.decimal128(38, 0))}))
    con = oracle(f"sqlite:{tmp_path}/lake.db")
    assert con.sql("SELECT typeof(x) FROM t LIMIT 1").fetchall() == [("HUGEINT",)]
    assert {int(x) for (x,) in con.sql("SELECT x FROM t").fetchall()} == {int(x) for x in big}


def test_text_fits_columns_of_json_and_uuid(
    tmp_path: Path, oracle: Callable[..., duckdb.DuckDBPyConnection]
):
    with mere.connect(str(tmp_path / "lake.db")) as lake:
        table = lake.create_table("t", {"j": "json", "u": "uuid"})
        table.append([{"j": '{"a": 1}', "u": "f79c3e09-677c-4bbd-a479-3f349cb785e7"}])
        with pytest.raises(mere.errors.SchemaMismatchError, match="not JSON"):
            table.append([{"j": "{"}])
    con = oracle(f"sqlite:{tmp_path}/lake.db")
    assert con.sql("SELECT j->>'a', u::VARCHAR FROM t").fetchall() == [
        ("1", "f79c3e09-677c-4bbd-a479-3f349cb785e7")
    ]


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _shown(values: Any) -> list[str]:
    """Return values in a form that compares NaN as equal and moments by what they mean."""
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        text = format(Decimal(value), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value.isoformat()) if hasattr(value, "isoformat") else repr(value)
