# ruff: noqa: DTZ001 - columns without a time zone are asked for here

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions import COLUMNS, DOMAINS

from mere.errors import InvalidInputError
from mere.model.files import Bounds
from mere.model.values import (
    after_prefix,
    bounds_from_text,
    compare,
    from_text,
    partition_text,
    partition_value,
    stat_texts,
    to_float32,
    to_text,
)

SPELLED = [
    ("boolean", True, "1"),
    ("boolean", False, "0"),
    ("int8", -5, "-5"),
    ("uint64", 2**64 - 1, "18446744073709551615"),
    ("float64", 1.5, "1.5"),
    ("float64", 1e16, "1e+16"),
    ("float64", 1e-7, "1e-07"),
    ("float64", float("-inf"), "-inf"),
    ("float32", 0.10000000149011612, "0.1"),
    ("float32", 16777216.0, "16777216.0"),
    ("decimal(20,5)", Decimal("1.5"), "1.50000"),
    ("decimal(20,5)", Decimal("-0"), "0.00000"),
    ("decimal(38,0)", Decimal(10**37), "1" + "0" * 37),
    ("date", date(2024, 2, 29), "2024-02-29"),
    ("date", date(44, 3, 15), "0044-03-15"),
    ("time", time(1, 2, 3, 500_000), "01:02:03.5"),
    ("time", time(1, 2, 0), "01:02:00"),
    ("timestamp", datetime(2024, 1, 2, 3, 4, 5, 678_901), "2024-01-02 03:04:05.678901"),
    ("timestamp", datetime(2024, 1, 2), "2024-01-02 00:00:00"),
    ("timestamp_ms", datetime(2024, 1, 2, 0, 0, 0, 120_000), "2024-01-02 00:00:00.12"),
    ("timestamptz", datetime(2024, 1, 2, 3, tzinfo=UTC), "2024-01-02 03:00:00+00"),
    ("timestamp_ns", 1_704_164_645_678_901_234, "2024-01-02 03:04:05.678901234"),
    ("timestamp_ns", -1, "1969-12-31 23:59:59.999999999"),
    ("varchar", "it's", "it's"),
    ("varchar", "", ""),
    ("blob", b"\x00a\xff", "0061FF"),
    ("uuid", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
]


@pytest.mark.parametrize(("kind", "value", "text"), SPELLED)
def test_values_are_spelled_as_statistics_spell_them(kind, value, text):
    assert to_text(kind, value) == text
    assert repr(from_text(kind, text)) == repr(value if kind != "decimal(20,5)" else Decimal(text))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("date", "0044-03-15 (BC)"),
        ("date", "infinity"),
        ("date", "294247-01-10"),
        ("time", "24:00:00"),
        ("timestamp", "infinity"),
        ("timestamp", "290309-12-22 (BC) 00:00:00"),
        ("int64", "abc"),
        ("uuid", "abc"),
        ("blob", "0"),
        ("boolean", "maybe"),
        ("decimal(9,2)", "abc"),
        ("interval", "1 day"),
        ("variant", "1"),
        ("int64", None),
    ],
)
def test_what_python_has_no_value_for_is_not_known(kind, text):
    assert from_text(kind, text) is None


@pytest.mark.parametrize("kind", ["timetz", "interval", "variant", "geometry"])
def test_some_types_have_no_statistics(kind):
    assert to_text(kind, object()) is None


@pytest.mark.parametrize("kind", sorted(set(COLUMNS.values())))
def test_every_value_survives_its_spelling(kind):
    for value in DOMAINS[kind]:
        for found in (
            from_text(kind, to_text(kind, value)),
            partition_value(kind, partition_text(kind, value)),
        ):
            assert type(found) is type(value)
            assert found == value or (found != found and value != value)  # noqa: PLR0124  NaN


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("boolean", True, "true"),
        ("blob", b"\x00a\\'\"\x7f\x80 ~", r"\x00a\x5C\x27\x22\x7F\x80 ~"),
        ("timestamptz", datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC), "2024-02-03 04:05:06+00"),
        ("decimal(9,2)", Decimal("1.5"), "1.50"),
        ("int64", None, None),
    ],
)
def test_partition_values_are_spelled_as_folders_show_them(kind, value, text):
    assert partition_text(kind, value) == text
    assert repr(partition_value(kind, text)) in {repr(value), "Decimal('1.50')"}


