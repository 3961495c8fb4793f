"""Say what is wrong with a lake: findings, and what was looked at."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from mere.errors import CorruptionError

_SHOWN = 20


class Verdict(StrEnum):
    """How bad a finding is."""

    WRONG = "wrong"
    """Readers fail, or see other rows than were written."""
    UNREAD = "unread"
    """It could not be looked at, so nobody knows."""
    NOTE = "note"
    """No row is in danger; the next clean-up deals with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be; `table` and `path` where it has some."""

    check: str
    verdict: Verdict
    detail: str
    table: str | None = None
    path: str | None = None
    file: int | None = None

    def __str__(self) -> str:
        """Show the finding in a line."""
        what = self.path or self.table or "the lake"
        return f"{self.verdict}: {self.check}: {what}: {self.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A file that some version lists, as the catalog describes it.

    `positions` says that it is a delete file; `of_rows` are then the rows of its data file.
    `refused` is why it cannot be read here, if it cannot. `scheduled` says that the catalog also
    has it deleted soon.
    """

    id: int
    table: str
    path: str
    bytes: int | None
    rows: int | None
    footer_bytes: int | None = None
    digest: str | None = None
    positions: bool = False
    of_rows: int | None = None
    refused: str | None = None
    scheduled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a check of a lake found, and what it looked at.

    `undigested` counts the files whose footers nobody kept a digest of, because another client
    wrote them: of these, the length and the rows are known.
    """

    deep: bool
    findings: tuple[Finding, ...] = ()
    files: int = 0
    bytes: int = 0
    undigested: int = 0

    @property
    def healthy(self) -> bool:
        """Tell whether nothing is wrong or unread; notes are no harm."""
        return all(finding.verdict is Verdict.NOTE for finding in self.findings)

    def require(self) -> None:
        """Raise unless the lake is healthy.

        Raises:
            CorruptionError: Naming what is wrong.
        """
        if not self.healthy:
            bad = [str(found) for found in self.findings if found.verdict is not Verdict.NOTE]
            more = f"\n… and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
            raise CorruptionError("\n".join(bad[:_SHOWN]) + more)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as a plain dictionary."""
        return {"healthy": self.healthy, **asdict(self)}

    def __str__(self) -> str:
        """Show the findings, a line each, and a summary."""
        depth = "every page of " if self.deep else ""
        said = "healthy" if self.healthy else "not healthy"
        summary = f"looked at {depth}{self.files:,} file(s), {self.bytes:,} bytes: {said}"
        return "\n".join([*map(str, self.findings), summary])
