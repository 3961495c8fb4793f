from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions import COLUMNS, FEWER, SCHEMA, conditions, rows, values

from mere.model.expr import Expr
from mere.model.files import Bounds, DataFile
from mere.model.layout import Layout, parse_key
from mere.model.predicate import bind, call, col, columns, evaluate
from mere.model.schema import Field, Schema, number
from mere.model.transforms import transform
from mere.model.values import compare, is_nan
from mere.plan.partitions import joined, partition_facts
from mere.plan.prune import Match, match, prune, verdict
from mere.plan.ranges import admits, ranges
from mere.plan.spans import Facts, column_keys


def transforms(name: str) -> list[str]:
    """List the ways to partition by a column."""
    units: dict[str, tuple[str, ...]] = {"day": ("year", "month", "day")}
    for moment in ("at", "tz", "ns_at"):
        units[moment] = ("year", "month", "day", "hour")
    return [name, f"bucket(4, {name})", *(f"{unit}({name})" for unit in units.get(name, ()))]


def bounds_of(found: list[Any], kind: str) -> Bounds:
    """Compute exact bounds."""
    present = [v for v in found if v is not None]
    plain = [v for v in present if not is_nan(v)]
    low = high = plain[0] if plain else None
    for value in plain:
        low = value if compare(value, low, kind, kind) < 0 else low
        high = value if compare(value, high, kind, kind) > 0 else high
    nan = len(plain) < len(present) if kind.startswith("float") else None
    return Bounds(
        minimum=low,
        maximum=high,
        nulls=len(found) - len(present),
        values=len(present),
        nan=nan,
    )


@st.composite
def known_files(draw, expr):
    """Draw rows and what may be known of them: all, or less."""
    names = tuple(sorted(columns(expr)))
    found = draw(st.lists(rows(names), min_size=1, max_size=3))
    bounds = {name: bounds_of([r[name] for r in found], COLUMNS[name]) for name in names}
    for name in names:
        exact = bounds[name]
        less = [
            Bounds(),
            Bounds(minimum=exact.minimum, nulls=exact.nulls, nan=exact.nan),
            Bounds(maximum=exact.maximum, values=exact.values),
            Bounds(minimum=exact.minimum, maximum=exact.maximum, exact=False),
            Bounds(nulls=exact.nulls, values=exact.values, nan=exact.nan),
        ]
        bounds[name] = draw(st.sampled_from([exact, exact, exact, *less]))
    return found, bounds


@FEWER
@given(data=st.data(), expr=conditions())
def test_a_verdict_is_what_the_rows_say(data, expr):
    found, bounds = data.draw(known_files(expr))
    bound = bind(expr, SCHEMA)
    matching = [evaluate(bound, row) for row in found]
    verdict_ = match(bound, bounds=bounds)
    if verdict_ is Match.NONE:
        assert True not in matching
    if verdict_ is Match.ALL:
        assert all(value is True for value in matching)


@FEWER
@given(data=st.data(), expr=conditions())
def test_ranges_never_exclude_a_row_that_matches(data, expr):
    row = data.draw(rows(tuple(sorted(columns(expr)))))
    bound = bind(expr, SCHEMA)
    demands = ranges(bound)
    if evaluate(bound, row) is True:
        assert demands is not None
        assert all(admits(demand, row[name]) for name, demand in demands.items())


@FEWER
@given(data=st.data(), expr=conditions())
def test_what_partition_values_tell_is_true(data, expr):
    names = tuple(sorted(columns(expr)))
    row = data.draw(rows(names))
    specs = data.draw(st.lists(st.sampled_from([s for n in names for s in transforms(n)] or ["i"])))
    keys = [parse_key(spec, SCHEMA) for spec in specs[:3]] if names else []
    kinds = {f.id: (f.name, f.type) for f in SCHEMA}
    partition = tuple(transform(k, kinds[k.column][1], row[kinds[k.column][0]]) for k in keys)
    bound = bind(expr, SCHEMA)
    facts = partition_facts(Layout(id=1, keys=tuple(keys)), SCHEMA, partition)
    bounds = {name: bounds_of([row[name]], COLUMNS[name]) for name in names}
    matches = evaluate(bound, row) is True
    for known in (facts, joined(facts, bounds)):
        assert verdict(bound, known) is not (Match.NONE if matches else Match.ALL)


