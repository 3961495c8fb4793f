"""Send rows through a function of polars DataFrames, here or on the executors of Spark."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from mere import registry
from mere.arrow import from_arrow, hold, stream, to_arrow
from mere.errors import InvalidInputError
from mere.scan import Scan

_SAMPLE_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Transform:
    """What becomes of rows, `batch_rows` of them at a time; without a function, nothing."""

    function: Callable[[Any], Any] | None
    batch_rows: int

    def columns(self, scan: Scan) -> pa.Schema:
        """Return the columns that come out, told by a few rows."""
        if self.function is None:
            return scan.schema
        some = replace(scan, limit=min(_SAMPLE_ROWS, self.batch_rows))
        return to_arrow(from_arrow(self._called(some.to_arrow()).schema), ids=False)

    def rows(self, scan: Scan, columns: pa.Schema) -> Any:
        """Return the rows that come out: as a stream, or on Spark as a DataFrame."""
        spark = getattr(scan.session.runner, "spark", None)
        if self.function is None:
            return scan if spark is None else scan.to_spark(spark)
        if spark is None:
            batches = self.through(scan.to_batches(), columns)
            return pa.RecordBatchReader.from_batches(columns, batches)
        kinds = registry.load("mere.spark.types:to_spark")(from_arrow(columns))
        with warnings.catch_warnings():
            # Said of every pandas since 3.0, which PySpark asks for here and does not use.
            warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
            return scan.to_spark(spark).mapInArrow(partial(self.through, columns=columns), kinds)

    def through(
        self, batches: Iterable[pa.RecordBatch], columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield what comes out of these rows, as columns of these types."""
        for table in self._together(batches):
            yield from self._called(table).cast(columns).to_batches()

    def _together(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= self.batch_rows:
                yield from self._cut(held)
                held, rows = [], 0
        if held:
            yield from self._cut(held)

    def _cut(self, held: list[pa.RecordBatch]) -> Iterator[pa.Table]:
        table = pa.Table.from_batches(held)
        for start in range(0, table.num_rows, self.batch_rows):
            yield table.slice(start, self.batch_rows)

    def _called(self, table: pa.Table) -> pa.Table:
        if self.function is None:
            return table
        made = self.function(registry.load("polars").from_arrow(table))
        if made is None:
            msg = "transform_fn returned None, not rows"
            raise InvalidInputError(msg, hint="return the frame")
        return stream(hold(made)).read_all()
