"""Name steps, put them in order, and run them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from mere.errors import InvalidInputError, NotFoundError
from mere.lake import Lake
from mere.model.history import Mark
from mere.model.names import join_name, split_name
from mere.spark.pipeline import running
from mere.spark.pipeline.backfilling import backfill, range_of
from mere.spark.pipeline.report import StepReport
from mere.spark.pipeline.steps import Source, Step, ordered, sources, texts

Make = TypeVar("Make", bound=Callable[..., Any])


class Pipeline:
    """Steps between tables of one lake, run in the order in which they need each other.

    What a step has read is kept in the lake under the names of the pipeline and the step: they
    are its identity, so keep them when the code changes.

    Example:
        >>> market = Pipeline("market")
        >>> @market.step("silver.trades", reads="bronze.messages", mode="upsert", on="trade_id")
        ... def trades(messages):
        ...     return messages.where("type = 'trade'").select("trade_id", "price")
        >>> for report in market.run(lake.on(spark)):
        ...     print(report)
    """

    def __init__(self, name: str, steps: Iterable[Step] = ()) -> None:
        """Begin a pipeline, with steps or without.

        Raises:
            InvalidInputError: If the name is empty or holds a slash.
        """
        if not name or "/" in name:
            msg = f"no name for a pipeline: {name!r}"
            raise InvalidInputError(msg, hint="any text without a slash")
        self.name = name
        self._steps: dict[str, Step] = {}
        for step in steps:
            self.add(step)

    def __repr__(self) -> str:
        """Show the steps in their order."""
        return f"Pipeline({self.name!r}: {', '.join(step.name for step in self.steps)})"

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps, each after those that write what it reads."""
        return ordered(tuple(self._steps.values()))

    def add(self, step: Step) -> None:
        """Take a step in.

        Raises:
            InvalidInputError: If there is one of that name, or steps would wait in a circle.
        """
        if step.name in self._steps:
            msg = f"the pipeline {self.name!r} has a step {step.name!r} already"
            raise InvalidInputError(msg, hint="give it another name=")
        ordered((*self._steps.values(), step))
        self._steps[step.name] = step

    def step(
        self,
        table: str,
        *,
        reads: str | Source | Sequence[str | Source],
        mode: str = "append",
        on: str | Sequence[str] = (),
        name: str | None = None,
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        merge_schema: bool = False,
    ) -> Callable[[Make], Make]:
        """Make a step of the function below: it gets a DataFrame per source, and returns one.

        Args:
            table: The table to write; made with the first rows if it is missing.
            reads: The sources, in the order of the function's arguments: `new("t")`, or just the
                name, for what came since the last run, `whole("t")` for all rows.
            mode: `"append"`; `"upsert"` by the key `on`; `"partitions"` to replace exactly the
                partitions that come; `"overwrite"` to replace all rows.
            on: The key of an upsert.
            name: The name of the step; by default the function's.
            partition_by: How a table is partitioned that is made.
            sort_by: How rows of a table that is made are ordered in files.
            merge_schema: Add columns that the table lacks, and widen types where needed.

        Raises:
            InvalidInputError: If the step cannot be meant; nothing was added.
        """

        def keep(make: Make) -> Make:
            step = Step(
                name=name or str(getattr(make, "__name__", "")),
                table=join_name(*split_name(table)),
                reads=sources(reads),
                make=make,
                mode=mode,
                on=texts(on),
                partition_by=texts(partition_by),
                sort_by=texts(sort_by),
                merge_schema=merge_schema,
            )
            self.add(step)
            return make

        return keep

    def run(
        self, lake: Lake, *, only: str | Sequence[str] | None = None, dry_run: bool = False
    ) -> tuple[StepReport, ...]:
        """Run the steps one after the other, each on what is new for it.

        Spark is the session that the lake works on (`lake.on(spark)`), else the one that
        `mere.spark.session` returns. A step that fails stops the run; those before it are
        committed, and the next run goes on where this one stopped. Runs of one pipeline in several
        processes are safe: what one has committed, the other does not do again.

        Args:
            lake: The lake.
            only: Names of the steps to run; None for all.
            dry_run: Only say what each step would read; nothing is changed.

        Raises:
            SnapshotNotFoundError: If versions that a step has not read have expired.
            UnsupportedError: If a source has changes that the step does not read.
        """
        chosen = self._chosen(only)
        return running.run(self.name, chosen, lake, dry_run=dry_run)

    def backfill(
        self,
        lake: Lake,
        step: str,
        *,
        since: int | None = None,
        until: int | None = None,
        replacing: Any = None,
        dry_run: bool = False,
    ) -> StepReport:
        """Run one step again over what it has read, replacing what it wrote, in one commit.

        Without a range, the step begins again: it gets all rows of its sources, and the table
        holds nothing else afterwards. With a range, it gets what came in these versions once more:
        an upsert replaces by its key, partitions are replaced as they come, and an append replaces
        the rows that match `replacing`. Where the step stands does not change by a range.

        Args:
            lake: The lake, as `run` takes it.
            step: The name of the step.
            since: The first version of the range.
            until: The last one; by default all that the step has read.
            replacing: Which rows an append wrote for the range, as `Table.delete` takes it.
            dry_run: Only say what the step would read; nothing is changed.

        Raises:
            InvalidInputError: If the mode of the step cannot replace a range.
        """
        (found,) = self._chosen(step)
        asked = range_of(found, since=since, until=until, replacing=replacing)
        return backfill(self.name, found, lake, asked, dry_run=dry_run)

    def progress(self, lake: Lake) -> dict[str, Mark]:
        """Return how far each step has come that ever ran: its run, and the version it has read."""
        known = {mark.step: mark for mark in lake._session.catalog.marks()}  # noqa: SLF001  steps are carried out in parts
        found = {step.name: known.get(f"{self.name}/{step.name}") for step in self.steps}
        return {name: mark for name, mark in found.items() if mark is not None}

    def _chosen(self, only: str | Sequence[str] | None) -> tuple[Step, ...]:
        wanted = set(self._steps) if only is None else set(texts(only))
        strange = sorted(wanted - set(self._steps))
        if strange:
            msg = f"the pipeline {self.name!r} has no step {', '.join(map(repr, strange))}"
            raise NotFoundError(msg, hint=f"it has: {', '.join(self._steps) or 'none'}")
        return tuple(step for step in self.steps if step.name in wanted)
