# ruff: noqa: DTZ001 - columns without a time zone are asked for here

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest

from mere.errors import InvalidInputError
from mere.model.layout import PartitionKey
from mere.model.transforms import (
    bucket,
    hashed_as,
    hashed_bytes,
    murmur3,
    transform,
    transformed_kind,
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"iceberg", 1210000089),
        (b"\x00\x01\x02\x03", -188683207),
        ((34).to_bytes(8, "little"), 2017239379),
        ((17486).to_bytes(8, "little"), -653330422),
    ],
)
def test_murmur3_gives_the_published_hashes(data, expected):
    assert murmur3(data) == expected & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("kind", "value", "rule", "data"),
    [
        ("int8", 1, "int64", (1).to_bytes(8, "little")),
        ("boolean", True, "int64", (1).to_bytes(8, "little")),
        ("date", date(1970, 1, 2), "int64", (1).to_bytes(8, "little")),
        ("time", time(0, 0, 1), "int64", (1_000_000).to_bytes(8, "little")),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 1), "int64", (1_000_000).to_bytes(8, "little")),
        ("timestamp_s", datetime(1970, 1, 1, 0, 0, 1), "int64", (1).to_bytes(8, "little")),
        ("timestamp_ms", datetime(1970, 1, 1, 0, 0, 1), "int64", (1000).to_bytes(8, "little")),
        ("timestamp_ns", 7, "int64", (7).to_bytes(8, "little")),
        ("decimal(9,2)", Decimal("1.50"), "int64", (150).to_bytes(8, "little")),
        ("decimal(20,5)", Decimal("1.5"), "text", b"1.50000"),
        ("uint8", 5, "text", b"5"),
        ("uuid", UUID(int=1), "text", b"00000000-0000-0000-0000-000000000001"),
        ("float32", -0.0, "float64", b"\0" * 8),
        ("varchar", "é", "bytes", "é".encode()),
        ("blob", b"\xff", "bytes", b"\xff"),
    ],
)
def test_the_bytes_of_a_value_follow_its_type(kind, value, rule, data):
    assert hashed_as(kind) == rule
    assert hashed_bytes(kind, value) == data


@pytest.mark.parametrize(
    ("name", "kind", "value", "expected"),
    [
        ("identity", "varchar", "a", "a"),
        ("year", "date", date(2026, 2, 3), 2026),
        ("month", "timestamp", datetime(2026, 2, 3, 4), 2),
        ("day", "timestamptz", datetime(2026, 2, 3, 4, tzinfo=UTC), 3),
        ("hour", "timestamp_s", datetime(2026, 2, 3, 4), 4),
        ("hour", "timestamp_ns", -1, 23),
        ("year", "timestamp_ns", -1, 1969),
        ("year", "date", None, None),
        ("identity", "int64", None, None),
    ],
)
def test_calendar_parts_are_plain_numbers(name, kind, value, expected):
    key = PartitionKey(column=1, transform=name)
    assert transform(key, kind, value) == expected
    assert transformed_kind(key, kind) == (kind if name == "identity" else "int64")


def test_buckets_are_counted_from_zero():
    key = PartitionKey(column=1, transform="bucket", buckets=16)
    assert (
        transform(key, "varchar", "iceberg") == bucket("varchar", "iceberg", 16) == 1210000089 % 16
    )
    assert transform(key, "varchar", None) is None


def test_an_unknown_transform_is_refused():
    with pytest.raises(InvalidInputError, match="unknown partition transform 'truncate'"):
        transform(PartitionKey(column=1, transform="truncate"), "varchar", "a")
