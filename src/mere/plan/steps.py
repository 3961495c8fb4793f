"""Say how much ordering is done in two steps, when a single task would hold everybody up.

First tasks deal their share of the rows out into ranges of the order, one file for each; second
ones take a range each, and order it. So every row is read twice and written twice, whatever the
number of tasks: what a shuffle does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mere.model.feed import Trace
from mere.model.files import DataFile
from mere.model.layout import Layout
from mere.model.work import Cuts, Rewrite, Sorting

STEP_BYTES = 512 << 20
"""A task with less is done in one piece, and with two steps each task has about as much."""
SLICE_BYTES = 64 << 20
MOST_STEPS = 128
"""More tasks would leave more files between the steps than their sizes are worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """One rewrite in two steps: `shares` of its inputs, and where `quantiles` cut the order."""

    task: Rewrite
    shares: tuple[tuple[Trace, ...], ...]
    quantiles: tuple[float, ...]

    @property
    def told(self) -> str:
        """Say how it is done."""
        many = f"{len(self.shares)} tasks deal rows out into {len(self.quantiles) + 1} ranges"
        return f"ordered in two steps: {many}"


def in_steps(tasks: Sequence[Rewrite], *, slots: int, together: int) -> tuple[Steps, ...]:
    """Choose the tasks that are done in two steps: large ones, among too few to go round.

    Tasks of one process, `together` as many as `slots`, share its disk and its cores: there one
    sort that spills is cheaper.
    """
    if slots <= together:
        return ()
    most = max(STEP_BYTES, sum(map(_size, tasks)) // (2 * slots))
    found = (_steps(task, slots) for task in tasks if _size(task) > most)
    return tuple(steps for steps in found if len(steps.shares) > 1 and steps.quantiles)


def _size(task: Rewrite) -> int:
    return sum(trace.bytes for trace in task.inputs)


def _rows(inputs: Sequence[Trace]) -> int:
    return sum(trace.file.rows for trace in inputs)


def _steps(task: Rewrite, slots: int) -> Steps:
    size = _size(task)
    wanted = max(-(-size // STEP_BYTES), min(-(-size // SLICE_BYTES), slots))
    count = min(wanted, MOST_STEPS, len(task.inputs))
    return Steps(task=task, shares=_shares(task.inputs, count), quantiles=_quantiles(task, count))


def _shares(inputs: Sequence[Trace], count: int) -> tuple[tuple[Trace, ...], ...]:
    """Cut inputs, in their order, into parts of about as many bytes."""
    total = max(sum(trace.bytes for trace in inputs), 1)
    parts: list[list[Trace]] = [[] for _ in range(count)]
    before = 0
    for trace in inputs:
        middle = before + trace.bytes // 2
        parts[min(middle * count // total, count - 1)].append(trace)
        before += trace.bytes
    return tuple(tuple(part) for part in parts if part)


def _quantiles(task: Rewrite, count: int) -> tuple[float, ...]:
    """Return where the order is cut: where files end, unless partitions say where they do."""
    rows, each = _rows(task.inputs), task.rows_per_file
    if task.spread or not each:
        return tuple(n / count for n in range(1, count))
    files = -(-rows // each)
    ranges = min(count, files)
    return tuple(each * (n * files // ranges) / rows for n in range(1, ranges))


def first_tasks(steps: Steps, cuts: Sequence[Cuts], sample: bytes) -> tuple[Rewrite, ...]:
    """Make the tasks that deal out the rows of one share each, with the cuts for each."""
    task = steps.task
    layout = replace(task.write.layout, compression="lz4", compression_level=None, told=())
    return tuple(
        replace(
            task,
            inputs=share,
            write=replace(task.write, layout=layout),
            sorting=task.sorting and _agreed(task.sorting, sample),
            rows_per_file=None,
            keep_codec=False,
            cuts=cut,
        )
        for share, cut in zip(steps.shares, cuts, strict=True)
    )


def second_tasks(
    steps: Steps, dealt: Sequence[Sequence[DataFile]], sample: bytes, codec: str
) -> tuple[Rewrite, ...]:
    """Make the tasks that order one range each, from the files that each share was dealt into.

    Files come in the order of the shares: so rows that are equal keep the order that they had.
    """
    task = steps.task
    ranges: dict[Any, list[Trace]] = {}
    for files in dealt:
        for file in files:
            ranges.setdefault(file.partition[0], []).append(_dealt(file, task))
    return tuple(
        replace(
            task,
            inputs=tuple(ranges[number]),
            write=replace(task.write, layout=_with_codec(task.write.layout, codec)),
            sorting=task.sorting and _agreed(task.sorting, sample),
            rows_per_file=_per_file(task, _rows(ranges[number])),
            keep_codec=False,
        )
        for number in sorted(ranges)
    )


def _dealt(file: DataFile, task: Rewrite) -> Trace:
    """Return a file between the steps as one of the partition that its rows are of.

    Where files hold no ids, nobody asks for them: any will do.
    """
    first = task.inputs[0].file
    bare = replace(
        file,
        partition_id=None if task.spread else first.partition_id,
        partition=() if task.spread else first.partition,
        row_id_start=0 if task.write.layout.plain else None,
        bounds={},
        row_groups=(),
        deletes=None,
    )
    return Trace(file=bare, deletes=(file.deletes,) if file.deletes else ())


def _agreed(sorting: Sorting, sample: bytes) -> Sorting:
    return replace(sorting, sample=sample)


def _with_codec(layout: Layout, codec: str) -> Layout:
    if not codec:
        return layout
    return replace(layout, compression=codec, compression_level=None)


def _per_file(task: Rewrite, rows: int) -> int | None:
    """Return how many rows fill the files of a range alike, as many files as all would have."""
    if task.spread or not task.rows_per_file:
        return task.rows_per_file
    files = max(1, (2 * rows + task.rows_per_file) // (2 * task.rows_per_file))
    return -(-rows // files)