def test_a_partition_value_that_python_cannot_hold_stays_text_and_never_null():
    assert partition_value("date", "infinity") == "infinity"
    assert partition_text("date", "infinity") == "infinity"


def test_zones_of_partition_values_are_heeded():
    expected = datetime(2024, 2, 3, 4, tzinfo=UTC)
    for text in ("2024-02-03 04:00:00+00", "2024-02-03 06:00:00+02", "2024-02-02 23:30:00-04:30"):
        assert partition_value("timestamptz", text) == expected


@given(value=st.binary(max_size=40))
def test_any_blob_survives_as_a_partition_value(value):
    assert partition_value("blob", partition_text("blob", value)) == value


LONG = st.text(min_size=1, max_size=4).map(lambda t: t * 90) | st.text(max_size=300)


@given(low=LONG, high=LONG)
def test_cut_texts_stay_bounds(low, high):
    texts = stat_texts("varchar", Bounds(minimum=low, maximum=high))
    assert all(text is None or len(text.encode()) <= 256 for text in texts)
    found = bounds_from_text("varchar", *texts, nulls=0)
    assert found.minimum <= low
    assert found.maximum is None or found.maximum >= high
    if found.exact:
        assert (found.minimum, found.maximum) == (low, high)


@given(low=st.binary(max_size=300), high=st.binary(max_size=300) | st.just(b"\xff" * 300))
def test_cut_blobs_stay_bounds(low, high):
    found = bounds_from_text("blob", *stat_texts("blob", Bounds(minimum=low, maximum=high)))
    assert found.minimum <= low
    assert found.maximum is None or found.maximum >= high


def test_a_maximum_that_another_writer_cut_plainly_is_raised():
    found = bounds_from_text("varchar", "a", "z" * 256, nulls=0, values=2, bytes=7)
    assert found == Bounds(
        minimum="a", maximum="z" * 255 + "{", nulls=0, values=2, bytes=7, exact=False
    )
    wide = bounds_from_text("varchar", "a", "日" * 85)
    assert wide == Bounds(minimum="a", maximum="日" * 84 + chr(ord("日") + 1), exact=False)


def test_nan_in_statistics_is_no_bound():
    assert bounds_from_text("float64", "1.0", "nan") == Bounds(minimum=1.0, nan=True)
    assert bounds_from_text("float64", "1.0", "2.0", nan=False) == Bounds(
        minimum=1.0, maximum=2.0, nan=False
    )


@given(prefix=st.text(max_size=5), rest=st.text(max_size=5))
def test_the_text_after_a_prefix_is_above_all_that_begin_with_it(prefix, rest):
    after = after_prefix(prefix)
    if after is None:
        assert set(prefix) <= {"\U0010ffff"}
    else:
        assert prefix + rest < after
        after.encode()


def test_a_surrogate_is_never_made():
    assert after_prefix("a\ud7ff") == "a\ue000"
    assert after_prefix("a\U0010ffff") == "b"


@given(value=st.floats(width=32, allow_nan=False))
def test_single_floats_survive_their_shortest_spelling(value):
    assert from_text("float32", to_text("float32", value)) == value


def test_too_large_a_float_becomes_infinite_as_a_single():
    assert (to_float32(1e300), to_float32(-1e300)) == (float("inf"), float("-inf"))


@pytest.mark.parametrize(
    ("less", "greater"),
    [
        (1, 1.5),
        (Decimal("1.4"), 1.5),
        (float("inf"), float("nan")),
        (-float("inf"), Decimal(-(10**30))),
        (False, True),
        ("Z", "a"),
        (b"a", b"\xff"),
        (date(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1)),
        (datetime(2026, 1, 1), datetime(2026, 1, 1, 1, tzinfo=UTC)),
        (UUID(int=1), UUID(int=1 << 127)),
        (time(1), time(2)),
    ],
)
def test_values_are_ordered(less, greater):
    assert (compare(less, greater), compare(greater, less), compare(less, less)) == (-1, 1, 0)


def test_equal_values_of_different_types_are_equal():
    assert compare(1, Decimal("1.0")) == compare(0.0, -0.0) == 0
    assert compare(float("nan"), float("nan")) == 0
    assert compare(1000, datetime(1970, 1, 1, 0, 0, 0, 1), "timestamp_ns", "timestamp") == 0


def test_values_without_a_common_order_are_refused():
    with pytest.raises(InvalidInputError, match="cannot compare 'a' with 1"):
        compare("a", 1)
