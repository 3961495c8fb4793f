"""Open a table of a thousand files, and read one of its partitions."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import processes
from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case, Sample

_RIVALS = (
    "pyarrow",
    "deltalake",
    "deltalake (SQL)",
    "pyiceberg (SQLite)",
    "DuckLake (DuckDB)",
    "DuckLake (SQLite)",
)
_SHARED = {"deltalake (SQL)": "deltalake"}
_COMMITS = 10


def measure(bench: Bench) -> Iterator[Case]:
    """Read a partition in fresh processes and in warm ones, opening the table anew or not."""
    with bench.place("partition") as folder:
        say(f"partition: making {bench.rows:,} rows")
        source = bench.source(folder, bench.rows)
        answers = json.loads(Path(f"{source}.json").read_text(encoding="utf-8"))
        names = (MERE, *_RIVALS)
        roots = {name: str(folder / f"lake-{k}") for k, name in enumerate(names)}
        roots |= {name: roots[other] for name, other in _SHARED.items()}
        for name in names:
            if name not in _SHARED:
                say(f"partition: loading {name}")
                with Worker(bench.python, name) as worker:
                    worker.ask("load", root=roots[name], source=source, parts=_COMMITS)
                    worker.ask("close")
        say("partition: cold")
        yield from _cold(bench, roots, answers)
        say("partition: warm")
        yield from _warm(bench, roots, answers)


def _case(bench: Bench, name: str) -> Case:
    facts: dict[str, object] = {"rows": f"{bench.rows:,}", "files": 100 * _COMMITS}
    return Case(name=name, target=1.0, rivals=_RIVALS, facts=facts)


def _cold(
    bench: Bench, roots: Mapping[str, str], answers: Mapping[str, Sequence[int]]
) -> Iterator[Case]:
    whole = _case(bench, "open and read a partition, from the start of Python")
    after = _case(bench, "open and read a partition, first thing after the import")
    products = list(answers)
    for number, name in turns(list(roots), bench.rounds + 1):
        product = products[number * 7 % len(products)]
        started = time.monotonic()
        told = bench.call("-m", "benchmarks.cold", name, roots[name], product).split()
        imported, done, used, cpu = map(float, told[:4])
        peak, rows, total = map(int, told[4:])
        right({"rows": rows, "sum": total}, answers[product], f"{name}, cold")
        if not number:  # compiles modules
            continue
        whole.add(name, Sample(wall=done - started, cpu=cpu, peak=peak))
        after.add(name, Sample(wall=done - imported, cpu=cpu - used, peak=peak))
    yield whole
    yield after


def _warm(
    bench: Bench, roots: Mapping[str, str], answers: Mapping[str, Sequence[int]]
) -> Iterator[Case]:
    anew = _case(bench, "open and read a partition, warm process")
    kept = _case(bench, "read a partition of an open table")
    products = list(answers)
    with processes.workers(bench, list(roots)) as workers:
        for number, worker in turns(workers, 2 * bench.rounds + 1):
            product, root = products[number * 11 % len(products)], roots[worker.name]
            answer = worker.ask("open_read", root=root, product=product)
            right(answer, answers[product], f"{worker.name}, warm")
            # the first of each process is its cold start
            if number:
                anew.add(worker.name, sample(answer))
        for worker in workers:
            worker.ask("open", root=roots[worker.name])
        for number, worker in turns(workers, 2 * bench.rounds + 1):
            product = products[number * 13 % len(products)]
            answer = worker.ask("read", product=product)
            right(answer, answers[product], f"{worker.name}, open")
            if number:
                kept.add(worker.name, sample(answer))
        for worker in workers:
            worker.ask("close")
    yield anew
    yield kept
