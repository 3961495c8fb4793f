"""Spark through mere against Spark alone, on the same files, in one session and in turns.

CPU seconds of the driver, its JVM and its Python workers decide: they are what a cluster is paid
for, and a busy machine disturbs them least. The first repetitions, while the JVM still compiles,
are thrown away.
"""

import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.processes import Bench, Worker, sample, say, turns
from benchmarks.results import MERE, Case

_WORKER = "benchmarks.spark_worker"
NATIVE, UNLISTED = "Spark alone", "Spark alone, no listing jobs"
_FULL, _FEW = 5_000_000, 10_000
_COLD = 2
_TARGETS = {
    "plan": 0.1,
    "full scan": 1.05,
    "projection": 1.05,
    "full scan, deletions in one file of 8": 1.3,
    "projection, deletions in one file of 8": 1.3,
    "bulk write": 1.25,
    "bulk write, 100 partitions": 1.0,
    "upsert of 0.5 % of rows touching 5 % of files": 0.5,
    "compaction of 400 files": 0.45,
}


def measure(bench: Bench) -> Iterator[Case]:
    """Ask one session for one thing after the other, natively and through mere in turns."""
    rows = min(bench.rows, _FULL)
    with (
        bench.place("spark") as folder,
        Worker(sys.executable, "spark", module=_WORKER) as worker,
    ):
        say(f"spark: making {rows:,} rows and {_FEW:,} small files")
        made = worker.ask("make", root=str(folder), rows=rows, files=_FEW)
        for question, target in _TARGETS.items():
            say(f"spark: {question}")
            case = Case(name=f"Spark, {question}", target=target, rivals=(NATIVE,), by="cpu")
            case.facts = {"files": f"{_FEW:,}"} if question == "plan" else {"rows": f"{rows:,}"}
            systems = (NATIVE, UNLISTED, MERE) if question == "plan" else (NATIVE, MERE)
            for number, system in turns(systems, _COLD + bench.rounds):
                answer = worker.ask("ask", question=question, system=system)
                _right(question, system, answer, rows, made["inserted"])
                if number >= _COLD:
                    case.add(system, sample(answer))
                for fact in ("files", "bytes"):
                    if fact in answer:
                        case.facts[f"{fact} of {system}"] = f"{answer[fact]:,}"
            if question.endswith("scan"):
                case.facts |= {name: f"{made[name]:,}" for name in ("files", "bytes")}
            yield case


def _right(question: str, system: str, answer: dict[str, Any], rows: int, inserted: int) -> None:
    """Insist on the number of rows that is known.

    Raises:
        RuntimeError: If a system answered something else: its time means nothing.
    """
    gone = -(-(rows // 8) // 10) if "projection, del" in question and system == MERE else 0
    more = inserted if question.startswith("upsert") else 0
    expected = 2 if question == "plan" else rows - gone + more
    if answer["answer"] != expected:
        msg = f"{system}, {question}: expected {expected:,}, got {answer['answer']}"
        raise RuntimeError(msg)
