"""A predicate means the same in whatever form it comes."""

# ruff: noqa: DTZ001 - columns without a time zone are asked for here

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions import SCHEMA

from mere.errors import InvalidInputError, UnknownColumnError
from mere.model.expr import Expr, call, col, lit
from mere.model.predicate import bind
from mere.model.schema import Field, Schema, from_mapping, number
from mere.where import as_expr as as_expr_or_none
from mere.where import translate


def as_expr(where: Any, schema: Schema) -> Expr:
    found = as_expr_or_none(where, schema)
    assert found is not None
    return found


F, P = pc.field, pl.col
NOON = datetime(2026, 1, 1, 12)
ZONED = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNKNOWN = lit(None)
FOREIGN = [
    (F("i") > 3, P("i") > 3, col("i") > 3),
    (F("i") < 3, P("i") < 3, col("i") < 3),
    (F("i") == F("i8"), P("i") == P("i8"), col("i") == col("i8")),
    (
        (F("i") > 3) & (F("s") == "a"),
        (P("i") > 3) & (P("s") == "a"),
        (col("i") > 3) & (col("s") == "a"),
    ),
    ((F("i") > 3) | ~F("b"), (P("i") > 3) | ~P("b"), (col("i") > 3) | ~col("b")),
    (F("s") == 'it\'s "x" \\', P("s") == 'it\'s "x" \\', col("s") == 'it\'s "x" \\'),
    (F("s").is_null(), P("s").is_null(), col("s").is_null()),
    (F("s").is_valid(), P("s").is_not_null(), col("s").is_not_null()),
    (F("f").is_nan(), P("f").is_nan(), col("f").is_nan()),
    (F("f") > 1.5, P("f") > 1.5, col("f") > 1.5),
    (F("d") == Decimal("1.50"), P("d") == Decimal("1.50"), col("d") == Decimal("1.50")),
    (F("day") == date(2026, 1, 1), P("day") == date(2026, 1, 1), col("day") == date(2026, 1, 1)),
    (F("at") >= NOON, P("at") >= NOON, col("at") >= NOON),
    (F("tz") >= ZONED, P("tz") >= ZONED, col("tz") >= ZONED),
    (F("t") < time(1, 2, 3, 5), P("t") < time(1, 2, 3, 5), col("t") < time(1, 2, 3, 5)),
    (F("raw") == b"\x00'", P("raw") == b"\x00'", col("raw") == b"\x00'"),
    (F("i") + 1 > 2, P("i") + 1 > 2, col("i") + 1 > 2),
    (
        -F("i") > 2 if hasattr(F("i"), "__neg__") else pc.negate(F("i")) > 2,
        -P("i") > 2,
        -col("i") > 2,
    ),
    (pc.starts_with(F("s"), "a%"), P("s").str.starts_with("a%"), col("s").starts_with("a%")),
    (pc.ends_with(F("s"), "a"), P("s").str.ends_with("a"), call("ends_with", col("s"), "a")),
    (
        pc.match_substring(F("s"), "a"),
        P("s").str.contains("a", literal=True),
        call("contains", col("s"), "a"),
    ),
    (pc.year(F("at")) == 2026, P("at").dt.year() == 2026, call("year", col("at")) == 2026),
    (
        pc.floor_temporal(F("at"), 1, "day") == NOON,
        P("at").dt.truncate("1d") == NOON,
        call("date_trunc", "day", col("at")) == NOON,
    ),
    (F("at").cast(pa.date32()) == NOON, P("at").dt.date() == NOON, col("at").cast("date") == NOON),
    (
        pc.utf8_lower(F("s")) == "a",
        P("s").str.to_lowercase() == "a",
        call("lower", col("s")) == "a",
    ),
    (
        pc.if_else(F("b"), F("i"), 0) == 1,
        pl.when(P("b")).then(P("i")).otherwise(0) == 1,
        Expr("case", (col("b"), col("i"), lit(0))) == 1,
    ),
    (pc.coalesce(F("i"), 1) == 1, pl.coalesce("i", 1) == 1, call("coalesce", col("i"), 1) == 1),
    (pc.scalar(value=True), pl.lit(value=True), lit(value=True)),
]


@pytest.mark.parametrize(("arrow", "polars", "expected"), FOREIGN, ids=lambda e: str(e)[:40])
def test_pyarrow_and_polars_expressions_are_read_exactly(arrow, polars, expected):
    assert str(translate(arrow)) == str(expected)
    assert str(translate(polars)) == str(expected)
    assert as_expr(arrow, SCHEMA).same(bind(expected, SCHEMA))
    assert as_expr(polars, SCHEMA).same(bind(expected, SCHEMA))


def test_a_lookup_keeps_what_its_library_says_of_null():
    i = col("i")
    two = i.is_not_null() & i.is_in([1, 3])
    assert translate(F("i").isin([1, 3])).same(two)
    assert translate(F("i").isin([1, None, 3])).same(two | i.is_null())
    assert translate(P("i").is_in([1, None, 3])).same(i.is_in([1, 3]))
    assert translate(P("i").is_in([1, None], nulls_equal=True)).same(i.is_null() | i.is_in([1]))
    assert translate(P("i").is_in([])).same(i.is_null() & UNKNOWN)
    assert translate(F("i").isin([])).same(lit(value=False))
    assert translate(P("day").is_in([date(2026, 1, 1)])).same(col("day").is_in([date(2026, 1, 1)]))
    assert translate(P("s").is_in(pl.Series(["a", "b"]))).same(col("s").is_in(["a", "b"]))


