from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.model.stored_text import retyped, stored


@given(day=st.dates())
def test_a_date_is_a_number_of_days(day):
    assert stored("date", day.isoformat()) == (day - date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "1", True),
        ("boolean", "false", False),
        ("uint64", "18446744073709551615", 2**64 - 1),
        ("int128", "-5", Decimal(-5)),
        ("float32", "0.1", 0.10000000149011612),
        ("float64", "-inf", float("-inf")),
        ("float64", "-Infinity", float("-inf")),
        ("decimal(4,1)", "-999.9", Decimal("-999.9")),
        ("date", "infinity", 2**31 - 1),
        ("date", "0044-03-15 (BC)", -735160),
        ("date", "12024-01-01", 3672148),
        ("time", "24:00:00", 86_400_000_000),
        ("time", "01:02:03.5", 3_723_500_000),
        ("timetz", "01:02:03.5+02:30", 81_123_500_000),
        ("timestamp", "1970-01-02 00:00:00.000001", 86_400_000_001),
        ("timestamp", "0044-03-15 (BC) 00:00:01", -735160 * 86_400_000_000 + 1_000_000),
        ("timestamp", "-infinity", -(2**63) + 1),
        ("timestamp_s", "1969-12-31 23:59:59", -1),
        ("timestamp_ns", "1969-12-31 23:59:59.999999999", -1),
        ("timestamptz", "1970-01-01 02:00:00+02", 0),
        ("interval", "1 year 2 months -3 days -04:05:06.5", (14, -3, -14_706_500_000_000)),
        ("interval", "14 months 0 days 5 microseconds", (14, 0, 5000)),
        ("interval", "1 mon +2 days 00:00:03", (1, 2, 3_000_000_000)),
        ("blob", "\\x00a\\x27", b"\x00a'"),
        ("uuid", "00000000-0000-0000-0000-00000000000f", bytes(15) + b"\x0f"),
    ],
)
def test_every_text_has_a_stored_value(kind, text, value):
    assert stored(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [("date", "today"), ("date", "2026-01-01x"), ("time", "1"), ("boolean", "2"), ("variant", "1")],
)
def test_what_is_no_value_is_refused(kind, text):
    with pytest.raises(ValueError, match=r"expected|kept"):
        stored(kind, text)


@pytest.mark.parametrize(
    ("old", "new", "text", "value"),
    [
        ("int32", "int64", "5", 5),
        ("int32", "float64", "5", 5.0),
        ("int64", "decimal(20,0)", "5", Decimal(5)),
        ("decimal(3,1)", "decimal(9,4)", "1.5", Decimal("1.5")),
        ("date", "timestamp", "1970-01-02", 86_400_000_000),
        ("date", "timestamp", "infinity", 2**63 - 1),
        ("timestamp_s", "timestamp_ns", "1970-01-01 00:00:01", 10**9),
        ("json", "varchar", "[1]", "[1]"),
        ("int64", "varchar", "5", "5"),
        ("boolean", "varchar", "1", "true"),
    ],
)
def test_a_value_follows_its_column_to_a_wider_type(old, new, text, value):
    assert retyped(old, new, text) == value


def test_a_value_never_follows_to_a_type_that_cannot_hold_it():
    with pytest.raises(ValueError, match="cannot become"):
        retyped("float64", "date", "1.5")
