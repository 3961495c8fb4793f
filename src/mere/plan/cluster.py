"""Say which files are written anew in order: by one column after the other, or along a curve."""

from collections.abc import Sequence
from dataclasses import dataclass

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.feed import Lineage, Trace
from mere.model.history import Head
from mere.model.layout import MIB
from mere.model.options import ORDERS
from mere.model.schema import Schema
from mere.model.work import Plan, Rewrite, Sorting
from mere.plan.rewrite import (
    files_after,
    forecast,
    groups_alike,
    keeps_codec,
    require_positive,
    write_of,
)

_MOST_COLUMNS = 8
_UNORDERED = frozenset({"interval", "variant", "geometry"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """By what rows shall be ordered, in files of what size; `full`: also what is in order.

    Files have `target_mb` and `target_rows` at most, about; None sets no limit.
    """

    by: tuple[str, ...]
    order: str = "linear"
    target_mb: float | None = 128
    target_rows: int | None = None
    full: bool = False

    def check(self) -> None:
        """Refuse what cannot be meant, whatever the table is.

        Raises:
            InvalidInputError: If there are no columns, or too many, an unknown order, or no size.
        """
        if self.order not in ORDERS:
            msg = f"unknown order {self.order!r}; known: {', '.join(ORDERS)}"
            raise InvalidInputError(msg)
        if not self.by or len({name.casefold() for name in self.by}) < len(self.by):
            msg = f"name columns to cluster by, each once; got {list(self.by)!r}"
            raise InvalidInputError(msg)
        if len(self.by) > _MOST_COLUMNS:
            msg = f"rows can be clustered by up to {_MOST_COLUMNS} columns, got {len(self.by)}"
            raise InvalidInputError(msg, hint="each further column makes the others count less")
        require_positive(target_mb=self.target_mb, target_rows=self.target_rows)

    def columns(self, schema: Schema) -> tuple[int, ...]:
        """Return the ids of the columns.

        Raises:
            UnknownColumnError: If one does not exist; the message lists what there is.
            UnsupportedError: If the values of one have no order.
        """
        fields = [schema.field(name) for name in self.by]
        for field in fields:
            if field.children or field.type in _UNORDERED:
                msg = f"rows cannot be clustered by {field.name!r}: {field.spell()} has no order"
                raise UnsupportedError(msg)
        return tuple(field.id for field in fields)

    def mark(self, columns: Sequence[int]) -> str:
        """Spell what files are made for."""
        return f"cluster:{self.order}:{','.join(map(str, columns))}"


def plan_clustering(head: Head, lineage: Lineage, wanted: Clustering, *, memory_bytes: int) -> Plan:
    """Order the rows of each partition, over all of its files that are not in this order already.

    Raises:
        InvalidInputError: If something that was asked cannot be meant.
        UnknownColumnError: If a column does not exist.
    """
    wanted.check()
    columns = wanted.columns(head.schema)
    mark = wanted.mark(columns)
    chosen: list[tuple[list[Trace], Schema]] = []
    for traces, schema in groups_alike(lineage):
        there = {field.id for field in schema}
        new = [t for t in traces if wanted.full or lineage.marks.get(t.file.id) != mark]
        if new and there.issuperset(columns):
            chosen.append((new, schema))
    tasks = tuple(
        Rewrite(
            inputs=tuple(traces),
            write=write_of(head, schema, traces),
            oldest=lineage.oldest,
            sorting=Sorting(columns=columns, curve=wanted.order),
            rows_per_file=rows_per_file(traces, wanted.target_mb, wanted.target_rows),
            keep_codec=keeps_codec(head.layout),
            memory_bytes=memory_bytes,
            number=number,
        )
        for number, (traces, schema) in enumerate(chosen)
    )
    report = forecast("cluster", head, tasks, after=sum(map(files_after, tasks)))
    return Plan(tasks=tasks, report=report, schemas=tuple(s for _, s in chosen), mark=mark)


def rows_per_file(
    traces: Sequence[Trace], target_mb: float | None, target_rows: int | None = None
) -> int:
    """Return how many rows make files of about a size, all about as large."""
    rows = _rows(traces)
    files = 1 if target_rows is None else -(-rows // target_rows)
    if target_mb is not None:
        size = sum(trace.bytes for trace in traces)
        files = max(files, -(-size // max(int(target_mb * MIB), 1)))
    return max(1, -(-rows // max(files, 1)))


def _rows(traces: Sequence[Trace]) -> int:
    return sum(trace.file.rows for trace in traces)
