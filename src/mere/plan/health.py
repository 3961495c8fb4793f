"""Judge how a table lies on its storage, from what the catalog knows: figures and advice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mere.model.clearing import Leftovers
from mere.model.feed import Lineage
from mere.model.files import DataFile
from mere.model.health import Check, Condition
from mere.model.history import Head
from mere.model.layout import order_texts
from mere.model.policy import Policy
from mere.model.work import Plan, Rewrite
from mere.plan.cluster import Clustering
from mere.plan.overlap import mean_overlap
from mere.plan.pack import alike
from mere.plan.rewrite import Sizes, useless_rows
from mere.plan.upkeep import wanted_order

SMALL_GROUP = 2 << 20
"""Row groups below it are small, where a file has several."""
_MANY = 10
"""From so many small files on, a partition counts as fragmented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the catalog knows of a table, the rules that hold for it, and what they call for."""

    head: Head
    files: tuple[DataFile, ...]
    lineage: Lineage
    rules: Policy
    plan: Plan
    inlined: int = 0
    leftovers: Leftovers = field(default_factory=Leftovers)

    @property
    def call(self) -> str:
        """How the table is spelled in a call."""
        opened = "folder" if self.head.layout.plain else "lake.table"
        return f"{opened}({self.head.full_name!r})"

    @property
    def order(self) -> Clustering | None:
        """The order that rows shall have."""
        return wanted_order(self.head, self.rules)

    @property
    def small(self) -> list[DataFile]:
        """The files below three quarters of the target."""
        sizes = Sizes(target_mb=self.rules.target_mb)
        return [file for file in self.files if sizes.is_small(file)]


def order_columns(head: Head, rules: Policy) -> tuple[int, ...]:
    """Return the columns whose order is looked at: those to cluster by, or the table's own."""
    wanted = wanted_order(head, rules)
    if wanted is not None:
        return wanted.columns(head.schema)
    return tuple(key.column for key in head.layout.order)


def checks(survey: Survey) -> tuple[Check, ...]:
    """Judge a table; always the same checks in the same order."""
    return (
        *_lying(survey),
        _row_groups(survey),
        _deleted(survey),
        _inlined(survey),
        *_ordered(survey),
        *cleared(survey.leftovers, survey.rules, survey.head.full_name),
    )


def _lying(survey: Survey) -> Iterator[Check]:
    table, small = survey.head.full_name, survey.small
    places = alike(survey.files, _place)
    mean = len(survey.files) / len(places) if places else 0
    crowded = [found for found in alike(small, _place).values() if len(found) >= _MANY]
    tasks = [] if survey.order else [task for task in survey.plan.tasks if len(task.inputs) > 1]
    advice = ""
    if tasks:
        options = f"target_mb={survey.rules.target_mb:g}, min_files={survey.rules.min_files}"
        advice = f"{survey.call}.compact({options})"
    cost = _cost(tasks)
    verdict = Condition.ACT if tasks else Condition.GOOD
    yield Check(table=table, check="files_per_partition", value=round(mean, 2), unit="files")
    for name, value, unit in (
        ("fragmented_partitions", len(crowded), "partitions"),
        ("small_files", len(small), "files"),
    ):
        meant = verdict if value else Condition.GOOD
        said = advice if value else ""
        read, write = cost if said else (0, 0)
        yield Check(
            table=table, check=name, value=value, unit=unit, verdict=meant, advice=said,
            read_bytes=read, write_bytes=write,
        )  # fmt: skip


def _place(file: DataFile) -> tuple[int | None, str]:
    return file.partition_id, repr(file.partition)


def _cost(tasks: Sequence[Rewrite]) -> tuple[int, int]:
    """Return how many bytes are read and, about, written."""
    size = sum(trace.bytes for task in tasks for trace in task.inputs)
    return size, size


def _row_groups(survey: Survey) -> Check:
    several = [file for file in survey.files if len(file.row_groups) > 1]
    small = sum(group.bytes < SMALL_GROUP for file in several for group in file.row_groups)
    every = sum(len(file.row_groups) for file in survey.files)
    told = small > every / 2
    advice = "they grow where files are written anew; parquet_row_group_size says how far"
    return Check(
        table=survey.head.full_name,
        check="small_row_groups",
        value=small,
        unit="row groups",
        verdict=Condition.NOTE if told else Condition.GOOD,
        advice=advice if told else "",
    )


