"""Collect what a run of the market came to: for people who read it, and for the page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from time import perf_counter
from typing import Any

from mere.demo import exchange
from mere.demo.market import BARS, BRONZE, TABLES, TRADES, market, receive
from mere.lake import Lake
from mere.model.report import Pruning, Report
from mere.spark.pipeline import StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day of the feed, and what the steps made of it."""

    day: date
    received: Report
    steps: tuple[StepReport, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a table is."""

    table: str
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How much lies in the lake's folder, how many versions show it, and the newest one alone.

    `advice` are the calls that its health asks for.
    """

    files: int
    bytes: int
    versions: int
    sizes: tuple[Size, ...]
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that the page shows."""

    place: str
    seconds: float
    days: tuple[Day, ...]
    prunings: tuple[Pruning, ...]
    before: Stored
    after: Stored
    candles: tuple[dict[str, Any], ...]


def run_day(lake: Lake, spark: Any, number: int, *, trades: int) -> Day:
    """Receive the n-th day of the feed, and run the pipeline on what is new."""
    day = exchange.day_of(number)
    received = receive(lake, exchange.delivered(spark, number, trades), day)
    return Day(day=day, received=received, steps=market.run(lake))


def sizes(lake: Lake) -> tuple[Size, ...]:
    """Measure the tables."""
    return tuple(_size(lake, name) for name in TABLES)


def _size(lake: Lake, name: str) -> Size:
    table = lake.table(name)
    files = table.files()
    count = int(files.num_rows)
    return Size(table=name, rows=table.count(), files=count, bytes=sum(files["bytes"].to_pylist()))


def stored(lake: Lake) -> Stored:
    """Measure the folder, with the files that only older versions show."""
    found = [file.bytes for file in lake._session.store.list()]  # noqa: SLF001  the only way to see what no table lists
    return Stored(
        files=len(found),
        bytes=sum(found),
        versions=lake.snapshots().num_rows,
        sizes=sizes(lake),
        advice=tuple(dict.fromkeys(advice(lake))),
    )


def advice(lake: Lake) -> Iterator[str]:
    """Yield the calls that would do the lake good."""
    for row in lake.health().to_pylist():
        if row["verdict"] == "act":
            yield row["advice"]


def questions(day: date) -> tuple[tuple[str, str], ...]:
    """Return questions to tables, of which the catalog knows that few files can answer."""
    hour = f"ts >= '{day} 09:00:00' AND ts < '{day} 10:00:00'"
    return (
        (BRONZE, f"received >= '{day} 09:00:00' AND received < '{day} 10:00:00'"),
        (TRADES, "product_id = 'SOL-USD'"),
        (TRADES, f"product_id = 'SOL-USD' AND {hour}"),
        (TRADES, "price > 50000"),
        (BARS, f"start >= '{day}' AND product_id = 'BTC-USD'"),
    )


def prunings(lake: Lake, day: date) -> tuple[Pruning, ...]:
    """Tell what would be opened for each question."""
    return tuple(lake.table(name).scan(where).explain() for name, where in questions(day))


def candles(lake: Lake, product: str = "BTC-USD") -> tuple[dict[str, Any], ...]:
    """Return a product's bars, hour by hour."""
    found: Sequence[dict[str, Any]] = (
        lake.sql(
            "SELECT date_trunc('hour', start) AS hour, arg_min(open, start) AS open, "  # noqa: S608  our own names
            "max(high) AS high, min(low) AS low, arg_max(close, start) AS close "
            f"FROM {BARS} WHERE product_id = '{product}' GROUP BY 1 ORDER BY 1"
        )
        .to_arrow_table()
        .to_pylist()
    )
    return tuple(found)


def measured(
    lake: Lake, days: tuple[Day, ...], *, keep: Callable[[], object], started: float
) -> Findings:
    """Measure a lake before and after `keep` has tidied it up."""
    pruned = prunings(lake, days[-1].day)
    before = stored(lake)
    keep()
    return Findings(
        place=lake.url,
        seconds=perf_counter() - started,
        days=days,
        prunings=pruned,
        before=before,
        after=stored(lake),
        candles=candles(lake),
    )
