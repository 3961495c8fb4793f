"""Judge the row groups of files one by one, as files are judged."""

from collections.abc import Iterable, Mapping

from mere.model.expr import Expr
from mere.model.files import DataFile, Kept, RowGroup
from mere.model.layout import Layout
from mere.model.schema import Schema
from mere.plan.partitions import joined
from mere.plan.prune import Match, known_bounds, partition_knowledge, undecided, verdict
from mere.plan.spans import Facts, column_keys


class Judge:
    """Judges row groups of one head by a bound predicate; knows each partition once."""

    def __init__(self, where: Expr, schema: Schema, layouts: Mapping[int, Layout]) -> None:
        """Judge by `where`; `layouts` are those that the files were written under."""
        self._where = where
        self._schema = schema
        self._layouts = layouts
        self._keys = column_keys(schema)
        self._known: dict[tuple[object, ...], tuple[Facts, Expr]] = {}

    def kept(self, file: DataFile, groups: Iterable[RowGroup], *, total: int) -> Kept:
        """Return which of a file's groups stay; those that are not among them are left out."""
        facts, where = self._facts(file)
        stay: list[RowGroup] = []
        certain: set[int] = set()
        for group in groups:
            bounds = known_bounds(group.rows, group.bounds, self._keys)
            found = verdict(where, joined(facts, bounds))
            if found is not Match.NONE:
                stay.append(
                    RowGroup(
                        ordinal=group.ordinal,
                        rows=group.rows,
                        bytes=group.bytes,
                        raw_bytes=group.raw_bytes,
                    )
                )
            if found is Match.ALL:
                certain.add(group.ordinal)
        return Kept(total=total, groups=tuple(stay), certain=frozenset(certain))

    def _facts(self, file: DataFile) -> tuple[Facts, Expr]:
        """Return what the file's partition tells, and what is then left to be asked."""
        place = (file.partition_id, *map(repr, file.partition))
        if place not in self._known:
            facts = partition_knowledge(file, self._schema, self._layouts)
            self._known[place] = facts, undecided(self._where, facts)
        return self._known[place]
