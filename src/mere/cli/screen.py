"""Print an answer: JSON for scripts, plain lines for pipes, tables for a terminal."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mere.cli import cells
from mere.cli.answer import Answer, Facts, Part, Rows
from mere.errors import EngineMissingError, MereError
from mere.registry import load

_SIZES = frozenset({"bytes", "raw_bytes", "read_bytes", "write_bytes"})
Write = Callable[[str], None]


def write_out(text: str) -> None:
    """Write a line to where answers go."""
    sys.stdout.write(text + "\n")


def write_error(text: str) -> None:
    """Write a line to where errors and progress go."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where answers go, and in which form: `json`, or for people, on a `terminal` or not."""

    json: bool
    terminal: bool

    def show(self, answer: Answer) -> None:
        """Print an answer."""
        if self.json:
            _print_json(answer.data)
            return
        show = _terminal() if self.terminal else _print_plain
        for number, part in enumerate(answer.parts):
            if number and not isinstance(part, str):
                write_out("")
            show(part)

    def say(self, text: str) -> None:
        """Tell of progress: on the way to people, and beside the answer for scripts."""
        (write_error if self.json else write_out)(text)
        sys.stdout.flush()

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Print how far long work is, as plain lines beside the answer, where no bar is drawn."""
        log, was = logging.getLogger("mere"), logging.getLogger("mere").level
        if sys.stderr.isatty() or log.handlers:
            yield
            return
        handler = logging.StreamHandler(sys.stderr)
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(was)

    def fail(self, error: MereError) -> None:
        """Print an error and what to do about it."""
        if self.json:
            said = {"code": str(error.code), "message": error.message, "hint": error.hint}
            write_error(json.dumps({"error": said}))
        else:
            write_error(f"mere: {error}")


def _print_json(data: Any) -> None:
    if not isinstance(data, Rows):
        write_out(json.dumps(cells.plain(data), indent=2))
        return
    names = cells.columns(data.data)
    before = "[\n  "
    for row in cells.rows(data.data):
        sys.stdout.write(before + json.dumps(dict(zip(names, row, strict=True))))
        before = ",\n  "
    write_out("[]" if before.startswith("[") else "\n]")


def _print_plain(part: Part) -> None:
    match part:
        case str():
            write_out(part)
        case Facts():
            for name, value in _said(part):
                write_out(cells.line((name, value)))
        case Rows():
            write_out(cells.line(tuple(cells.columns(part.data))))
            for row in cells.rows(part.data):
                write_out(cells.line(row, null=part.null))


def _said(facts: Facts) -> Iterator[tuple[str, Any]]:
    for name, value in facts.data.items():
        found = cells.plain(value)
        if found not in (None, "", [], {}):
            yield name, found


def _terminal() -> Callable[[Part], None]:
    """Return what shows a part on a terminal: with rich where it is installed, else plainly."""
    try:
        load("rich.console")
    except EngineMissingError:
        return _print_plain
    return _print_rich


def _print_rich(part: Part) -> None:
    console = load("rich.console:Console")()
    if isinstance(part, str):
        console.print(part, markup=False, highlight=False)
    elif isinstance(part, Facts):
        console.print(_grid(part))
    else:
        _print_table(console, part)


def _grid(facts: Facts) -> Any:
    grid = load("rich.table:Table").grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in _said(facts):
        shown = cells.size(value) if name in _SIZES else _grouped(value)
        grid.add_row(name, _styled(shown))
    return grid


def _print_table(console: Any, part: Rows) -> None:
    names = cells.columns(part.data)
    kinds = [str(field.type) for field in part.data.schema]
    found = list(islice(cells.rows(part.data), None if part.most is None else part.most + 1))
    more = part.most is not None and len(found) > part.most
    box = load("rich.box:SIMPLE_HEAD")
    table = load("rich.table:Table")(title=part.title, title_justify="left", box=box)
    for name, kind in zip(names, kinds, strict=True):
        number = kind.startswith(("int", "uint", "float", "double", "half", "decimal"))
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in found[: part.most]:
        pairs = zip(names, row, strict=True)
        table.add_row(*(_cell(name, value, part.null) for name, value in pairs))
    console.print(table)
    if more:
        console.print(f"the first {part.most:,} rows are shown", style="dim", highlight=False)


def _cell(name: str, value: Any, null: str) -> Any:
    if value is None:
        return load("rich.text:Text")(null, style="dim")
    if name in _SIZES:
        return cells.size(value)
    return _styled(cells.text(value, null=null))


def _styled(text: str) -> Any:
    """Keep text from being read as markup."""
    return load("rich.text:Text")(text)


def _grouped(value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if whole else cells.text(value)
