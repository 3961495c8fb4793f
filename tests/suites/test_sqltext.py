"""SQL text says what the expression says, and comes back as the same expression."""

# ruff: noqa: DTZ001 - columns without a time zone are asked for here

import re
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions import COLUMNS, SCHEMA, conditions, rows

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.expr import Expr, call, col, columns, lit
from mere.model.predicate import bind, evaluate
from mere.model.schema import from_mapping, number
from mere.sqltext import parse, render
from mere.sqltext.dialects import POSTGRES

TYPES = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int64": "BIGINT",
    "uint16": "USMALLINT",
    "float64": "DOUBLE",
    "float32": "FLOAT",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "varchar": "VARCHAR",
    "timestamp_s": "TIMESTAMP_S",
    "timestamp_ms": "TIMESTAMP_MS",
    "blob": "BLOB",
    "timestamp_ns": "TIMESTAMP_NS",
    "uuid": "UUID",
}


@pytest.fixture(scope="module")
def con():
    """Open DuckDB in a time zone that is not UTC, so that it shows where zones matter."""
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'America/New_York'")
        yield opened


def table_of(row: dict[str, Any]) -> str:
    """Write one row as a subquery."""
    cells = []
    for name, value in row.items():
        kind = COLUMNS[name]
        literal = render(Expr("literal", (value,), kind if value is not None else None))
        cells.append(f'CAST({literal} AS {TYPES.get(kind, kind.upper())}) AS "{name}"')
    return f"(SELECT {', '.join(cells) or '1'})"


@given(data=st.data(), expr=conditions())
def test_duckdb_answers_as_the_reference_does(con, data, expr):
    row = data.draw(rows(tuple(sorted(columns(expr)))))
    bound = bind(expr, SCHEMA)
    text = render(bound)
    (found,) = con.execute(f"SELECT {text} FROM {table_of(row)}").fetchone()
    assert found is evaluate(bound, row), text


@given(expr=conditions())
def test_what_is_rendered_parses_to_the_same(expr):
    assert parse(render(expr)).same(expr) or bind(parse(render(expr)), SCHEMA).same(
        bind(expr, SCHEMA)
    )


@pytest.mark.parametrize("value", [
    *(True, False, None, 0, -1, 2**63 - 1, -(2**63), 2**100, 0.0, -0.0, 1.5, 1e300, 5e-324, 1e16),
    *(float("inf"), float("-inf"), float("nan"), Decimal("1.50"), Decimal("-0.001"), Decimal(5)),
    *("", "a", "it's", '"', "\\", "a\nb", "日本", "%_", "--", "/* */", b"", b"\x00\xff'\\a"),
    *(date(1, 1, 1), date(9999, 12, 31), datetime(2026, 1, 1), datetime(1969, 12, 31, 1, 2, 3, 4)),
    *(datetime(2026, 1, 1, 1, tzinfo=UTC), time(0), time(23, 59, 59, 999_999), UUID(int=5)),
    *(timedelta(days=1, microseconds=1), timedelta(days=-1)),
])  # fmt: skip
def test_every_literal_keeps_its_value_and_type(con, value):
    literal = lit(value)
    assert parse(render(literal)).same(literal)
    (found,) = con.execute(f"SELECT {render(literal)}").fetchone()
    if isinstance(value, datetime) and value.tzinfo is not None:
        found = found.astimezone(UTC)
    assert (repr(found), type(found)) == (repr(value), type(value))


def test_nanoseconds_and_single_floats_keep_their_type(con):
    fine = Expr("literal", (1_767_225_600_123_456_789,), "timestamp_ns")
    single = Expr("literal", (0.10000000149011612,), "float32")
    assert parse(render(fine)).same(fine)
    assert parse(render(single)).same(single)
    query = f"SELECT epoch_ns({render(fine)}), typeof({render(single)}), {render(single)}::DOUBLE"
    assert con.execute(query).fetchone() == (fine.args[0], "FLOAT", single.args[0])


def test_a_text_with_the_character_nul_reaches_duckdb(con):
    assert con.execute(f"SELECT {render(lit(chr(0) + 'a'))}").fetchone() == ("\0a",)
    with pytest.raises(UnsupportedError, match="NUL"):
        render(lit("\0"), "postgres")


@given(name=st.text(min_size=1).filter(lambda n: "\0" not in n))
def test_any_column_name_is_quoted(con, name):
    schema = number(from_mapping({name: "int64"}))
    quoted = render(bind(col(name) == 1, schema))
    alias = '"' + name.replace('"', '""') + '"'
    assert con.execute(f"SELECT {quoted} FROM (SELECT 1 AS {alias})").fetchone() == (True,)
    assert parse(quoted).same(col(name) == 1)


