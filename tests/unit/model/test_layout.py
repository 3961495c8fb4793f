"""How files should lie, and what their folders are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.errors import InvalidInputError, UnknownColumnError
from mere.model.layout import Layout, PartitionKey, folder, key_names, parse_key
from mere.model.schema import from_mapping, number

SCHEMA = number(
    from_mapping({"id": "int64", "ts": "timestamp", "day": "date", "odd(name)": "varchar"})
)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("id", PartitionKey(column=1)),
        ("identity(id)", PartitionKey(column=1)),
        ("day(ts)", PartitionKey(column=2, transform="day")),
        ("Year( day )", PartitionKey(column=3, transform="year")),
        ("bucket(16, id)", PartitionKey(column=1, transform="bucket", buckets=16)),
        ("odd(name)", PartitionKey(column=4)),
    ],
)
def test_partition_keys_are_read_as_people_write_them(text, key):
    assert parse_key(text, SCHEMA) == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("week(ts)", "unknown partition transform 'week'"),
        ("bucket(id)", "cannot read"),
        ("bucket(0, id)", "cannot read"),
        ("day(3, ts)", "cannot read"),
        ("day(id)", "takes a date or a timestamp, 'id' is int64"),
        ("hour(day)", "takes a date or a timestamp, 'day' is date"),
    ],
)
def test_a_key_that_cannot_be_is_refused(text, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_key(text, SCHEMA)


def test_a_key_on_an_unknown_column_is_refused():
    with pytest.raises(UnknownColumnError, match="unknown column 'nope'"):
        parse_key("day(nope)", SCHEMA)


def test_folders_are_named_by_column_or_transform_and_a_taken_name_is_made_longer():
    keys = tuple(parse_key(text, SCHEMA) for text in ("id", "day(ts)", "day(day)"))
    assert key_names(Layout(keys=keys), SCHEMA) == ("id", "day", "day_day")


def test_a_folder_says_the_value():
    assert folder(("d", "p"), ("2026-01-01", "a b")) == "d=2026-01-01/p=a%20b/"
    assert folder(("d",), (None,)) == "d=__HIVE_DEFAULT_PARTITION__/"
    assert folder(("d",), ("",)) == "d=/"


values = st.one_of(st.none(), st.text(max_size=400))


@given(name=st.text(min_size=1, max_size=20), value=values)
def test_no_value_escapes_from_its_segment(name, value):
    path = folder((name,), (value,))
    assert path.endswith("/")
    segment = path[:-1]
    assert "/" not in segment
    assert "\0" not in segment
    assert "\\" not in segment
    assert segment not in (".", "..")
    assert segment.split("=", 1)[1] != ".."
    assert value is None or len(segment.split("=", 1)[1]) <= 120


@given(one=values, other=values)
def test_two_values_never_share_a_folder(one, other):
    same = folder(("p",), (one,)) == folder(("p",), (other,))
    assert same == (one == other)


def test_the_text_that_stands_for_null_has_a_folder_of_its_own():
    text = "__HIVE_DEFAULT_PARTITION__"
    assert folder(("p",), (text,)) == "p=%5F_HIVE_DEFAULT_PARTITION__/"
    assert folder(("p",), (None,)) == f"p={text}/"


def test_long_values_differ_in_their_digest():
    assert folder(("p",), ("x" * 400,)) != folder(("p",), ("x" * 401,))


def test_sizes_must_be_positive():
    with pytest.raises(InvalidInputError, match="sizes must be positive"):
        Layout(target_file_bytes=0)
