"""Read which rows of a file are deleted, and keep the living ones of a snapshot."""

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mere.errors import CorruptionError
from mere.model.files import DataFile, DeleteFile
from mere.model.schema import SNAPSHOT_ID
from mere.ports import Store
from mere.reading.footers import naming
from mere.reading.forms import Forms, special
from mere.reading.remembering import Recent
from mere.reading.visible import reaches_beyond

POSITION_ID = 2147483645
_RECENT_BYTES = 64 << 20


class Deleted(NamedTuple):
    """The positions in a delete file and, where it says so, the snapshot that took each."""

    positions: pa.ChunkedArray
    since: pa.ChunkedArray | None


def _bytes(found: Deleted) -> int:
    return _EACH_BYTES + sum(int(column.nbytes) for column in found if column is not None)


_EACH_BYTES = 1 << 10
_RECENT: Recent[Deleted] = Recent(_RECENT_BYTES, _bytes)
_FORMS = Forms()


def gone(store: Store, file: DataFile, snapshot: int | None) -> pa.ChunkedArray | None:
    """Return the positions of the file's rows that are deleted as of the snapshot.

    Raises:
        CorruptionError: If the delete file is missing, damaged, or is none.
    """
    listed = [_listed(store, deletes, snapshot) for deletes in file.every_delete]
    chunks = [chunk for positions in listed for chunk in positions.chunks]
    if file.gone:
        chunks.append(pa.array(file.gone, pa.int64()))
    return pa.chunked_array(chunks, pa.int64()) if listed or chunks else None


def _listed(store: Store, deletes: DeleteFile, snapshot: int | None) -> pa.ChunkedArray:
    found = deleted(store, deletes)
    if found.since is None or not reaches_beyond(deletes, snapshot):
        return found.positions
    return found.positions.filter(_seen(found.since, snapshot))


def tells_when(store: Store, deletes: DeleteFile) -> bool:
    """Tell whether a delete file names the snapshot of each position."""
    return deleted(store, deletes).since is not None


def deleted(store: Store, deletes: DeleteFile) -> Deleted:
    """Return what a delete file holds; one that was read lately is not read again.

    Raises:
        CorruptionError: If it is missing, damaged, or none.
    """
    known = _RECENT.get(_name(store, deletes))
    return remember(store, deletes, _read(store, deletes)) if known is None else known


def remember(store: Store, deletes: DeleteFile, held: Deleted) -> Deleted:
    """Keep what a delete file holds for whoever asks next; returns it."""
    return _RECENT.put(_name(store, deletes), held)


def _name(store: Store, deletes: DeleteFile) -> tuple[str, str, int]:
    return store.url, deletes.path, deletes.bytes


def _read(store: Store, deletes: DeleteFile) -> Deleted:
    with naming(deletes.path):
        source = pa.BufferReader(store.read(deletes.path))
        parquet = pq.ParquetFile(source, page_checksum_verification=True)
        found = _FORMS.of(parquet)
        position = special(found, POSITION_ID) or next((p for p in found if p.name == "pos"), None)
        since = special(found, SNAPSHOT_ID)
        if position is None:
            msg = f"{deletes.path} is listed as a delete file, but holds no positions"
            raise CorruptionError(msg)
        names = [part.name for part in (position, since) if part is not None]
        table = parquet.read(columns=names, use_threads=False)
    came = None if since is None else table.column(since.name).cast(pa.int64())
    return Deleted(table.column(position.name).cast(pa.int64()), came)


def _seen(ids: pa.ChunkedArray, snapshot: int | None) -> pa.ChunkedArray:
    return pc.fill_null(pc.less_equal(ids, snapshot), fill_value=True)


def alive(
    table: pa.Table, start: int, positions: pa.ChunkedArray | None, snapshot: int | None
) -> pa.Table:
    """Keep the visible rows of a part of a file that begins at row `start`.

    `snapshot` is None when all rows of the file are old enough.
    """
    masks = []
    if snapshot is not None:
        place = next(i for i, f in enumerate(table.schema) if _is_snapshot(f))
        masks.append(_seen(table.column(place), snapshot))
    if positions is not None and len(positions):
        masks.extend(_kept(start, table.num_rows, positions))
    return table.filter(reduce(pc.and_, masks)) if masks else table


def _kept(start: int, rows: int, positions: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield which rows stay, unless all of them do."""
    places = positions.to_numpy() if positions.num_chunks > 1 else positions.chunk(0).to_numpy()
    if start or int(places.max()) >= rows:
        places = places - start
        places = places[(places >= 0) & (places < rows)]
    if len(places):
        kept = np.ones(rows, dtype=bool)
        kept[places] = False
        yield pa.array(kept)


def _is_snapshot(described: pa.Field) -> bool:
    return (described.metadata or {}).get(b"PARQUET:field_id") == str(SNAPSHOT_ID).encode()
