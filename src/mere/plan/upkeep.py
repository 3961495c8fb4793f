"""Say what would do a table good, what each piece of it is worth, and what a budget has room for.

Worth is told in bytes that a reader is spared; what it costs, in bytes that are read and written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mere.model.feed import Lineage, Trace
from mere.model.history import Head
from mere.model.layout import Layout
from mere.model.policy import Policy
from mere.model.schema import Schema
from mere.model.work import Plan, Rewrite
from mere.plan.cluster import Clustering, plan_clustering
from mere.plan.overlap import mean_overlap
from mere.plan.rewrite import (
    Sizes,
    files_after,
    groups_alike,
    is_sparse,
    plan_compaction,
    useless_rows,
)

OPENING = 4 << 20
"""What it costs to open a file, in bytes that could be read meanwhile: as Spark reckons."""
_WITHIN = 0.1
"""What order is worth at least, as a share of the bytes: rows lie in none inside of the files."""
_NEW = 0.1
"""From which share of a partition's bytes on new rows are worth being put in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """One task of a plan for a table: what it costs to do, and what readers are spared by it."""

    table: str
    operation: str
    task: int
    files: int
    bytes: int
    spared: int

    @property
    def cost(self) -> int:
        """How many bytes are read and written."""
        return 2 * self.bytes

    @property
    def worth(self) -> float:
        """How many bytes are spared for each that it costs."""
        return self.spared / max(self.cost, 1)


def wanted_order(head: Head, rules: Policy) -> Clustering | None:
    """Return the order that the rows of a table shall have, None for any.

    Raises:
        UnknownColumnError: If a column does not exist.
    """
    by = rules.cluster_by
    if by is None:
        by = _order_of(head.layout, head.schema) if head.layout.sorts_later else ()
    if not by:
        return None
    wanted = Clustering(
        by=by, order=rules.cluster_order or "linear", target_mb=rules.target_mb or 128
    )
    wanted.check()
    return wanted


def _order_of(layout: Layout, schema: Schema) -> tuple[str, ...]:
    """Return the columns of a table's own order, as far as clustering makes the like of it."""
    names = {field.id: field.name for field in schema.fields}
    plain = all(not key.descending and not key.nulls_first for key in layout.order)
    known = all(key.column in names for key in layout.order)
    return tuple(names[key.column] for key in layout.order) if plain and known else ()


def plan_upkeep(head: Head, lineage: Lineage, rules: Policy, *, memory_bytes: int) -> Plan:
    """Say which files are written anew by the rules: in order where there is one, else merged.

    A second run finds nothing to do: what is in order or was merged for its size is not taken up
    again without anything new.

    Raises:
        UnknownColumnError: If a column to order by does not exist.
        InvalidInputError: If a rule cannot be meant.
    """
    sizes = _sizes(rules)
    wanted = wanted_order(head, rules)
    if not rules.compact:
        nothing = replace(lineage, traces=(), schemas=())
        return plan_compaction(head, nothing, sizes, memory_bytes=memory_bytes)
    if wanted is None:
        return plan_compaction(head, lineage, sizes, memory_bytes=memory_bytes)
    columns = wanted.columns(head.schema)
    chosen: set[int] = set()
    for traces, _ in groups_alike(lineage):
        new = _new(traces, lineage, sizes, wanted.mark(columns))
        if new and _crossing(traces, columns, rules.max_overlap):
            new = list(traces)
        chosen.update(_to_order(traces, new, lineage, sizes))
    pairs = zip(lineage.traces, lineage.schemas, strict=True)
    found = [(trace, schema) for trace, schema in pairs if trace.file.id in chosen]
    some = replace(
        lineage, traces=tuple(t for t, _ in found), schemas=tuple(schema for _, schema in found)
    )
    return plan_clustering(head, some, replace(wanted, full=True), memory_bytes=memory_bytes)


def _sizes(rules: Policy) -> Sizes:
    return Sizes(
        target_mb=rules.target_mb, min_files=rules.min_files or 2, max_deleted=rules.max_deleted
    )


def _new(traces: Sequence[Trace], lineage: Lineage, sizes: Sizes, mark: str) -> list[Trace]:
    """Return the files of a partition that are in no order yet, once they are a good part."""
    new = [trace for trace in traces if lineage.marks.get(trace.file.id) != mark]
    few = len(new) < sizes.min_files and _bytes(new) < _bytes(traces) * _NEW
    return [] if few else new


def _crossing(traces: Sequence[Trace], columns: Sequence[int], most: float | None) -> bool:
    """Tell whether files overlap more than they may."""
    if most is None:
        return False
    return (mean_overlap([trace.file for trace in traces], columns) or 0) > most