@FEWER
@given(data=st.data())
def test_a_file_of_one_value_is_judged_exactly(data):
    name = data.draw(st.sampled_from(sorted(set(COLUMNS) - {"f", "f32"})))
    value, other = data.draw(values(name)), data.draw(st.none() | values(name))
    literal = Expr("literal", (other,), COLUMNS[name] if name == "ns_at" else None)
    bounds = {name: bounds_of([value], COLUMNS[name])}
    for expr in (col(name) == literal, col(name) < literal, col(name) >= literal):
        bound = bind(expr, SCHEMA)
        expected = Match.ALL if evaluate(bound, {name: value}) else Match.NONE
        assert match(bound, bounds=bounds) is expected


def numbers(low: int, high: int, **known: Any) -> dict[str, Bounds]:
    return {"i": Bounds(**{"minimum": low, "maximum": high, "nulls": 0, "values": 5, **known})}


I = col("i")  # noqa: E741  reads as the column in the table below


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (I == 5, Match.SOME),
        (I == 9, Match.NONE),
        (I != 9, Match.ALL),
        (I < 3, Match.NONE),
        (I < 4, Match.SOME),
        (I < 8, Match.ALL),
        (I <= 7, Match.ALL),
        (I > 7, Match.NONE),
        (I >= 3, Match.ALL),
        (I > 2.5, Match.ALL),
        (I == 5.5, Match.NONE),
        (I < 10**30, Match.ALL),
        (I.between(1, 2), Match.NONE),
        (I.between(3, 7), Match.ALL),
        (I.between(7, 9), Match.SOME),
        (I.is_in([1, 2, 8]), Match.NONE),
        (I.is_in([1, 5]), Match.SOME),
        (I.is_in([1, None]), Match.NONE),
        (I.is_null(), Match.NONE),
        (I.is_not_null(), Match.ALL),
        (~(I < 3), Match.ALL),
        (~I.is_in([3, 4]), Match.SOME),
        ((I > 2) & (I < 8), Match.ALL),
        ((I < 3) | (I > 7), Match.NONE),
        ((I < 3) | (col("s") == "a"), Match.SOME),
        (I + 1 > 8, Match.NONE),
        (I - 3 >= 0, Match.ALL),
        (-I < -7, Match.NONE),
        (I.cast("int32") > 7, Match.NONE),
        (I % 2 == 0, Match.SOME),
        (I == I, Match.ALL),  # noqa: PLR0124  builds an expression
        (I == None, Match.NONE),  # noqa: E711  builds an expression
        (call("sometimes", I) == 3, Match.SOME),
    ],
)
def test_integers_between_three_and_seven(expr: Expr, expected: Match):
    assert match(bind(expr, SCHEMA), bounds=numbers(3, 7)) is expected


def test_a_null_matches_no_comparison_and_so_no_file_with_nulls_matches_wholly():
    some_null, all_null = numbers(3, 7, nulls=1), {"i": Bounds(nulls=3, values=0)}
    assert match(bind(I < 9, SCHEMA), bounds=some_null) is Match.SOME
    assert match(bind(I.is_null(), SCHEMA), bounds=some_null) is Match.SOME
    assert match(bind(I < 9, SCHEMA), bounds=all_null) is Match.NONE
    assert match(bind(I.is_null(), SCHEMA), bounds=all_null) is Match.ALL


