"""Plan over files: count what is alive, and leave out what cannot match, however many there are.

A file's row of statistics never changes and ids only grow, so what was loaded once stays true:
it is kept in memory and only new ids are loaded later. What has gone since does no harm, because
the files that survive are looked up by id at the head's snapshot.

Few files go the simple way: all rows are read and judged one by one. Of some more, those in other
partitions are left out first. Many are sifted with arrays, coarsely: by the distinct partition
values, then by the range of values that the predicate demands of each column. The exact judge has
the last word on what is left.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from mere import catalogs, plan
from mere.catalogs import inlined_places
from mere.catalogs.counting import Counts, count
from mere.catalogs.dialect import Link
from mere.catalogs.files import Reading, telling_keys
from mere.catalogs.parting import Judge, Sifted, Values, parted
from mere.model.files import FileSet
from mere.model.history import Head
from mere.model.layout import Layout
from mere.model.predicate import Expr, columns
from mere.model.schema import Schema
from mere.plan.prune import prune
from mere.plan.ranges import ranges

if TYPE_CHECKING:
    from mere.catalogs.memory import Memory

FEW = 128
"""Up to so many files the simple way is quicker."""
SOME = 4_000
"""Up to so many files, their partitions are looked at without arrays."""
ENOUGH = 500
"""When so many are left, sifting ends and the exact judge goes on."""
MOST_FILES = 5_000
"""Of more undecided files than these, a plan leaves the row groups to whoever opens them."""
BUDGET_BYTES = 1 << 30
_WITH_GROUPS = frozenset({"mere_row_group", "mere_segment"})


class Planner:
    """Counts and prunes the files of heads; safe to share between threads."""

    def __init__(
        self,
        *,
        few: int = FEW,
        some: int = SOME,
        enough: int = ENOUGH,
        budget_bytes: int = BUDGET_BYTES,
    ) -> None:
        """Start with nothing known."""
        self._few = few
        self._some = some
        self._enough = enough
        self._budget = budget_bytes
        self._memory: Memory | None = None
        self._values = Values()
        self._counts: dict[int, Counts] = {}
        self._lock = RLock()

    def counted(self, link: Link, head: Head) -> Head:
        """Return the head with the counts of what is alive."""
        table = head.table_id
        known = self._counts.get(table)
        counts = count(link, table, head.snapshot, known)
        if counts.files > self._few and (known is None or known.snapshot < counts.snapshot):
            self._counts[table] = counts
        head = replace(head, rows=counts.rows, file_count=counts.files, bytes=counts.bytes)
        return inlined_places.counted(link, head)

    def files(
        self,
        reading: Reading,
        where: Expr | None,
        *,
        bounds: bool | Collection[int],
        row_groups: bool,
    ) -> FileSet:
        """Return the files of a head that can hold a matching row."""
        head, link = reading.head, reading.link
        lying = inlined_places.places(link, head.table_id)
        sifted = Sifted() if where is None else self._sift(reading, where)
        wanted = _wanted(head.schema, where, bounds)
        found = reading.files(sifted.ids, wanted)
        files = inlined_places.without_gone(link, lying, head.snapshot, found)
        keys = telling_keys(link, head)
        layouts = {id_: Layout(id=id_, keys=found) for id_, found in keys.items()}
        pruned = prune(files, where, head.schema, layouts)
        by_partition = sifted.by_partition + pruned.by_partition
        inlined = catalogs.inlined_rows.alive(link, lying, head, where) if lying.rows else None
        left = FileSet(
            files=pruned.files,
            total_files=head.file_count,
            total_rows=head.rows,
            total_bytes=head.bytes,
            by_partition=by_partition,
            by_bounds=head.file_count - len(pruned.files) - by_partition,
            certain=pruned.certain,
            inlined=inlined,
        )
        if where is not None and (row_groups or _is_worth_it(left)):
            left = _refined(reading, left, where, layouts)
        return _described(reading, left, bounds=bool(bounds)) if row_groups else left

    def forget(self) -> None:
        """Drop what was loaded."""
        with self._lock:
            self._memory = None
            self._values.clear()
            self._counts.clear()

    def _sift(self, reading: Reading, where: Expr) -> Sifted:
        """Name the files that may match, when there are too many to look at each."""
        head = reading.head
        if head.file_count <= self._few:
            return Sifted()
        demands = ranges(where)
        if demands is None:
            return Sifted(ids=[])
        judge = Judge.of(head, where, demands)
        with self._lock:
            if head.file_count <= self._some:
                sifted = parted(reading, judge, self._values)
                if sifted.ids is not None and len(sifted.ids) <= self._enough:
                    return sifted
            if self._memory is None:
                self._memory = catalogs.memory.Memory(self._budget)
            return catalogs.sifting.Sieve(reading, judge, self._memory).sift(self._enough)


def _is_worth_it(found: FileSet) -> bool:
    return 0 < len(found.files) - len(found.certain) <= MOST_FILES


def _refined(
    reading: Reading, found: FileSet, where: Expr, layouts: Mapping[int, Layout]
) -> FileSet:
    """Go on with the row groups, where the catalog has them."""
    if not _WITH_GROUPS.issubset(reading.own):
        return found
    head = reading.head
    kinds = {field.id: field.type for _, field in head.schema.leaves()}
    return catalogs.refining.refined(
        reading.link,
        head.table_id,
        found,
        plan.groups.Judge(where, head.schema, layouts),
        kinds={id_: kinds[id_] for id_ in needed(head.schema, where)},
        demands=Judge.of(head, where, ranges(where) or {}).demands,
    )


def _described(reading: Reading, found: FileSet, *, bounds: bool) -> FileSet:
    """Add the row groups of every file, with the bounds of every column when asked for."""
    if not _WITH_GROUPS.issubset(reading.own):
        return found
    leaves = reading.head.schema.leaves() if bounds else ()
    kinds = {field.id: field.type for _, field in leaves}
    ids = [file.id for file in found.files]
    known = catalogs.refining.groups_of(reading.link, reading.head.table_id, ids, kinds)
    files = (replace(file, row_groups=known.get(file.id, ())) for file in found.files)
    return replace(found, files=tuple(files))


def _wanted(schema: Schema, where: Expr | None, bounds: bool | Collection[int]) -> list[int]:  # noqa: FBT001  as the port has it
    """Return the ids of the leaves whose bounds are to be loaded."""
    if bounds is True:
        return [field.id for _, field in schema.leaves()]
    asked = list(bounds or ())
    return asked if where is None else list(dict.fromkeys([*asked, *needed(schema, where)]))


def needed(schema: Schema, where: Expr) -> list[int]:
    """Return the ids of the leaves that a predicate may look at."""
    names = columns(where)
    roots = [field for field in schema.fields if field.name in names]
    return [leaf.id for _, leaf in Schema(fields=tuple(roots)).leaves()]
