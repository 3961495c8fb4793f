"""Walk through a lake step by step, saying what happens and showing what comes out."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import mere
from mere.demo.findings import Day, Findings, measured, run_day
from mere.demo.market import DAYS, TRADES, define, maintain, market
from mere.demo.page import mib, page
from mere.errors import AlreadyExistsError
from mere.lake import Lake

Say: TypeAlias = Callable[[str], None]

TRADES_A_DAY = 100_000
DAYS_OF_FEED = 3
TAG = "first-day"
PAGE = "report.html"
_QUIET: dict[str, Any] = {"spark.python.unix.domain.socket.enabled": False}
"""Spark lets go of Python workers that were idle for a minute; over a socket of the file system
each of them says so with a traceback."""


def tour(folder: Path, *, say: Say, scale: float = 1.0) -> None:
    """Run a pipeline in a fresh folder on Spark, query it in three engines, write a page of it.

    Raises:
        AlreadyExistsError: If the folder holds something already.
    """
    if folder.exists() and any(folder.iterdir()):
        msg = f"{folder} is not empty"
        raise AlreadyExistsError(msg, hint="name a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    started = perf_counter()
    say(f"A market in a lake, in {folder}")
    spark = mere.spark.session(app="mere-demo", **_QUIET)
    try:
        walk(folder, spark, say=say, trades=max(int(TRADES_A_DAY * scale), 1), started=started)
    finally:
        spark.stop()
    say(f"\nDone in {perf_counter() - started:.0f} seconds. The report: {folder / PAGE}")
    _next(folder, say)


def walk(folder: Path, spark: Any, *, say: Say, trades: int, started: float) -> Findings:
    """Walk through all of it on a session that runs; return what the page shows."""
    with mere.connect(folder / "market.db") as lake:
        days = _run(lake.on(spark), spark, say, trades=trades)
        _query(lake, spark, say)
        _travel(lake, say)
        found = _measured(lake.on(spark), days, say, started=started)
    (folder / PAGE).write_text(page(found), "utf-8")
    return found


def _step(say: Say, text: str) -> None:
    say(f"\n== {text}")


def _run(lake: Lake, spark: Any, say: Say, *, trades: int) -> tuple[Day, ...]:
    _step(say, "A pipeline: raw messages -> trades, each once -> bars -> daily figures")
    define(lake)
    for step in market.steps:
        sources = ", ".join(source.table for source in step.reads)
        say(f"{step.name}: {sources} -> {step.table} ({step.mode})")
    days = []
    for number in range(DAYS_OF_FEED):
        _step(say, f"Day {number + 1}: the feed delivers, and each step takes what is new for it")
        day = run_day(lake, spark, number, trades=trades)
        days.append(day)
        say(f"messages: {day.received.rows_inserted:,} rows, {day.received.seconds:.1f} s")
        for report in day.steps:
            say(str(report).splitlines()[0])
        if number == 0:
            lake.tag(TAG)
    _step(say, "Run again: nothing is new, and nothing happens")
    for report in market.run(lake):
        say(str(report))
    return tuple(days)


def _query(lake: Lake, spark: Any, say: Say) -> None:
    _step(say, "Spark: volume by side, native scan of exactly the files that are needed")
    trades = lake.table(TRADES).scan("product_id = 'BTC-USD'").to_spark(spark)
    grouped = trades.groupBy("side").agg({"size": "sum", "trade_id": "count"}).orderBy("side")
    say(_grid(grouped.toArrow()))

    _step(say, "DuckDB: SQL over all tables of the lake")
    query = (
        "SELECT product_id, sum(trades) AS trades, min(low) AS low, max(high) AS high "  # noqa: S608  our own names
        f"FROM {DAYS} GROUP BY ALL ORDER BY product_id LIMIT 4"
    )
    say(query)
    say(_grid(lake.sql(query).to_arrow_table()))

    _step(say, "Polars: a lazy frame; filters and columns reach into the files")
    frame = lake.table(TRADES).scan("product_id = 'ETH-USD'").to_polars()
    say(str(frame.sql("SELECT side, count(*) AS trades FROM self GROUP BY side").collect()))


def _travel(lake: Lake, say: Say) -> None:
    _step(say, "Back in time: every commit is a version that stays readable")
    table = lake.table(TRADES)
    say(_grid(table.history().select(["version", "operation", "message", "rows_inserted"])))
    say(f"trades now: {table.count():,}; at the tag {TAG!r}: {table.count(tag=TAG):,}")


def _measured(lake: Lake, days: tuple[Day, ...], say: Say, *, started: float) -> Findings:
    def keep() -> None:
        _step(say, "Health: the catalog knows how files lie, and which call would help")
        health = lake.health()
        bad = [row["verdict"] == "act" for row in health.to_pylist()]
        say(_grid(health.filter(bad).select(["table", "check", "value", "advice"])))
        _step(say, "Maintenance: small files are merged, old versions go, and the files with them")
        say(str(maintain(lake, older_than=0)))

    found = measured(lake, days, keep=keep, started=started)
    before, after = found.before, found.after
    say(f"files: {before.files:,} -> {after.files:,}, {mib(before.bytes)} -> {mib(after.bytes)}")
    say(f"the tag {TAG!r} still shows {lake.table(TRADES).count(tag=TAG):,} trades")
    _step(say, "Pruning: the catalog knows which files and row groups can match")
    say(str(found.prunings[2]))
    return found


def _grid(table: Any) -> str:
    """Show an Arrow table as lines of columns."""
    rows = [table.schema.names, *([str(v) for v in row.values()] for row in table.to_pylist())]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def _next(folder: Path, say: Say) -> None:
    database = folder / "market.db"
    say("\nTry next:")
    for line in (
        "import mere",
        f"lake = mere.connect({str(database)!r})",
        "lake.sql('FROM gold.days ORDER BY day, product_id').show()",
        "lake.table('silver.trades').scan(\"side = 'buy'\", limit=5).to_pandas()",
        "lake.table('silver.trades').update({'side': \"'bid'\"}, where=\"side = 'buy'\")",
    ):
        say(f"  {line}")
    say("or attach the same lake in DuckDB:")
    say(f"  ATTACH 'ducklake:sqlite:{database}' AS lake; FROM lake.gold.days LIMIT 5;")
