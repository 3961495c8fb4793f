"""Measure how often the stateful test finds each bug that a reader may have.

`python -m tests.stateful.rates [SEEDS [EXAMPLES]]` plants one bug after the other, runs the machine
from that many different seeds, and prints how many of the runs found it. Each run is as long as
the one in the ordinary suite.
"""

import importlib.util
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from tests.stateful import runs
from tests.stateful.bugs import BUGS


def found(duck: duckdb.DuckDBPyConnection, bug: str, *, start: int, examples: int) -> bool:
    """Tell whether one run finds a bug."""
    with TemporaryDirectory() as folder:
        try:
            places = runs.sqlite_places(Path(folder))
            runs.run(duck, places, examples=examples, bug=bug, start=start)
        except AssertionError:
            return True
    return False


def attached() -> duckdb.DuckDBPyConnection:
    """Open DuckDB with what it needs for lakes in SQLite."""
    duck = duckdb.connect(config={"autoinstall_known_extensions": False})
    for name in ("ducklake", "sqlite_scanner"):
        spec = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert spec is not None
        assert spec.origin is not None
        (path,) = Path(spec.origin).parent.glob(f"extensions/*/{name}.duckdb_extension")
        duck.execute(f"LOAD '{path}'")
    return duck


def main(seeds: int = 20, examples: int = 10) -> None:
    """Print a line for each bug, and one for none: that must never be found."""
    with attached() as duck:
        for bug in ("", *BUGS):
            began = time.perf_counter()
            hits = sum(found(duck, bug, start=n, examples=examples) for n in range(seeds))
            seconds = (time.perf_counter() - began) / seeds
            print(f"| {bug or 'none'} | {hits} of {seeds} | {seconds:.0f} s |", flush=True)  # noqa: T201  a script


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
