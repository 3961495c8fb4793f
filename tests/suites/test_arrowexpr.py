"""What pyarrow filters by is what the predicate means, for NULL and NaN too."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions import COLUMNS, SCHEMA, conditions, rows

from mere.arrow import arrow_type
from mere.arrowexpr import to_pyarrow
from mere.errors import UnsupportedError
from mere.model.expr import Expr, call, col, columns, lit
from mere.model.predicate import bind, evaluate
from mere.model.schema import Field

TYPES = {name: arrow_type(Field(name=name, type=kind)) for name, kind in COLUMNS.items()}


def table_of(found: list[dict[str, Any]], names: tuple[str, ...]) -> pa.Table:
    """Build a table with the row's number beside its values."""
    arrays = {name: array_of([row[name] for row in found], name) for name in names}
    return pa.table({**arrays, "row number": pa.array(range(len(found)), pa.int64())})


def array_of(values: list[Any], name: str) -> pa.Array:
    if name == "id":
        stored = pa.array([v and v.bytes for v in values], pa.binary(16))
        return pa.ExtensionArray.from_storage(pa.uuid(), stored)
    return pa.array(values, TYPES[name])


@given(data=st.data(), expr=conditions())
def test_pyarrow_keeps_the_rows_that_match(data, expr):
    names = tuple(sorted(columns(expr)))
    found = data.draw(st.lists(rows(names), min_size=1, max_size=4))
    bound = bind(expr, SCHEMA)
    expected = [n for n, row in enumerate(found) if evaluate(bound, row) is True]
    kept = table_of(found, names).filter(to_pyarrow(bound))
    assert kept["row number"].to_pylist() == expected
    kept = table_of(found, names).filter(to_pyarrow(~bound))
    expected = [n for n, row in enumerate(found) if evaluate(bound, row) is False]
    assert kept["row number"].to_pylist() == expected


@given(data=st.data(), expr=conditions())
def test_pyarrow_prunes_no_row_that_matches(data, expr, tmp_path_factory):
    names = tuple(sorted(columns(expr) - {"id"}))
    found = data.draw(st.lists(rows(tuple(sorted(columns(expr)))), min_size=2, max_size=4))
    if "id" in columns(expr):
        return
    path = tmp_path_factory.mktemp("pruned") / "rows.parquet"
    pq.write_table(table_of(found, names), path, row_group_size=1)
    bound = bind(expr, SCHEMA)
    expected = [n for n, row in enumerate(found) if evaluate(bound, row) is True]
    kept = ds.dataset(path).to_table(filter=to_pyarrow(bound))
    assert sorted(kept["row number"].to_pylist()) == expected


@pytest.mark.parametrize(
    ("expr", "row"),
    [
        (call("lower", col("s")) == "a", {"s": "A"}),
        (call("upper", col("s")) == "A", {"s": "a"}),
        (call("trim", col("s")) == "a", {"s": " a "}),
        (call("length", col("s")) == 2, {"s": "é日"}),
        (call("abs", col("i")) == 1, {"i": -1}),
        (call("contains", col("s"), "b"), {"s": "abc"}),
        (call("ends_with", col("s"), "c"), {"s": "abc"}),
        (call("coalesce", col("i"), 1) == 1, {"i": None}),
        (call("concat", col("s"), "b") == "b", {"s": None}),
        (call("||", col("s"), "b") == "ab", {"s": "a"}),
        (call("||", col("s"), "b").is_null(), {"s": None}),
        (col("i") / 2 == 0.5, {"i": 1}),
        (col("i") / 0 > 1.0, {"i": 1}),
        (col("i") % 3 == -1, {"i": -4}),
        (col("i") * 2 - 1 == 3, {"i": 2}),
        (Expr("case", (col("i") > 1, col("i"), lit(5))) == 5, {"i": None}),
        (col("i").is_nan().is_null(), {"i": None}),
        (Expr("like", (col("s"), lit("a!%b"), lit("!"))), {"s": "a%b"}),
        (Expr("like", (col("s"), lit("a!%b!_!!\\"), lit("!"))), {"s": "a%b_!\\"}),
    ],
    ids=str,
)
def test_functions_answer_as_the_reference_does(expr, row):
    bound = bind(expr, SCHEMA)
    assert evaluate(bound, row) is True
    assert len(table_of([row], tuple(row)).filter(to_pyarrow(bound))) == 1


@pytest.mark.parametrize(
    "expr",
    [
        call("regexp_matches", col("s"), "a"),
        col("i").cast("varchar") == "1",
        col("f").cast("int64") == 1,
        col("d") * 2 == 3,
        col("i") % 0 == 1,
        col("s").like(col("s")),
        call("date_trunc", col("s"), col("at")) == "2026-01-01",
    ],
    ids=str,
)
def test_what_pyarrow_cannot_say_is_named(expr):
    with pytest.raises(UnsupportedError, match="pyarrow cannot"):
        to_pyarrow(bind(expr, SCHEMA))


def test_a_lookup_stays_one_that_pyarrow_prunes_by():
    assert to_pyarrow(bind(col("i").is_in([1, 2]), SCHEMA)).equals(
        pc.is_in(pc.field("i"), value_set=pa.array([1, 2]))
    )
