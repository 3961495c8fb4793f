"""Start measured processes, talk to them, and take turns between them."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.results import Sample
from benchmarks.venv import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where and how large: what every benchmark is given."""

    python: str
    work: Path
    rows: int
    files: int
    rounds: int

    @contextmanager
    def place(self, name: str) -> Iterator[Path]:
        """Hand out a fresh folder, gone afterwards."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def call(self, *arguments: str) -> str:
        """Run Python to its end, and return what it printed."""
        return subprocess.run(
            [self.python, *arguments],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        ).stdout

    def source(self, folder: Path, rows: int) -> str:
        """Make the rows that every system gets, and return their file."""
        path = str(folder / "trades.arrow")
        made = f"from benchmarks import trades; trades.make({path!r}, rows={rows})"
        self.call("-c", made)
        return path


def environment() -> dict[str, str]:
    """Return the environment of measured processes: mere comes from the sources beside them.

    They may keep compiled modules, as an installed library does.
    """
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONHASHSEED": "0"}


class Worker:
    """One system, held in a process of its own."""

    def __init__(self, python: str, name: str, module: str = "benchmarks.worker") -> None:
        """Start the process."""
        self.name = name
        self._process = subprocess.Popen(
            [python, "-m", module, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def ask(self, do: str, **details: Any) -> Any:
        """Have one step done, and return its answer.

        Raises:
            RuntimeError: If the process has died; what it said stands on standard error.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        if process.poll() is None:
            process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            msg = f"{self.name} failed at {do!r}"
            raise RuntimeError(msg)
        return json.loads(line)

    def __enter__(self) -> Self:
        """Use the process for the length of a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def workers(bench: Bench, names: Sequence[str]) -> Iterator[list[Worker]]:
    """Start one process per system."""
    with ExitStack() as stack:
        yield [stack.enter_context(Worker(bench.python, name)) for name in names]


def turns(names: Sequence[Any], rounds: int) -> Iterator[tuple[int, Any]]:
    """Take turns, back and forth, so that no system always comes first."""
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            yield number, name


def sample(answer: dict[str, Any]) -> Sample:
    """Keep what a repetition took."""
    return Sample(wall=answer["wall"], cpu=answer["cpu"], peak=int(answer["peak"]))


def right(answer: dict[str, Any], expected: Sequence[int], where: str) -> None:
    """Insist on the rows and the sum that are known.

    Raises:
        RuntimeError: If a system answered something else: its time means nothing.
    """
    found = (answer["rows"], answer["sum"])
    if found != tuple(expected):
        msg = f"{where}: expected rows and sum {tuple(expected)}, got {found}"
        raise RuntimeError(msg)


def say(text: str) -> None:
    """Tell what is going on."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
