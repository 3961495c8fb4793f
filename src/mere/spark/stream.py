"""Read a table as a stream of new rows: an offset is a version, and everything up to it was read.

The first batch holds the table as it is, unless `from_version` says where to begin. A limit counts
whole versions: a batch holds as many as it allows, and at least one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from mere.model.history import FROM_THE_BEGINNING, At, Head
from mere.ports import Session
from mere.scan import changes, scan
from mere.spark import parts
from mere.spark.news import CHANGES, require_appends, require_known
from mere.spark.options import Asked
from mere.spark.spelled import spelled


@dataclass(slots=True)
class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what came to a table since the version that was read last."""

    asked: Asked
    names: tuple[str, ...]
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse options that mean nothing, before the stream begins."""
        require_known(self._changes())
        self._limits()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        """Return where a new stream begins."""
        with spelled():
            first = self.asked.number("from_version")
            return {"version": FROM_THE_BEGINNING if first is None else first - 1}

    def latestOffset(  # noqa: N802  Spark's name
        self, start: Mapping[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        """Return the newest version to read now, as far as the limit allows."""
        with spelled(), self.asked.opened(read_only=True) as session:
            head = self._head(session)
            since = start["version"]
            later = [row for row in session.catalog.history(head) if row["version"] > since]
            if self.last is not None:
                later = [row for row in later if row["version"] <= self.last]
            if not later:
                return {"version": since}
            if since == FROM_THE_BEGINNING or isinstance(limit, ReadAllAvailable):
                return {"version": later[-1]["version"]}
            return {"version": _as_far_as(later, self._limits())}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """Return a limit when one was asked for; Spark knows none that counts versions."""
        with spelled():
            files, rows, versions = (self._limits()[key] for key in ("files", "rows", "versions"))
        if files is not None:
            return ReadMaxFiles(files)
        if rows is not None or versions is not None:
            return ReadMaxRows(rows or 1)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        """Return the newest version there is."""
        with spelled(), self.asked.opened(read_only=True) as session:
            return {"version": self._head(session).snapshot}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Read nothing that comes from now on."""
        self.last = self.reportLatestOffset()["version"]

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        """Cut what came after `start`, up to `end`, into partitions."""
        first, last = start["version"], end["version"]
        if first >= last:
            return [parts.NOTHING]
        with spelled(), self.asked.opened(read_only=True) as session:
            head = self._head(session, At(version=last))
            where = self.asked.where()
            if first == FROM_THE_BEGINNING:
                whole = scan(session, head, where=where, columns=self.names)
                return parts.cut_rows(whole.reading())
            found = changes(session, head, first + 1, where=where, columns=self.names)
            if self._changes() == "append":
                require_appends(head, found.feed)
            return parts.cut_news(found.reading, found.feed)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, on an executor."""
        with spelled():
            yield from parts.read(partition)

    def _head(self, session: Session, at: At | None = None) -> Head:
        return session.catalog.head(self.asked.name(), at or At())

    def _changes(self) -> str:
        return self.asked.given.get("changes", CHANGES[0])

    def _limits(self) -> dict[str, int | None]:
        """Return how much one batch may hold."""
        return {
            "versions": self.asked.most("max_snapshots"),
            "files": self.asked.most("max_files"),
            "rows": self.asked.most("max_rows"),
        }


def _as_far_as(later: list[Mapping[str, Any]], limits: Mapping[str, int | None]) -> int:
    """Return the last version that the limits allow; the first is always allowed."""
    held = {"versions": 0, "files": 0, "rows": 0}
    reached: int = later[0]["version"]
    for row in later:
        held["versions"] += 1
        held["files"] += row["files_added"] or 0
        held["rows"] += row["rows_inserted"] or 0
        if held["versions"] > 1 and any(
            most is not None and held[key] > most for key, most in limits.items()
        ):
            break
        reached = row["version"]
    return reached
