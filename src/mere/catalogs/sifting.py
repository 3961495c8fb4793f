"""Leave out files by arrays over all of them, however many there are; see `stats`."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mere.catalogs.arrays import excluded
from mere.catalogs.files import Reading
from mere.catalogs.loading import Place
from mere.catalogs.memory import Memory
from mere.catalogs.parting import Judge, Sifted
from mere.plan.ranges import Range


class Sieve:
    """One sifting: a mask over the ids of a table, which each step narrows."""

    def __init__(self, reading: Reading, judge: Judge, memory: Memory) -> None:
        """Have the ids of all files at hand."""
        self._link = reading.link
        self._head = reading.head
        self._judge = judge
        self._memory = memory
        end = reading.link.rows("newest")[0][4]
        self._place = Place(link=reading.link, table=reading.head.table_id, first=0, end=end)
        self._shelved = "mere_archive" in reading.own
        self._ids = memory.ids(self._place)

    def sift(self, enough: int) -> Sifted:
        """Narrow by partitions, then column by column until few enough are left."""
        out, done = self._by_partitions()
        by_partition = self._living(out)
        steady = self._steady()
        for column, demand in self._judge.demands.items():
            if column in done or column not in steady:
                continue
            if out is not None and len(self._ids) - _count(out) <= enough:
                break
            mask = self._by_bounds(column, demand)
            out = out if mask is None else _either(out, mask)
        if out is None:
            return Sifted()
        left = self._ids.filter(pc.invert(pc.fill_null(out, False)))  # noqa: FBT003  NULL keeps
        return Sifted(ids=left.to_pylist(), by_partition=by_partition)

    def _by_bounds(self, column: int, demand: Range) -> pa.Array | None:
        kind = self._judge.kinds[column]
        found = self._memory.bounds(
            self._place, column, kind, counts=demand.null, shelved=self._shelved
        )
        return excluded(found, demand)

    def _steady(self) -> frozenset[int]:
        """Return the columns that always had the type they have now: only their texts compare."""
        kinds: dict[int, set[str]] = {}
        for column, kind in self._link.rows("column_types", table=self._head.table_id):
            kinds.setdefault(column, set()).add(kind)
        return frozenset(c for c, kind in self._judge.kinds.items() if kinds.get(c) == {kind})

    def _by_partitions(self) -> tuple[Any, set[int]]:
        """Leave out by the distinct values of each key; return the mask and the columns decided."""
        out: Any = None
        done: set[int] = set()
        for place, key in self._judge.keys(self._link):
            texts = self._memory.partitions(self._place, place, shelved=self._shelved)
            admitted = self._judge.admitted(key, texts.dictionary.to_pylist())
            if admitted is not None:
                out = _either(out, pc.invert(pa.array(admitted, pa.bool_())).take(texts.indices))
                if key.transform == "identity":
                    done.add(key.column)
        return out, done

    def _living(self, out: Any) -> int:
        """Count the living files that a mask leaves out."""
        if out is None:
            return 0
        if len(self._ids) != self._head.file_count:
            place = {"table": self._head.table_id, "at": self._head.snapshot}
            dead = self._link.bulk("bulk_dead", {"data_file_id": pa.int64()}, **place)
            out = pc.and_not(out, pc.is_in(self._ids, value_set=dead["data_file_id"]))
        return _count(out)


def _either(one: Any, other: Any) -> Any:
    return other if one is None else pc.or_kleene(one, other)


def _count(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)
