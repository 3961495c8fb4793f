"""Say what a scan leaves out: files by partition and bounds, row groups by their own bounds."""

from mere.model.files import DataFile, FileSet, RowGroup
from mere.model.history import Head
from mere.model.predicate import Expr
from mere.model.report import Pruning


def explain(head: Head, found: FileSet, where: Expr | None) -> Pruning:
    """Sum up a pinned scan; `found` are its files, with their row groups."""
    kept = {file.id: _kept(file, found) for file in found.files}
    known = [file for file in found.files if kept[file.id] is not None]
    return Pruning(
        table=head.full_name,
        version=head.snapshot,
        where=None if where is None else str(where),
        files_total=found.total_files,
        files_kept=len(found.files),
        pruned_by_partition=found.by_partition,
        pruned_by_bounds=found.by_bounds,
        pruned_by_row_groups=found.by_groups,
        row_groups_total=sum(len(file.row_groups) for file in known),
        row_groups_kept=sum(len(groups) for groups in kept.values() if groups is not None),
        files_without_row_groups=len(found.files) - len(known),
        bytes_total=found.total_bytes,
        bytes_left=sum(_bytes(file, kept[file.id]) for file in found.files),
        rows_total=found.total_rows,
    )


def _kept(file: DataFile, found: FileSet) -> tuple[RowGroup, ...] | None:
    """Return the row groups of a file that are left to read, None where they are not known."""
    some = found.kept.get(file.id)
    return some.groups if some is not None else file.row_groups or None


def _bytes(file: DataFile, groups: tuple[RowGroup, ...] | None) -> int:
    """Sum up what is left to read of a file; the whole of it when nothing finer is known."""
    return file.bytes if groups is None else sum(group.bytes for group in groups)
