"""Report what a step read and wrote, or would."""

from dataclasses import dataclass

from mere.model.history import FROM_THE_BEGINNING
from mere.model.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a step read of one table: which versions brought it, and how much there was."""

    table: str
    is_whole: bool
    versions: tuple[int, ...]
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What one run of a step came to.

    It read what came after the version `since`, up to `reached`; `since` is -1 when it read from
    the beginning. `report` is what writing came to, None when nothing was written. In a dry run,
    `waits_for` are the tables that steps before it would write first: more may come from there.
    """

    step: str
    table: str
    mode: str
    since: int
    reached: int
    reads: tuple[Read, ...] = ()
    dry_run: bool = False
    report: Report | None = None
    waits_for: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def rows_read(self) -> int:
        """Count what is new; whole tables do not count beside it."""
        news = [read for read in self.reads if not read.is_whole]
        return sum(read.rows for read in news or self.reads)

    @property
    def rows_written(self) -> int:
        """Count the rows that were inserted or updated."""
        done = self.report
        return 0 if done is None else done.rows_inserted + done.rows_updated

    @property
    def version(self) -> int | None:
        """Return the version that was written, None without one."""
        return None if self.report is None else self.report.version

    def __str__(self) -> str:
        """Show what happened, in one line and one for each table that was read."""
        lines = [f"{self.step}: {self._said()}"]
        for read in self.reads:
            what = "all" if read.is_whole else "new"
            files = "file" if read.files == 1 else "files"
            lines.append(f"  {what} of {read.table}: {read.rows:,} rows in {read.files:,} {files}")
        lines += [f"  waits for {table}" for table in self.waits_for]
        return "\n".join(lines)

    def _said(self) -> str:
        begin = "the beginning" if self.since == FROM_THE_BEGINNING else f"version {self.since}"
        span = f"from {begin} to version {self.reached}"
        if self.dry_run:
            return f"would read {span}" if self.reads else "nothing new yet"
        if self.report is None:
            return f"nothing to write, {span}" if self.reads else f"nothing new, {span}"
        return (
            f"{self.mode} to {self.table}, {self.rows_written:,} rows in "
            f"{self.report.files_added:,} files, version {self.version}, {span}, "
            f"{self.seconds:.1f} s"
        )
