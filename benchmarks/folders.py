"""Maintain plain folders of Parquet: few files of many, each key once, rows merged into them."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import folders_worker
from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case, Sample

_WORKER = "benchmarks.folders_worker"
_RIVAL = "fsspeckit"
_MOST = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked of a folder of so many files, and what share of the rival's cost is allowed."""

    verb: str
    name: str
    files: int
    target: float
    memory: float | None = None


_QUESTIONS = (
    _Question(
        verb="compact",
        name="compact a folder of 400 files",
        files=400,
        target=0.8,
        memory=0.5,
    ),
    _Question(verb="deduplicate", name="deduplicate a folder", files=40, target=0.3),
    _Question(verb="merge", name="merge 20,000 rows into 100 files", files=100, target=0.1),
)


def measure(bench: Bench) -> Iterator[Case]:
    """Make each folder once, and have every system work on a copy of it."""
    rows = min(bench.rows, _MOST)
    with bench.place("folders") as place:
        for asked in _QUESTIONS:
            say(f"folders: making {asked.files} files of {rows:,} rows for {asked.verb}")
            doubled = asked.verb == "deduplicate"
            made = "from benchmarks import folders_worker as w; "
            made += f"w.make({str(place / 'was')!r}, {rows}, {asked.files}, doubled={doubled})"
            bench.call("-c", made)
            yield from _asked(bench, place, asked, rows)
            shutil.rmtree(place / "was")


def _asked(bench: Bench, place: Path, asked: _Question, rows: int) -> Iterator[Case]:
    case = Case(name=asked.name, target=asked.target, rivals=(_RIVAL,), by="cpu")
    case.facts["rows"] = f"{rows:,}"
    held = Case(name=f"{asked.name}, GB held", target=asked.memory, rivals=(_RIVAL,))
    for number, system in turns((MERE, _RIVAL), max(1, bench.rounds // 3)):
        say(f"folders: {asked.verb}, {system}, round {number + 1}")
        answer = _done(bench, place, asked.verb, system)
        right(answer, folders_worker.expected(asked.verb, rows), f"{system}, {asked.verb}")
        case.add(system, sample(answer))
        peak = answer["peak"] / 1e9
        held.add(system, Sample(wall=peak, cpu=peak, peak=int(answer["peak"])))
    yield case
    yield held


def _done(bench: Bench, place: Path, verb: str, system: str) -> dict[str, Any]:
    here = place / "here"
    shutil.copytree(place / "was", here)
    with Worker(bench.python, system, module=_WORKER) as worker:
        worker.ask("ready", root=str(here), verb=verb)
        answer: dict[str, Any] = worker.ask(verb, root=str(here))
    shutil.rmtree(here)
    return answer
