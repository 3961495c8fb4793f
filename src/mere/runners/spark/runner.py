"""The runner itself: rows and tasks out to the executors, results back."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from mere.arrow import from_arrow, hold, schema_of, stream
from mere.errors import MereError
from mere.model.layout import Layout
from mere.model.schema import Schema
from mere.model.work import Result, Task
from mere.runners.spark.bins import bins
from mere.runners.spark.jobs import collect, slots
from mere.runners.spark.rows import arrow_of, cluster, columns_of
from mere.runners.spark.tasks import feed_stream, foreign, run_tasks
from mere.telling import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRunner:
    """Runs tasks on the executors of one SparkSession.

    Rows that do not come as a Spark DataFrame lie in this process already: they are written from
    here, as one stream, since sending them around would cost more than it brings.

    `progress` is told how many of Spark's tasks are done, and of how many; None draws a bar where
    standard error is a terminal, else it tells the log. An interrupt, or any other exception in
    this thread, cancels the jobs; tasks that run may write for some seconds more, files that nobody
    will list.
    """

    spark: SparkSession
    progress: Told | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The runner's short name."""
        return "spark"

    @property
    def together(self) -> int:
        """How many tasks share the memory of one process: each has one of its own."""
        return 1

    @property
    def slots(self) -> int:
        """How many tasks are done at a time."""
        return slots(self.spark)

    def schema(self, rows: Any) -> Schema:
        """Return the columns of rows that come in, without consuming them.

        A column of nothing but NULL, without a type of its own, is left out: it fits any column.

        Raises:
            UnsupportedError: If no table can hold a column of the DataFrame.
        """
        if isinstance(rows, DataFrame):
            return columns_of(rows.schema, untyped=None)
        return from_arrow(schema_of(rows), untyped=None)

    def run(self, do: Callable[[Any], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Do every task on some executor; small tasks share a Spark partition.

        Raises:
            MereError: What a task raised, after Spark's own retries.
            TaskError: If Spark itself failed.
        """
        if not tasks:
            return
        numbers = bins(tasks, slots=self.slots)
        packed = [pickle.dumps(task) for task in tasks]
        rows = pa.table({"slot": pa.array(numbers, pa.int32()), "task": packed})
        frame = self.spark.createDataFrame(rows)
        most = max(numbers) + 1
        if hasattr(frame, "repartitionById"):  # new in Spark 4.1: exactly one slot per partition
            frame = frame.repartitionById(most, "slot")
        else:
            frame = frame.repartition(most, "slot")
        yield from collect(frame, partial(run_tasks, do), told=self.progress)

    def feed(
        self, do: Callable[[Any], Result], rows: Any, *, schema: Schema, layout: Layout
    ) -> tuple[Result, ...]:
        """Hand each Spark partition of a DataFrame to `do` as one Arrow stream.

        Rows of one table partition are brought together first, in the table's order, so that
        files are few and of a good size.

        Raises:
            MereError: What `do` raised, after Spark's own retries.
            TaskError: If Spark itself failed, or the DataFrame could not be computed.
        """
        if not isinstance(rows, DataFrame):
            return (_here(do, rows),)
        target = arrow_of(rows.schema)
        clustered = cluster(rows, schema=schema, layout=layout)
        return tuple(collect(clustered, partial(feed_stream, do, target), told=self.progress))


def _here(do: Callable[[Any], Result], rows: Any) -> Result:
    try:
        return do(stream(hold(rows)))
    except MereError:
        raise
    except Exception as error:
        raise foreign(error, "beside the driver of Spark") from error