def _deleted(survey: Survey) -> Check:
    rows = sum(file.rows for file in survey.files)
    gone = sum(file.deleted for file in survey.files)
    share = gone / rows if rows else 0
    oldest = survey.lineage.oldest
    tasks = [t for t in survey.plan.tasks if any(useless_rows(i, oldest) for i in t.inputs)]
    verdict, advice, cost = Condition.GOOD, "", (0, 0)
    if tasks:
        cost = _cost(tasks)
        verdict, advice = Condition.ACT, f"{survey.call}.compact()"
        if survey.order:
            advice = "lake.maintain()"
    elif share >= (survey.rules.max_deleted or 0) and gone:
        verdict = Condition.NOTE
        advice = f"older versions show them: lake.expire(), then {survey.call}.compact()"
    return Check(
        table=survey.head.full_name,
        check="deleted_rows",
        value=round(share, 4),
        unit="share",
        verdict=verdict,
        advice=advice,
        read_bytes=cost[0],
        write_bytes=cost[1],
    )


def _inlined(survey: Survey) -> Check:
    advice = "rows lie in the catalog; DuckDB writes them out: CALL ducklake_flush_inlined_data(…)"
    return Check(
        table=survey.head.full_name,
        check="inlined_rows",
        value=survey.inlined,
        unit="rows",
        verdict=Condition.NOTE if survey.inlined else Condition.GOOD,
        advice=advice if survey.inlined else "",
    )


def _ordered(survey: Survey) -> Iterator[Check]:
    head, wanted = survey.head, survey.order
    columns = order_columns(head, survey.rules)
    overlap = mean_overlap(survey.files, columns) if columns else None
    value = None if overlap is None else round(overlap, 2)
    crossing = overlap is not None and overlap > 1
    if wanted is None:
        texts = list(order_texts(head.layout, head.schema))
        advice = f"{survey.call}.cluster({texts})" if crossing else ""
        verdict = Condition.NOTE if crossing else Condition.GOOD
        cost = (head.bytes, head.bytes) if crossing else (0, 0)
        yield _overlap(survey, value, verdict, advice, cost)
        yield Check(table=head.full_name, check="unsorted_files", value=None, unit="files")
        return
    mark = wanted.mark(columns)
    new = sum(survey.lineage.marks.get(file.id) != mark for file in survey.files)
    tasks = survey.plan.tasks
    call = f"{survey.call}.cluster({list(wanted.by)}, order={wanted.order!r})"
    verdict = Condition.ACT if tasks and new else Condition.GOOD
    crossed = verdict if crossing else Condition.GOOD
    most = survey.rules.max_overlap
    full = most is not None and overlap is not None and overlap > most
    said = f"{call[:-1]}, full=True)" if full else call
    yield _overlap(survey, value, crossed, said if crossed is Condition.ACT else "", _cost(tasks))
    read, write = _cost(tasks)
    yield Check(
        table=head.full_name,
        check="unsorted_files",
        value=new,
        unit="files",
        verdict=verdict,
        advice=call if verdict is Condition.ACT else "",
        read_bytes=read,
        write_bytes=write,
    )


def _overlap(
    survey: Survey, value: float | None, verdict: Condition, advice: str, cost: tuple[int, int]
) -> Check:
    read, write = cost if advice else (0, 0)
    return Check(
        table=survey.head.full_name,
        check="overlap",
        value=value,
        unit="files",
        verdict=verdict,
        advice=advice,
        read_bytes=read,
        write_bytes=write,
    )


def cleared(found: Leftovers, rules: Policy, table: str | None) -> Iterator[Check]:
    """Judge what lies there beside the newest version."""
    held = Condition.NOTE if found.old_files else Condition.GOOD
    call = f"lake.expire({rules.expire_older_than!r})"
    advice = f"{call} lets versions go, as soon as they are old enough" if found.old_files else ""
    for name, value, unit in (
        ("old_files", found.old_files, "files"),
        ("old_bytes", found.old_bytes, "bytes"),
    ):
        yield Check(table=table, check=name, value=value, unit=unit, verdict=held, advice=advice)
    verdict, advice = Condition.GOOD, ""
    if found.scheduled:
        verdict = Condition.ACT if found.ripe else Condition.NOTE
        call = f"lake.vacuum({rules.delete_older_than!r})"
        waits = f"{found.ripe:,} of them have waited long enough"
        advice = f"{call}: {waits}" if found.ripe else f"{call}, when they have waited long enough"
    yield Check(
        table=table,
        check="scheduled_files",
        value=found.scheduled,
        unit="files",
        verdict=verdict,
        advice=advice,
    )


def versions(kept: int, going: int, rules: Policy) -> Check:
    """Judge the versions of a lake, of which some may go."""
    return Check(
        check="versions",
        value=kept,
        unit="versions",
        verdict=Condition.ACT if going else Condition.GOOD,
        advice=f"lake.expire({rules.expire_older_than!r}): {going:,} may go" if going else "",
    )
