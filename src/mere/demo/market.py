"""The pipeline of a market: raw messages, clean trades, bars, and daily figures.

Bronze holds what the exchange sent, as it came. Silver holds each trade once, as it was last
corrected. Gold holds bars of five minutes and a summary of each day. Each step is about what is new
since it ran last, so a run costs what came, not what there is.
"""

from datetime import date, datetime, time, timedelta
from typing import Any

from mere.demo import exchange
from mere.lake import Lake
from mere.model.report import Report
from mere.ops.maintain import Maintenance
from mere.spark import Pipeline, new, whole

BRONZE, TRADES, BARS, DAYS = "bronze.messages", "silver.trades", "gold.bars", "gold.days"
TABLES = (BRONZE, TRADES, BARS, DAYS)

market = Pipeline("market")

NEWEST_OF_EACH = """
    SELECT product_id, trade_id, last.time AS ts, last.side, last.price, last.size
    FROM (
        SELECT said.product_id, said.trade_id, max_by(said, sequence) AS last
        FROM (
            SELECT sequence, from_json(body, 'type STRING, product_id STRING, trade_id BIGINT,
                time TIMESTAMP_NTZ, side STRING, price DECIMAL(18,2), size DOUBLE') AS said
            FROM {messages})
        WHERE said.type IN ('trade', 'correction')
        GROUP BY said.product_id, said.trade_id)
"""

BARS_THAT_CHANGE = """
    WITH touched AS (
        SELECT DISTINCT product_id, window(ts, '5 minutes').start AS start FROM {came}),
    placed AS (
        SELECT *, window(ts, '5 minutes').start AS start FROM {near})
    SELECT product_id, start,
        min_by(price, struct(ts, trade_id)) AS open, max(price) AS high,
        min(price) AS low, max_by(price, struct(ts, trade_id)) AS close,
        sum(size) AS volume, count(*) AS trades
    FROM placed LEFT SEMI JOIN touched USING (product_id, start)
    GROUP BY product_id, start
"""

DAYS_THAT_CHANGE = """
    SELECT CAST(start AS DATE) AS day, product_id,
        min_by(open, start) AS open, max(high) AS high, min(low) AS low,
        max_by(close, start) AS close, sum(volume) AS volume, sum(trades) AS trades
    FROM {bars}
    WHERE CAST(start AS DATE) IN (SELECT DISTINCT CAST(start AS DATE) FROM {came})
    GROUP BY ALL
"""


def define(lake: Lake) -> None:
    """Make the table that the feed writes; the pipeline makes its own."""
    lake.create_schema("bronze", if_exists="ok")
    lake.create_table(
        BRONZE,
        exchange.MESSAGES,
        partition_by=["day(received)"],
        sort_by="sequence",
        if_exists="ok",
    )
    lake.set_option("mere_min_files", 2)  # a day is a partition: it shall become one file


def receive(lake: Lake, messages: Any, day: date) -> Report:
    """Append a day of messages; sent again after a failure, it is there once."""
    return lake.table(BRONZE).append(messages, token=f"feed/{day}", message=f"feed of {day}")


def days_received(lake: Lake) -> int:
    """Count the days of the feed that are there already: the catalog knows the last moment."""
    last = lake.table(BRONZE).max("received")
    return 0 if last is None else (last.date() - exchange.FIRST_DAY).days + 1


@market.step(
    TRADES,
    reads=BRONZE,
    mode="upsert",
    on=("product_id", "trade_id"),
    partition_by=("product_id", "day(ts)"),
    sort_by="ts",
)
def trades(messages: Any) -> Any:
    """Keep each trade once: of several messages about it, the one that was sent last."""
    return messages.sparkSession.sql(NEWEST_OF_EACH, messages=messages)


@market.step(
    BARS,
    reads=[new(TRADES, changes="insert"), whole(TRADES)],
    mode="upsert",
    on=("product_id", "start"),
    partition_by="day(start)",
    sort_by=("product_id", "start"),
)
def bars(came: Any, every: Any) -> Any:
    """Make the bars anew that new trades fall into: late and corrected ones change old bars."""
    first, last = came.selectExpr("min(ts)", "max(ts)").first()
    near = every.where(_days_between(first, last))  # leaves out the files of all other days
    return came.sparkSession.sql(BARS_THAT_CHANGE, came=came, near=near)


def _days_between(first: datetime, last: datetime) -> str:
    begin = datetime.combine(first, time.min)
    end = datetime.combine(last, time.min) + timedelta(days=1)
    return f"ts >= TIMESTAMP_NTZ'{begin}' AND ts < TIMESTAMP_NTZ'{end}'"


@market.step(
    DAYS,
    reads=[new(BARS, changes="insert"), whole(BARS)],
    mode="partitions",
    partition_by="day",
    sort_by="product_id",
)
def days(came: Any, every: Any) -> Any:
    """Sum up the days in which bars have changed; a day is a partition, which is replaced."""
    return came.sparkSession.sql(DAYS_THAT_CHANGE, came=came, bars=every)


def maintain(lake: Lake, *, older_than: str | float = "7 days") -> Maintenance:
    """Merge small files, let old versions go, and delete the files that none shows.

    Each day of a feed leaves files, and each upsert notes rows that are gone; merged, they cost
    less to read. What a tag names stays, and so does what a step has still to read.
    """
    return lake.maintain({"expire_older_than": older_than, "delete_older_than": older_than})
