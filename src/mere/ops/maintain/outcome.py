"""Hand out what a run of maintenance did: readable, countable, and as an Arrow table."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from mere import listing
from mere.errors import CommitConflictError, MereError
from mere.model.keeping import Piece, State
from mere.model.report import Report

_BAD = (State.FAILED, State.CONFLICT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What `lake.maintain` did, or would do: its pieces of work, most valuable first.

    `notes` tell what else is worth knowing. It is iterable, and prints as text.
    """

    pieces: tuple[Piece, ...] = ()
    dry_run: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Piece]:
        """Iterate over the pieces."""
        return iter(self.pieces)

    def __len__(self) -> int:
        """Count the pieces."""
        return len(self.pieces)

    def __bool__(self) -> bool:
        """Tell whether there was anything to do."""
        return bool(self.pieces)

    def of(self, *states: str) -> tuple[Piece, ...]:
        """Return the pieces of which this became: done, planned, left, gone, conflict, failed."""
        return tuple(piece for piece in self.pieces if piece.state in states)

    @property
    def ok(self) -> bool:
        """Tell whether nothing failed; what the budget had no room for is no failure."""
        return not self.of(*_BAD)

    @property
    def left(self) -> tuple[Piece, ...]:
        """Return what the budget had no room for."""
        return self.of(State.LEFT)

    @property
    def files_removed(self) -> int:
        """Count the files whose rows moved."""
        return sum(report.files_removed for report in self._reports())

    @property
    def files_added(self) -> int:
        """Count the files that rows moved to."""
        return sum(report.files_added for report in self._reports())

    def _reports(self) -> Iterator[Report]:
        return (piece.report for piece in self.pieces if isinstance(piece.report, Report))

    def require(self) -> None:
        """Raise unless nothing failed.

        Raises:
            CommitConflictError: If others were first, and nothing else went wrong.
            MereError: Naming what failed.
        """
        if self.ok:
            return
        told = "\n".join(map(str, self.of(*_BAD)))
        if not self.of(State.FAILED):
            raise CommitConflictError(told, hint="nothing of these changed; call again")
        raise MereError(told, hint="nothing of these changed; what else there was is done")

    def to_arrow(self) -> Any:
        """Return the pieces as an Arrow table."""
        return listing.work_table(self.pieces)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as a plain dictionary."""
        pieces = [{k: v for k, v in asdict(p).items() if k != "report"} for p in self.pieces]
        return {
            "ok": self.ok,
            "dry_run": self.dry_run,
            "seconds": self.seconds,
            "files_removed": self.files_removed,
            "files_added": self.files_added,
            "notes": list(self.notes),
            "pieces": pieces,
        }

    def __str__(self) -> str:
        """Show the pieces, a line each, and a summary."""
        return "\n".join([*map(str, self.pieces), *self.notes, self.summary])

    @property
    def summary(self) -> str:
        """Say in a line what it came to."""
        if not self.pieces:
            return "maintain: nothing to do"
        counts = [(state, len(self.of(state))) for state in State]
        told = ", ".join(f"{count} {state}" for state, count in counts if count)
        return f"maintain: {told}, in {self.seconds:.1f} s"
