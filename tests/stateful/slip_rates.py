"""Measure how often the stateful test of two writers finds each slip.

`python -m tests.stateful.slip_rates [SEEDS [EXAMPLES]]` makes one slip after the other, runs the
machine from that many different seeds, and prints how many of the runs found it. Each run is as
long as the one in the ordinary suite.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from tests.stateful import writer_runs
from tests.stateful.rates import attached
from tests.stateful.slips import SLIPS


def found(duck: duckdb.DuckDBPyConnection, slip: str, *, start: int, examples: int) -> bool:
    """Tell whether one run finds a slip: by wrong rows, or by an error that nobody should get."""
    with TemporaryDirectory() as folder:
        try:
            writer_runs.run(
                duck, Path(folder), examples=examples, slip=SLIPS.get(slip), start=start
            )
        except Exception:  # noqa: BLE001  whatever it is, it was found
            return True
    return False


def main(seeds: int = 20, examples: int = 8) -> None:
    """Print a line for each slip, and one for none: that must never be found."""
    with attached() as duck:
        for slip in ("", *SLIPS):
            began = time.perf_counter()
            hits = sum(found(duck, slip, start=n, examples=examples) for n in range(seeds))
            seconds = (time.perf_counter() - began) / seeds
            print(f"| {slip or 'none'} | {hits} of {seeds} | {seconds:.0f} s |", flush=True)  # noqa: T201  a script


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
