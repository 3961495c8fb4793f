"""Write the rows of one partition as files: one open at a time, closed when it is full."""

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow.footer import Floats, data_file, digest_of
from mere.arrow.names import file_name
from mere.errors import MereError, StorageError
from mere.model.files import DataFile, Value
from mere.model.work import Write
from mere.parquet.encoding import Leaf, floats_of, nan_columns, ordered, writer_options
from mere.ports import Store

_MAGIC_BYTES = 4
_AFTER_BYTES = 8
"""What stands before and after the footer in a file that holds nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where files of one partition go, and what they have in common."""

    task: Write
    store: Store
    columns: tuple[Leaf, ...]
    arrow: pa.Schema
    folder: str = ""
    partition: tuple[Value | None, ...] = ()


class Outlet:
    """The files of one partition, written one after the other; used by one thread at a time."""

    def __init__(self, place: Place) -> None:
        """Open nothing yet."""
        self.place = place
        self.files: list[DataFile] = []
        self._open: _OpenFile | None = None

    def write(self, table: pa.Table) -> None:
        """Add one row group, in a file that is begun or in a new one.

        A file whose statistics cannot stand because NaN turns up is closed before it.
        """
        place = self.place
        layout = place.task.layout
        nan = nan_columns(table, place.columns)
        if self._open is not None and not nan <= self._open.nan:
            self.close()
        rows = ordered(table, place.task.stored, layout)
        if self._open is None:
            name = file_name(place.task.intent, named=not layout.plain)
            path = f"{place.task.folder}{place.folder}{name}"
            self._open = _OpenFile(place, path, rows, nan)
        self._open.write(rows)
        if self._open.size() >= layout.target_file_bytes:
            self.close()

    def close(self) -> None:
        """Finish the open file, if there is one."""
        if self._open is not None:
            found, self._open = self._open, None
            self.files.append(found.close())

    def abort(self) -> None:
        """Drop the open file, if there is one; what is finished stays."""
        if self._open is not None:
            found, self._open = self._open, None
            found.abort()


class _OpenFile:
    """One file between its first row group and its footer."""

    def __init__(self, place: Place, path: str, rows: pa.Table, nan: frozenset[int]) -> None:
        self.place = place
        self.path = path
        self.nan = nan
        self._floats: list[Mapping[int, Floats]] = []
        self._metadata: list[pq.FileMetaData] = []
        options = writer_options(rows, place.columns, place.task.layout, nan)
        self._stack = ExitStack()
        self._writer: Any = None
        try:
            self._sink: Any = self._stack.enter_context(place.store.writer(path))
            self._writer = pq.ParquetWriter(
                self._sink, place.arrow, metadata_collector=self._metadata, **options
            )
        except BaseException as error:
            self._drop(error)
            raise

    def write(self, rows: pa.Table) -> None:
        self._floats.append(floats_of(rows, self.place.columns, self.nan))
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))

    def size(self) -> int:
        return int(self._sink.tell())

    def close(self) -> DataFile:
        try:
            self._writer.close()
            size = self.size()
            self._stack.close()
        except BaseException as error:
            self._drop(error)
            raise
        task = self.place.task
        (metadata,) = self._metadata
        footer = _footer(metadata)
        return data_file(
            metadata,
            schema=task.stored,
            path=self.path,
            size=size,
            footer_bytes=len(footer),
            digest=digest_of(footer),
            partition_id=task.layout.id,
            partition=self.place.partition,
            floats=self._floats,
        )

    def abort(self) -> None:
        with suppress(MereError, OSError):
            self._drop(StorageError(f"writing {self.path!r} was given up"))

    def _drop(self, error: BaseException) -> None:
        """Leave the store's writer by an error, so that it keeps nothing."""
        if self._writer is not None:
            self._writer.is_open = False  # else it writes a footer when it is collected
        self._stack.__exit__(type(error), error, error.__traceback__)


def _footer(metadata: pq.FileMetaData) -> bytes:
    """Return the footer as it was written."""
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    return bytes(sink.getvalue().to_pybytes()[_MAGIC_BYTES:-_AFTER_BYTES])
