"""Say which chunks of staged rows can match rows of a file: by partitions and bounds of keys."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from mere.model.files import Bounds, DataFile
from mere.model.history import Head
from mere.model.values import INTEGERS
from mere.model.work import Staged

TELLING = frozenset({*INTEGERS, "varchar", "date", "boolean"})
"""Types of which a partition's value is spelled alike by whoever tells it."""
Span: TypeAlias = tuple[Any, Any]
"""The least and the greatest value."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """What is known of each chunk, to be compared with what is known of a file.

    `spans` are those of key columns by id, `parts` the chunks by the values of the partition keys
    at `places` of the layout `layout`. By the column `lead` chunks lie one behind the other, from
    `lows` to `highs`.
    """

    spans: tuple[Mapping[int, Span], ...]
    layout: int | None
    places: tuple[int, ...]
    parts: Mapping[tuple[Any, ...], tuple[int, ...]]
    lead: int
    lows: tuple[Any, ...]
    highs: tuple[Any, ...]

    @classmethod
    def of(cls, head: Head, staged: Staged) -> "Meeting":
        """Learn what is known of staged files."""
        ids = [head.schema.field(name).id for name in staged.on]
        spans = tuple(_spans(chunk, ids) for chunk in staged.chunks)
        places, parts = _parts(head, staged)
        lead = next(iter(ids), 0)
        known = [span[lead] for span in spans if lead in span]
        lows, highs = tuple(low for low, _ in known), tuple(high for _, high in known)
        sorted_ = len(known) == len(spans) and _grows(lows) and _grows(highs)
        ends = (lows, highs) if sorted_ else ((), ())
        return cls(spans, head.layout.id, places, parts, lead, *ends)

    def chunks(self, file: DataFile) -> tuple[int, ...]:
        """Return the numbers of the chunks that can hold a key of a file."""
        known = {id_: span for id_ in file.bounds if (span := _span(file.bounds[id_]))}
        chosen: Iterable[int] = range(len(self.spans))
        if self.places and file.partition_id == self.layout and file.partition:
            chosen = self.parts.get(tuple(file.partition[n] for n in self.places), ())
        elif self.lows and self.lead in known:
            low, high = known[self.lead]
            with suppress(TypeError):
                chosen = range(bisect_left(self.highs, low), bisect_right(self.lows, high))
        return tuple(n for n in chosen if may_share(self.spans[n], known))


def may_share(one: Mapping[int, Span], other: Mapping[int, Span]) -> bool:
    """Tell whether rows within both spans can have equal keys."""
    with suppress(TypeError):  # values without an order
        return all(
            one[id_][0] <= other[id_][1] and other[id_][0] <= one[id_][1]
            for id_ in one.keys() & other.keys()
        )
    return True


def _span(bounds: Bounds) -> Span | None:
    if bounds.minimum is None or bounds.maximum is None:
        return None
    if isinstance(bounds.minimum, float) and bounds.nan is not False:
        return None  # a NaN equals another one, and no bounds tell of it
    return bounds.minimum, bounds.maximum


def _spans(files: Sequence[DataFile], ids: Sequence[int]) -> dict[int, Span]:
    """Return between what values the keys of files lie, where all of them tell."""
    found: dict[int, Span] = {}
    for id_ in ids:
        spans = [_span(file.bounds.get(id_, Bounds())) for file in files]
        known = [span for span in spans if span is not None]
        if known and len(known) == len(spans):
            with suppress(TypeError):
                found[id_] = (min(low for low, _ in known), max(high for _, high in known))
    return found


def chunked(
    files: Sequence[DataFile], ids: Sequence[int], *, chunk_rows: int
) -> tuple[tuple[DataFile, ...], ...]:
    """Put files in the order of their keys into chunks, no key in two of them.

    Equal keys lie in files beside each other: so only these are looked at. Small files share a
    chunk. Rows count, since ordered ones take few bytes in files, and as many as ever in memory.
    """
    chunks: list[list[DataFile]] = []
    rows = 0
    before: tuple[Any, Mapping[int, Span]] | None = None
    for file in files:
        now = file.partition, _spans([file], ids)
        apart = before is None or now[0] != before[0] or not may_share(before[1], now[1])
        if apart and (not chunks or rows * 2 > chunk_rows):
            chunks.append([])
            rows = 0
        chunks[-1].append(replace(file, row_groups=()))
        rows += file.rows
        before = now
    return tuple(map(tuple, chunks))


def shares(staged: Staged, most_bytes: int) -> tuple[tuple[int, ...], ...]:
    """Put chunks that lie behind each other together, as many as fill a file."""
    found: list[list[int]] = []
    size = 0
    for number, chunk in enumerate(staged.chunks):
        if not found or size >= most_bytes:
            found.append([])
            size = 0
        found[-1].append(number)
        size += sum(file.bytes for file in chunk)
    return tuple(map(tuple, found))


def _grows(values: Sequence[Any]) -> bool:
    with suppress(TypeError):
        return all(one <= other for one, other in pairwise(values))
    return False


def _parts(
    head: Head, staged: Staged
) -> tuple[tuple[int, ...], dict[tuple[Any, ...], tuple[int, ...]]]:
    """Return which partition keys tell, and the chunks by the values of these."""
    types = {field.id: field.type for field in head.schema}
    telling = [
        (place, head.layout.keys.index(key))
        for place, key in enumerate(staged.parted)
        if key in head.layout.keys
        and (key.transform != "identity" or types.get(key.column) in TELLING)
    ]
    parts: dict[tuple[Any, ...], list[int]] = {}
    for number, chunk in enumerate(staged.chunks):
        for values in {tuple(f.partition[place] for place, _ in telling) for f in chunk}:
            parts.setdefault(values, []).append(number)
    return tuple(at for _, at in telling), {key: tuple(n) for key, n in parts.items()}
