"""Look up row groups, and leave out those in which no row can match, many at once.

The row groups of recent files are rows of their own; those of others lie in segments, of which
only what a predicate names is decoded. They are sifted with arrays first, coarsely; the exact
judge has the last word on what is left.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from mere.catalogs.arrays import excluded
from mere.catalogs.dialect import Link
from mere.catalogs.groups import UNKNOWN, Groups, unpack
from mere.catalogs.segments import FRAME, Column, decoded
from mere.model.files import DataFile, FileSet, Kept, RowGroup
from mere.plan.groups import Judge
from mere.plan.ranges import Range

Kinds: TypeAlias = Mapping[int, str]


def groups_of(link: Link, table: int, ids: Sequence[int], kinds: Kinds) -> dict[int, Groups]:
    """Return what is known of the row groups of files, with the bounds of the given columns."""
    found = _recent(link, ids, kinds)
    for segment in _segments(link, table, [id_ for id_ in ids if id_ not in found], kinds):
        found |= segment.groups()
    return found


def known_files(link: Link, table: int, ids: Sequence[int]) -> set[int]:
    """Return the files of which row groups are known."""
    recent = {row[0] for row in link.rows("row_groups_known", table=table, ids=ids)}
    rest = [id_ for id_ in ids if id_ not in recent]
    found = (segment.files.to_pylist() for segment in _segments(link, table, rest, {}))
    return recent.union(*found)


def refined(
    link: Link,
    table: int,
    found: FileSet,
    judge: Judge,
    *,
    kinds: Kinds,
    demands: Mapping[int, Range],
) -> FileSet:
    """Leave out the files of which no row group can match, and say which groups of others can.

    `kinds` are the types of the columns that the predicate names, `demands` what it demands.
    """
    open_ = {file.id: file for file in found.files if file.id not in found.certain}
    kept = {
        id_: judge.kept(open_[id_], groups, total=len(groups))
        for id_, groups in _recent(link, list(open_), kinds).items()
        if _fits(open_[id_], groups)
    }
    rest = [id_ for id_ in open_ if id_ not in kept]
    for segment in _segments(link, table, rest, kinds):
        kept |= segment.kept(open_, judge, demands)
    gone = {id_ for id_, left in kept.items() if not left.groups}
    return replace(
        found,
        files=tuple(file for file in found.files if file.id not in gone),
        by_groups=len(gone),
        by_bounds=found.by_bounds,
        kept={id_: left for id_, left in kept.items() if left.groups},
    )


def _recent(link: Link, ids: Sequence[int], kinds: Kinds) -> dict[int, Groups]:
    rows = link.rows("row_groups_by_id", ids=ids) if ids else []
    return {file: unpack(bytes(data), kinds) for file, data in rows}


def _fits(file: DataFile, groups: Iterable[RowGroup]) -> bool:
    """Tell whether row groups are those of a file: they must have its rows."""
    return sum(group.rows for group in groups) == file.rows


def _segments(link: Link, table: int, ids: Collection[int], kinds: Kinds) -> Iterator["_Segment"]:
    """Yield the segments that hold some of the files, cut to these."""
    ordered = sorted(ids)
    hit = [
        first
        for first, last in (link.rows("segments", table=table) if ordered else ())
        if (place := bisect_left(ordered, first)) < len(ordered) and ordered[place] <= last
    ]
    if not hit:
        return
    wanted = pa.array(ordered, pa.int64())
    values: dict[int, dict[int, tuple[str, bytes]]] = {first: {} for first in hit}
    for column in (FRAME, *kinds):
        for first, _, kind, data in link.rows(
            "segment_values", table=table, column=column, ids=hit
        ):
            values[first][column] = (kind, bytes(data))
    for of_segment in values.values():
        frame = decoded(of_segment.pop(FRAME)[1])
        places = pc.indices_nonzero(pc.is_in(frame.column("file"), value_set=wanted))
        if len(places):
            columns = {
                column: Column(kind=kinds[column], stored=kind, arrays=decoded(data)).take(places)
                for column, (kind, data) in of_segment.items()
            }
            yield _Segment(frame=frame.take(places), columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """Some row groups, side by side: which they are, and the bounds of some columns."""

    frame: pa.RecordBatch
    columns: Mapping[int, Column]

    @property
    def files(self) -> pa.Array:
        """The file of each row group."""
        return self.frame.column("file")

    def groups(self) -> dict[int, Groups]:
        """Return the row groups by file."""
        found: dict[int, list[RowGroup]] = {}
        for file, group in self._one_by_one(None):
            found.setdefault(file, []).append(group)
        return {file: tuple(groups) for file, groups in found.items()}

    def kept(
        self, files: Mapping[int, DataFile], judge: Judge, demands: Mapping[int, Range]
    ) -> dict[int, Kept]:
        """Judge the row groups of the files that they belong to."""
        counted = self.frame.select(["file", "rows"])
        sums = pa.Table.from_batches([counted]).group_by("file", use_threads=False)
        totals = {
            row["file"]: row["rows_count"]
            for row in sums.aggregate([("rows", "sum"), ("rows", "count")]).to_pylist()
            if row["rows_sum"] == files[row["file"]].rows
        }
        left: dict[int, list[RowGroup]] = {file: [] for file in totals}
        for file, group in self._one_by_one(self._sifted(demands)):
            if file in left:
                left[file].append(group)
        return {
            file: judge.kept(files[file], groups, total=totals[file])
            for file, groups in left.items()
        }

    def _sifted(self, demands: Mapping[int, Range]) -> pa.Array | None:
        """Return the places of the row groups that may match; None: all."""
        out: Any = None
        for column, demand in demands.items():
            bounds = self.columns[column].columnar() if column in self.columns else None
            mask = None if bounds is None else excluded(bounds, demand)
            if mask is not None:
                out = mask if out is None else pc.or_kleene(out, mask)
        if out is None:
            return None
        return pc.indices_nonzero(pc.invert(pc.fill_null(out, False)))  # noqa: FBT003  NULL keeps

    def _one_by_one(self, places: pa.Array | None) -> Iterator[tuple[int, RowGroup]]:
        frame = self.frame if places is None else self.frame.take(places)
        columns = {
            id_: (column if places is None else column.take(places)).bounds()
            for id_, column in self.columns.items()
        }
        rows = zip(*(column.to_pylist() for column in frame.columns), strict=True)
        for i, (file, ordinal, count, size, raw) in enumerate(rows):
            bounds = {c: found[i] for c, found in columns.items() if found[i] != UNKNOWN}
            yield (
                file,
                RowGroup(ordinal=ordinal, rows=count, bytes=size, raw_bytes=raw, bounds=bounds),
            )
