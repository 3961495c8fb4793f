"""Make up an exchange: what its feed delivers, day by day, with all that real feeds do wrong.

Some messages come twice, some trades come a day late, some are corrected the day after. The same
call gives the same messages: prices and times come from hashes of the trade's number.
"""

from datetime import date, timedelta
from typing import Any

PRODUCTS = {
    "BTC-USD": 91_000,
    "ETH-USD": 3_100,
    "SOL-USD": 140,
    "LTC-USD": 95,
    "LINK-USD": 14,
    "DOT-USD": 3,
}
FIRST_DAY = date(2026, 11, 16)
MESSAGES = {"received": "timestamp", "sequence": "int64", "body": "varchar"}

_MICROS_A_DAY = 86_400_000_000
_TWICE, _LATE, _CORRECTED = 60, 80, 120  # one of so many


def day_of(number: int) -> date:
    """Return the n-th day of the made-up market, from 0."""
    return FIRST_DAY + timedelta(days=number)


def delivered(spark: Any, number: int, trades: int) -> Any:
    """Return the messages that the feed delivers on its n-th day, as a Spark DataFrame."""
    today = _spelled(_trades(spark, number, trades).where(f"NOT {_one_in(_LATE)}"), "trade", 0)
    found = today.unionAll(today.where(_one_in(_TWICE, "sequence")))
    if number > 0:
        yesterday = _trades(spark, number - 1, trades)
        late = _spelled(yesterday.where(_one_in(_LATE)), "trade", 1)
        corrected = yesterday.where(_one_in(_CORRECTED)).selectExpr(
            *(name for name in yesterday.columns if name != "price"),
            "CAST(price * 0.999 AS DECIMAL(18,2)) AS price",
        )
        found = found.unionAll(late).unionAll(_spelled(corrected, "correction", 1))
    return found


def _first(number: int, trades: int) -> int:
    return number * trades


def _one_in(many: int, column: str = "trade_id") -> str:
    return f"(pmod(xxhash64({column}, {many}), {many}) = 0)"


def _trades(spark: Any, number: int, trades: int) -> Any:
    """Return the trades of a day as they were made."""
    products = ", ".join(f"'{name}'" for name in PRODUCTS)
    prices = ", ".join(str(price) for price in PRODUCTS.values())
    place = f"CAST(pmod(id, {len(PRODUCTS)}) AS INT) + 1"
    first = _first(number, trades)
    wave = f"0.02 * sin(id / {trades}D * 7) + 0.006 * sin(id / {trades}D * 61)"
    return (
        spark.range(first, first + trades)
        .selectExpr(
            "id AS trade_id",
            f"element_at(array({products}), {place}) AS product_id",
            f"timestampadd(MICROSECOND, CAST((id - {first}) * ({_MICROS_A_DAY} DIV {trades}) AS "
            f"BIGINT), TIMESTAMP_NTZ'{day_of(number)} 00:00:00') AS ts",
            "pmod(xxhash64(id), 10007) / 10007D AS chance",
            f"element_at(array({prices}), {place}) * (1 + {wave}) AS middle",
        )
        .selectExpr(
            "product_id",
            "trade_id",
            "ts",
            "CASE WHEN chance < 0.5 THEN 'buy' ELSE 'sell' END AS side",
            "CAST(middle * (1 + 0.002 * (chance - 0.5)) AS DECIMAL(18,2)) AS price",
            "round(0.01 + chance * chance * 3, 4) AS size",
        )
    )


def _spelled(trades: Any, kind: str, days_later: int) -> Any:
    """Spell trades as the feed does: JSON, numbered in the order of delivery."""
    body = "product_id, trade_id, ts AS time, side, CAST(price AS STRING) AS price, size"
    rank = {"trade": 0, "correction": 1}[kind]
    return trades.selectExpr(
        f"timestampadd(DAY, {days_later}, ts) AS received",
        f"trade_id * 2 + {rank} AS sequence",
        f"to_json(struct('{kind}' AS type, {body})) AS body",
    )
