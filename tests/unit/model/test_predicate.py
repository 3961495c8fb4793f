# ruff: noqa: DTZ001 - columns without a time zone are asked for here

import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions import COLUMNS, FEWER, SCHEMA, conditions, literals, rows, values

from mere.errors import InvalidInputError, UnknownColumnError, UnsupportedError
from mere.model.expr import Expr
from mere.model.literals import place
from mere.model.predicate import bind, call, col, columns, evaluate, lit, nodes
from mere.model.schema import Field, Schema, from_mapping, number

X = col("x")
NAN = float("nan")


def one(kind: str) -> Schema:
    return number(from_mapping({"x": kind}))


def answer(expr: Expr, kind: str, value: object) -> object:
    return evaluate(bind(expr, one(kind)), {"x": value})


@FEWER
@given(expr=conditions())
def test_expressions_travel_and_binding_twice_changes_nothing(expr):
    bound = bind(expr, SCHEMA)
    for kept in (expr, bound):
        copy = pickle.loads(pickle.dumps(kept))  # noqa: S301  our own
        assert copy.same(kept)
        assert hash(copy) == hash(kept)
    assert bind(bound, SCHEMA).same(bound)
    assert all(node.kind is not None for node in nodes(bound))


def test_what_differs_only_in_type_is_not_the_same():
    assert not (X == 1).same(X == 1.0)
    assert not (X == 1).same(X == True)  # noqa: E712  builds an expression
    assert not (X == 0.0).same(X == -0.0)
    assert (X == NAN).same(X == NAN)
    assert not (X == 1).same("x = 1")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((X > 3) & (X < 5) & ~X.is_null(), "(x > 3) AND (x < 5) AND not(is_null(x))"),
        ((X > 3) | (X < 5) | (X == 1), "(x > 3) OR (x < 5) OR (x = 1)"),
        (X > 3, "x > 3"),
        (1 + X - 2, "(1 + x) - 2"),
        (2 * X / (4 - X) % 3, "((2 * x) / (4 - x)) % 3"),
        (-X != 1, "neg(x) != 1"),
        (X.is_in({2, 1}), "x IN (1, 2)"),
        (X.cast("date") == date(2026, 1, 1), "cast(x AS date) = '2026-01-01'"),
        (call("Year", X) == 2026, "year(x) = 2026"),
        (col("a").field("b").like("c%"), "a.b LIKE 'c%'"),
        (X.between(1, None), "between(x, 1, NULL)"),
    ],
)
def test_python_operators_build_what_they_look_like(expr, text):
    assert str(expr) == text
    assert repr(expr) == f"<Expr {text}>"


def test_an_expression_has_no_truth_value():
    with pytest.raises(InvalidInputError, match="no truth value") as caught:
        bool(X == 1)
    assert caught.value.hint == "combine with & | ~ in parentheses, not and, or, not"
    with pytest.raises(InvalidInputError):
        _ = 1 < X < 5


class Side(StrEnum):
    ASK = "ask"


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (Side.ASK, "ask"),
        (bytearray(b"a"), b"a"),
        (memoryview(b"a"), b"a"),
        (
            datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 1, 1, tzinfo=UTC),
        ),
        (None, None),
    ],
)
def test_literals_are_plain_values(given, value):
    assert lit(given).args == (value,)
    assert type(lit(given).args[0]) is type(value)


def test_what_no_column_can_hold_is_refused():
    with pytest.raises(InvalidInputError, match=r"\[1\] of type list is no value of a column"):
        lit([1])
    with pytest.raises(InvalidInputError, match="several values"):
        X.is_in("ab")
    with pytest.raises(InvalidInputError, match="a column is named by a text"):
        col("")
    with pytest.raises(InvalidInputError, match="only a column has fields"):
        (X + 1).field("a")


def test_the_columns_of_an_expression_are_its_top_level_ones():
    assert columns((X > 1) & (col("a").field("b") == col("c"))) == {"x", "a", "c"}


