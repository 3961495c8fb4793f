"""Say what a run of maintenance did, piece by piece, and what it left undone."""

from dataclasses import dataclass
from enum import StrEnum

from mere.model.clearing import Cleared
from mere.model.report import Report


class State(StrEnum):
    """What became of a piece of work."""

    PLANNED = "planned"
    """A dry run: it would be done."""
    DONE = "done"
    """It is committed."""
    LEFT = "left"
    """The budget had no room for it; the next run takes it up."""
    GONE = "gone"
    """The table was dropped meanwhile."""
    CONFLICT = "conflict"
    """Others were first and nothing changed; the next run takes it up."""
    FAILED = "failed"
    """It failed and nothing changed; `detail` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of work: on which table, None for the lake, and what became of it.

    `files` and `bytes` are to be read or cleared away; what is read is written again, about.
    `worth` says how many bytes readers are spared for each that is read or written. `report` is
    what the verb reported.
    """

    operation: str
    table: str | None
    state: State
    files: int = 0
    bytes: int = 0
    worth: float | None = None
    seconds: float = 0.0
    detail: str = ""
    report: Report | Cleared | None = None

    def __str__(self) -> str:
        """Show the piece in a line."""
        told = f"{self.state}: {self.operation}" + (f" {self.table}" if self.table else "")
        size = f"{self.files:,} file(s), {self.bytes:,} bytes" if self.files else ""
        more = "; ".join(filter(None, (size, self.detail)))
        return f"{told}: {more}" if more else told
