"""What DuckDB prints of nested and odd values is read back to the value."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mere.model.nested_text import read_nested
from mere.model.schema import Field
from mere.model.stored_text import stored

_SIGNS = st.text(st.sampled_from("ab'\"\\,[]{}()=: \t\nNUL;ü"), max_size=6)
_TEXTS = st.one_of(st.none(), _SIGNS, st.text(max_size=4).filter(lambda text: "\0" not in text))
_LEAF = Field(name="x", type="varchar")


def listed(item):
    return Field(name="x", type="list", children=(item,))


def of_struct(*parts):
    return Field(name="x", type="struct", children=parts)


_MAPPED = Field(name="x", type="map", children=(_LEAF, listed(_LEAF)))
_PAIRS = st.lists(
    st.tuples(_TEXTS.filter(lambda t: t is not None), st.lists(_TEXTS, max_size=2)),
    max_size=3,
    unique_by=lambda pair: pair[0],
)
SHAPES = {
    "list": (listed(_LEAF), "VARCHAR[]", st.lists(_TEXTS, max_size=4)),
    "struct": (of_struct(_LEAF, _LEAF), "STRUCT(a VARCHAR, b VARCHAR)", st.tuples(_TEXTS, _TEXTS)),
    "list of lists": (
        listed(listed(_LEAF)),
        "VARCHAR[][]",
        st.lists(st.one_of(st.none(), st.lists(_TEXTS, max_size=3)), max_size=3),
    ),
    "list of structs": (
        listed(of_struct(_LEAF)),
        'STRUCT("it\'s, a: name" VARCHAR)[]',
        st.lists(st.one_of(st.none(), st.tuples(_TEXTS)), max_size=3),
    ),
    "map": (_MAPPED, "MAP(VARCHAR, VARCHAR[])", _PAIRS),
}


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect() as connection:
        yield connection


def _spelled(value):
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'"


def _sql(shape, value):
    """Spell a value as an expression of SQL."""
    if value is None or shape.type == "varchar":
        return _spelled(value)
    if shape.type == "list":
        return f"[{', '.join(_sql(shape.children[0], part) for part in value)}]"
    if shape.type == "map":
        sides = [[_sql(child, pair[i]) for pair in value] for i, child in enumerate(shape.children)]
        return f"MAP([{', '.join(sides[0])}], [{', '.join(sides[1])}])"
    return f"row({', '.join(map(_sql, shape.children, value))})"


def _read(value):
    return [_read(part) for part in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=40)
@given(data=st.data())
def test_what_duckdb_prints_is_read_back(duck, name, data):
    shape, kind, values = SHAPES[name]
    value = data.draw(values)
    ((text,),) = duck.execute(f"SELECT ({_sql(shape, value)})::{kind}::VARCHAR").fetchall()
    assert _read(read_nested(text, shape, literal=False)) == _read(value), text


@settings(max_examples=40)
@given(parts=st.tuples(_TEXTS, _TEXTS))
def test_literals_of_sql_are_read_back(parts):
    text = f"{{'a': {_spelled(parts[0])}, 'b''c': {_spelled(parts[1])}}}"
    assert read_nested(text, of_struct(_LEAF, _LEAF), literal=True) == list(parts)


MOMENTS = {
    "date": ("DATE", "epoch_us(v::TIMESTAMP) // 86400000000"),
    "timestamp": ("TIMESTAMP", "epoch_us(v)"),
    "timestamp_ns": ("TIMESTAMP_NS", "epoch_ns(v)"),
    "timestamp_ms": ("TIMESTAMP_MS", "epoch_ms(v)"),
    "time": ("TIME", "epoch_us(v)"),
}


@pytest.mark.parametrize("name", MOMENTS)
@settings(max_examples=40)
@given(seconds=st.integers(-9_000_000_000, 9_000_000_000), micros=st.integers(0, 999_999))
def test_moments_are_read_as_duckdb_counts_them(duck, name, seconds, micros):
    kind, count = MOMENTS[name]
    number = seconds * 1_000_000 + micros
    made = f"make_timestamp({number})"
    query = f"SELECT v::VARCHAR, ({count})::BIGINT FROM (SELECT {made}::{kind} AS v)"
    ((text, expected),) = duck.execute(query).fetchall()
    assert stored(name, text) == expected


@given(
    months=st.integers(-99, 99), days=st.integers(-999, 999), micros=st.integers(-(10**12), 10**12)
)
def test_intervals_are_read_as_duckdb_prints_them(duck, months, days, micros):
    parts = f"to_months({months}) + to_days({days}) + to_microseconds({micros})"
    ((text,),) = duck.execute(f"SELECT ({parts})::VARCHAR").fetchall()
    assert stored("interval", text) == (months, days, micros * 1000)