def _to_order(
    traces: Sequence[Trace], new: Sequence[Trace], lineage: Lineage, sizes: Sizes
) -> Iterable[int]:
    """Yield the files of a partition to be put in order: new ones, and small ones with them.

    These are in order; they go along when that leaves fewer files.
    """
    yield from (trace.file.id for trace in new)
    names = {trace.file.id for trace in new}
    old = [trace for trace in traces if trace.file.id not in names]
    small = [trace for trace in old if new and sizes.is_small(trace.file)]
    after = -(-_bytes([*new, *small]) // sizes.capacity[0])
    if after < len(new) + len(small):
        yield from (trace.file.id for trace in small)
    share = sizes.max_deleted or 0
    yield from (trace.file.id for trace in old if is_sparse(trace, lineage.oldest, share))


def _bytes(traces: Iterable[Trace]) -> int:
    return sum(trace.bytes for trace in traces)


def chores_of(table: str, plan: Plan, oldest: int) -> tuple[Chore, ...]:
    """Say of every task of a plan what it costs and what it is worth."""
    return tuple(
        Chore(
            table=table,
            operation=plan.report.operation,
            task=number,
            files=len(task.inputs),
            bytes=_bytes(task.inputs),
            spared=_spared(task, oldest),
        )
        for number, task in enumerate(plan.tasks)
    )


def _spared(task: Rewrite, oldest: int) -> int:
    """Return the bytes that readers are spared: files to open, rows of no use, those not asked for.

    Of files that overlap with as many others, a reader who asks for a few rows opens one more of
    each than it would have to.
    """
    files = [trace.file for trace in task.inputs]
    opened = max(len(files) - files_after(task), 0) * OPENING
    dead = sum(t.bytes * useless_rows(t, oldest) // max(t.file.rows, 1) for t in task.inputs)
    if task.sorting is None:
        return opened + dead
    overlap = mean_overlap(files, task.sorting.columns) or 0
    share = max(overlap / (1 + overlap), _WITHIN)
    return opened + dead + int(_bytes(task.inputs) * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Chores of one plan that are done as one commit."""

    chores: tuple[Chore, ...]

    @property
    def table(self) -> str:
        """The table."""
        return self.chores[0].table

    @property
    def operation(self) -> str:
        """What is done."""
        return self.chores[0].operation

    @property
    def tasks(self) -> tuple[int, ...]:
        """The numbers of the tasks, in order."""
        return tuple(sorted(chore.task for chore in self.chores))

    @property
    def files(self) -> int:
        """How many files are written anew."""
        return sum(chore.files for chore in self.chores)

    @property
    def bytes(self) -> int:
        """How many bytes are read."""
        return sum(chore.bytes for chore in self.chores)

    @property
    def cost(self) -> int:
        """How many bytes are read and written."""
        return sum(chore.cost for chore in self.chores)

    @property
    def worth(self) -> float:
        """How many bytes are spared for each that it costs."""
        return sum(chore.spared for chore in self.chores) / max(self.cost, 1)


def ranked(chores: Iterable[Chore]) -> list[Chore]:
    """Return chores with the most worth per byte first."""
    return sorted(chores, key=lambda c: (-c.worth, c.table, c.operation, c.task))


def afforded(
    chores: Iterable[Chore], budget: int | None
) -> tuple[tuple[Chore, ...], tuple[Chore, ...]]:
    """Return what a budget of bytes has room for, most valuable first, and what is left undone."""
    now: list[Chore] = []
    later: list[Chore] = []
    spent = 0
    for chore in ranked(chores):
        if budget is not None and spent + chore.cost > budget:
            later.append(chore)
        else:
            now.append(chore)
            spent += chore.cost
    return tuple(now), tuple(later)


def batched(chores: Iterable[Chore], most_bytes: int | None) -> tuple[Batch, ...]:
    """Put the chores of each plan together, up to a size if there is one; the best batch first."""
    filling: dict[tuple[str, str], list[Chore]] = {}
    done: list[Batch] = []
    for chore in ranked(chores):
        batch = filling.setdefault((chore.table, chore.operation), [])
        full = sum(c.bytes for c in batch) + chore.bytes
        if batch and most_bytes is not None and full > most_bytes:
            done.append(Batch(chores=tuple(batch)))
            batch.clear()
        batch.append(chore)
    done += [Batch(chores=tuple(batch)) for batch in filling.values()]
    return tuple(sorted(done, key=lambda b: (-b.worth, b.table, b.operation, b.tasks)))
