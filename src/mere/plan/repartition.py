"""Say how files come to lie in other partitions: which rows move, and how many files that makes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from mere.errors import InvalidInputError
from mere.model.feed import Lineage, Trace
from mere.model.history import Head
from mere.model.layout import Layout, PartitionKey, key_texts, parse_key, refuse_transforms
from mere.model.schema import Schema
from mere.model.work import Plan, Rewrite
from mere.plan.cluster import rows_per_file
from mere.plan.pack import alike
from mere.plan.rewrite import WHOLE, forecast, groups_alike, keeps_codec, write_of

MOST_PARTITIONS = 50_000
"""More are refused: each is a file at least, and planning over so many small ones costs more than
partitions bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How many partitions some rows were seen in, and how many there may be in all."""

    seen: int
    once: int
    twice: int
    rows: int
    whole: bool

    @property
    def partitions(self) -> int:
        """Guess how many there are, from how many were seen but once or twice (A. Chao, 1984)."""
        if self.whole:
            return self.seen
        unseen = self.once * (self.once - 1) / (2 * (self.twice + 1))
        return self.seen + int(unseen)


def wanted_layout(head: Head, by: Sequence[str]) -> Layout:
    """Return the layout with other partition keys; without an id, unless they are those it has.

    Raises:
        UnknownColumnError: If a column does not exist.
        InvalidInputError: If a transform does not exist or does not fit, or a key comes twice.
    """
    keys = tuple(parse_key(text, head.schema) for text in by)
    if len(set(keys)) < len(keys):
        msg = f"a partition key comes twice: {', '.join(by)}"
        raise InvalidInputError(msg)
    if keys == head.layout.keys:
        return head.layout
    if head.layout.plain:
        refuse_transforms(keys)
    return replace(head.layout, id=None, keys=keys, told=())


def plan_repartition(
    head: Head, lineage: Lineage, layout: Layout, *, target_mb: float, memory_bytes: int
) -> Plan:
    """Spread the rows of files over the partitions of a layout; files that lie so already stay.

    Files from before a key's column came, or had another type, stay as they are. Where the new keys
    refine the old ones each old partition is a task of its own.
    """
    chosen: list[tuple[list[Trace], Schema]] = []
    for traces, schema in groups_alike(lineage):
        moving = [trace for trace in traces if not _lies_so(trace, layout)]
        if moving and _holds_keys(schema, head.schema, layout.keys):
            chosen.append((moving, schema))
    if not set(head.layout.keys) <= set(layout.keys):
        chosen = _together(chosen)
    tasks = tuple(
        Rewrite(
            inputs=tuple(traces),
            write=replace(
                write_of(head, schema, traces),
                layout=replace(layout, order=(), target_file_bytes=WHOLE),
                folder=head.folder,
            ),
            oldest=lineage.oldest,
            spread=True,
            rows_per_file=rows_per_file(traces, target_mb),
            keep_codec=keeps_codec(head.layout),
            memory_bytes=memory_bytes,
            number=number,
        )
        for number, (traces, schema) in enumerate(chosen)
    )
    report = forecast("repartition", head, tasks, after=len(tasks))
    return Plan(tasks=tasks, report=report, schemas=tuple(schema for _, schema in chosen))


def refuse_many(head: Head, layout: Layout, estimate: Estimate) -> None:
    """Refuse a number of partitions that nobody can want.

    Raises:
        InvalidInputError: If it is one; the hint says what to do instead.
    """
    found = estimate.partitions
    if found > MOST_PARTITIONS:
        keys = ", ".join(key_texts(layout, head.schema))
        msg = f"{head.full_name} by {keys} makes about {found:,} partitions for {head.rows:,} rows"
        msg += f"; the most is {MOST_PARTITIONS:,}"
        hint = "take a coarser key: month(ts) for day(ts), bucket(16, id) for id; or cluster by it"
        raise InvalidInputError(msg, hint=hint)


def _lies_so(trace: Trace, layout: Layout) -> bool:
    return layout.id == trace.file.partition_id and (layout.id is not None or not layout.keys)


def _holds_keys(schema: Schema, now: Schema, keys: Sequence[PartitionKey]) -> bool:
    then = {field.id: field.type for field in schema}
    types = {field.id: field.type for field in now}
    return all(then.get(key.column) == types.get(key.column) for key in keys)


def _together(
    chosen: Sequence[tuple[list[Trace], Schema]],
) -> list[tuple[list[Trace], Schema]]:
    """Join groups that differ only in their partition: rows of any may go to any new one."""
    groups = alike(chosen, lambda group: _form(group[1]))
    return [
        ([trace for traces, _ in found for trace in traces], _eldest(found))
        for found in groups.values()
    ]


def _form(schema: Schema) -> Hashable:
    return frozenset((field.id, field.spell()) for field in schema)


def _eldest(found: Sequence[tuple[list[Trace], Schema]]) -> Schema:
    return min(found, key=lambda group: min(trace.file.since for trace in group[0]))[1]
