"""Run a step again, from the beginning or over a range of versions, replacing what it wrote."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from mere.errors import InvalidInputError, SnapshotNotFoundError
from mere.lake import Lake
from mere.model.history import FROM_THE_BEGINNING, Mark
from mere.model.report import Report
from mere.ops import carry
from mere.ports import Session
from mere.spark.pipeline.report import StepReport
from mere.spark.pipeline.running import (
    Work,
    once,
    partial_write,
    pin,
    report_of,
    session_of,
    standing,
)
from mere.spark.pipeline.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which versions to read again, both ends included; without an end, all that was read."""

    since: int | None = None
    until: int | None = None
    replacing: Any = None

    @property
    def is_all(self) -> bool:
        """Tell whether the step begins again."""
        return self.since is None


def range_of(step: Step, *, since: int | None, until: int | None, replacing: Any) -> Range:
    """Read what is asked for, before anything is opened.

    Raises:
        InvalidInputError: If the mode of the step cannot replace a range.
    """
    ranged, mode = since is not None, step.mode
    for wrong, said, hint in (
        (
            not ranged and (until, replacing) != (None, None),
            "a range needs its first version",
            "since=…, or none of them, to begin again",
        ),
        (
            ranged and until is not None and until < (since or 0),
            f"the range from {since} to {until} ends before it begins",
            "since <= until",
        ),
        (
            ranged and (not step.is_incremental or mode == "overwrite"),
            "it replaces all rows in every run",
            "leave the range out",
        ),
        (
            ranged and mode == "append" and replacing is None,
            "an append does not tell which rows it wrote",
            "replacing=… says which ones",
        ),
        (
            ranged and mode != "append" and replacing is not None,
            f"mode {mode!r} knows what to replace",
            "leave replacing out",
        ),
        (
            ranged and mode == "upsert" and until is not None,
            "rows of an old range would replace newer ones",
            "leave until out",
        ),
    ):
        if wrong:
            msg = f"step {step.name!r}: {said}"
            raise InvalidInputError(msg, hint=hint)
    return Range(since=since, until=until, replacing=replacing)


def backfill(pipeline: str, step: Step, lake: Lake, asked: Range, *, dry_run: bool) -> StepReport:
    """Run a step again; a conflict is the user's to repeat, for nothing has changed."""
    work = _plan(pipeline, step, session_of(lake), asked)
    if dry_run:
        return report_of(work, dry_run=True)
    carry.require_writable(session_of(lake))
    return once(work, lake, _writing(step, asked))


def _plan(pipeline: str, step: Step, session: Session, asked: Range) -> Work:
    stand = standing(session, pipeline, step)
    newest = session.catalog.snapshot().id
    until = newest if asked.is_all else _until(stand, asked)
    after = FROM_THE_BEGINNING if asked.since is None else asked.since - 1
    inputs = tuple(pin(session, source, after, until, newest) for source in step.reads)
    reached = newest if asked.is_all else stand.reached
    return Work(step=step, stand=stand, after=after, reached=reached, inputs=inputs)


def _until(stand: Mark, asked: Range) -> int:
    until = stand.reached if asked.until is None else asked.until
    if stand.run == 0 or until > stand.reached or (asked.since or 0) > until:
        read = "nothing" if stand.run == 0 else f"up to version {stand.reached}"
        msg = f"the step {stand.step!r} has read {read}: there is nothing to read again"
        raise SnapshotNotFoundError(msg, hint="run() reads what is new")
    return until


def _writing(step: Step, asked: Range) -> Callable[[Lake, DataFrame], Report]:
    """Return what replaces the rows that the step wrote, in one commit."""
    if not asked.is_all and step.mode != "append":
        return partial_write(step)
    if asked.is_all and step.mode != "upsert":
        return lambda lake, rows: lake.table(step.table).overwrite(
            rows, merge_schema=step.merge_schema
        )
    gone = "true" if asked.is_all else asked.replacing

    def again(lake: Lake, rows: DataFrame) -> Report:
        with lake.transaction() as change:
            table = change.table(step.table)
            table.delete(gone)
            if step.mode == "upsert":
                report = table.upsert(rows, on=step.on)
            else:
                report = table.append(rows, merge_schema=step.merge_schema)
        return report

    return again
