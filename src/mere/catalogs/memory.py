"""Keep the bounds and partition values of many files as arrays, and load only what is new."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from mere.catalogs.archive import archived, bounds_item, partition_item
from mere.catalogs.arrays import Columnar
from mere.catalogs.loading import (
    Arrays,
    Place,
    load_bounds,
    load_counts,
    load_ids,
    load_partitions,
)

Key: TypeAlias = tuple[int, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Arrays of all files of a table with ids below `end`, side by side with the ids."""

    end: int
    arrays: Arrays

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        return sum(array.nbytes for array in self.arrays.values())


class Memory:
    """What was loaded, up to a number of bytes; the least recently used goes first."""

    def __init__(self, budget_bytes: int) -> None:
        """Start empty."""
        self._budget = budget_bytes
        self._parts: dict[Key, Part] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._parts.clear()

    def ids(self, place: Place) -> pa.Array:
        """Return the ids of the table's files, of those that ended, too, in order."""
        key = (place.table, "ids", 0)
        return self._grown(key, place, lambda new: {"file": load_ids(new)})["file"]

    def bounds(
        self, place: Place, column: int, kind: str, *, counts: bool, shelved: bool
    ) -> Columnar:
        """Return the bounds of one column in all files; `shelved`: the catalog has an archive."""
        ids = self.ids(place)
        item = bounds_item(column)
        names = ("low", "high", "nan")

        def load(new: Place) -> Arrays:
            return load_bounds(new, column, kind)

        def load_more(new: Place) -> Arrays:
            return load_counts(new, column)

        source = _Source(ids=ids, item=item, kind=kind, shelved=shelved)
        arrays = self._grown(
            (place.table, kind, column), place, lambda new: source.load(new, load, names)
        )
        more: Mapping[str, pa.Array] = {}
        if counts:
            more = self._grown(
                (place.table, "counts", column),
                place,
                lambda new: source.load(new, load_more, ("nulls", "values")),
            )
        return Columnar(
            kind=kind,
            ids=ids,
            low=arrays["low"],
            high=arrays["high"],
            nan=arrays.get("nan"),
            nulls=more.get("nulls"),
            values=more.get("values"),
        )

    def partitions(self, place: Place, key: int, *, shelved: bool) -> pa.Array:
        """Return the partition texts of one key in all files.

        The texts are a dictionary array; a file without a value, or with NULL, is NULL: two
        cases that only the exact judge tells apart.
        """
        ids = self.ids(place)
        source = _Source(ids=ids, item=partition_item(key), kind="varchar", shelved=shelved)

        def load(new: Place) -> Arrays:
            found = source.load(new, lambda rest: load_partitions(rest, key), ("texts",))
            return {"texts": found["texts"].dictionary_encode()}

        return self._grown((place.table, "partition", key), place, load)["texts"]

    def _grown(
        self, key: Key, place: Place, load: Callable[[Place], Arrays]
    ) -> Mapping[str, pa.Array]:
        """Return arrays that reach to the end, loading what lies behind the ones that are there."""
        part = self._parts.pop(key, None)
        if part is None:
            part = Part(end=place.end, arrays=load(place))
        elif part.end < place.end:
            new = load(replace(place, first=part.end))
            arrays = {n: _joined(array, new[n]) for n, array in part.arrays.items()}
            part = Part(end=place.end, arrays=arrays)
        self._parts[key] = part
        self._shrink(key)
        return part.arrays

    def _shrink(self, keep: Key) -> None:
        total = sum(part.bytes for part in self._parts.values())
        for key in list(self._parts):
            if total <= self._budget:
                return
            if key != keep and key[1] != "ids":
                total -= self._parts.pop(key).bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the arrays of an item come from: the archive, and the rows behind its end."""

    ids: pa.Array
    item: str
    kind: str
    shelved: bool

    def load(self, place: Place, load: Callable[[Place], Arrays], names: tuple[str, ...]) -> Arrays:
        """Return the arrays with these names of the files of a place, NULL where missing."""
        found: Arrays = {}
        rest = place
        if self.shelved and not place.first:
            end, found = archived(place.link, place.table, self.item, self.kind)
            rest = replace(place, first=min(end, place.end))
        if rest.first < rest.end or not found:
            new = load(rest)
            found = {n: _joined(found[n], new[n]) for n in new} if found else new
        ids = self.ids
        if place.first:
            ids = ids.filter(pc.greater_equal(ids, place.first))
        kept = {name: found[name] for name in names if name in found}
        return _aligned(ids, found["file"], kept)


def _aligned(ids: pa.Array, found: pa.Array, arrays: Arrays) -> Arrays:
    """Bring arrays that belong to the ids `found` into the order of `ids`, NULL where missing."""
    if ids.equals(found):
        return arrays
    places = pc.index_in(ids, value_set=found)
    return {name: array.take(places) for name, array in arrays.items()}


def _joined(one: pa.Array, other: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(one.type):
        whole = pa.chunked_array([one, other]).unify_dictionaries()
        return whole.combine_chunks()
    return pa.concat_arrays([one, other])