@FEWER
@given(data=st.data(), op=st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]))
def test_a_literal_of_another_type_is_compared_by_its_value(data, op):
    name = data.draw(st.sampled_from(["i8", "i", "u", "day", "at", "s_at", "ms_at", "tz", "big"]))
    literal = data.draw(literals(name).filter(lambda v: not isinstance(v, str)))
    value = data.draw(values(name))
    expr = Expr(op, (col(name), lit(literal)))
    bound = bind(expr, SCHEMA)
    shortest = Decimal(repr(literal)) if isinstance(literal, float) else literal
    exact = Expr(op, (lit(value), lit(shortest if COLUMNS[name] == "decimal(38,10)" else literal)))
    if isinstance(shortest, Decimal) and not shortest.is_finite():
        exact = Expr(op, (lit(value), lit(literal)))
    assert evaluate(bound, {name: value}) is evaluate(exact, {})
    assert evaluate(bound, {name: None}) is None


@pytest.mark.parametrize(
    ("kind", "literal", "expected"),
    [
        ("int8", 2.0, "x = 2"),
        ("int8", "2", "x = 2"),
        ("int8", True, "x = 1"),
        ("float32", 0.1, "x = 0.10000000149011612"),
        ("float64", 3, "x = 3.0"),
        ("float64", "NaN", "x = nan"),
        ("decimal(9,2)", 0.1, "x = '0.10'"),
        ("decimal(9,2)", 5, "x = '5.00'"),
        ("boolean", 1, "x = True"),
        ("boolean", "false", "x = False"),
        ("date", "2026-01-01", "x = '2026-01-01'"),
        ("date", datetime(2026, 1, 1), "x = '2026-01-01'"),
        ("timestamp", "2026-01-01", "x = '2026-01-01 00:00:00'"),
        ("timestamp", "2026-01-01T02:00:00+02", "x = '2026-01-01 00:00:00'"),
        ("timestamptz", datetime(2026, 1, 1), "x = '2026-01-01 00:00:00+00:00'"),
        ("timestamp_ns", date(1970, 1, 1), "x = 0"),
        ("time", "01:02:03.5", "x = '01:02:03.500000'"),
        ("uuid", str(UUID(int=1)), f"x = '{UUID(int=1)}'"),
        ("blob", "a\\x00", "x = b'a\\x00'"),
        ("varchar", UUID(int=1), f"x = '{UUID(int=1)}'"),
        ("int8", None, "x = NULL"),
    ],
)
def test_literals_become_values_of_the_column(kind, literal, expected):
    assert str(bind(literal == X, one(kind))) == expected


TRUNCATED = "is_null(date_trunc('day', x)) AND NULL"
NEVER, ALWAYS = "is_null(x) AND NULL", "not(is_null(x)) OR NULL"


