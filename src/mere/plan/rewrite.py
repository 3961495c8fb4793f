"""Say which files are written anew together: few of many small ones, or rows in order."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from mere.errors import InvalidInputError, NoFilesError
from mere.model.feed import Lineage, Trace
from mere.model.files import DataFile
from mere.model.history import Head
from mere.model.layout import MIB, Layout
from mere.model.report import Report
from mere.model.schema import Field, Schema, with_versions
from mere.model.work import Plan, Rewrite, Write
from mere.plan.pack import Weight, alike, first_fit

WHOLE = 1 << 62
"""A size that no file reaches: what is planned as one file becomes one file."""
_NEARLY_FULL = 0.75
_DELETED = 0.3
_THRESHOLD = "rewrite_delete_threshold"
_CODEC = "parquet_compression"


T = TypeVar("T")


class Sized(Protocol):
    """What a file weighs."""

    @property
    def bytes(self) -> int:
        """How large it is."""
        ...

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large files shall become, and which are small.

    Files of `target_mb` and `target_rows` are wanted, None sets no limit; in a partition with fewer
    than `min_files` small files nothing is done. Small is what is below `max_file_mb`, or three
    quarters of the target. A file is also written anew when no version shows `max_deleted` of its
    rows any more; None: as the table's option `rewrite_delete_threshold` says, or else 0.3.
    """

    target_mb: float | None = 128
    target_rows: int | None = None
    min_files: int = 2
    max_file_mb: float | None = None
    max_deleted: float | None = None

    def check(self) -> None:
        """Refuse sizes that cannot be meant.

        Raises:
            InvalidInputError: If one is not positive, or there is no target at all.
        """
        require_positive(
            target_mb=self.target_mb, target_rows=self.target_rows, max_file_mb=self.max_file_mb
        )
        if self.min_files < 2:  # noqa: PLR2004  one file cannot be merged
            msg = f"min_files must be 2 or more, got {self.min_files!r}"
            raise InvalidInputError(msg)
        if self.target_mb is None and self.target_rows is None:
            msg = "give target_mb, target_rows or both: there is no target"
            raise InvalidInputError(msg)

    @property
    def capacity(self) -> Weight:
        """What one file shall hold at most."""
        size = WHOLE if self.target_mb is None else int(self.target_mb * MIB)
        return max(size, 1), self.target_rows or WHOLE

    def is_small(self, file: Sized) -> bool:
        """Tell whether a file is worth being merged."""
        size, rows = self.capacity
        most = size * _NEARLY_FULL if self.max_file_mb is None else self.max_file_mb * MIB
        return file.bytes < min(most, size) and file.rows < rows

    @property
    def mark(self) -> str:
        """Spell what files are made for."""
        size, rows = self.capacity
        return f"size:{size}:{rows}"

    def settles(self, mark: str) -> bool:
        """Tell whether a file that was made for a mark was made for these sizes, or larger ones."""
        kind, _, rest = mark.partition(":")
        size, _, rows = rest.partition(":")
        if kind != "size" or not (size.isdecimal() and rows.isdecimal()):
            return False
        return int(size) >= self.capacity[0] and int(rows) >= self.capacity[1]


def plan_compaction(head: Head, lineage: Lineage, sizes: Sizes, *, memory_bytes: int) -> Plan:
    """Group small files of one partition and one definition into files of about the target size.

    Files near the target are left alone, and so is a file without a partner, unless a good part of
    its rows is deleted and no version needs them. What was merged for this target before is not
    merged again without anything new. Tasks are disjoint.

    Raises:
        InvalidInputError: If a size cannot be meant.
    """
    sizes.check()
    if sizes.max_deleted is None:
        said = dict(head.layout.options).get(_THRESHOLD)
        sizes = replace(sizes, max_deleted=_DELETED if said is None else float(said))
    chosen: list[tuple[list[Trace], Schema]] = []
    for traces, schema in groups_alike(lineage):
        chosen += [(group, schema) for group in _groups(traces, lineage, sizes)]
    tasks = tuple(
        Rewrite(
            inputs=tuple(group),
            write=write_of(head, schema, group),
            oldest=lineage.oldest,
            keep_codec=keeps_codec(head.layout),
            memory_bytes=memory_bytes,
            number=number,
        )
        for number, (group, schema) in enumerate(chosen)
    )
    return Plan(
        tasks=tasks,
        report=forecast("compact", head, tasks, after=len(tasks)),
        schemas=tuple(schema for _, schema in chosen),
        mark=sizes.mark,
    )


def packed(files: Sequence[T], sizes: Sizes, sized: Callable[[T], Sized]) -> list[list[T]]:
    """Put small files of one partition into groups that become one file each, if there are enough.

    A group of one is a file without a partner.
    """
    small = [file for file in files if sizes.is_small(sized(file))]
    if len(small) < sizes.min_files:
        return []
    return first_fit(small, lambda file: (sized(file).bytes, sized(file).rows), sizes.capacity)


