"""Run jobs in processes that may die: forked from one clean interpreter, so each starts quickly.

A job is a function of `tests.jobs`, named, with arguments that JSON can carry. The
interpreter that forks has no threads and nothing open, whatever the tests did before.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: what it returned, or the signal that killed it, or its error."""

    value: Any = None
    killed: bool = False
    error: str | None = None

    @property
    def result(self) -> Any:
        """What it returned; it must have come to its end."""
        assert not self.killed
        assert self.error is None, self.error
        return self.value


@dataclass(frozen=True, slots=True)
class Stage:
    """A running interpreter that forks."""

    process: subprocess.Popen[str]

    def run(self, name: str, /, **arguments: Any) -> Outcome:
        """Run one job to its end."""
        (outcome,) = self.together([(name, arguments)])
        return outcome

    def together(self, jobs: Sequence[tuple[str, dict[str, Any]]]) -> list[Outcome]:
        """Run jobs at the same time, each in a process of its own, all to their ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        return [Outcome(**told) for told in json.loads(self.process.stdout.readline())]


@contextmanager
def stage() -> Iterator[Stage]:
    """Start the interpreter, and end it and all that it forked."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stage"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield Stage(process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _serve() -> None:
    """Fork for each job that is asked for, and tell how all of them ended."""
    from tests import jobs  # noqa: PLC0415  only here: it loads everything that a job may need

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        running = [_forked(getattr(jobs, name), arguments) for name, arguments in json.loads(line)]
        answers.write(json.dumps([_ended(*job) for job in running]) + "\n")
        answers.flush()


def _forked(do: Any, arguments: dict[str, Any]) -> tuple[int, int]:
    heard, told = os.pipe()
    child = os.fork()
    if child:
        os.close(told)
        return child, heard
    try:
        answer = {"value": do(**arguments)}
    except BaseException as error:  # noqa: BLE001  the one who asked decides what it means
        answer = {"error": f"{type(error).__name__}: {error}"}
    os.write(told, json.dumps(answer).encode())
    os._exit(0)


def _ended(child: int, heard: int) -> dict[str, Any]:
    with os.fdopen(heard) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGALRM), os.WTERMSIG(status)
        return {"killed": True}
    answer: dict[str, Any] = json.loads(text)
    return answer


if __name__ == "__main__":
    _serve()
