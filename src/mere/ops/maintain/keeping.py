"""Keep a lake in shape by its rules: look at every table, do what is worth most, clear away."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter

from mere.errors import CommitConflictError, MereError, TableNotFoundError
from mere.model.clearing import Cleared
from mere.model.history import Head
from mere.model.keeping import Piece, State
from mere.model.policy import Policy
from mere.model.report import Report
from mere.model.work import Plan
from mere.ops import clear
from mere.ops.maintain.moving import MoveOptions, move_rows, newest, require_alone, require_settled
from mere.ops.maintain.outcome import Maintenance
from mere.ops.maintain.surveying import may_expire, names, rules_of_lake, survey
from mere.plan.rewrite import part_of
from mere.plan.upkeep import Batch, Chore, afforded, batched, chores_of
from mere.ports import Session

BATCH_BYTES = 4 << 30
"""How much is done as one commit where time is limited: between two, a run can end."""
_MB = 1_000_000
_TOLD = logging.getLogger("mere")


def maintain(
    session: Session, policy: Policy, *, dry_run: bool, memory_mb: int | None = None
) -> Maintenance:
    """Do what the rules call for; see `Lake.maintain`.

    Versions expire first: so rows that only they showed need not be written again. What no version
    shows any more is deleted last.
    """
    require_settled(session) if dry_run else require_alone(session)
    options = MoveOptions(dry_run=dry_run, memory_mb=memory_mb, message="maintain")
    options.share(session)
    run = _Run(session, policy, rules_of_lake(session, policy), options)
    run.expire()
    run.keep_tables()
    if run.changed:
        run.expire()
    run.vacuum()
    return Maintenance(
        pieces=tuple(run.pieces),
        dry_run=dry_run,
        seconds=perf_counter() - run.started,
        notes=tuple(run.notes),
    )


@dataclass(slots=True)
class _Run:
    """One run from its first look to its last."""

    session: Session
    policy: Policy
    rules: Policy
    options: MoveOptions
    started: float = field(default_factory=perf_counter)
    pieces: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plans: dict[str, tuple[Head, Plan]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether rows of any table were moved."""
        return any(isinstance(piece.report, Report) for piece in self.pieces)

    @property
    def late(self) -> bool:
        """Whether nothing new may begin."""
        minutes = self.rules.budget_minutes
        return minutes is not None and perf_counter() - self.started >= minutes * 60

    def note(self, piece: Piece) -> None:
        """Keep what became of a piece of work, and tell it."""
        self.pieces.append(piece)
        _TOLD.info("%s", piece)

    def expire(self) -> None:
        """Let versions go that are old enough, but none that a step has still to read."""
        if not self.rules.expire:
            return
        found = may_expire(self.session, self.rules)
        if found.waiting and not self.changed:
            self.notes.append(found.waiting)
        if not found.going:
            return
        if self.options.dry_run:
            detail = f"{len(found.going)} version(s)"
            self.note(Piece(operation="expire", table=None, state=State.PLANNED, detail=detail))
            return
        self.cleared(
            "expire",
            lambda: clear.expire(
                self.session,
                older_than=self.rules.expire_older_than,
                keep_last=found.keep_last,
                dry_run=False,
            ),
        )

    def vacuum(self) -> None:
        """Delete files that nobody can reach any more."""
        if not self.rules.vacuum:
            return
        if self.session.read_only:
            self.notes.append("a lake that is open for reading is not searched for old files")
            return
        self.cleared(
            "vacuum",
            lambda: clear.vacuum(
                self.session,
                grace=self.rules.delete_older_than,
                dry_run=self.options.dry_run,
            ),
        )

    def cleared(self, operation: str, do: Callable[[], Cleared]) -> None:
        """Clear something away, if there is anything."""
        if self.late:
            detail = "the time was over"
            self.note(Piece(operation=operation, table=None, state=State.LEFT, detail=detail))
            return
        began = perf_counter()
        try:
            done = do()
        except (MereError, OSError) as error:
            self.note(_failed(operation, None, error))
            return
        self.notes += done.notes
        if done.versions or done.files or done.uploads:
            self.note(
                Piece(
                    operation=operation,
                    table=None,
                    state=State.PLANNED if self.options.dry_run else State.DONE,
                    files=len(done.files),
                    bytes=done.bytes,
                    seconds=round(perf_counter() - began, 3),
                    detail=f"{len(done.versions)} version(s)" if done.versions else "",
                    report=done,
                )
            )

    def keep_tables(self) -> None:
        """Write files anew as far as the budget goes, what is worth most first."""
        limit = self.rules.budget_mb
        budget = None if limit is None else int(limit * _MB)
        chores, left = afforded(self.chores(), budget)
        timed = self.rules.budget_minutes is not None
        for batch in batched(chores, BATCH_BYTES if timed else None):
            if self.options.dry_run:
                self.note(_piece(batch))
            elif self.late:
                self.note(replace(_piece(batch), state=State.LEFT, detail="the time was over"))
            else:
                self.note(self.carried_out(batch))
        for batch in batched(left, None):
            detail = f"no room in {limit:g} MB"
            self.note(replace(_piece(batch), state=State.LEFT, detail=detail))

    def chores(self) -> Iterator[Chore]:
        """Look at every table, and say what would do it good."""
        there = names(self.session)
        known = {*there, *self.session.catalog.namespaces()}
        missing = sorted({*self.policy.tables, *self.policy.schemas} - known)
        if missing:
            self.notes.append(f"the policy has rules for what is not there: {', '.join(missing)}")
        for name in there:
            try:
                found = survey(self.session, name, self.policy, self.options, whole=False)
                if found.plan.tasks:
                    self.plans[name] = found.head, found.plan
                yield from chores_of(name, found.plan, found.lineage.oldest)
            except TableNotFoundError:  # dropped meanwhile: nothing is to be done
                continue
            except (MereError, OSError) as error:
                self.note(_failed("look at", name, error))

    def carried_out(self, batch: Batch) -> Piece:
        """Do one batch, and say what became of it."""
        began, piece = perf_counter(), _piece(batch)
        seen, whole = self.plans[batch.table]
        try:
            head = newest(self.session, seen)
            plan = part_of(head, whole, batch.tasks)
            report = move_rows(self.session, head, plan, replace(self.options, dry_run=False))
        except TableNotFoundError:
            return replace(piece, state=State.GONE, detail="dropped meanwhile")
        except (MereError, OSError) as error:
            return replace(_failed(batch.operation, batch.table, error), files=batch.files)
        told = f"{report.files_removed:,} files became {report.files_added:,}"
        if report.files_removed < batch.files:
            told += "; what others changed meanwhile was left"
        return replace(
            piece,
            state=State.DONE,
            seconds=round(perf_counter() - began, 3),
            detail=told,
            report=report,
        )


def _piece(batch: Batch) -> Piece:
    return Piece(
        operation=batch.operation,
        table=batch.table,
        state=State.PLANNED,
        files=batch.files,
        bytes=batch.bytes,
        worth=round(batch.worth, 3),
    )


def _failed(operation: str, table: str | None, error: Exception) -> Piece:
    conflict = isinstance(error, CommitConflictError)
    detail = error.message if isinstance(error, MereError) else f"{type(error).__name__}: {error}"
    return Piece(
        operation=operation,
        table=table,
        state=State.CONFLICT if conflict else State.FAILED,
        detail=detail,
    )