@pytest.mark.parametrize(
    ("nan", "greater", "less"),
    [
        (None, Match.SOME, Match.SOME),
        (True, Match.SOME, Match.SOME),
        (False, Match.NONE, Match.ALL),
    ],
)
def test_nan_is_above_the_maximum_unless_it_is_known_not_to_occur(nan, greater, less):
    bounds = {"f": Bounds(minimum=1.0, maximum=2.0, nulls=0, values=3, nan=nan)}
    assert match(bind(col("f") > 5.0, SCHEMA), bounds=bounds) is greater
    assert match(bind(col("f") < 5.0, SCHEMA), bounds=bounds) is less
    assert match(bind(col("f") < 1.0, SCHEMA), bounds=bounds) is Match.NONE


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ab%", Match.SOME),
        ("a%", Match.ALL),
        ("b%", Match.NONE),
        ("aa%", Match.NONE),
        ("a%c", Match.SOME),
        ("b%c", Match.NONE),
        ("%", Match.ALL),
        ("%x", Match.SOME),
        ("abc", Match.SOME),
        ("zzz", Match.NONE),
        ("ab_", Match.SOME),
    ],
)
def test_texts_between_ab_and_az(pattern: str, expected: Match):
    bounds = {"s": Bounds(minimum="ab", maximum="az", nulls=0, values=2)}
    assert match(bind(col("s").like(pattern), SCHEMA), bounds=bounds) is expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (call("year", col("at")) == 2026, Match.ALL),
        (call("year", col("at")) < 2026, Match.NONE),
        (call("month", col("at")) == 2, Match.ALL),
        (call("month", col("at")).is_in([1, 3]), Match.NONE),
        (call("day", col("at")) == 31, Match.NONE),
        (call("hour", col("at")) == 3, Match.SOME),
        (call("date_trunc", "month", col("at")) == "2026-02-01", Match.ALL),
        (call("date_trunc", "day", col("at")) == "2026-02-05", Match.NONE),
        (col("at").cast("date") == "2026-02-05", Match.NONE),
        (col("at").cast("date") <= "2026-02-03", Match.ALL),
        (col("at") >= "2026-02-04", Match.NONE),
        (col("at") < "2026-02-02", Match.SOME),
    ],
)
def test_functions_of_a_moment_between_the_first_and_third_of_february(expr, expected):
    low, high = (bind(col("at") == t, SCHEMA).args[1].args[0] for t in ("2026-02-01", "2026-02-03"))
    bounds = {"at": Bounds(minimum=low, maximum=high, nulls=0, values=2)}
    assert match(bind(expr, SCHEMA), bounds=bounds) is expected


def a_file(number: int, partition: tuple[Any, ...] = (), **bounds: Bounds) -> DataFile:
    ids = {f.name: f.id for f in SCHEMA}
    return DataFile(
        path=f"{number}.parquet",
        bytes=1,
        rows=2,
        id=number,
        partition_id=1 if partition else None,
        partition=partition,
        bounds={ids[name]: known for name, known in bounds.items()},
    )


def kept(files: list[DataFile], expr: Expr, *keys: str) -> list[int]:
    layouts = {1: Layout(id=1, keys=tuple(parse_key(key, SCHEMA) for key in keys))}
    return [f.id for f in prune(files, bind(expr, SCHEMA), SCHEMA, layouts).files]


def test_calendar_partitions_are_pruned_exactly():
    months = [a_file(10 * (year - 2025) + m, (year, m)) for year in (2025, 2026) for m in (1, 2, 3)]
    keys = ("year(at)", "month(at)")
    assert kept(months, call("month", col("at")) == 2, *keys) == [2, 12]
    assert kept(months, call("year", col("at")) == 2026, *keys) == [11, 12, 13]
    assert kept(months, col("at") == "2026-02-28 23:59:59", *keys) == [12]
    assert kept(months, col("at") < "2025-02-01", *keys) == [1]
    assert kept(months, col("at").cast("date") >= "2026-03-01", *keys) == [13]
    assert kept(months, call("date_trunc", "month", col("at")) == "2025-03-01", *keys) == [3]


