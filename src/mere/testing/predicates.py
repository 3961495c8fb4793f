"""Make rows that predicates find hard, and predicates of every shape."""

# ruff: noqa: DTZ001, SIM300  numbers are the data, timestamps have no zone

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from mere.model.predicate import Expr, call, col, lit
from mere.model.schema import Schema, number
from mere.testing.readers import field

TRADES = number(
    Schema(
        fields=(
            field("id", "int64"),
            field("side", "varchar"),
            field("price", "float64"),
            field("amount", "decimal(12,2)"),
            field("day", "date"),
            field("at", "timestamp"),
            field("seen", "timestamptz"),
            field("ns", "timestamp_ns"),
            field("ok", "boolean"),
            field("key", "uuid"),
            field("raw", "blob"),
            field("where", "struct", field("city", "varchar"), field("floor", "int32")),
        )
    )
)


def trades(count: int = 60) -> list[dict[str, Any]]:
    """Make rows with NULL, NaN, infinities, both zeros and equal values in every column."""
    prices = (1.5, math.nan, None, math.inf, -math.inf, 0.0, -0.0, 2.5)
    sides = ("ask", "bid", None, "as%k", "a_k", "", "Ask")
    return [
        {
            "id": None if i % 11 == 5 else i,
            "side": sides[i % 7],
            "price": prices[i % 8],
            "amount": None if i % 5 == 0 else Decimal(i * 25 - 300).scaleb(-2),
            "day": None if i % 13 == 3 else date(2024, 1 + i % 12, 1),
            "at": datetime(2024, 1, 1 + i % 28, i % 24, 0, 0, i),
            "seen": None if i % 4 == 0 else datetime(2024, 1, 1 + i % 28, tzinfo=UTC),
            "ns": 1_700_000_000_000_000_000 + i,
            "ok": (True, False, None)[i % 3],
            "key": UUID(int=i * 7),
            "raw": None if i % 6 == 1 else bytes([i, 0]),
            "where": None if i % 9 == 0 else {"city": ("Köln", None)[i % 2], "floor": i % 4},
        }
        for i in range(count)
    ]


_ID, _SIDE, _PRICE, _AMOUNT = col("id"), col("side"), col("price"), col("amount")
_NAN, _CENT = lit(math.nan), Decimal("0.25")
PREDICATES: dict[str, Expr] = {
    "equal": _ID == 7,
    "not equal": _SIDE != "ask",
    "less": _ID < 9,
    "less, a fraction": _ID < 8.5,
    "at most": _AMOUNT <= Decimal("0.255"),
    "greater, NaN too": _PRICE > 2,
    "at least": _PRICE >= 2.5,
    "equal NaN": _PRICE == _NAN,
    "below NaN": _PRICE < _NAN,
    "not below": ~(_PRICE < 2),
    "equal minus zero": _PRICE == -0.0,
    "below zero": _PRICE < 0.0,
    "infinite": _PRICE == math.inf,
    "is NaN": _PRICE.is_nan(),
    "is not NaN": ~_PRICE.is_nan(),
    "is NULL": _ID.is_null(),
    "is not NULL": _SIDE.is_not_null(),
    "equal NULL": _ID == lit(None),
    "in": _SIDE.is_in(["ask", "bid"]),
    "in with NULL": _ID.is_in([1, 2, None]),
    "not in": ~_SIDE.is_in(["ask", "bid"]),
    "not in with NULL": ~_ID.is_in([1, None]),
    "in NaN": _PRICE.is_in([math.nan, 1.5]),
    "in nothing": _ID.is_in([]),
    "between": _ID.between(10, 20),
    "not between": ~_ID.between(10, 50),
    "between decimals": _AMOUNT.between(-_CENT, Decimal("2.5")),
    "like a prefix": _SIDE.like("a%"),
    "like a character": _SIDE.like("a_k"),
    "like anything": _SIDE.like("%"),
    "not like": ~_SIDE.like("%k"),
    "starts with %": _SIDE.starts_with("as%"),
    "equal empty": _SIDE == "",
    "a date": col("day") >= date(2024, 6, 1),
    "a date against a time": col("day") < datetime(2024, 6, 1, 12),
    "a timestamp": col("at") > datetime(2024, 1, 15, 0, 0, 0, 14),
    "a timestamp against a date": col("at") < date(2024, 1, 9),
    "an instant": col("seen") <= datetime(2024, 1, 9, tzinfo=UTC),
    "nanoseconds": col("ns") > lit("2023-11-14 22:13:20.000000030"),
    "a truth": col("ok"),
    "not a truth": ~col("ok"),
    "a truth against false": col("ok") == lit(value=False),
    "a uuid": col("key") == UUID(int=21),
    "a greater uuid": col("key") > UUID(int=300),
    "bytes": col("raw") >= b"\x20\x00",
    "a part": col("where").field("city") == "Köln",
    "a part is NULL": col("where").field("city").is_null(),
    "a struct is NULL": col("where").is_null(),
    "two columns": _PRICE > _ID,
    "and": (_ID > 5) & (_SIDE == "ask"),
    "or": (_ID > 50) | (_PRICE == 1.5),
    "and with unknown": (_ID > 5) & (_SIDE == lit(None)),
    "not of both": ~((_ID > 5) & (_PRICE < 2)),
    "not of either": ~((_ID > 5) | (_PRICE < 2)),
    "always": lit(value=True),
    "never": lit(value=False),
    "sum": _ID + 1 > 30,
    "remainder": _ID % 7 == 3,
    "quotient": _ID / 2 == 3.5,
    "a function": call("lower", _SIDE) == "ask",
    "cast": _ID.cast("varchar") == "7",
}
