"""Write the delete files of data files: which rows are gone, and since when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

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
from mere.reading.living import POSITION_ID, Deleted, deleted, remember

Numbers = NDArray[np.int64]
_PATH_ID = 2147483646
_FRAME = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """Rows of the data file at `path` that are gone, by position, and the snapshot of each.

    Without snapshots, all of them went with the one that begins the delete file: right for the
    first deletes of an ordinary file, which can be written before their snapshot is known. `since`
    is where the delete file begins that this one takes the place of.
    """

    path: str
    places: Numbers
    snapshots: Numbers | None = None
    since: int | None = None

    @property
    def columns(self) -> tuple[Numbers, ...]:
        """What is told of each row."""
        return (self.places,) if self.snapshots is None else (self.places, self.snapshots)


def folded(
    store: Store, path: str, places: Numbers, snapshot: int, before: DeleteFile | None
) -> Going:
    """Put what goes with a snapshot together with what went before, each with its own."""
    snapshots = np.full(len(places), snapshot, dtype=np.int64)
    if before is None:
        return Going(path=path, places=places, snapshots=snapshots)
    older, went = listed(store, before)
    every = np.concatenate((older, places))
    order = np.argsort(every, kind="stable")  # of two that are the same, the older comes first
    every, since = every[order], np.concatenate((went, snapshots))[order]
    new = np.ones(len(every), dtype=bool)
    np.not_equal(every[1:], every[:-1], out=new[1:])
    return Going(path=path, places=every[new], snapshots=since[new], since=before.since)


def write_folds(store: Store, folds: Sequence[Fold], intent: str) -> list[DeleteFile]:
    """Write delete files that name the snapshot of each position, older deletes included."""
    folder = folds[0].folder if folds else ""
    if any(fold.folder != folder for fold in folds):
        return [file for fold in folds for file in write_folds(store, [fold], intent)]
    going = (folded(store, f.path, unpack(f.positions), f.snapshot, f.deletes) for f in folds)
    return write_deletes(store, going, folder=folder, intent=intent)


def write_deletes(
    store: Store, going: Iterable[Going], *, folder: str, intent: str
) -> list[DeleteFile]:
    """Write delete files side by side; all of them are durable when it returns."""
    files: list[tuple[DeleteFile, Deleted]] = []

    def made() -> Iterable[tuple[str, bytes]]:
        for one in going:
            target = folder + delete_file_name(intent)
            data = _encoded(store.resolve(one.path), one)
            files.append((_described(target, data, one), _held(one)))
            yield target, data

    store.put_all(made())
    for file, held in files:
        remember(store, file, held)
    return [file for file, _ in files]


def listed(store: Store, deletes: DeleteFile) -> tuple[Numbers, Numbers]:
    """Return the positions in a delete file, each with its snapshot."""
    found = deleted(store, deletes)
    places = found.positions.to_numpy()
    if found.since is None:
        return places, np.full(len(places), deletes.since, dtype=np.int64)
    return places, found.since.fill_null(deletes.since).to_numpy()


def _encoded(path: str, going: Going) -> bytes:
    """Encode a delete file: most of these are small, so that it is quick counts.

    The path and the snapshots repeat, and positions ascend: encoded by what they are, they need no
    codec, and nobody looks for bounds in a delete file.
    """
    columns = [pa.repeat(pa.scalar(path, pa.string()), len(going.places))]
    columns += [pa.array(column) for column in going.columns]
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_arrays(columns, schema=_SCHEMAS[len(columns) - 2]),
        sink,
        compression="none",
        use_dictionary=[_NAMES[0], _NAMES[2]],
        column_encoding={_NAMES[1]: "DELTA_BINARY_PACKED"},
        write_statistics=False,
        store_schema=False,
        write_page_checksum=True,
    )
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _described(path: str, data: bytes, going: Going) -> DeleteFile:
    footer = int.from_bytes(data[-_FRAME : -_FRAME // 2], "little")
    found = DeleteFile(
        path=path,
        bytes=len(data),
        rows=len(going.places),
        footer_bytes=footer,
        digest=digest_of(data[-_FRAME - footer : -_FRAME]),
    )
    if going.snapshots is None:
        return found
    first, last = int(going.snapshots.min()), int(going.snapshots.max())
    return replace(found, since=min(first, going.since or first), last=last)


def _held(going: Going) -> Deleted:
    """Return what reading the file would find: whoever wrote it need not read it."""
    held = [pa.chunked_array([column]) for column in going.columns]
    return Deleted(held[0], held[1] if len(held) > 1 else None)


def _field(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={b"PARQUET:field_id": str(number)})


_NAMES = ("file_path", "pos", "_ducklake_internal_snapshot_id")
_FIELDS = (
    _field(_NAMES[0], pa.string(), _PATH_ID),
    _field(_NAMES[1], pa.int64(), POSITION_ID),
    _field(_NAMES[2], pa.int64(), SNAPSHOT_ID),
)
_SCHEMAS = (pa.schema(_FIELDS[:2]), pa.schema(_FIELDS))
