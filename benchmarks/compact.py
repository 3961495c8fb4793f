"""Merge many small files into few, and order their rows along a curve."""

from collections.abc import Iterator
from typing import Any

from benchmarks import processes
from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case

_PARTS = 10
_RIVALS = {
    "compact": ("deltalake", "DuckLake (DuckDB)", "DuckLake (SQLite)"),
    "zorder": ("deltalake",),
}
_NAMES = {
    "compact": "compact 1,000 files to 100",
    "zorder": "z-order the rows of 100 partitions",
}


def measure(bench: Bench) -> Iterator[Case]:
    """Make the same table of a thousand files for each system, and have it brought into shape."""
    with bench.place("compact") as folder:
        say(f"compact: making {bench.rows:,} rows")
        source = bench.source(folder, bench.rows)
        for verb, rivals in _RIVALS.items():
            case = Case(
                name=_NAMES[verb],
                target=0.8,
                rivals=rivals,
                facts={"rows": f"{bench.rows:,}", "files": 100 * _PARTS},
            )
            for number, name in turns((MERE, *rivals), max(1, bench.rounds // 3)):
                say(f"{verb}: {name}, round {number + 1}")
                with processes.workers(bench, (name,)) as (worker,):
                    _shape(bench, case, worker, source=source, verb=verb)
            yield case


def _shape(bench: Bench, case: Case, worker: Worker, *, source: str, verb: str) -> None:
    root = str(bench.work / "compact" / "lake")
    answer: dict[str, Any] = worker.ask("shape", root=root, source=source, parts=_PARTS, verb=verb)
    right(answer, (bench.rows, bench.rows * (bench.rows - 1) // 2), f"{worker.name}, {verb}")
    case.add(worker.name, sample(answer))
    case.facts[f"{worker.name} memory"] = f"{answer['more'] / 1e6:.0f} MB above the start"