def test_polars_ranges_are_read_with_their_ends():
    i = col("i")
    assert translate(P("i").is_between(1, 2)).same(i.between(1, 2))
    assert translate(P("i").is_between(1, 2, closed="left")).same((i >= 1) & (i < 2))
    assert translate(P("i").is_between(1, 2, closed="right")).same((i > 1) & (i <= 2))
    assert translate(P("i").is_between(1, 2, closed="none")).same((i > 1) & (i < 2))


def test_nanoseconds_survive():
    fine = pa.scalar(1_767_225_600_123_456_789, pa.timestamp("ns"))
    literal = translate(F("ns_at") > fine).args[1]
    assert (literal.args, literal.kind) == ((1_767_225_600_123_456_789,), "timestamp_ns")
    fine_too = pl.lit(1_767_225_600_123_456_789).cast(pl.Datetime("ns"))
    text = json.dumps(json.loads((P("x") > fine_too).meta.serialize(format="json")))
    assert "1767225600123456789" in text


def test_a_like_of_pyarrow_escapes_with_a_backslash():
    assert translate(pc.match_like(F("s"), "a%")).same(col("s").like("a%"))
    escaped = Expr("like", (col("s"), lit("a\\%"), lit("\\")))
    assert translate(pc.match_like(F("s"), "a\\%")).same(escaped)


def test_fields_of_structs_are_reached_in_every_form():
    part = Field(name="city", type="varchar")
    schema = number(Schema(fields=(Field(name="home", type="struct", children=(part,)),)))
    forms = [
        "home.city = 'a'",
        "home['city'] = 'a'",
        col("home").field("city") == "a",
        col("home.city") == "a",
        F("home", "city") == "a",
        P("home").struct.field("city") == "a",
        {"home.city": "a"},
        ("home.city", "=", "a"),
    ]
    found = [as_expr(form, schema) for form in forms]
    assert all(one.same(found[0]) for one in found)
    with pytest.raises(UnknownColumnError, match=r"unknown field 'town'; home has: city"):
        as_expr("home.town = 'a'", schema)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"i": 3}, "i = 3"),
        ({"i": 3, "s": "a"}, "i = 3 AND s = 'a'"),
        ({"i": [1, 2]}, "i IN (1, 2)"),
        ({"i": None}, "i IS NULL"),
        ({"i": [1, None]}, "i IN (1) OR i IS NULL"),
        ({}, "TRUE"),
        ({"i": []}, "FALSE"),
        (("i", ">", 3), "i > 3"),
        ([("i", "=", 3), ("s", "!=", "a")], "i = 3 AND s <> 'a'"),
        ([("i", "==", 3), ["s", "like", "a%"]], "i = 3 AND s LIKE 'a%'"),
        ([[("i", "in", {2, 1})], [("s", "not in", ["a"])]], "i IN (1, 2) OR s NOT IN ('a')"),
        ([("i", "between", (1, 2))], "i BETWEEN 1 AND 2"),
        ([("i", "is", None), ("s", "IS NOT", None)], "i IS NULL AND s IS NOT NULL"),
        ([], "TRUE"),
        ([col("i") > 3, ("s", "=", "a")], "i > 3 AND s = 'a'"),
    ],
)
def test_dicts_and_tuples_say_what_sql_says(given, expected):
    assert as_expr(given, SCHEMA).same(as_expr(expected, SCHEMA))


def test_no_predicate_stays_none():
    assert as_expr_or_none(None, SCHEMA) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "cannot take a builtins.int as a predicate"),
        (b"i > 3", "cannot take a builtins.bytes"),
        ([("i", "~", 3)], "unknown operator '~'"),
        ([("i", "=")], "expected"),
        ([("i", "=", None)], "would match no row"),
        ([("i", "in", 3)], "takes several values"),
        ([("i", "in", "ab")], "takes several values"),
        ([("i", "between", 3)], "two values"),
        ({"s": 5}, "cannot compare s of type varchar with 5"),
        ({5: 5}, "a column is named by a text"),
        ("i", "expected a condition"),
        ("i >", "cannot read the condition"),
        (pc.list_value_length(F("i")) == 1, "list_value_length"),
        (pc.match_substring(F("s"), "a", ignore_case=True), "ignores case"),
        (P("i").sum() > 1, "cannot translate"),
        (P("i").eq(math.nan), "NaN or infinite"),
        (P("s").str.contains("a.*"), "regular expression"),
        (pl.all() == 1, "cannot translate"),
    ],
    ids=str,
)
def test_what_cannot_be_translated_is_refused_by_name(given, message):
    with pytest.raises(InvalidInputError, match=message or None):
        as_expr(given, SCHEMA)


def test_an_unknown_column_is_named_with_what_there_is():
    schema = number(from_mapping({"id": "int64", "day": "date"}))
    for form in (
        "usr > 3",
        F("usr") > 3,
        P("usr") > 3,
        {"usr": 3},
        ("usr", ">", 3),
        col("usr") > 3,
    ):
        with pytest.raises(
            UnknownColumnError, match="unknown column 'usr'; the table has: id, day"
        ):
            as_expr(form, schema)


@given(value=st.text(), name=st.text(min_size=1))
def test_texts_and_names_of_any_characters_come_through(value, name):
    schema = number(from_mapping({name: "varchar"}))
    expected = bind(col(name) == value, schema)
    for form in ({name: value}, P(name) == value, F(name) == value):
        assert as_expr(form, schema).same(expected)


def test_values_of_uuids_are_taken():
    key = UUID(int=7)
    assert as_expr({"id": str(key)}, SCHEMA).same(as_expr({"id": key}, SCHEMA))