ANSWERS = [
    ("x % 2 = -1", {"x": -3}, True),
    ("x / 2 = 0.5", {"x": 1}, True),
    ("x / 0 > 1", {"x": 1}, True),
    ("x % 0 = 1", {"x": 1}, None),
    ("x IS NOT DISTINCT FROM NULL", {"x": None}, True),
    ("x IS DISTINCT FROM 1", {"x": None}, True),
    ("x IS TRUE", {"x": None}, False),
    ("x IS NOT TRUE", {"x": None}, True),
    ("x ILIKE 'A%'", {"x": "abc"}, True),
    ("x LIKE 'a!%b' ESCAPE '!'", {"x": "a%b"}, True),
    ("x LIKE 'a!%b' ESCAPE '!'", {"x": "axb"}, False),
    ("x LIKE 'a%'", {"x": "a\nb"}, True),
    ("x NOT LIKE 'a%'", {"x": "abc"}, False),
    ("x NOT LIKE 'a%'", {"x": "b"}, True),
    ("x NOT LIKE 'b%'", {"x": None}, None),
    ("x NOT ILIKE 'A%'", {"x": "abc"}, False),
    ("x NOT LIKE 'a!%b' ESCAPE '!'", {"x": "a%b"}, False),
    ("x NOT LIKE 'a!%b' ESCAPE '!'", {"x": "axb"}, True),
    ("NOT x LIKE 'b%'", {"x": "abc"}, True),
    ("x NOT IN ('b')", {"x": "b"}, False),
    ("x NOT BETWEEN 1 AND 3", {"x": 2}, False),
    ("x IS NOT NULL", {"x": None}, False),
    ("x || 'b' = 'ab'", {"x": "a"}, True),
    ("x || 'b' = 'ab'", {"x": None}, None),
    ("concat(x, 'b') = 'b'", {"x": None}, True),
    ("coalesce(x, 1) = 1", {"x": None}, True),
    ("CASE x WHEN 1 THEN 'a' ELSE 'b' END = 'b'", {"x": 2}, True),
    ("CASE WHEN x > 1 THEN TRUE END", {"x": 0}, None),
    ("if(x > 1, 1, 2) = 2", {"x": None}, True),
    ("length(x) = 2", {"x": "é日"}, True),
    ("trim(x) = 'a'", {"x": " a "}, True),
    ("abs(x) = 1", {"x": -1}, True),
    ("x BETWEEN 1 AND NULL", {"x": 0}, False),
    ("x IN (1, NULL)", {"x": 2}, None),
    ("x > TIMESTAMP '2026-01-02' - INTERVAL 1 DAY", {"x": datetime(2026, 1, 1, 1)}, True),
    ("extract(year FROM x) = 2026", {"x": datetime(2026, 1, 1)}, True),
    ("date_trunc('week', x) = DATE '2025-12-29'", {"x": date(2026, 1, 1)}, True),
    ("CAST(x AS INTEGER) = 2", {"x": 1.5}, True),
    ("CAST(x AS DECIMAL(3,1)) = 1.3", {"x": Decimal("1.25")}, True),
    ("TRY_CAST(x AS INTEGER) IS NULL", {"x": "a"}, True),
    ("CAST(x AS BOOLEAN)", {"x": "true"}, True),
    ("x = 'nan'::DOUBLE", {"x": float("nan")}, True),
    ("x > 'inf'::DOUBLE", {"x": float("nan")}, True),
    ("CAST(x AS VARCHAR) = '1'", {"x": 1}, True),
    ("suffix(x, 'b') AND prefix(x, 'a') AND contains(x, 'ab')", {"x": "ab"}, True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "row", "expected"), ANSWERS)
