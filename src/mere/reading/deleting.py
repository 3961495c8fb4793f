"""Write the delete files of data files: which rows are gone, and since when."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mere.arrow.footer import digest_of
from mere.arrow.names import delete_file_name
from mere.arrow.positions import unpack
from mere.model.files import DeleteFile, Fold
from mere.model.schema import SNAPSHOT_ID
from mere.ports import Store
from mere.reading.living import POSITION_ID, deleted

_PATH_ID = 2147483646
_FRAME = 8


def write_first(
    store: Store, path: str, positions: bytes, *, folder: str, intent: str
) -> DeleteFile:
    """Write the first delete file of an ordinary data file, before its snapshot is known.

    It names no snapshots: all its rows went with the one that begins it.
    """
    return _written(store, path, unpack(positions), None, target=folder + delete_file_name(intent))


def write_folded(store: Store, fold: Fold, intent: str) -> DeleteFile:
    """Write a delete file that names the snapshot of each position, older deletes included."""
    places = unpack(fold.positions)
    snapshots = np.full(len(places), fold.snapshot, dtype=np.int64)
    since = fold.snapshot
    if fold.deletes is not None:
        older, went = listed(store, fold.deletes)
        new = ~np.isin(places, older)
        places = np.concatenate((older, places[new]))
        snapshots = np.concatenate((went, snapshots[new]))
        order = np.argsort(places, kind="stable")
        places, snapshots = places[order], snapshots[order]
        since = min(since, fold.deletes.since)
    written = write_positions(
        store, fold.path, places, snapshots, folder=fold.folder, intent=intent
    )
    return replace(written, since=since, last=fold.snapshot)


def write_positions(
    store: Store,
    path: str,
    places: NDArray[np.int64],
    snapshots: NDArray[np.int64],
    *,
    folder: str,
    intent: str,
) -> DeleteFile:
    """Write which rows of a data file are gone, each with the snapshot that took it."""
    written = _written(store, path, places, snapshots, target=folder + delete_file_name(intent))
    return replace(written, since=int(snapshots.min()), last=int(snapshots.max()))


def listed(store: Store, deletes: DeleteFile) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions in a delete file, each with its snapshot."""
    found = deleted(store, deletes)
    places = found.positions.to_numpy()
    if found.since is None:
        return places, np.full(len(places), deletes.since, dtype=np.int64)
    return places, found.since.fill_null(deletes.since).to_numpy()


def _written(
    store: Store,
    path: str,
    places: NDArray[np.int64],
    snapshots: NDArray[np.int64] | None,
    *,
    target: str,
) -> DeleteFile:
    repeated = pa.repeat(pa.scalar(store.resolve(path), pa.string()), len(places))
    columns = [repeated, pa.array(places)]
    fields = [_field("file_path", pa.string(), _PATH_ID), _field("pos", pa.int64(), POSITION_ID)]
    if snapshots is not None:
        columns.append(pa.array(snapshots))
        fields.append(_field("_ducklake_internal_snapshot_id", pa.int64(), SNAPSHOT_ID))
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns, schema=pa.schema(fields)),
        sink,
        compression="zstd",
        store_schema=False,
        write_page_checksum=True,
    )
    data = sink.getvalue().to_pybytes()
    store.put(target, data)
    footer = int.from_bytes(data[-_FRAME : -_FRAME // 2], "little")
    digest = digest_of(data[-_FRAME - footer : -_FRAME])
    return DeleteFile(
        path=target, bytes=len(data), rows=len(places), footer_bytes=footer, digest=digest
    )


def _field(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={b"PARQUET:field_id": str(number)})
