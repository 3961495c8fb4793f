"""Say what a step reads, how it writes, and which step comes after which; nothing runs here."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from mere.errors import InvalidInputError
from mere.model.names import join_name, split_name
from mere.spark.news import require_known

MODES = ("append", "upsert", "partitions", "overwrite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table that a step reads: what is new in it, or all of it."""

    table: str
    is_whole: bool = False
    changes: str = "append"

    def __post_init__(self) -> None:
        """Refuse a word that says nothing of which changes are read."""
        require_known(self.changes)


def new(table: str, *, changes: str = "append") -> Source:
    """Read the rows that came to a table since the step ran last; in its first run, all of them.

    Args:
        table: The table.
        changes: `"append"` refuses a table in which rows went or were updated meanwhile;
            `"insert"` reads new rows and the new forms of updated ones.
    """
    return Source(table=_full(table), changes=changes)


def whole(table: str) -> Source:
    """Read all rows of a table, as it is when the step begins."""
    return Source(table=_full(table), is_whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A function from DataFrames to a DataFrame, the tables that it reads, and the one it writes.

    `mode` is one of `append`, `upsert` (by the columns `on`), `partitions` (replace exactly the
    partitions that come) and `overwrite` (replace all rows). A table that is missing is made, with
    `partition_by` and `sort_by`.
    """

    name: str
    table: str
    reads: tuple[Source, ...]
    make: Callable[..., Any]
    mode: str = "append"
    on: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    merge_schema: bool = False

    def __post_init__(self) -> None:
        """Refuse a step that cannot be meant."""
        for wrong, said, hint in (
            (self.mode not in MODES, f"unknown mode {self.mode!r}", f"one of {', '.join(MODES)}"),
            (not self.name or "/" in self.name, f"no name for a step: {self.name!r}", "no '/'"),
            (not self.reads, "it reads no table", 'reads="schema.table"'),
            ((self.mode == "upsert") != bool(self.on), "'on' belongs to mode 'upsert'", "a key"),
            (
                self.merge_schema and self.mode == "upsert",
                "'merge_schema' does not go with mode 'upsert'",
                "add the columns by table.evolve()",
            ),
            (
                any(not s.is_whole and s.table == self.table for s in self.reads),
                f"it reads what is new in {self.table}, which it writes",
                "whole(…) reads the table as it is",
            ),
        ):
            if wrong:
                msg = f"step {self.name!r}: {said}"
                raise InvalidInputError(msg, hint=hint)

    @property
    def is_incremental(self) -> bool:
        """Tell whether it reads what is new somewhere, and not only whole tables."""
        return any(not source.is_whole for source in self.reads)


def sources(reads: str | Source | Iterable[str | Source]) -> tuple[Source, ...]:
    """Read what a user gives: a name stands for what is new in the table."""
    given = [reads] if isinstance(reads, str | Source) else list(reads)
    return tuple(new(one) if isinstance(one, str) else one for one in given)


def texts(given: str | Sequence[str]) -> tuple[str, ...]:
    """Read one name or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def ordered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps so that each comes after those that write what it reads.

    Raises:
        InvalidInputError: If steps wait for each other in a circle.
    """
    writers: dict[str, list[Step]] = {}
    for step in steps:
        writers.setdefault(step.table, []).append(step)
    after = {
        step.name: [
            writer.name
            for source in step.reads
            for writer in writers.get(source.table, ())
            if writer.name != step.name
        ]
        for step in steps
    }
    by_name = {step.name: step for step in steps}
    try:
        names = tuple(TopologicalSorter(after).static_order())
    except CycleError as error:
        msg = f"steps wait for each other: {' -> '.join(error.args[1])}"
        raise InvalidInputError(msg, hint="a table is read after it was written") from error
    return tuple(by_name[name] for name in names)


def _full(table: str) -> str:
    return join_name(*split_name(table))
