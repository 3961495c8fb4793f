"""Tell what a verb did as callers know it: dictionaries with their keys, and more."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from mere.model.report import Report

_WAITING = "_mere/"
"""Where new files of a folder lie until they are published, in the folders that they go to."""


def canonical(report: Report, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the canonical statistics; files are named as the caller names the folder."""
    stats = {name: value for name, value in report.items() if name not in ("files", "gone")}
    if report.zorder_columns is not None:
        stats["zorder_columns"] = list(report.zorder_columns)
    if report.planned_groups is not None:
        groups = [[named(path, name) for name in group] for group in report.planned_groups]
        stats["planned_groups"] = groups
    return stats


def named(path: str | os.PathLike[str], name: str) -> str:
    """Return a file of a folder by the name that others open it by."""
    if "://" in name or name.startswith("/"):
        return name
    return f"{os.fspath(path).rstrip('/')}/{name}"


def compacted(report: Report, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `ParquetCompactor` tells."""
    names = {
        **{name: report[name] for name in ("files_before", "files_after")},
        **{name: report[name] for name in ("bytes_before", "bytes_after")},
    }
    merged = report.gone or (name for group in report.planned_groups or () for name in group)
    return canonical(report, path) | names | {"partitions_compacted": len(_folders(merged))}


def changed(report: Report, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `ParquetCRUD` tells."""
    came = (file.path.removeprefix(_WAITING) for file in report.files)
    return canonical(report, path) | {
        "partitions_affected": len(_folders((*report.gone, *came))),
        "files_read": report.files_read,
        "files_written": report.files_added,
        "files_deleted": report.files_removed,
    }


def _folders(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.rpartition("/")[0] for path in paths)


@contextmanager
def timed() -> Iterator[dict[str, Any]]:
    """Begin a result that says when the block began and ended."""
    stats: dict[str, Any] = {"start_time": datetime.now(UTC)}
    yield stats
    stats["end_time"] = datetime.now(UTC)
