"""Tell which rows went and came again in one snapshot: those were updated, or only copied.

Only ids are held, and only those that can be on both sides: rows with ids of their own in files
that came, and ranges of ids of all other files, which cost nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mere.model.feed import Feed
from mere.model.schema import Schema
from mere.plan.changes import FileChanges, meets
from mere.ports import Reading
from mere.readers.traced import Traced, open_traced
from mere.reading.versions import Numbers, Versions

_NOTHING = Schema(fields=())


@dataclass(slots=True)
class _Came:
    """The ids of the rows that came in one snapshot; of those that were copied, origins too."""

    ranges: list[tuple[int, int]] = field(default_factory=list)
    ids: list[Numbers] = field(default_factory=list)
    copied: list[tuple[Numbers, Numbers]] = field(default_factory=list)

    def has(self, row_ids: Numbers) -> NDArray[np.bool_]:
        """Tell for each id whether a row with it came."""
        found = (
            np.isin(row_ids, np.concatenate(self.ids)) if self.ids else np.zeros(len(row_ids), bool)
        )
        for first, end in self.ranges:
            found |= (row_ids >= first) & (row_ids < end)
        return found

    def went_on(self, row_ids: Numbers, origins: Numbers) -> Numbers:
        """Return the ids of rows of which the very same version came."""
        if not any(len(ids) for ids, _ in self.copied):
            return row_ids[:0]
        ids, since = (np.concatenate(side) for side in zip(*self.copied, strict=True))
        order = np.argsort(ids)
        places = order[np.minimum(np.searchsorted(ids, row_ids, sorter=order), len(ids) - 1)]
        same: NDArray[np.bool_] = (ids[places] == row_ids) & (since[places] == origins)
        return row_ids[same]


@dataclass(frozen=True, slots=True)
class Updates:
    """The ids of updated rows, and of those that only went on in other files, by snapshot."""

    found: dict[int, Numbers]
    stayed: dict[int, Numbers]

    @classmethod
    def of(
        cls,
        reading: Reading,
        feed: Feed,
        planned: Sequence[FileChanges],
        inlined: Versions | None,
    ) -> "Updates":
        """Find the updated rows of a range; only files that can hold one side of one are opened."""
        came: dict[int, _Came] = {}
        for versions in _sided(reading, feed, planned, came):
            _collect(came, feed, versions)
        if inlined is not None:
            _collect(came, feed, inlined)
        found: dict[int, list[Numbers]] = {}
        stayed: dict[int, list[Numbers]] = {}
        spans = [(snapshot, snapshot) for snapshot in came]
        for file in planned:
            if any(meets(span, spans) for span in file.went):
                traced = _opened(reading, feed, file)
                for _, versions in traced.batches():
                    _match(came, versions, found, stayed)
        if inlined is not None:
            _match(came, inlined, found, stayed)
        return cls(_joined(found), _joined(stayed))

    def among(self, snapshots: Numbers, row_ids: Numbers) -> NDArray[np.bool_]:
        """Tell for each row whether it was updated in its snapshot."""
        return _named(self.found, snapshots, row_ids)

    def copied(self, snapshots: Numbers, row_ids: Numbers) -> NDArray[np.bool_]:
        """Tell for each row whether it only went on in another file in its snapshot."""
        return _named(self.stayed, snapshots, row_ids)


def _named(ids: Mapping[int, Numbers], snapshots: Numbers, row_ids: Numbers) -> NDArray[np.bool_]:
    """Tell for each row whether it is among the ids that belong to its snapshot."""
    both = np.zeros(len(row_ids), dtype=bool)
    for snapshot in np.unique(snapshots).tolist():
        if snapshot in ids:
            here = snapshots == snapshot
            both[here] = np.isin(row_ids[here], ids[snapshot])
    return both


def _joined(parts: Mapping[int, Sequence[Numbers]]) -> dict[int, Numbers]:
    return {snapshot: np.concatenate(ids) for snapshot, ids in parts.items()}


def _sided(
    reading: Reading, feed: Feed, planned: Sequence[FileChanges], came: dict[int, _Came]
) -> Iterator[Versions]:
    """Yield the rows of files that came when others went; ranges of ids are noted at once."""
    went = [span for file in planned for span in file.went]
    if feed.inlined is not None:
        went.append((feed.since, feed.until))
    for file in planned:
        if not meets(file.came, went):
            continue
        traced = _opened(reading, feed, file)
        stored = traced.changes.trace.file
        if traced.in_one:
            first = stored.row_id_start or 0
            came.setdefault(stored.since, _Came()).ranges.append((first, first + stored.rows))
            continue
        yield from (versions for _, versions in traced.batches())


def _opened(reading: Reading, feed: Feed, file: FileChanges) -> Traced:
    return open_traced(replace(reading, where=None), feed, file, _NOTHING)


def _collect(came: dict[int, _Came], feed: Feed, versions: Versions) -> None:
    """Note the ids of the rows that came in the range."""
    for snapshot in np.unique(versions.began).tolist():
        if feed.since <= snapshot <= feed.until:
            here = versions.began == snapshot
            found = came.setdefault(snapshot, _Came())
            found.ids.append(versions.row_ids[here])
            here &= versions.copied
            found.copied.append((versions.row_ids[here], versions.origins[here]))


def _match(
    came: dict[int, _Came],
    versions: Versions,
    found: dict[int, list[Numbers]],
    stayed: dict[int, list[Numbers]],
) -> None:
    for snapshot in np.unique(versions.ended).tolist():
        if snapshot in came:
            here = versions.ended == snapshot
            ids = versions.row_ids[here]
            both = ids[came[snapshot].has(ids)]
            if len(both):
                found.setdefault(snapshot, []).append(both)
                went_on = came[snapshot].went_on(ids, versions.origins[here])
                stayed.setdefault(snapshot, []).append(went_on)