@pytest.mark.parametrize(
    ("expr", "kind", "expected"),
    [
        (X > 2.5, "int8", "x > 2"),
        (X >= 2.5, "int8", "x > 2"),
        (X < 2.5, "int8", "x <= 2"),
        (X <= 2.5, "int8", "x <= 2"),
        (X == 2.5, "int8", NEVER),
        (X != 2.5, "int8", ALWAYS),
        (X < 300, "int8", "x <= 127"),
        (X > 300, "int8", "x > 127"),
        (X > -300, "int8", ALWAYS),
        (X < -300, "int8", NEVER),
        (float("inf") > X, "int8", "x <= 127"),
        (X < NAN, "int8", "x <= 127"),
        (float("-inf") < X, "int8", ALWAYS),
        (X < 10**400, "float64", "x <= 1.7976931348623157e+308"),
        (X > -(10**400), "float64", "x > -inf"),
        (Decimal("0.105") < X, "decimal(9,2)", "x > '0.10'"),
        (X < 10**9, "decimal(9,2)", "x <= '9999999.99'"),
        (X == "2026-01-01 12:00:00", "date", NEVER),
        (X < "2026-01-01 12:00:00", "date", "x <= '2026-01-01'"),
        (X < "2026-01-01 00:00:00.5", "timestamp_s", "x <= '2026-01-01 00:00:00'"),
        (datetime(2500, 1, 1) > X, "timestamp_ns", f"x <= {2**63 - 1}"),
        (datetime(1500, 1, 1) < X, "timestamp_ns", ALWAYS),
        (call("date_trunc", "day", X) == datetime(2026, 1, 1, 1), "date", TRUNCATED),
        (X.is_in([1, 2.5, 300, None]), "int8", "x IN (1, NULL)"),
        (X.is_in([2.5, 300]), "int8", NEVER),
        (X.is_in([]), "int8", "False"),
        (X.between(1, 7), "int8", "between(x, 1, 7)"),
        (X.between(1.5, 300), "int8", "(x > 1) AND (x <= 127)"),
        (
            lit(datetime(2026, 1, 2)) - timedelta(days=1) < X,
            "timestamp",
            "x > '2026-01-01 00:00:00'",
        ),
    ],
)
def test_what_no_value_of_the_type_can_say_is_rewritten(expr, kind, expected):
    assert str(bind(expr, one(kind))) == expected


