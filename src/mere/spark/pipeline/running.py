"""Run steps: find what is new, hand it to the function, and commit what comes of it, once.

Between any two lines here the process may die. Nothing is kept but by the one commit, which holds
the rows and says how far the step has read; before it nothing happened, after it all did.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from mere.errors import CommitConflictError, InvalidInputError, NotFoundError
from mere.lake import Lake
from mere.model.history import FROM_THE_BEGINNING, At, Mark
from mere.model.names import split_name
from mere.model.report import Report
from mere.ops import carry
from mere.ports import Catalog, Session
from mere.scan import Scan, scan
from mere.spark.news import News, news
from mere.spark.pipeline.marking import MarkingCatalog
from mere.spark.pipeline.report import Read, StepReport
from mere.spark.pipeline.steps import Source, Step
from mere.spark.sessions import session as spark_session
from mere.table import Table

TRIES = 5
"""How often a step is begun anew when others were first; each time it reads where they stopped."""

QUIET = frozenset({"compact", "cluster", "repartition", "rewrite", "flush", "create", "rename"})
"""What happens to tables without a row coming or going."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one run of a step is about: where it stands, and its sources, pinned.

    It reads what came `after` a version, and will have `reached` another one.
    """

    step: Step
    stand: Mark
    after: int
    reached: int
    inputs: tuple[News | Scan, ...] = ()
    is_empty: bool = False

    @property
    def mark(self) -> Mark:
        """Return what its commit will say."""
        return Mark(
            step=self.stand.step, run=self.stand.run + 1, since=self.after, reached=self.reached
        )

    def make(self, spark: SparkSession) -> DataFrame:
        """Call the function.

        Raises:
            InvalidInputError: If it returns no DataFrame.
        """
        made = self.step.make(*(_frame(one, spark) for one in self.inputs))
        if not hasattr(made, "mapInArrow"):
            msg = f"step {self.step.name!r} returned {type(made).__name__}, not a Spark DataFrame"
            raise InvalidInputError(msg)
        return cast("DataFrame", made)

    def reads(self) -> tuple[Read, ...]:
        """Say what is read."""
        if self.is_empty:
            return ()
        return tuple(
            _said(source, one) for source, one in zip(self.step.reads, self.inputs, strict=True)
        )


def run(
    pipeline: str, steps: Sequence[Step], lake: Lake, *, dry_run: bool
) -> tuple[StepReport, ...]:
    """Run steps that are in order."""
    if not dry_run:
        carry.require_writable(session_of(lake))
    reports: list[StepReport] = []
    pending: set[str] = set()
    for step in steps:
        if dry_run:
            report = _planned(pipeline, step, lake, pending)
            if report.reads or report.waits_for:
                pending.add(step.table)
        else:
            report = _tried(pipeline, step, lake)
        reports.append(report)
    if not dry_run:
        for step in steps:
            _settle(pipeline, step, session_of(lake))
    return tuple(reports)


def _planned(pipeline: str, step: Step, lake: Lake, pending: set[str]) -> StepReport:
    waits = tuple(dict.fromkeys(s.table for s in step.reads if s.table in pending))
    session = session_of(lake)
    try:
        work = plan(pipeline, step, session)
    except NotFoundError:
        if not waits:  # the table will not come into being by this pipeline
            raise
        stand = standing(session, pipeline, step)
        work = Work(
            step=step, stand=stand, after=stand.reached, reached=stand.reached, is_empty=True
        )
    return replace(report_of(work, dry_run=True), waits_for=waits)


def _tried(pipeline: str, step: Step, lake: Lake) -> StepReport:
    """Run a step; when somebody else ran it meanwhile, go on from where they stopped."""
    for left in reversed(range(TRIES)):
        work = plan(pipeline, step, session_of(lake))
        try:
            return once(work, lake, partial_write(step))
        except CommitConflictError:
            if not left:
                raise
    raise AssertionError


def _settle(pipeline: str, step: Step, session: Session) -> None:
    """Let a step pass over what the others have just committed, when none of it is for it.

    Otherwise versions that are nothing to it could expire, and it could not tell that they were.
    """
    work = plan(pipeline, step, session)
    if work.is_empty and work.reached > work.stand.reached:
        with suppress(CommitConflictError):  # somebody else has run it meanwhile: all the better
            _marking(work, session).commit_nothing()


def standing(session: Session, pipeline: str, step: Step) -> Mark:
    """Return how far a step has come; run 0 before the beginning if it never ran.

    What it committed itself holds nothing that is new to it.
    """
    name = f"{pipeline}/{step.name}"
    found = (mark for mark in session.catalog.marks() if mark.step == name)
    mark = next(found, Mark(step=name, run=0, reached=FROM_THE_BEGINNING))
    own = mark.wrote == mark.reached + 1
    return replace(mark, reached=mark.reached + 1) if own else mark


def plan(pipeline: str, step: Step, session: Session) -> Work:
    """Pin what is new for a step at the newest version.

    Where it stands is asked first: what is committed in between is only seen twice, and then the
    commit is refused.
    """
    stand = standing(session, pipeline, step)
    newest = session.catalog.snapshot().id
    after = stand.reached if step.is_incremental else FROM_THE_BEGINNING
    inputs = tuple(pin(session, source, after, newest, newest) for source in step.reads)
    return Work(
        step=step,
        stand=stand,
        after=after,
        reached=newest,
        inputs=inputs,
        is_empty=not any(_is_new(session, step, one, stand) for one in inputs),
    )


def pin(session: Session, source: Source, after: int, until: int, newest: int) -> News | Scan:
    """Pin a source: what is new in it up to a version, or all of it as it is now."""
    if source.is_whole:
        return scan(session, session.catalog.head(source.table, At(version=newest)))
    head = session.catalog.head(source.table, At(version=until))
    return news(session, head, after, kind=source.changes)


def _is_new(session: Session, step: Step, one: News | Scan, stand: Mark) -> bool:
    """Tell whether a source has something for a step; whole tables count if nothing else does."""
    if isinstance(one, News):
        return bool(one.files or one.scan.found.inlined)
    if step.is_incremental:
        return False
    if stand.run == 0 or stand.reached < session.catalog.snapshots()[0].id:
        return True
    later = (r for r in session.catalog.history(one.head) if r["version"] > stand.reached)
    return any(row["operation"] not in QUIET for row in later)


def once(work: Work, lake: Lake, write: Callable[[Lake, DataFrame], Report]) -> StepReport:
    """Carry one run out: all of it and its mark, or nothing.

    Raises:
        CommitConflictError: If somebody else has made this run; nothing changed.
    """
    started = perf_counter()
    session = session_of(lake)
    marking = _marking(work, session)
    if work.is_empty:
        if work.reached > work.stand.reached:
            marking.commit_nothing()
        return report_of(work)
    spark = getattr(session.runner, "spark", None) or spark_session()
    marked = Lake(replace(session, catalog=cast("Catalog", marking))).on(spark)
    rows = work.make(spark)
    report = _made(marked, work.step, rows) if _is_missing(lake, work.step) else write(marked, rows)
    if not marking.is_done:
        marking.commit_nothing()
    if marking.is_repeated:
        msg = f"the step {work.mark.step!r} was run by somebody else meanwhile"
        raise CommitConflictError(msg, hint="nothing changed; look how far it is and go on")
    done = None if marking.wrote is None else replace(report, version=marking.wrote)
    return replace(report_of(work), report=done, seconds=perf_counter() - started)


def _marking(work: Work, session: Session) -> MarkingCatalog:
    return MarkingCatalog(session.catalog, work.mark, message=f"step {work.mark.step}")


def partial_write(step: Step) -> Callable[[Lake, DataFrame], Report]:
    """Return what writes the rows of a step as its mode says."""

    def write(lake: Lake, rows: DataFrame) -> Report:
        return write_as(step, lake.table(step.table), rows)

    return write


def write_as(step: Step, table: Table, rows: DataFrame) -> Report:
    """Write rows as the mode of a step says, in one commit."""
    if step.mode == "upsert":
        return table.upsert(rows, on=step.on)
    if step.mode == "append":
        return table.append(rows, merge_schema=step.merge_schema)
    dynamic = "dynamic" if step.mode == "partitions" else None
    return table.overwrite(rows, partitions=dynamic, merge_schema=step.merge_schema)


def session_of(lake: Lake) -> Session:
    """Return what a lake is made of."""
    return lake._session  # noqa: SLF001  a step carries verbs out in parts


def _is_missing(lake: Lake, step: Step) -> bool:
    return step.table not in lake.tables(split_name(step.table)[0])


def _made(lake: Lake, step: Step, rows: DataFrame) -> Report:
    """Make the table of a step together with its first rows."""
    namespace, _ = split_name(step.table)
    with lake.transaction() as change:
        if namespace not in change.schemas():
            change.create_schema(namespace)
        change.create_table(
            step.table, rows.schema, partition_by=step.partition_by, sort_by=step.sort_by
        )
        return write_as(step, change.table(step.table), rows)


def _frame(one: News | Scan, spark: SparkSession) -> DataFrame:
    if isinstance(one, News):
        return one.frame(spark)
    frame: DataFrame = one.to_spark(spark)
    return frame


def _said(source: Source, one: News | Scan) -> Read:
    found = one.scan.found if isinstance(one, News) else one.found
    rows = one.rows if isinstance(one, News) else one.head.rows
    return Read(
        table=source.table,
        is_whole=source.is_whole,
        versions=one.versions if isinstance(one, News) else (),
        rows=rows,
        files=len(found.files),
        bytes=sum(file.bytes for file in found.files),
    )


def report_of(work: Work, *, dry_run: bool = False) -> StepReport:
    """Say what a run is about, before anything is written."""
    return StepReport(
        step=work.step.name,
        table=work.step.table,
        mode=work.step.mode,
        since=work.after,
        reached=work.reached,
        reads=work.reads(),
        dry_run=dry_run,
    )
