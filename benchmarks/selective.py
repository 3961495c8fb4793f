"""Read little of much: one partition in a hundred, and one hour of a table in order of time.

Against pyarrow, which finds the same files by listing their folder.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.processes import Bench, Worker, right, sample, say, turns
from benchmarks.results import MERE, Case
from benchmarks.selective_worker import FOLDER, TOLD

_WORKER = "benchmarks.selective_worker"
_QUESTIONS = {"one partition in 100": (10_000, 0.05), "one hour": (1_000, 0.2)}
"""How many files the table of each question has, and what part of pyarrow's time is asked."""


def measure(bench: Bench) -> Iterator[Case]:
    """Let the systems take turns, each opening the table anew for every read."""
    with bench.place("selective") as folder:
        say(f"selective: making {bench.rows:,} rows")
        source = bench.source(folder, bench.rows)
        for question in _QUESTIONS:
            yield _case(bench, folder, source, question)


def _case(bench: Bench, folder: Path, source: str, question: str) -> Case:
    many, target = _QUESTIONS[question]
    root = str(folder / question.replace(" ", "-"))
    say(f"selective: loading, {question}")
    with Worker(bench.python, MERE, module=_WORKER) as worker:
        files = worker.ask("load", root=root, source=source, question=question, files=many)
    facts: dict[str, object] = {"rows": f"{bench.rows:,}", **files}
    case = Case(name=f"selective, {question}", target=target, rivals=(FOLDER,), facts=facts)
    names = (MERE, FOLDER) if question == "one hour" else (MERE, FOLDER, TOLD)
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(bench.python, name, module=_WORKER)) for name in names
        ]
        expected: dict[int, tuple[int, int]] = {}
        for number, worker in turns(workers, bench.rounds + 1):
            asked = {"root": root, "question": question, "turn": number, "rows": bench.rows}
            answer = worker.ask("read", **asked)
            known = expected.setdefault(number, (answer["rows"], answer["sum"]))
            right(answer, known, f"{worker.name}, {question}")
            if number and answer["rows"]:
                case.add(worker.name, sample(answer))
    return case
