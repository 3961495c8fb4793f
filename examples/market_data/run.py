"""Run the pipeline of a market on Spark: the next days of its feed, the steps, then maintenance.

    python examples/market_data/run.py --lake market.db --days 2

Call it again and it goes on with the days that follow. The steps themselves are in
`src/mere/demo/market.py`, the made-up feed in `src/mere/demo/exchange.py`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import mere
import mere.spark
from mere.demo import exchange
from mere.demo.findings import measured, run_day
from mere.demo.market import days_received, define, maintain, market
from mere.demo.page import page


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says."""
    asked = parsed(arguments)
    started = perf_counter()
    spark = mere.spark.session(app="market-data")
    with mere.connect(asked.lake) as opened:
        lake = opened.on(spark)
        define(lake)
        if asked.dry_run or asked.backfill:
            again = (market.backfill(lake, asked.backfill),) if asked.backfill else ()
            for report in again or market.run(lake, dry_run=True):
                print(report)
            return
        first = days_received(lake)
        days = []
        for number in range(first, first + asked.days):
            day = run_day(lake, spark, number, trades=asked.trades)
            print(f"{exchange.day_of(number)}: {day.received.rows_inserted:,} messages")
            for report in day.steps:
                print(report)
            days.append(day)
        found = measured(
            lake,
            tuple(days),
            keep=lambda: maintain(lake, older_than=asked.keep),
            started=started,
        )
    asked.report.write_text(page(found), "utf-8")
    print(f"the report: {asked.report}")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lake", default="market.db", help="the lake, as mere.connect takes it")
    parser.add_argument("--days", type=int, default=2, help="how many days of the feed to take")
    parser.add_argument("--trades", type=int, default=100_000, help="how many trades a day has")
    parser.add_argument("--keep", default="7 days", help="how long versions are kept")
    parser.add_argument(
        "--report", type=Path, default=Path("market.html"), help="where the page with plots goes"
    )
    parser.add_argument("--backfill", metavar="STEP", help="run one step again from the beginning")
    parser.add_argument("--dry-run", action="store_true", help="only say what steps would read")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
