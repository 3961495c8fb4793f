"""Commit one row to a table of a thousand files."""

from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case

_RIVALS = (
    "deltalake",
    "pyiceberg (SQLite)",
    "DuckLake (DuckDB)",
    "DuckLake (DuckDB, inlining)",
    "DuckLake (SQLite)",
    "DuckLake (SQLite, inlining)",
)
_SHOWN = ("mere (DuckDB catalog)", "pyarrow")
_COMMITS = 10
_AT_A_TIME = 5


def measure(bench: Bench) -> Iterator[Case]:
    """Commit to open tables in warm processes, taking turns; then count that nothing is missing."""
    rows = max(bench.rows // 10, 100_000)
    facts: dict[str, object] = {
        "rows before": f"{rows:,}",
        "files before": 100 * _COMMITS,
        "pyarrow": "writes a file and commits nothing",
    }
    case = Case(name="commit of one row", target=1.0, rivals=_RIVALS, facts=facts)
    with bench.place("commit") as folder, ExitStack() as stack:
        source = bench.source(folder, rows)
        workers = []
        for k, name in enumerate((MERE, *_RIVALS, *_SHOWN)):
            say(f"commit: loading {name}")
            worker = stack.enter_context(Worker(bench.python, name))
            worker.ask("load", root=str(folder / f"lake-{k}"), source=source, parts=_COMMITS)
            workers.append(worker)
        rounds = max(4, bench.rounds) + 1
        for number, worker in turns(workers, rounds):
            answers = worker.ask("commit", times=_AT_A_TIME)
            if number:
                for answer in answers:
                    case.add(worker.name, sample(answer))
        done = rounds * _AT_A_TIME
        total = rows * (rows - 1) // 2 - done * (done + 1) // 2
        for worker in workers:
            right(worker.ask("total"), (rows + done, total), f"{worker.name}, after commits")
            worker.ask("close")
    yield case
