"""Tell what a verb did as the seeds tell it: dictionaries with their keys, and more."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from mere.model.report import Report


def canonical(report: Report, path: str) -> dict[str, Any]:
    """Return the canonical statistics; files are named as the caller names the folder."""
    stats = {name: value for name, value in report.items() if name not in ("files", "gone")}
    if report.zorder_columns is not None:
        stats["zorder_columns"] = list(report.zorder_columns)
    if report.planned_groups is not None:
        groups = [[named(path, name) for name in group] for group in report.planned_groups]
        stats["planned_groups"] = groups
    return stats


def named(path: str, name: str) -> str:
    """Return a file of a folder by the name that others open it by."""
    return name if "://" in name or name.startswith("/") else f"{path.rstrip('/')}/{name}"


def compacted(report: Report, path: str) -> dict[str, Any]:
    """Return what `ParquetCompactor` tells."""
    names = {
        **{name: report[name] for name in ("files_before", "files_after")},
        **{name: report[name] for name in ("bytes_before", "bytes_after")},
    }
    return canonical(report, path) | names | {"partitions_compacted": len(touched(report))}


def changed(report: Report, path: str) -> dict[str, Any]:
    """Return what `ParquetCRUD` tells."""
    return canonical(report, path) | {
        "partitions_affected": len(touched(report)),
        "files_read": report.files_read,
        "files_written": report.files_added,
        "files_deleted": report.files_removed,
    }


def touched(report: Report) -> frozenset[str]:
    """Return the folders in which files came or went, or would."""
    groups = report.planned_groups or ()
    paths = [file.path for file in report.files]
    paths += [*report.gone, *(name for group in groups for name in group)]
    return frozenset(path.rpartition("/")[0] for path in paths)


@contextmanager
def timed() -> Iterator[dict[str, Any]]:
    """Begin a result that says when the block began and ended."""
    stats: dict[str, Any] = {"start_time": datetime.now(UTC)}
    yield stats
    stats["end_time"] = datetime.now(UTC)
