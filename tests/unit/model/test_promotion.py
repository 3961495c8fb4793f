"""Two types meet in the narrowest one that keeps every value of both, or in none."""

import pytest

from mere.model.promotion import common, widens

KINDS = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "decimal(5,2)", "decimal(38,0)", "date", "timestamp", "timestamp_s"),
    *("timestamp_ns", "varchar", "json", "boolean"),
)


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_what_is_chosen_keeps_both_whatever_the_order(one, other):
    kind = common(one, other)
    assert kind == common(other, one)
    if kind is not None:
        assert kind == one or widens(one, kind)
        assert kind == other or widens(other, kind)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("int8", "uint8", "int16"),
        ("int32", "uint32", "int64"),
        ("int64", "uint64", None),
        ("int64", "float64", None),
        ("int32", "float32", "float64"),
        ("decimal(10,2)", "decimal(8,4)", "decimal(12,4)"),
        ("decimal(38,0)", "decimal(2,2)", None),
        ("int16", "decimal(6,3)", "decimal(8,3)"),
        ("date", "timestamp_s", "timestamp"),
        ("varchar", "int8", None),
    ],
)
def test_the_narrowest_is_chosen(one, other, kind):
    assert common(one, other) == kind
