"""Report what a changing verb did, or would do: the canonical statistics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mere.model.files import DataFile

_ALIASES = {
    "files_before": "before_file_count",
    "files_after": "after_file_count",
    "bytes_before": "before_total_bytes",
    "bytes_after": "after_total_bytes",
}
_SHOWN = ("operation", "table", "version", "dry_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Mapping[str, Any]):
    """Canonical statistics of one verb on one table: attributes, and a mapping of the same names.

    `files` are the files that were written (or would be rewritten), with rows and bounds; `gone`
    names those that ended, and `files_read` counts the ones that were looked into. `plan` says how
    rows were changed or ordered: which way was chosen, and what was planned again.
    `overlap_before` and `overlap_after` tell with how many others a file shares values of the
    `zorder_columns`.
    """

    operation: str
    table: str
    version: int | None = None
    dry_run: bool = False
    before_file_count: int = 0
    after_file_count: int = 0
    before_total_bytes: int = 0
    after_total_bytes: int = 0
    compacted_file_count: int = 0
    rewritten_bytes: int = 0
    copied_bytes: int = 0
    encoded_bytes: int = 0
    compression_codec: str | None = None
    rows_before: int = 0
    rows_after: int = 0
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files_added: int = 0
    files_removed: int = 0
    files_read: int = 0
    seconds: float = 0.0
    retries: int = 0
    zorder_columns: tuple[str, ...] | None = None
    planned_groups: tuple[tuple[str, ...], ...] | None = None
    partitions: int | None = None
    overlap_before: float | None = None
    overlap_after: float | None = None
    plan: str | None = None
    files: tuple[DataFile, ...] = ()
    gone: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Any:
        """Return a statistic by its canonical name or one of its aliases."""
        name = _ALIASES.get(key, key)
        if name not in _names(self):
            raise KeyError(key)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the canonical names that apply."""
        return (n for n in _names(self) if n not in _OPTIONAL or getattr(self, n) is not None)

    def __len__(self) -> int:
        """Count the statistics that apply."""
        return sum(1 for _ in self)

    @property
    def files_before(self) -> int:
        """Count the files before: an alias of `before_file_count`."""
        return self.before_file_count

    @property
    def files_after(self) -> int:
        """Count the files after: an alias of `after_file_count`."""
        return self.after_file_count

    @property
    def bytes_before(self) -> int:
        """Count the bytes before: an alias of `before_total_bytes`."""
        return self.before_total_bytes

    @property
    def bytes_after(self) -> int:
        """Count the bytes after: an alias of `after_total_bytes`."""
        return self.after_total_bytes

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as a plain dictionary."""
        return dict(self)

    def __str__(self) -> str:
        """Show what happened, one statistic a line, leaving out zeros."""
        done = "would be" if self.dry_run else "done"
        at = f" at version {self.version}" if self.version is not None else ""
        lines = [f"{self.operation} of {self.table} {done}{at}"]
        for name, value in self.items():
            if name not in (*_SHOWN, "files", "gone") and value:
                lines.append(f"  {name:<20} {_show(value)}")
        return "\n".join(lines)


_OPTIONAL = frozenset(
    {"zorder_columns", "planned_groups", "partitions", "overlap_before", "overlap_after", "plan"}
)


def _names(report: Report) -> tuple[str, ...]:
    return tuple(field.name for field in fields(report))


def _show(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What a scan leaves out, by what, and how much remains to be read.

    Row groups are counted in the files that remain, where the catalog knows them;
    `files_without_row_groups` are the others, which count with all of their bytes.
    """

    table: str
    version: int
    where: str | None
    files_total: int
    files_kept: int
    pruned_by_partition: int
    pruned_by_bounds: int
    pruned_by_row_groups: int
    row_groups_total: int
    row_groups_kept: int
    files_without_row_groups: int
    bytes_total: int
    bytes_left: int
    rows_total: int

    def __str__(self) -> str:
        """Show the pruning as a short text."""
        share = self.bytes_left / self.bytes_total if self.bytes_total else 0.0
        without = self.files_without_row_groups
        unknown = f", not known of {without:,}" if without else ""
        return (
            f"scan of {self.table} at version {self.version}, where {self.where or 'everything'}\n"
            f"  files       {self.files_kept:,} of {self.files_total:,} remain "
            f"({self.pruned_by_partition:,} pruned by partition, "
            f"{self.pruned_by_bounds:,} by bounds, {self.pruned_by_row_groups:,} by row groups)\n"
            f"  row groups  {self.row_groups_kept:,} of {self.row_groups_total:,} remain "
            f"in these files{unknown}\n"
            f"  bytes       {self.bytes_left:,} of {self.bytes_total:,} remain ({share:.1%})"
        )
