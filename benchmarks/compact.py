"""Merge many small files into few, and order their rows along a curve."""

from collections.abc import Iterator
from typing import Any

from benchmarks import processes
from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case

_PARTS = 10
_PRICE = 130.5
_BEFORE = "mere, before"
_RIVALS = {
    "compact": ("deltalake", "DuckLake (DuckDB)", "DuckLake (SQLite)", "fsspeckit"),
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
        yield _needle(bench, source)
        yield _order(bench, source)


def _needle(bench: Bench, source: str) -> Case:
    """Ask for the rows of one price, in files in the order of time and along a curve."""
    case = Case(name="a needle after z-order", target=0.5, rivals=(_BEFORE,))
    with processes.workers(bench, (MERE,)) as (worker,):
        say("a needle before and after z-order")
        root = str(bench.work / "compact" / "needle")
        answer = worker.ask("needle", root=root, source=source, parts=_PARTS, price=_PRICE)
    (rows,) = {(one["rows"], one["sum"]) for when in answer.values() for one in when}
    case.facts["rows found"] = rows[0]
    for name, samples in ((_BEFORE, answer["before"]), (MERE, answer["after"])):
        for one in samples:
            case.add(name, sample(one))
    return case


def _order(bench: Bench, source: str) -> Case:
    """Order a table four times as large as the memory that is allowed."""
    case = Case(name="order a table four times as large as memory_mb")
    with processes.workers(bench, (MERE,)) as (worker,):
        say("order a large table in little memory")
        root = str(bench.work / "compact" / "order")
        answer = worker.ask("order", root=root, source=source, parts=_PARTS)
    right(answer, (bench.rows, bench.rows * (bench.rows - 1) // 2), "ordering")
    case.add(MERE, sample(answer))
    case.facts["rows in memory"] = f"{answer['raw_mb']:,} MiB"
    case.facts["memory_mb"] = answer["memory_mb"]
    case.facts["above the start"] = f"{answer['peak'] / (1 << 20):.0f} MiB"
    return case


def _shape(bench: Bench, case: Case, worker: Worker, *, source: str, verb: str) -> None:
    root = str(bench.work / "compact" / "lake")
    answer: dict[str, Any] = worker.ask("shape", root=root, source=source, parts=_PARTS, verb=verb)
    right(answer, (bench.rows, bench.rows * (bench.rows - 1) // 2), f"{worker.name}, {verb}")
    case.add(worker.name, sample(answer))
    case.facts[f"{worker.name} memory"] = f"{answer['more'] / 1e6:.0f} MB above the start"