def test_buckets_are_pruned_by_equality_alone():
    files = [a_file(n, (n,)) for n in range(4)]
    key = parse_key("bucket(4, s)", SCHEMA)
    home = transform(key, "varchar", "abc")
    assert kept(files, col("s") == "abc", "bucket(4, s)") == [home]
    assert set(kept(files, col("s").is_in(["abc", "b"]), "bucket(4, s)")) == {
        home,
        transform(key, "varchar", "b"),
    }
    assert kept(files, col("s") > "abc", "bucket(4, s)") == [0, 1, 2, 3]
    assert kept(files, col("s").is_null(), "bucket(4, s)") == []


def test_a_calendar_partition_of_a_zoned_column_bounds_it_only_loosely():
    files = [a_file(day, (2026, 2, day)) for day in (1, 5, 9)]
    keys = ("year(tz)", "month(tz)", "day(tz)")
    assert kept(files, col("tz") == "2026-02-05 12:00:00", *keys) == [5]
    assert kept(files, col("tz") == "2026-02-06 04:00:00", *keys) == [5]


def test_a_report_says_what_was_pruned_by_what():
    files = [
        a_file(1, ("a",), i=Bounds(minimum=1, maximum=5, nulls=0, values=2)),
        a_file(2, ("b",), i=Bounds(minimum=1, maximum=5, nulls=0, values=2)),
        a_file(3, ("a",), i=Bounds(minimum=6, maximum=9, nulls=0, values=2)),
        a_file(4, ("a",), i=Bounds(minimum=4, maximum=9, nulls=0, values=2)),
        a_file(5),
    ]
    layouts = {1: Layout(id=1, keys=(parse_key("s", SCHEMA),))}
    found = prune(files, bind((col("s") == "a") & (I <= 5), SCHEMA), SCHEMA, layouts)
    assert [f.id for f in found.files] == [1, 4, 5]
    assert found.certain == {1}
    assert (found.by_partition, found.by_bounds) == (1, 1)


def test_without_a_predicate_every_file_stays_and_is_certain():
    found = prune([a_file(1), a_file(2)], None, SCHEMA, {})
    assert len(found.files) == 2
    assert found.certain == {1, 2}


def test_a_name_that_could_be_two_leaves_tells_nothing():
    inner = Field(name="b", type="int64")
    schema = number(
        Schema(
            fields=(
                Field(name="a.b", type="int64"),
                Field(name="a", type="struct", children=(inner,)),
            )
        )
    )
    assert column_keys(schema) == {}


def test_what_is_not_known_prunes_nothing():
    assert verdict(bind(I == 1, SCHEMA), Facts()) is Match.SOME
    assert (
        match(bind(col("t") == "01:02:03", SCHEMA), bounds={"t": Bounds(nulls=0, values=0)})
        is Match.SOME
    )


def test_ranges_are_as_narrow_as_the_condition():
    found = ranges(bind((I > 3) & (I <= 9) & (col("s") == "a"), SCHEMA))
    assert found is not None
    assert (found["i"].low, found["i"].low_open, found["i"].high, found["i"].null) == (
        3,
        True,
        9,
        False,
    )
    assert found["s"].values == ("a",)
    assert ranges(bind((I > 3) & (I < 3), SCHEMA)) is None
    assert ranges(bind((I > 3) | (col("s") == "a"), SCHEMA)) == {}
    either = ranges(bind((I == 3) | I.is_in([1, 9]) | I.is_null(), SCHEMA))
    assert either is not None
    assert (either["i"].values, either["i"].null) == ((1, 3, 9), True)
    year = ranges(bind(call("year", col("at")) == 2026, SCHEMA))
    assert year is not None
    assert (str(year["at"].low), str(year["at"].high)) == (
        "2026-01-01 00:00:00",
        "2027-01-01 00:00:00",
    )
    assert year["at"].high_open
