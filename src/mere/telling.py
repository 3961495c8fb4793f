"""Tell how far long work is: a bar on a terminal, else lines of the log; nothing of short work.

Bars go to standard error and are wiped away in the end; `rich` draws them where it is installed.
Lines go to the logger `mere`. `MERE_PROGRESS=0` in the environment draws no bar.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, TypeAlias

Told: TypeAlias = Callable[[int, int], None]
"""Takes how much is done, and of how much; 0 when nobody knows."""

PATIENCE_S = 1.0
"""Work that takes no longer is not told of."""
_EVERY_S = 0.25
_LOGGED_S = 10.0
_WIDTH = 30
_LOG = logging.getLogger("mere")
_SCREEN = Lock()
"""Whoever draws a bar holds it: there is but one terminal."""


def heard() -> bool:
    """Tell whether anybody would see what is told."""
    return _on_terminal() or _LOG.isEnabledFor(logging.INFO)


def _on_terminal() -> bool:
    wanted = os.environ.get("MERE_PROGRESS", "") != "0" and os.environ.get("TERM") != "dumb"
    return wanted and sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def telling(what: str, unit: str = "tasks") -> Iterator[Told]:
    """Tell of the work of the block, once it takes long; yields what takes how far it is."""
    if not heard():
        yield _unheard
        return
    work = _Work(what, unit)
    teller = Thread(target=work.tell, name=f"mere telling of {what}", daemon=True)
    teller.start()
    try:
        yield work.put
    finally:
        work.over.set()
        teller.join()


def _unheard(done: int, total: int) -> None:
    """Take how far work is that nobody wants to hear of."""
    del done, total


class _Work:
    """How far one piece of work is, and the thread that tells of it."""

    def __init__(self, what: str, unit: str) -> None:
        self.what = what
        self.unit = unit
        self.done = 0
        self.total = 0
        self.over = Event()
        self.started = monotonic()

    def put(self, done: int, total: int) -> None:
        """Note how far the work is."""
        self.done, self.total = done, total

    @property
    def seconds(self) -> float:
        """How long the work has taken."""
        return monotonic() - self.started

    @property
    def counted(self) -> str:
        """Say how far the work is."""
        if self.total:
            return f"{self.done:,}/{self.total:,} {self.unit}"
        return f"{self.done:,} {self.unit}" if self.done else ""

    def tell(self) -> None:
        """Tell of the work until it is over, if it takes long."""
        if self.over.wait(PATIENCE_S):
            return
        if _on_terminal() and _SCREEN.acquire(blocking=False):
            try:
                self._draw()
            finally:
                _SCREEN.release()
        else:
            self._log()

    def _draw(self) -> None:
        with _bar(self.what) as draw:
            draw(self)
            while not self.over.wait(_EVERY_S):
                draw(self)

    def _log(self) -> None:
        self._line("under way")
        while not self.over.wait(_LOGGED_S):
            self._line("under way")
        self._line("over")

    def _line(self, state: str) -> None:
        counted = f", {self.counted}" if self.counted else ""
        _LOG.info("%s: %s%s, %.0f s", self.what, state, counted, self.seconds)


Draw: TypeAlias = Callable[[_Work], None]


def _bar(what: str) -> AbstractContextManager[Draw]:
    """Return what draws a bar: rich where it is installed, else plain characters."""
    try:
        rich = import_module("rich.progress")
    except ModuleNotFoundError:
        return _plain()
    return _rich(rich, import_module("rich.console"), what)


@contextmanager
def _rich(rich: Any, console: Any, what: str) -> Iterator[Draw]:
    columns = (
        *(rich.SpinnerColumn(), rich.TextColumn("{task.description}", markup=False)),
        *(rich.BarColumn(_WIDTH), rich.TextColumn("{task.fields[counted]}", markup=False)),
        rich.TimeElapsedColumn(),
    )
    screen = console.Console(stderr=True)
    with rich.Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task(what, total=None, counted="")

        def draw(work: _Work) -> None:
            total = work.total or None
            progress.update(task, completed=work.done, total=total, counted=work.counted)

        yield draw


@contextmanager
def _plain() -> Iterator[Draw]:
    def draw(work: _Work) -> None:
        filled = _WIDTH * min(work.done, work.total) // max(work.total, 1)
        bar = "#" * filled + "." * (_WIDTH - filled)
        sys.stderr.write(f"\r{work.what} [{bar}] {work.counted} {work.seconds:.0f} s \x1b[K")
        sys.stderr.flush()

    try:
        yield draw
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