def test_the_text_of_people_means_what_duckdb_means(con, text, row, expected):
    value = row["x"]
    of_null = "boolean" if "TRUE" in text else "varchar" if "b" in text else "int64"
    kinds = {int: "int64", float: "float64", str: "varchar", datetime: "timestamp", date: "date"}
    kind = "decimal(3,2)" if isinstance(value, Decimal) else kinds.get(type(value), of_null)
    bound = bind(parse(text), number(from_mapping({"x": kind})))
    assert evaluate(bound, row) is expected
    cell = f"CAST({render(lit(value))} AS {TYPES.get(kind, kind)})"
    for spelled in (text, render(bound)):
        assert con.execute(f"SELECT {spelled} FROM (SELECT {cell} AS x)").fetchone() == (expected,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x >", "at line 1, column 3, near '>'"),
        ("x = = 1", "at line 1, column 5"),
        ("x > 1\nAND AND y", "at line 2"),
        ("x = 1; DROP TABLE t", "near 'DROP'"),
        ("SELECT 1", "cannot read the condition"),
        ("", "cannot read the condition"),
        ("'", "cannot read the condition"),
        ("x IN (SELECT 1)", "holds a subquery"),
        ("EXISTS (SELECT 1)", "holds a subquery"),
        ("sum(x) > 1", "holds an aggregate"),
        ("count(*) > 1", "holds an aggregate"),
        ("row_number() OVER () = 1", "holds a window function"),
        ("x = ?", "holds a parameter"),
        ("x > now()", "its answer changes"),
        ("x > current_date", "its answer changes"),
        ("random() < 0.5", "its answer changes"),
        ("l[1] = 1", "only the fields of a struct"),
        ("x = 'abc'::INTEGER", "'abc' is no value of type int32"),
        ("x > DATE '2026-02-30'", "'2026-02-30' is no value of type date"),
        ("x > INTERVAL 1 MONTH", "write the moment itself"),
        ("x // 2 = 1", "cannot use"),
        ("x BETWEEN SYMMETRIC 3 AND 1", "cannot use"),
        ("CAST(x AS DATE FORMAT 'YYYY') = y", "cannot use"),
    ],
)
def test_what_is_no_condition_is_refused_by_place_or_name(text, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        parse(text)


def test_an_unknown_function_is_passed_through():
    expr = parse("regexp_matches(s, '^a') AND foo(i, 1) = 2")
    assert render(expr) == '(regexp_matches("s", \'^a\') AND (foo("i", 1) = 2))'
    with pytest.raises(UnsupportedError, match="regexp_matches is not known"):
        evaluate(bind(expr, SCHEMA), {"s": "a", "i": 1})


@pytest.mark.parametrize(
    ("expr", "spark", "postgres"),
    [
        (col("s") == "it's \\", r"(`s` = 'it\'s \\')", "(\"s\" = 'it''s \\')"),
        (col("s").like("a\\%"), r"(`s` LIKE 'a\\\\%')", "(\"s\" LIKE 'a\\%' ESCAPE '')"),
        (col("f") > 1.5, "(`f` > 1.5e0)", "(\"f\" > CAST('1.5e0' AS DOUBLE PRECISION))"),
        (col("raw") == b"\x00a", "(`raw` = X'0061')", "(\"raw\" = CAST('\\x0061' AS BYTEA))"),
        (
            col("at") == datetime(2026, 1, 1),
            "(`at` = TIMESTAMP_NTZ '2026-01-01 00:00:00')",
            "(\"at\" = TIMESTAMP '2026-01-01 00:00:00')",
        ),
        (
            col("tz") == datetime(2026, 1, 1, tzinfo=UTC),
            "(`tz` = TIMESTAMP '2026-01-01 00:00:00+00:00')",
            "(\"tz\" = TIMESTAMPTZ '2026-01-01 00:00:00+00')",
        ),
        (
            call("year", col("tz")) == 2026,
            "(year(to_utc_timestamp(`tz`, current_timezone())) = 2026)",
            "(EXTRACT(YEAR FROM (\"tz\" AT TIME ZONE 'UTC')) = 2026)",
        ),
        (
            col("f").is_nan(),
            "(`f` = CAST('NaN' AS DOUBLE))",
            "(\"f\" = CAST('NaN' AS DOUBLE PRECISION))",
        ),
        (col("s").starts_with("a"), "startswith(`s`, 'a')", "starts_with(\"s\", 'a')"),
        (
            col("id") == UUID(int=1),
            f"(`id` = '{UUID(int=1)}')",
            f"(\"id\" = CAST('{UUID(int=1)}' AS UUID))",
        ),
    ],
)
def test_other_dialects_quote_and_name_in_their_own_way(expr, spark, postgres):
    bound = bind(expr, SCHEMA)
    assert render(bound, "spark") == spark
    assert render(bound, "postgres") == postgres


def test_postgres_answers_as_the_reference_does(pg_url):
    row = {
        "i": 3,
        "f": float("nan"),
        "d": Decimal("1.50"),
        "s": "it's a\\b",
        "raw": b"\x00a",
        "day": date(2026, 2, 3),
        "at": datetime(2026, 2, 3, 4),
        "id": UUID(int=1),
        "tz": datetime(2026, 2, 3, 4, tzinfo=UTC),
        "t": time(1, 2, 3, 5),
        "b": True,
    }
    with psycopg.connect(pg_url) as con:
        con.execute("SET TimeZone = 'America/New_York'")
        for expr in (
            *(col(name) == value for name, value in row.items()),
            *(col(name) > value for name, value in row.items() if name != "b"),
            *(col(name).is_in([value, None]) for name, value in row.items()),
            col("s").like("it's a\\%"),
            col("s").starts_with("it's"),
            col("f").is_nan(),
            col("i") / 2 == 1.5,
            call("hour", col("tz")) == 4,
            col("tz").cast("date") == date(2026, 2, 3),
            call("date_trunc", "day", col("tz")) == datetime(2026, 2, 3, tzinfo=UTC),
            col("tz") == col("at"),
        ):
            bound = bind(expr, SCHEMA)
            cells = (
                f"CAST({render(Expr('literal', (v,), COLUMNS[n]), 'postgres')} AS "
                f'{POSTGRES.types.get(COLUMNS[n], "NUMERIC(9,2)")}) AS "{n}"'
                for n, v in row.items()
            )
            query = f"SELECT {render(bound, 'postgres')} FROM (SELECT {', '.join(cells)}) AS r"
            found = con.execute(query).fetchone()
            assert found == (evaluate(bound, row),), query


def test_an_unknown_dialect_is_refused():
    with pytest.raises(InvalidInputError, match="unknown SQL dialect 'oracle'"):
        render(col("x") == 1, "oracle")


def test_rendering_does_not_load_the_parser():
    code = "import sys, mere.sqltext as s; s.render; assert 'sqlglot' not in sys.modules; s.parse"
    subprocess.run([sys.executable, "-c", code], check=True)
