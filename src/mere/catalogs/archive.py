"""Keep the bounds and partition values of old files as arrays in the catalog, beside their rows.

A file's statistics never change, and ids only grow: so the arrays of all files below an id stay
true, and a first plan in a new process reads them instead of a row per file and column. Each
range of ids begins where the one before ends. The rows stay the truth: what is not in the
archive is read from them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

import pyarrow as pa

from mere.catalogs.arrays import domain
from mere.catalogs.dialect import Link, Row
from mere.catalogs.loading import Arrays, Place, load_bounds, load_counts, load_partitions
from mere.catalogs.segments import decoded, written

EVERYTHING = "range"
"""The item that says which range is there, whatever columns it has."""
_NOTHING = b""
Found: TypeAlias = tuple[int, Arrays]


def bounds_item(column: int) -> str:
    """Name the bounds of a column."""
    return f"bounds {column}"


def partition_item(key: int) -> str:
    """Name the values of a partition key, by its place."""
    return f"partition {key}"


def archived(link: Link, table: int, item: str, kind: str) -> Found:
    """Return up to which id the archive reaches, and what it holds of one item in one type.

    The ids of the files are among the arrays. What has another type is of no use: then nothing
    is there.
    """
    rows = link.rows("archive", table=table, item=item)
    end = 0
    parts: list[pa.RecordBatch] = []
    for (first, last), of_range in groupby(rows, itemgetter(0, 1)):
        if first != end:
            break
        end = last
        values = [(found, data) for _, _, name, found, data in of_range if name != EVERYTHING]
        if any(found != kind for found, _ in values):
            return 0, {}
        parts += [decoded(bytes(data)) for _, data in values]
    if not parts:
        return 0, {}
    table_ = pa.Table.from_batches(parts)
    return end, {name: table_[name].combine_chunks() for name in table_.column_names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A range of ids that is ready to be put into the archive."""

    table: int
    first: int
    end: int
    rows: tuple[Row, ...]


def prepare(
    link: Link, table: int, kinds: Mapping[int, str], keys: int, least: int
) -> Range | None:
    """Load what came since the last range, if it is at least so many files; change nothing.

    `kinds` are the types of the leaf columns, `keys` how many partition keys there are at most.
    """
    first = link.rows("archive_end", table=table)[0][0] or 0
    end = link.rows("newest")[0][4]
    place = Place(link=link, table=table, first=first, end=end)
    if place.count() < least:
        return None
    items = _items(place, kinds, keys)
    rows = tuple((table, first, end, item, kind, data) for item, kind, data in items)
    return Range(table=table, first=first, end=end, rows=rows)


def _items(place: Place, kinds: Mapping[int, str], keys: int) -> Iterator[tuple[str, str, bytes]]:
    yield EVERYTHING, EVERYTHING, _NOTHING
    for column, kind in kinds.items():
        if domain(kind) is not None:
            found = load_bounds(place, column, kind)
            counts = load_counts(place, column)
            if len(found["file"]):
                yield bounds_item(column), kind, written({**counts, **found})
    for key in range(keys):
        texts = load_partitions(place, key)
        if len(texts["file"]):
            yield partition_item(key), "varchar", written(texts)


def put(link: Link, ranges: Iterable[Range]) -> None:
    """Put ranges into the archive that still follow on what is there."""
    for one in ranges:
        if (link.rows("archive_end", table=one.table)[0][0] or 0) == one.first:
            link.insert("mere_archive", one.rows)