def _groups(traces: Sequence[Trace], lineage: Lineage, sizes: Sizes) -> Iterable[list[Trace]]:
    groups = packed(traces, sizes, lambda trace: trace.file)
    merged = {trace.file.id for group in groups if len(group) > 1 for trace in group}
    for group in groups:
        marks = (lineage.marks.get(trace.file.id, "") for trace in group)
        if len(group) > 1 and not all(map(sizes.settles, marks)):
            yield group
    for trace in traces:
        if trace.file.id not in merged and is_sparse(trace, lineage.oldest, sizes.max_deleted or 0):
            yield [trace]


def is_sparse(trace: Trace, oldest: int, share: float) -> bool:
    """Tell whether such a share of a file's rows is gone for every version that is kept."""
    gone = useless_rows(trace, oldest)
    return gone > 0 and gone >= trace.file.rows * share


def useless_rows(trace: Trace, oldest: int) -> int:
    """Count the rows of a file that no version shows which is kept."""
    gone = sum(d.rows for d in trace.deletes if (d.last or d.since) <= oldest)
    return gone + sum(snapshot <= oldest for _, snapshot in trace.gone)


def groups_alike(lineage: Lineage) -> Iterable[tuple[list[Trace], Schema]]:
    """Yield files that one file can take the place of, with the oldest of their definitions."""
    places = alike(range(len(lineage.traces)), lambda at: _kind(lineage, at))
    for unsorted in places.values():
        found = sorted(unsorted, key=lambda at: lineage.traces[at].file.id)
        eldest = min(found, key=lambda at: lineage.traces[at].file.since)
        yield [lineage.traces[at] for at in found], lineage.schemas[eldest]


def _kind(lineage: Lineage, at: int) -> Hashable:
    file = lineage.traces[at].file
    return (file.partition_id, repr(file.partition), _form(lineage.schemas[at].fields))


def _form(fields: Iterable[Field]) -> Hashable:
    """Return what makes files of two definitions look different: neither names nor defaults."""
    return frozenset((field.id, field.type, _form(field.children)) for field in fields)


def write_of(head: Head, schema: Schema, traces: Sequence[Trace]) -> Write:
    """Return where rows go that stay in the partition of their files; the intent comes later."""
    path = traces[0].file.path
    inside = path.startswith(head.folder)
    folder = path[: path.rindex("/") + 1] if inside else head.folder
    layout = replace(head.layout, id=None, keys=(), order=(), target_file_bytes=WHOLE)
    written = schema if head.layout.plain else with_versions(schema)
    return Write(schema=written, layout=layout, folder=folder, intent="")


def keeps_codec(layout: Layout) -> bool:
    """Tell whether files keep the codec that they have: nobody said which they shall have."""
    return all(key != _CODEC for key, _ in layout.options)


def forecast(operation: str, head: Head, tasks: Sequence[Rewrite], *, after: int) -> Report:
    """Return what is to be expected: `after` files take the place of the inputs."""
    files = [trace.file for task in tasks for trace in task.inputs]
    size = sum(file.bytes for file in files)
    return Report(
        operation=operation,
        table=head.full_name,
        dry_run=True,
        before_file_count=head.file_count,
        after_file_count=head.file_count - len(files) + after,
        before_total_bytes=head.bytes,
        after_total_bytes=head.bytes,
        compacted_file_count=len(files),
        rewritten_bytes=size,
        rows_before=head.rows,
        rows_after=head.rows,
        files_added=after,
        files_removed=len(files),
        planned_groups=tuple(tuple(trace.file.path for trace in task.inputs) for task in tasks),
    )


def part_of(head: Head, plan: Plan, numbers: Sequence[int]) -> Plan:
    """Return a plan with some of the tasks of another, numbered anew, and its own forecast."""
    tasks = tuple(replace(plan.tasks[n], number=at) for at, n in enumerate(numbers))
    told = forecast(plan.report.operation, head, tasks, after=sum(map(files_after, tasks)))
    more = {name: getattr(plan.report, name) for name in ("zorder_columns", "overlap_before")}
    schemas = tuple(plan.schemas[n] for n in numbers)
    return replace(plan, tasks=tasks, schemas=schemas, report=replace(told, **more))


def files_after(task: Rewrite) -> int:
    """Return how many files come of a task, about."""
    if task.rows_per_file is None:
        return 1
    return -(-sum(trace.file.rows for trace in task.inputs) // task.rows_per_file)


def require_positive(**sizes: float | None) -> None:
    """Demand that sizes which are given are greater than 0.

    Raises:
        InvalidInputError: If one is not.
    """
    for name, value in sizes.items():
        if value is not None and not value > 0:
            msg = f"{name} must be greater than 0, got {value!r}"
            raise InvalidInputError(msg)


def require_files(files: Sequence[DataFile], head: Head, where: object) -> None:
    """Demand that there is something to look at.

    Raises:
        NoFilesError: If there is nothing.
    """
    if not files:
        told = "" if where is None else f" where {where}"
        msg = f"no matching Parquet files were found under {head.full_name}{told}"
        raise NoFilesError(msg)
