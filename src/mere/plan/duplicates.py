"""Say which files must be looked at together to find rows with equal keys, and by which tasks."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mere.model.files import Bounds, DataFile
from mere.model.history import Head
from mere.model.values import FLOATS
from mere.model.work import Input, Sift

TASK_ROWS = 1 << 21
TASK_BYTES = 512 << 20
MOST_BUCKETS = 512
Files = tuple[DataFile, ...]


def meeting(head: Head, files: Sequence[DataFile], on: Sequence[str]) -> tuple[Files, ...]:
    """Group files so that rows of different groups never have equal keys.

    Groups are told by the partitions of key columns, and by bounds of key columns that do not
    meet; NULL may equal NULL in any file that may hold one.
    """
    ids = [field.id for name in on if (field := head.schema.field(name)).type not in FLOATS]
    found: list[Files] = []
    for part in _by_partition(head, files, ids):
        best: tuple[Files, ...] = (part,)
        for column in ids:
            cut = _apart(part, column)
            best = cut if len(cut) > len(best) else best
        found.extend(best)
    return tuple(found)


def _by_partition(head: Head, files: Sequence[DataFile], ids: Sequence[int]) -> Iterable[Files]:
    places = [n for n, key in enumerate(head.layout.keys) if key.column in ids]
    if not places or any(file.partition_id != head.layout.id for file in files):
        return (tuple(files),) if files else ()
    parts: dict[tuple[Any, ...], list[DataFile]] = {}
    for file in files:
        parts.setdefault(tuple(file.partition[n] for n in places), []).append(file)
    return map(tuple, parts.values())


def _apart(files: Files, column: int) -> tuple[Files, ...]:
    """Cut files where the bounds of a column leave a gap; one group where they say too little."""
    known = [(file, file.bounds.get(column, Bounds())) for file in files]
    if any(bounds.minimum is None or bounds.maximum is None for _, bounds in known):
        return (files,)
    groups: list[list[DataFile]] = []
    nulls: set[int] = set()
    with suppress(TypeError):  # values without an order
        highest: Any = None
        for file, bounds in sorted(known, key=_lowest):
            if not groups or bounds.minimum > highest:
                groups.append([])
                highest = bounds.maximum
            highest = max(highest, bounds.maximum)
            groups[-1].append(file)
            if bounds.nulls != 0:
                nulls.add(len(groups) - 1)
        return _joined(groups, nulls)
    return (files,)


def _lowest(known: tuple[DataFile, Bounds]) -> Any:
    return known[1].minimum


def _joined(groups: list[list[DataFile]], nulls: set[int]) -> tuple[Files, ...]:
    """Make one group of all that may hold a NULL."""
    with_nulls = tuple(file for n in sorted(nulls) for file in groups[n])
    rest = tuple(tuple(group) for n, group in enumerate(groups) if n not in nulls)
    return (with_nulls, *rest) if with_nulls else rest


def fits(files: Iterable[DataFile]) -> bool:
    """Tell whether the keys of these files can be looked at together."""
    files = tuple(files)
    rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    return rows <= TASK_ROWS and size <= TASK_BYTES


def together(groups: Iterable[Files]) -> tuple[Files, ...]:
    """Put small groups into one task, as long as they fit."""
    dealt: list[list[DataFile]] = []
    for group in groups:
        if dealt and fits((*dealt[-1], *group)):
            dealt[-1].extend(group)
        else:
            dealt.append(list(group))
    return tuple(map(tuple, dealt))


def buckets_for(files: Iterable[DataFile]) -> int:
    """Return into how many buckets keys must be dealt for each to fit."""
    rows = sum(file.rows for file in files)
    return min(MOST_BUCKETS, 2 * (rows // TASK_ROWS + 1))


def inputs_of(files: Iterable[DataFile]) -> tuple[Input, ...]:
    """Return files as tasks take them: without what is known of their values."""
    return tuple(Input(file=replace(file, bounds={}, row_groups=())) for file in files)


def second(first: Sift, files: Iterable[DataFile], *, number: int) -> tuple[Sift, ...]:
    """Make the tasks that look at what the first ones left, bucket by bucket."""
    parts: dict[tuple[Any, ...], list[DataFile]] = {}
    for file in files:
        parts.setdefault(file.partition, []).append(replace(file, bounds={}, row_groups=()))
    bare = replace(first, inputs=(), inlined=None, write=None)
    dealt = together(tuple(part) for part in parts.values())
    return tuple(
        replace(bare, sifted=part, number=place) for place, part in enumerate(dealt, start=number)
    )
