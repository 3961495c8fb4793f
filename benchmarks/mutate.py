"""Delete and upsert rows of a table of a thousand files, and read it afterwards."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import trades
from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case, Sample

_WORKER = "benchmarks.mutate_worker"
_QUICK = ("deltalake", "DuckLake (DuckDB)", "DuckLake (SQLite)")
_SLOW = ("pyiceberg (SQLite)", "fsspeckit")
"""These take so long that they are asked once, and not at all for the widest upserts."""
_PATIENCE = 1_000_000
"""Into more rows than these, pyiceberg's upsert of two thousand takes many minutes."""
_COMMITS = 10
_KNOWN = 0.5


_Workers = Sequence[Worker]


def measure(bench: Bench) -> Iterator[Case]:
    """Change one table of each system in turns; then the table in which a peer is quadratic."""
    with bench.place("mutate") as folder:
        say(f"mutate: making {bench.rows:,} rows")
        source = bench.source(folder, bench.rows)
        names = (MERE, *_QUICK, *_SLOW)
        load: dict[str, Any] = {
            "source": source,
            "rows": bench.rows,
            "parts": _COMMITS,
            "by": ["product_id"],
        }
        with _workers(bench, names, folder, **load) as workers:
            yield from _large(bench, workers)
        names = (MERE, *_QUICK, "fsspeckit")
        load |= {"rows": min(200_000, bench.rows), "parts": 1, "by": []}
        with _workers(bench, names, folder, **load) as workers:
            yield _small(bench, workers, load["rows"])


@contextmanager
def _workers(bench: Bench, names: Sequence[str], folder: Path, **load: Any) -> Iterator[_Workers]:
    """Start one process per system, and have it make and open its table."""
    with ExitStack() as stack:
        found = [stack.enter_context(Worker(bench.python, n, module=_WORKER)) for n in names]
        for number, worker in enumerate(found):
            say(f"mutate: loading {worker.name}, {load['rows']:,} rows")
            worker.ask("load", root=str(folder / f"{load['rows']}-{number}"), **load)
        yield found


def _large(bench: Bench, workers: _Workers) -> Iterator[Case]:
    quick = [worker for worker in workers if worker.name not in _SLOW]
    rounds = max(3, bench.rounds // 2) + 1
    before = _reads(quick, rounds)
    delete = _case(bench, "delete of 0.4 % of rows in 10 partitions", 1.0)
    able = [worker for worker in workers if worker.name != "fsspeckit"]
    for number, worker in turns(able, rounds):
        if worker.name not in _SLOW or number == 1:
            _add(delete, worker, number, "delete", turn=number, share=0.04)
    yield delete
    few = min(2_000, bench.rows // trades.PRODUCTS)
    upsert = _case(bench, f"upsert of {few:,} rows in one partition", 1.0)
    able = [w for w in workers if bench.rows <= _PATIENCE or w.name != _SLOW[0]]
    for number, worker in turns(able, rounds):
        if worker.name not in _SLOW or number == 1:
            step = {"size": few, "known": _KNOWN, "product": number * 7 % trades.PRODUCTS}
            _add(upsert, worker, number, "upsert", turn=100 + number, **step)
    yield upsert
    yield from _compared(before, _reads(quick, rounds), "after deletes and upserts", 1.2)
    many = min(100_000, bench.rows // 10)
    wide = _case(bench, f"upsert of {many:,} rows over all partitions", 0.7)
    for number, worker in turns(quick, rounds):
        step = {"size": many, "known": _KNOWN, "product": None}
        _add(wide, worker, number, "upsert", turn=200 + number, **step)
    yield wide
    yield from _compared(before, _reads(quick, rounds), "after upserts of all partitions", None)
    _checked(workers)


Reads = dict[str, dict[str, list[Sample]]]


def _reads(workers: _Workers, rounds: int) -> Reads:
    """Read one partition and one column of all, in turns."""
    found: Reads = {"read of one partition": {}, "read of a column": {}}
    for number, worker in turns(workers, rounds):
        product = f"product-{number * 7 % trades.PRODUCTS:03}"
        one, all_ = worker.ask("read", product=product), worker.ask("column")
        right(all_, all_["wanted"], worker.name)
        if number:
            for kind, answer in zip(found, (one, all_), strict=True):
                found[kind].setdefault(worker.name, []).append(sample(answer))
    return found


def _compared(before: Reads, after: Reads, when: str, target: float | None) -> Iterator[Case]:
    """Compare what reads take with what they took before."""
    for kind, systems in after.items():
        case = Case(name=f"{kind}, {when}", target=target, rivals=(f"{MERE}, before",))
        for name, samples in systems.items():
            case.samples[name] = samples
            case.samples[f"{name}, before"] = before[kind][name]
        yield case


def _checked(workers: _Workers) -> None:
    """Insist that every system shows what was asked of it, and let go."""
    for worker in workers:
        answer = worker.ask("column")
        right(answer, answer["wanted"], f"{worker.name}, in the end")
        worker.ask("close")


def _small(bench: Bench, workers: _Workers, rows: int) -> Case:
    size = rows // 5
    case = Case(
        name=f"upsert of {size:,} rows into {rows:,}",
        target=0.3,
        facts={"files": 1, "fsspeckit": "quadratic in the rows of the source"},
    )
    for number, worker in turns(workers, max(3, bench.rounds // 2)):
        if worker.name not in _SLOW or number == 1:
            step = {"size": size, "known": _KNOWN, "product": None}
            _add(case, worker, number, "upsert", turn=number, **step)
    _checked(workers)
    return case


def _case(bench: Bench, name: str, target: float) -> Case:
    facts: dict[str, object] = {
        "rows": f"{bench.rows:,}",
        "files": trades.PRODUCTS * _COMMITS,
        "peak memory": "above what was held before the call",
    }
    return Case(name=name, target=target, rivals=(*_QUICK, *_SLOW), facts=facts)


def _add(case: Case, worker: Worker, number: int, do: str, **asked: Any) -> None:
    """Ask for a change; the first of each quick system is its cold start."""
    answer = worker.ask(do, **asked)
    if number:
        case.add(worker.name, sample(answer))
    else:
        say(f"mutate: {case.name}, {worker.name}: {answer['wall']:.3f} s at first")
