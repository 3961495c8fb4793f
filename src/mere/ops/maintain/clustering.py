"""Bring the rows of a table into an order, within and across its files."""

from dataclasses import replace
from typing import Any

from mere.model.history import Head
from mere.model.report import Report
from mere.ops.maintain.moving import MoveOptions, move_rows, require_alone
from mere.plan.cluster import Clustering, plan_clustering
from mere.plan.overlap import mean_overlap
from mere.plan.rewrite import require_files
from mere.ports import Session
from mere.where import as_expr


def cluster(
    session: Session, name: str, *, wanted: Clustering, where: Any, options: MoveOptions
) -> Report:
    """Order the rows of a table; see `Table.cluster`.

    Raises:
        InvalidInputError: If something that was asked cannot be meant; nothing was read.
        NoFilesError: If no file matches.
    """
    wanted.check()
    memory_bytes = options.share(session)
    require_alone(session)
    head = session.catalog.head(name)
    columns = wanted.columns(head.schema)
    expr = as_expr(where, head.schema)
    found = session.catalog.files(head, expr, bounds=columns).files
    require_files(found, head, where)
    lineage = session.catalog.lineage(head, found)
    plan = plan_clustering(head, lineage, wanted, memory_bytes=memory_bytes)
    told = replace(
        plan.report,
        zorder_columns=tuple(head.schema.field(name).name for name in wanted.by),
        overlap_before=mean_overlap(found, columns),
    )
    report = move_rows(session, head, replace(plan, report=told), options)
    return replace(report, overlap_after=_after(session, report, head, columns, where))


def _after(
    session: Session, report: Report, head: Head, columns: tuple[int, ...], where: Any
) -> float | None:
    """Return how much files overlap now; a dry run does not know."""
    if report.dry_run:
        return None
    if not report.files_added:
        return report.overlap_before
    now = session.catalog.head(head.full_name)
    expr = as_expr(where, now.schema)
    return mean_overlap(session.catalog.files(now, expr, bounds=columns).files, columns)