@pytest.mark.parametrize(
    ("expr", "kind", "message"),
    [
        (X == 5, "varchar", "cannot compare x of type varchar with 5"),
        (X == "abc", "int8", "cannot compare x of type int8 with 'abc'"),
        (X == 5, "date", "cannot compare x of type date with 5"),
        (X == "nonsense", "timestamp", "cannot compare x of type timestamp with 'nonsense'"),
        (X == 2, "boolean", "cannot compare x of type boolean with 2"),
        (X == "5", "uuid", "cannot compare x of type uuid with '5'"),
        (X == 1, "variant", "cannot compare x of type variant"),
        (X, "int8", "expected a condition, x is of type int8"),
        (X + 1, "int8", "expected a condition"),
        ((X == 1) & X, "int8", "expected a condition, x is of type int8"),
        (X + 1 == 1, "varchar", "cannot compute"),
        (X.like("a"), "int8", "like takes texts"),
        (X.is_nan(), "varchar", "is_nan takes numbers"),
        (X.cast("int") == 1, "int8", "unknown type 'int'"),
        (lit("a").cast("int64") == X, "int8", "'a' is no value of type int64"),
        (Expr("frobnicate", (X,)), "int8", "unknown operation 'frobnicate'"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(expr, kind, message):
    with pytest.raises(InvalidInputError, match=message):
        bind(expr, one(kind))


def test_columns_of_different_families_are_not_compared():
    with pytest.raises(InvalidInputError, match="cannot compare s of type varchar with i of type"):
        bind(col("s") == col("i"), SCHEMA)


def test_columns_are_found_without_case_and_through_structs():
    part = Field(name="City", type="varchar")
    home = Field(name="home", type="struct", children=(part,))
    schema = number(Schema(fields=(home, Field(name="a.b", type="int64"))))
    city = bind(col("HOME.city") == "x", schema)
    assert city.args[0].args == ("home", "City")
    assert city.same(bind(col("home").field("CITY") == "x", schema))
    assert evaluate(city, {"home": {"City": "x"}}) is True
    assert evaluate(city, {"home": None}) is None
    assert bind(col("a.b") == 1, schema).args[0].args == ("a.b",)
    with pytest.raises(UnknownColumnError, match=r"column 'hom\.city'; the table has: home"):
        bind(col("hom.city") == 1, schema)
    with pytest.raises(UnknownColumnError, match="unknown field 'town'; home has: City"):
        bind(col("home.town") == 1, schema)
    with pytest.raises(InvalidInputError, match="cannot compare home of type struct"):
        bind(col("home") == 1, schema)
    assert evaluate(bind(col("home").is_null(), schema), {"home": None}) is True


T, F, N = True, False, None


def test_logic_is_three_valued():
    table = [(T, T), (T, F), (T, N), (F, T), (F, F), (F, N), (N, T), (N, F), (N, N)]
    schema = number(from_mapping({"a": "boolean", "b": "boolean"}))

    def column_of(expr: Expr) -> list[object]:
        bound = bind(expr, schema)
        return [evaluate(bound, {"a": a, "b": b}) for a, b in table]

    assert column_of(col("a") & col("b")) == [T, F, N, F, F, F, N, F, N]
    assert column_of(col("a") | col("b")) == [T, T, T, T, F, N, T, N, N]
    assert column_of(~col("a")) == [F, F, F, T, T, T, N, N, N]
    assert column_of(col("a") == col("b")) == [T, F, N, F, T, N, N, N, N]


@pytest.mark.parametrize(
    ("expr", "kind", "value", "expected"),
    [
        (X == NAN, "float64", NAN, T),
        (float("inf") < X, "float64", float("nan"), T),
        (X == 0.0, "float64", -0.0, T),
        (X.is_nan(), "float64", None, N),
        (X.is_in([1, None]), "int64", 2, N),
        (X.is_in([2, None]), "int64", 2, T),
        (~X.is_in([1, None]), "int64", 2, N),
        (X.is_null(), "int64", None, T),
        (X == None, "int64", 1, N),  # noqa: E711  builds an expression
        (X.between(5, None), "int64", 1, F),
        (X.between(0, None), "int64", 1, N),
        (X.like("a_c%"), "varchar", "abc\n", T),
        (X.like("a.c"), "varchar", "abc", F),
        (X.starts_with("a%"), "varchar", "a%b", T),
        (X % 3 == -1, "int64", -4, T),
        (X % 0 == 1, "int64", 1, N),
        (X / 0 > 0, "int64", 1, T),
        ((X / 0).is_nan(), "int64", 0, T),
        (X.cast("int64") == 2, "float64", 2.5, T),
        (X.cast("int64") == 3, "decimal(3,1)", Decimal("2.5"), T),
        (X.cast("varchar") == "true", "boolean", T, T),
        (X.cast("varchar") == "1.50", "decimal(3,2)", Decimal("1.50"), T),
        (Expr("try_cast", (X,), "int64").is_null(), "varchar", "a", T),
        (call("quarter", X) == 2, "date", date(2026, 4, 1), T),
        (call("hour", X) == 0, "date", date(2026, 4, 1), T),
        (call("year", X) == 1969, "timestamp_ns", -1, T),
        (call("timezone", "UTC", X) == datetime(2026, 1, 1), "timestamptz", None, N),
        (date(2026, 1, 2) == X + 1, "date", date(2026, 1, 1), T),
        (X - lit(date(2026, 1, 1)) == 1, "date", date(2026, 1, 2), T),
        (X - timedelta(hours=1) == datetime(2025, 12, 31, 23), "date", date(2026, 1, 1), T),
        (X == "b", "varchar", "B", F),
    ],
)  # fmt: skip
def test_the_reference_says(expr, kind, value, expected):
    assert answer(expr, kind, value) is expected


def test_an_unknown_function_is_named():
    with pytest.raises(UnsupportedError, match="the function frobnicate is not known"):
        answer(call("frobnicate", X) == 1, "int64", 1)
    with pytest.raises(InvalidInputError, match="does not fit into int8"):
        answer(X.cast("int8") == 1, "int64", 300)


@given(row=rows(("i", "s", "f")))
def test_a_row_equals_itself(row):
    for name in ("i", "s", "f"):
        assert evaluate(bind(col(name) == col(name), SCHEMA), row) in {True, None}


def test_a_decimal_of_38_digits_is_placed_exactly():
    wide = Decimal("9" * 28 + "." + "9" * 10)
    assert place("decimal(38,10)", wide).floor == wide
    assert place("decimal(38,10)", wide + 1).exact is False
