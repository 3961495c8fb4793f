"""Say which files of a folder are written anew together, before anything is opened.

Shapes that callers know, over the planner that tables use: a plan here is what `compact` would do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mere.errors import InvalidInputError, UnknownColumnError
from mere.model.layout import MIB
from mere.plan.pack import alike
from mere.plan.rewrite import Sizes, packed, require_positive


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One Parquet file: where it lies, how large it is, and how many rows it holds."""

    path: str
    size_bytes: int
    num_rows: int

    @property
    def bytes(self) -> int:
        """How large the file is, as the planner asks."""
        return self.size_bytes

    @property
    def rows(self) -> int:
        """How many rows it holds, as the planner asks."""
        return self.num_rows


def plan_compaction_groups(
    files: Sequence[FileInfo],
    target_mb_per_file: float | None,
    target_rows_per_file: int | None,
) -> dict[str, Any]:
    """Return which files become one each, which stay as they are, and what that comes to.

    Files of different folders never meet. Large files and those without a partner stay. A plan over
    files that were merged by one finds nothing to do.

    Returns:
        `groups` and `untouched` hold files, `planned_stats` the canonical statistics, which are
        also keys of the answer itself.

    Raises:
        ValueError: If a threshold is not positive, or there is none.
    """
    sizes = thresholds(target_mb_per_file, target_rows_per_file)
    groups = [
        group
        for found in alike(files, _folder).values()
        for group in packed(found, sizes, lambda file: file)
        if len(group) > 1
    ]
    return _planned(files, groups, after=len(groups))


def plan_optimize_groups(
    files: Sequence[FileInfo],
    zorder_columns: Sequence[str],
    sample_schema: Any,
    target_mb_per_file: float | None,
    target_rows_per_file: int | None,
) -> dict[str, Any]:
    """Return which files are ordered together: all of a folder; see `plan_compaction_groups`.

    Args:
        files: What there is.
        zorder_columns: The columns that rows are ordered by.
        sample_schema: The columns that there are: a schema of any library, or their names.
        target_mb_per_file: How large files become at most; None for no limit.
        target_rows_per_file: How many rows files have at most; None for no limit.

    Raises:
        ValueError: If a threshold is not positive, or a column does not exist: the message lists
            those that there are.
    """
    wanted = order_columns(zorder_columns)
    names = getattr(sample_schema, "names", None)
    known = tuple(names if isinstance(names, list) else sample_schema)
    for name in wanted:
        if name not in known:
            msg = f"unknown column {name!r}; there are: {', '.join(known)}"
            raise UnknownColumnError(msg)
    require_positive(
        target_mb_per_file=target_mb_per_file, target_rows_per_file=target_rows_per_file
    )
    groups = list(alike(files, _folder).values())
    after = sum(_parts(group, target_mb_per_file, target_rows_per_file) for group in groups)
    return _planned(files, groups, after=after, zorder_columns=list(wanted))


def thresholds(target_mb_per_file: float | None, target_rows_per_file: int | None) -> Sizes:
    """Return the sizes that files shall have.

    Raises:
        ValueError: If one is not positive, or there is none.
    """
    require_positive(
        target_mb_per_file=target_mb_per_file, target_rows_per_file=target_rows_per_file
    )
    if target_mb_per_file is None and target_rows_per_file is None:
        msg = "give target_mb_per_file, target_rows_per_file or both: there is no target"
        raise InvalidInputError(msg)
    return Sizes(target_mb=target_mb_per_file, target_rows=target_rows_per_file)


def order_columns(zorder_columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that rows are ordered by; one may be given by its name.

    Raises:
        ValueError: If there is none.
    """
    given = listed(zorder_columns)
    if not given:
        msg = "zorder_columns names no column"
        raise InvalidInputError(msg)
    return given


def listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of columns, of which one may be given alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def _folder(file: FileInfo) -> str:
    return file.path.rpartition("/")[0]


def _parts(group: Sequence[FileInfo], target_mb: float | None, target_rows: int | None) -> int:
    size, rows = sum(file.size_bytes for file in group), sum(file.num_rows for file in group)
    by_size = -(-size // max(int(target_mb * MIB), 1)) if target_mb else 1
    by_rows = -(-rows // target_rows) if target_rows else 1
    return max(by_size, by_rows, 1)


def _planned(
    files: Sequence[FileInfo], groups: Sequence[Sequence[FileInfo]], *, after: int, **more: Any
) -> dict[str, Any]:
    moved = [file for group in groups for file in group]
    size = sum(file.size_bytes for file in files)
    stats = {
        "before_file_count": len(files),
        "after_file_count": len(files) - len(moved) + after,
        "before_total_bytes": size,
        "after_total_bytes": size,
        "compacted_file_count": len(moved),
        "rewritten_bytes": sum(file.size_bytes for file in moved),
        "compression_codec": None,
        "dry_run": True,
        **more,
        "planned_groups": [[file.path for file in group] for group in groups],
    }
    chosen = {id(file) for file in moved}
    return {
        "groups": [list(group) for group in groups],
        "untouched": [file for file in files if id(file) not in chosen],
        "planned_stats": stats,
        **stats,
    }
