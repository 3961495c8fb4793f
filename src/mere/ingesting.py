"""Load files of others: a method of `Lake`, which has it from here."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mere import registry
from mere.model.loading import Form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mere.model.loading import Ingested
    from mere.model.schema import Schema
    from mere.ports import Session

_MEGABYTE = 1 << 20


class Opened(Protocol):
    """What a lake is made of."""

    _session: Session


def load_files(
    self: Opened,
    src: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    table: str,
    *,
    format: str | None = None,  # noqa: A002  what users call it
    schema: Any = None,
    partition_by: Sequence[str] = (),
    sort_by: Sequence[str] = (),
    merge_schema: bool = False,
    hive: bool = True,
    changed: str = "report",
    on_error: str = "stop",
    batch_mb: float = 1024,
    options: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, str] | None = None,
    message: str | None = None,
    progress: Callable[[Ingested, int], None] | None = None,
    dry_run: bool = False,
) -> Ingested:
    """Load files of Parquet, CSV or JSON into a table, each file exactly once.

    The catalog remembers a file in the very commit that holds its rows, by its path, its size and
    its etag or time. So the call may be repeated, interrupted, or made by two at once: no file is
    left out and none is loaded twice. Files are loaded in batches, and each batch is one commit.

    Args:
        src: A folder, a file, a glob, or several of one storage: `"in/"`, `"s3://raw/*.json.gz"`.
        table: The table; it is made when it is missing.
        format: `"parquet"`, `"csv"` or `"json"` (one object per line); None tells it by the name.
        schema: The columns of a table that is made, as `create_table` takes them; by default
            those of the files.
        partition_by: The partition keys of a table that is made.
        sort_by: The order inside the files of a table that is made.
        merge_schema: Add columns that the table lacks, and widen types where needed.
        hive: Take columns from folders such as `day=2026-01-01` that the files themselves lack.
        changed: What becomes of a file that is no longer what was loaded: `"report"` leaves it,
            `"load"` adds its rows to those that are there, `"error"` stops before anything is done.
        on_error: What becomes of a file that cannot be loaded: `"stop"` raises, and the batches
            before it stay; `"skip"` leaves the file, reports it, and tries it again next time.
        batch_mb: How many megabytes of files go into one commit.
        options: How CSV is spelled: `delimiter`, `header`, `quote`, `escape`, `null`, `encoding`,
            `skip_rows`, `decimal_point`, `newlines`.
        storage_options: What the storage of the files needs; by default what the environment says.
        message: What the history says of the commits.
        progress: Called after each commit, with what was done and how many files are left.
        dry_run: Only say which files would be loaded.

    Example:
        >>> lake.ingest("in/*.csv", "market.trades", partition_by=["day(ts)"])

    Raises:
        NoFilesError: If there is no such file.
        SchemaMismatchError: If columns do not fit; the message names the file.
        InvalidInputError: If a file cannot be read, or an argument means nothing.
    """
    verb = registry.load("mere.ops.ingest")  # when it is asked for: it knows every format
    settings = verb.IngestOptions(
        form=Form.of(options or {}),
        schema=None if schema is None else registry.schema_of(schema),
        partition_by=partition_by,
        sort_by=sort_by,
        merge_schema=merge_schema,
        changed=changed,
        on_error=on_error,
        batch_bytes=int(batch_mb * _MEGABYTE),
        message=message,
        progress=progress,
    )
    store, found = _found(src, storage_options, format=format, hive=hive)
    done: Ingested = verb.ingest(
        self._session, table, found, store, options=settings, dry_run=dry_run
    )
    return done


def _found(src: Any, storage_options: Mapping[str, str] | None, **how: Any) -> Any:
    places = [src] if isinstance(src, str | os.PathLike) else list(src)
    names = [os.fspath(place) for place in places]
    open_store = partial(registry.store, storage_options=storage_options)
    return registry.load("mere.loading:find")(names, open_store, **how)


def read_files(
    src: Any,
    known: Schema,
    *,
    format: str | None = None,  # noqa: A002  what users call it
    options: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Any:
    """Return the rows of files of Parquet, CSV or JSON as a stream, in the types of a table.

    Raises:
        NoFilesError: If there is no such file.
        SchemaMismatchError: If not all files have the same columns.
        InvalidInputError: If a file cannot be read, or an argument means nothing.
    """
    store, found = _found(src, storage_options, format=format, hive=True)
    return registry.load("mere.loading:stream_files")(found, store, Form.of(options or {}), known)
