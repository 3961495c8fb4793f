"""Leave out the files of other partitions, by looking at each file of a table that has not many."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mere.catalogs.dialect import Link
from mere.catalogs.files import Reading, key_kind, telling_keys
from mere.model.history import Head
from mere.model.layout import Layout, PartitionKey
from mere.model.predicate import Expr
from mere.model.values import partition_value
from mere.plan.partitions import partition_facts
from mere.plan.prune import Match, verdict
from mere.plan.ranges import Range, admits
from mere.plan.spans import column_keys

_MOST_VALUES = 50_000
_MOST_VERDICTS = 5_000
_MOST_KEPT = 8
Files: TypeAlias = Mapping[str | None, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """The ids of the files that may match (None: not sifted), and how many partitions left out."""

    ids: list[int] | None = None
    by_partition: int = 0


class Values:
    """The living files of heads by the text of a partition key; the oldest are forgotten first.

    They are known as of the newest version: any later one may have moved the rows of older ones
    into other files.
    """

    def __init__(self) -> None:
        """Start with nothing known."""
        self._known: dict[tuple[int, int, int, int], Files] = {}

    def files(self, link: Link, head: Head, key: int) -> Files:
        """Return the ids by text; None are those that have no value, or NULL."""
        name = (head.table_id, head.snapshot, link.rows("newest")[0][0], key)
        found = self._known.get(name)
        if found is None:
            rows = link.rows("partition_texts", table=head.table_id, at=head.snapshot, key=key)
            texts: dict[str | None, list[int]] = {}
            for file, text in rows:
                texts.setdefault(text, []).append(file)
            if len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[name] = found = texts
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Tells which partitions can hold a matching row; `demands` are by the id of the column."""

    head: Head
    where: Expr
    kinds: Mapping[int, str]
    demands: Mapping[int, Range]

    @classmethod
    def of(cls, head: Head, where: Expr, ranges: Mapping[str, Range]) -> "Judge":
        """Judge by a predicate, and by the ranges that it demands of columns by name."""
        names = column_keys(head.schema)
        return cls(
            head=head,
            where=where,
            kinds={field.id: field.type for _, field in head.schema.leaves()},
            demands={id_: ranges[name] for id_, name in names.items() if name in ranges},
        )

    def keys(self, link: Link) -> list[tuple[int, PartitionKey]]:
        """Return the keys that the predicate says something of, and their places."""
        specs = telling_keys(link, self.head)
        if len(specs) != 1:
            return []
        (keys,) = specs.values()
        return [(place, key) for place, key in enumerate(keys) if key.column in self.demands]

    def admitted(self, key: PartitionKey, texts: Iterable[str | None]) -> list[bool] | None:
        """Tell of each distinct text of a key whether its files can match; None: too many."""
        distinct = list(texts)
        if len(distinct) > (_MOST_VALUES if key.transform == "identity" else _MOST_VERDICTS):
            return None
        kind = key_kind(key, self.kinds)
        return [
            text is None or self._may_hold(key, partition_value(kind, text)) for text in distinct
        ]

    def _may_hold(self, key: PartitionKey, value: object) -> bool:
        if key.transform == "identity":
            return admits(self.demands[key.column], value)
        facts = partition_facts(Layout(keys=(key,)), self.head.schema, (value,))
        return verdict(self.where, facts) is not Match.NONE


def parted(reading: Reading, judge: Judge, values: Values) -> Sifted:
    """Name the files whose partitions can hold a matching row."""
    left: set[int] | None = None
    for place, key in judge.keys(reading.link):
        files = values.files(reading.link, reading.head, place)
        admitted = judge.admitted(key, files)
        if admitted is not None:
            kept = zip(files.values(), admitted, strict=True)
            ids = {id_ for of_text, admits_ in kept if admits_ for id_ in of_text}
            left = ids if left is None else left & ids
    if left is None:
        return Sifted()
    return Sifted(ids=sorted(left), by_partition=reading.head.file_count - len(left))
