"""Show what the catalog knows of files, partitions and versions as Arrow tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from mere.model.files import DataFile
from mere.model.health import Check
from mere.model.history import Head, Snapshot
from mere.model.keeping import Piece
from mere.model.layout import key_names, partition_map

_PARTITION = pa.map_(pa.string(), pa.string())
_TIME = pa.timestamp("us", tz="UTC")
_FILES = pa.schema(
    [
        ("path", pa.string()),
        ("bytes", pa.int64()),
        ("rows", pa.int64()),
        ("partition", _PARTITION),
        ("since", pa.int64()),
        ("deletes", pa.int64()),
    ]
)
_ROW_GROUPS = pa.schema(
    [
        ("path", pa.string()),
        ("ordinal", pa.int32()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("raw_bytes", pa.int64()),
        ("bounds", pa.string()),
    ]
)
_PARTITIONS = pa.schema(
    [("partition", _PARTITION), ("files", pa.int64()), ("rows", pa.int64()), ("bytes", pa.int64())]
)
_HISTORY = pa.schema(
    [
        ("version", pa.int64()),
        ("at", _TIME),
        ("operation", pa.string()),
        ("message", pa.string()),
        ("author", pa.string()),
        ("rows_inserted", pa.int64()),
        ("rows_updated", pa.int64()),
        ("rows_deleted", pa.int64()),
        ("files_added", pa.int64()),
        ("files_removed", pa.int64()),
    ]
)
_SNAPSHOTS = pa.schema(
    [
        ("version", pa.int64()),
        ("at", _TIME),
        ("changes", pa.string()),
        ("author", pa.string()),
        ("message", pa.string()),
    ]
)
_HEALTH = pa.schema(
    [
        ("table", pa.string()),
        ("check", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("verdict", pa.string()),
        ("advice", pa.string()),
        ("read_bytes", pa.int64()),
        ("write_bytes", pa.int64()),
    ]
)
_WORK = pa.schema(
    [
        ("operation", pa.string()),
        ("table", pa.string()),
        ("state", pa.string()),
        ("files", pa.int64()),
        ("bytes", pa.int64()),
        ("worth", pa.float64()),
        ("seconds", pa.float64()),
        ("detail", pa.string()),
    ]
)


def _partition(head: Head, file: DataFile) -> tuple[tuple[str, str | None], ...]:
    """Pair the names of the partition keys with a file's values, as text."""
    if not file.partition:
        return ()
    names = key_names(head.layout, head.schema)
    if file.partition_id != head.layout.id or len(names) != len(file.partition):
        names = tuple(f"key{i}" for i in range(len(file.partition)))
    values = partition_map(names, file.partition)
    return tuple((name, None if v is None else str(v)) for name, v in values.items())


def files_table(head: Head, files: Iterable[DataFile]) -> pa.Table:
    """List files: path, bytes, rows, partition, since, deletes."""
    rows = [
        {
            "path": file.path,
            "bytes": file.bytes,
            "rows": file.rows,
            "partition": _partition(head, file),
            "since": file.since,
            "deletes": file.deleted,
        }
        for file in files
    ]
    return pa.Table.from_pylist(rows, schema=_FILES)


def row_groups_table(head: Head, files: Iterable[DataFile]) -> pa.Table:
    """List row groups: path, ordinal, rows, bytes, raw_bytes, bounds (as JSON by column)."""
    names = {field.id: ".".join(path) for path, field in head.schema.leaves()}
    rows = [
        {
            "path": file.path,
            "ordinal": group.ordinal,
            "rows": group.rows,
            "bytes": group.bytes,
            "raw_bytes": group.raw_bytes,
            "bounds": json.dumps(
                {
                    names[field]: [_plain(b.minimum), _plain(b.maximum), b.nulls]
                    for field, b in group.bounds.items()
                    if field in names
                }
            ),
        }
        for file in files
        for group in file.row_groups
    ]
    return pa.Table.from_pylist(rows, schema=_ROW_GROUPS)


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def partitions_table(head: Head, files: Iterable[DataFile]) -> pa.Table:
    """Sum up files, rows and bytes per partition, in the order of the partitions."""
    sums: dict[tuple[tuple[str, str | None], ...], list[int]] = {}
    for file in files:
        total = sums.setdefault(_partition(head, file), [0, 0, 0])
        for i, part in enumerate((1, file.rows - file.deleted, file.bytes)):
            total[i] += part
    ordered = sorted(sums.items(), key=lambda pair: [(v is None, v or "") for _, v in pair[0]])
    rows = [
        {"partition": partition, "files": files_, "rows": rows_, "bytes": bytes_}
        for partition, (files_, rows_, bytes_) in ordered
    ]
    return pa.Table.from_pylist(rows, schema=_PARTITIONS)


def history_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """List the versions of a table, oldest first."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=_HISTORY)


def snapshots_table(snapshots: Iterable[Snapshot]) -> pa.Table:
    """List the versions of the lake, oldest first."""
    rows = [
        {
            "version": snapshot.id,
            "at": snapshot.at,
            "changes": snapshot.changes,
            "author": snapshot.author,
            "message": snapshot.message,
        }
        for snapshot in snapshots
    ]
    return pa.Table.from_pylist(rows, schema=_SNAPSHOTS)


def health_table(checks: Iterable[Check], *, lake: bool) -> pa.Table:
    """List checks: check, value, unit, verdict, advice, bytes; of a lake, also of which table."""
    rows = [{name: getattr(check, name) for name in _HEALTH.names} for check in checks]
    found = pa.Table.from_pylist(rows, schema=_HEALTH)
    return found if lake else found.drop_columns(["table"])


def work_table(pieces: Iterable[Piece]) -> pa.Table:
    """List the work of one run: operation, table, state, files, bytes, worth, seconds, detail."""
    rows = [{name: getattr(piece, name) for name in _WORK.names} for piece in pieces]
    return pa.Table.from_pylist(rows, schema=_WORK)
