"""Long work says how far it is, on a terminal or in the log; what is given up leaves no trace."""

import logging
import os
import pty
import re
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
import pytest

import mere
from mere import stopping, telling
from mere.cli import main
from mere.errors import TaskError
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.layout import Layout
from mere.model.schema import Schema
from mere.model.work import Result, Write
from mere.runners.local import LocalRunner

LONG_S = 30.0
"""How long a test waits for what must come."""


def task(number):
    return Write(schema=Schema(fields=()), layout=Layout(), folder=str(number), intent="")


def until(there):
    deadline = time.monotonic() + LONG_S
    while not there():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@pytest.fixture
def impatient(monkeypatch):
    """Tell of work at once, so that no test has to take long."""
    monkeypatch.setattr(telling, "PATIENCE_S", 0.0)
    monkeypatch.setattr(telling, "_EVERY_S", 0.01)
    monkeypatch.setattr(telling, "_LOGGED_S", 0.01)
    monkeypatch.delenv("MERE_PROGRESS", raising=False)
    monkeypatch.setenv("TERM", "xterm")


class Terminal:
    """A real terminal, standard error of this process; what was drawn on it."""

    def __init__(self):
        self.seen = b""
        self._ours, theirs = pty.openpty()
        self.screen = os.fdopen(theirs, "w")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                self.seen += os.read(self._ours, 4096)
            except OSError:  # it was closed
                return

    def shows(self, pattern):
        return re.search(pattern, self.seen.decode(errors="replace")) is not None

    @contextmanager
    def shown(self):
        """Make it the standard error of a block: pytest puts its own there before each test."""
        was, sys.stderr = sys.stderr, self.screen
        try:
            yield
        finally:
            sys.stderr = was


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.screen.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("rich", [True, False])
def test_a_terminal_shows_a_bar_that_is_wiped_away(terminal, monkeypatch, rich):
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.progress", None)

    def shown(given):
        if given.folder == "1":
            until(lambda: terminal.shows(r"shown.*1/2 tasks"))
        return Result()

    with terminal.shown():
        assert len(list(LocalRunner(workers=1).run(shown, [task(0), task(1)]))) == 2
    until(lambda: terminal.seen.endswith((b"\x1b[K", b"\x1b[2K", b"\x1b[?25h")))
    assert terminal.shows("━" if rich else r"\[#+\.+\]")


@pytest.mark.usefixtures("impatient")
def test_one_bar_is_drawn_at_a_time_and_none_where_nobody_wants_it(terminal, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "mere")
    with terminal.shown(), telling.telling("outer"):
        until(lambda: terminal.shows("outer"))
        with telling.telling("inner") as told:
            told(1, 2)
            until(lambda: "inner: under way, 1/2 tasks" in caplog.text)
        caplog.set_level(logging.WARNING, "mere")
        assert telling.heard()
        monkeypatch.setenv("MERE_PROGRESS", "0")
        assert not telling.heard()
    assert not terminal.shows("inner")


@pytest.mark.usefixtures("impatient")
def test_without_a_terminal_the_log_tells(caplog):
    with caplog.at_level(logging.INFO, "mere"):

        def waits(given):
            if given.folder == "1":
                until(lambda: "waits: under way, 1/2 tasks" in caplog.text)
            return Result()

        list(LocalRunner(workers=1).run(waits, [task(0), task(1)]))
    assert "waits: over, 2/2 tasks" in caplog.text
    assert all(record.name == "mere" for record in caplog.records)


def test_short_work_is_not_told_of(caplog):
    with caplog.at_level(logging.INFO, "mere"):
        list(LocalRunner(workers=1).run(lambda _: Result(), [task(0)]))
    assert not caplog.records
    assert not telling.heard()  # so that no thread is begun


@pytest.mark.usefixtures("impatient")
def test_the_command_prints_plain_lines_beside_its_answer(tmp_path, capsys):
    with mere.connect(tmp_path / "shop.db") as lake:
        table = lake.create_table("t", {"a": "int64"})
        for number in range(5):
            table.append({"a": [number]})
    assert main(["maintain", "--lake", str(tmp_path / "shop.db"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("{")
    assert "done: compact main.t: 5 file(s)" in err
    assert not logging.getLogger("mere").handlers


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_runs_beside_a_task_that_is_interrupted_ends_at_its_next_step(error):
    begun, ended = threading.Event(), threading.Event()

    def do(given):
        if given.folder == "0":
            assert begun.wait(LONG_S)
            raise error
        begun.set()
        try:
            until(stopping.check)  # it returns nothing, so this only ends by being stopped
        except stopping.StoppedError:
            ended.set()
            raise
        return Result()

    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else TaskError):
        list(LocalRunner(workers=2).run(do, [task(0), task(1)]))
    assert ended.is_set()
    stopping.check()  # nobody has stopped this thread


class Interrupted:
    """A kernel whose first rewrite is interrupted, when its files are written."""

    name = "interrupted"

    def write(self, rows, *, task, store):
        return PyarrowKernel().write(rows, task=task, store=store)

    def probe(self, task, *, store):
        return PyarrowKernel().probe(task, store=store)

    def rewrite(self, task, *, store):
        PyarrowKernel().rewrite(task, store=store)
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "verb",
    [
        lambda lake: lake.table("t").compact(),
        lambda lake: lake.table("t").cluster("a"),
        lambda lake: lake.table("t").repartition("bucket(3, a)"),
        lambda lake: lake.maintain(),
    ],
    ids=["compact", "cluster", "repartition", "maintain"],
)
def test_what_is_given_up_leaves_the_old_version_and_nothing_that_vacuum_misses(verb, tmp_path):
    url = tmp_path / "shop.db"
    with mere.connect(url) as lake:
        table = lake.create_table("t", {"a": "int64", "s": "string"}, partition_by=["s"])
        for number in range(4):
            table.append(pa.table({"a": [number, number + 9], "s": ["x", "y"]}))
        before, version = table.scan().to_arrow().to_pylist(), lake.version
        listed = {row["path"] for row in table.files().to_pylist()}
        with pytest.raises(KeyboardInterrupt):
            verb(lake.on(kernel=Interrupted(), workers=1))
        assert (lake.version, table.scan().to_arrow().to_pylist()) == (version, before)
        assert stored(lake) > listed, "it had written something"
    with mere.connect(url) as lake:
        lake.vacuum(0)
        assert stored(lake) == listed
        assert not lake.doctor().findings


def stored(lake):
    root = lake.data_path
    return {
        os.path.relpath(os.path.join(folder, name), root)  # noqa: PTH118  as the catalog spells it
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".parquet")
    }


def test_a_scan_of_files_stops_between_batches_when_it_is_not_wanted_any_more(tmp_path):
    with mere.connect(tmp_path / "shop.db") as lake:
        table = lake.create_table("t", {"a": "int64"})
        table.append({"a": [1, 2, 3]})
        over = threading.Event()
        over.set()

        def rewritten(given, *, kernel, store):
            stopping.heed(over)
            return kernel.rewrite(given, store=store)

        class Given(PyarrowKernel):
            """Do the work of a task on a thread that is not wanted any more."""

            def rewrite(self, task, *, store):
                return partial(rewritten, kernel=PyarrowKernel(), store=store)(task)

        table.append({"a": [4]})
        with pytest.raises(TaskError, match="StoppedError"):
            lake.on(kernel=Given(), workers=1).table("t").compact()
        assert table.count() == 4
