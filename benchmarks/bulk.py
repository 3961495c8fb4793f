"""Append many rows of many partitions in one commit."""

from collections.abc import Iterator
from typing import Any

from benchmarks import processes
from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case

_TABLE = (MERE, "pyarrow", "deltalake", "DuckLake (DuckDB)", "DuckLake (SQLite)")
_STREAM = (MERE, "pyarrow", "deltalake", "DuckLake (DuckDB)")


def measure(bench: Bench) -> Iterator[Case]:
    """Append the same rows to a fresh table of each system, as a table and as a stream."""
    with bench.place("bulk") as folder:
        say(f"bulk: making {bench.rows:,} rows")
        source = bench.source(folder, bench.rows)
        for form, names in (("table", _TABLE), ("stream", _STREAM)):
            case = Case(
                name=f"bulk append, {form}",
                target=1.15,
                rivals=("pyarrow",),
                facts={"rows": f"{bench.rows:,}", "partitions": 100},
            )
            with processes.workers(bench, names) as workers:
                for number, worker in turns(workers, max(3, bench.rounds // 3)):
                    say(f"bulk {form}: {worker.name}, round {number + 1}")
                    _append(bench, case, worker, source=source, form=form)
            yield case


def _append(bench: Bench, case: Case, worker: Worker, *, source: str, form: str) -> None:
    root = str(bench.work / "bulk" / "lake")
    answer: dict[str, Any] = worker.ask("bulk", root=root, source=source, form=form)
    right(answer, (bench.rows, bench.rows * (bench.rows - 1) // 2), f"{worker.name}, bulk")
    case.add(worker.name, sample(answer))
    case.facts[f"{worker.name} wrote"] = f"{answer['files']} files, {answer['bytes'] / 1e6:.0f} MB"
