"""Find the few files and row groups that can match among very many, from the catalog alone."""

import time
from collections.abc import Iterator, Mapping

from tests.servers import postgres

from benchmarks.processes import Bench, Worker, sample, say
from benchmarks.questions import QUESTIONS
from benchmarks.results import MERE, Case, Sample

_WORKER = "benchmarks.plan_worker"
_PARTITIONS = 1_000
_MOST = 2_000


def measure(bench: Bench) -> Iterator[Case]:
    """Plan in fresh processes, in a warm one, and right after somebody else's commit."""
    with bench.place("planning") as folder:
        url = str(folder / "lake.db")
        yield from _questions(bench, url, "planning", warm=0.05)
        say("planning: beside commits")
        yield from _beside(bench, url)
    with postgres() as server, server.database() as url:
        yield from _questions(bench, url, "planning on PostgreSQL", warm=0.12)


def _questions(bench: Bench, url: str, name: str, *, warm: float) -> Iterator[Case]:
    say(f"{name}: making a catalog of {bench.files:,} files")
    making = f"build({url!r}, files={bench.files}, partitions={_PARTITIONS})"
    bench.call("-c", f"from benchmarks.synthetic import build; {making}")
    for question in QUESTIONS:
        say(f"{name}: {question}")
        yield _cold(bench, url, question, f"{name}, {question}, from the start of Python")
        yield _warm(bench, url, question, f"{name}, {question}, warm", warm)


def _case(bench: Bench, name: str, target: float | None) -> Case:
    facts: dict[str, object] = {"files": f"{bench.files:,}", "row groups": f"{bench.files * 10:,}"}
    return Case(name=name, target=target, facts=facts)


def _kept(case: Case, answer: Mapping[str, int]) -> None:
    """Keep what came out; too many files are a wrong answer, too.

    Raises:
        RuntimeError: If nothing was left out, or everything.
    """
    if not 0 < answer["kept"] < _MOST:
        msg = f"{case.name}: kept {answer['kept']} of {answer['of']} files"
        raise RuntimeError(msg)
    case.facts["kept"] = answer["kept"]
    if answer.get("groups"):
        case.facts["row groups kept of files that can match in part"] = answer["groups"]


def _cold(bench: Bench, url: str, question: str, name: str) -> Case:
    case = _case(bench, name, 1.5)
    for turn in range(max(3, bench.rounds // 3) + 1):
        started = time.monotonic()
        told = bench.call("-m", _WORKER, url, question, str(bench.files)).split()
        _, done, cpu = map(float, told[:3])
        peak, kept, total = map(int, told[3:])
        _kept(case, {"kept": kept, "of": total})
        if turn:  # the first compiles modules
            case.add(MERE, Sample(wall=done - started, cpu=cpu, peak=peak))
    return case


def _warm(bench: Bench, url: str, question: str, name: str, target: float) -> Case:
    case = _case(bench, name, target)
    with Worker(bench.python, url, module=_WORKER) as worker:
        for turn in range(2 * bench.rounds + 1):
            answer = worker.ask("plan", question=question, files=bench.files, turn=turn)
            if turn:
                _kept(case, answer)
                case.add(MERE, sample(answer))
    return case


def _beside(bench: Bench, url: str) -> Iterator[Case]:
    """Let one process commit and another plan, in turns."""
    after = _case(bench, "planning, clustered, after another process's commit", None)
    commit = Case(name="commit of one row beside very many files", facts=dict(after.facts))
    with (
        Worker(bench.python, url, module=_WORKER) as reader,
        Worker(bench.python, url, module=_WORKER) as writer,
    ):
        for turn in range(bench.rounds + 1):
            committed = writer.ask("append", turn=turn)
            answer = reader.ask("plan", question="clustered", files=bench.files, turn=turn)
            if turn:
                _kept(after, answer)
                after.add(MERE, sample(answer))
                commit.add(MERE, sample(committed))
    yield after
    yield commit
