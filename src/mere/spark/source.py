"""Spark's format `mere`: tables of a lake as a source and a sink, for batches and streams.

Nothing here runs in the user's process. Spark makes these objects in Python workers beside its
driver, where the catalog is opened from the options, and sends some of them on to the executors,
which see files alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from mere import spark
from mere.model.history import At
from mere.runners.spark import columns_of
from mere.scan import scan
from mere.spark import parts
from mere.spark.options import Asked
from mere.spark.spelled import spelled
from mere.spark.types import to_spark
from mere.where import as_expr


class MereSource(DataSource):
    """The format itself; see the reference for its options."""

    _pinned: int | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name that `format` takes."""
        return "mere"

    def _asked(self) -> Asked:
        return Asked(dict(self.options))

    def schema(self) -> StructType:
        """Return the columns, and pin the version from here on: a DataFrame never changes."""
        with spelled():
            asked = self._asked()
            with asked.opened(read_only=True) as session:
                head = session.catalog.head(asked.name(), asked.at())
                self._pinned = head.snapshot
                names = asked.several("columns")
                return to_spark(head.schema.select(names) if names else head.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads one DataFrame."""
        with spelled():
            return Reader(self._asked(), tuple(schema.names), self._pinned)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  Spark's
        """Return what writes one DataFrame."""
        with spelled():
            asked = self._asked()
            begun = spark.sink.begun(asked, columns_of(schema), replaces=overwrite)
            return spark.sink.BatchWriter(asked, begun)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """Return what reads a stream of new rows."""
        with spelled():
            return spark.stream.StreamReader(self._asked(), tuple(schema.names))

    def streamWriter(  # noqa: N802  Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001  Spark's own signature
    ) -> DataSourceStreamWriter:
        """Return what writes the batches of a stream."""
        with spelled():
            return spark.sink.StreamWriter(self._asked(), columns_of(schema), replaces=overwrite)


@dataclass(slots=True)
class Reader(DataSourceReader):
    """Reads one DataFrame: planned where the catalog is, carried out on the executors.

    Spark would push its filters here, and must not: it keeps what one query made of them for all
    that stems from the same `load`, so that a frame which was filtered once would lack rows ever
    after, and so would one side of a join with itself (docs/adr/0005). The option `where` belongs
    to the frame.
    """

    asked: Asked
    names: tuple[str, ...]
    version: int | None

    def partitions(self) -> list[InputPartition]:
        """Find the files that can match `where`, and cut them into partitions."""
        with spelled(), self.asked.opened(read_only=True) as session:
            pinned = self.asked.at() if self.version is None else At(version=self.version)
            head = session.catalog.head(self.asked.name(), pinned)
            where = as_expr(self.asked.where(), head.schema)
            pinned_scan = scan(session, head, where=where, columns=self.names)
            return parts.cut_rows(pinned_scan.reading())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition."""
        with spelled():
            yield from parts.read(partition)
