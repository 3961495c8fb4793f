"""Tell which rows of a file a snapshot does not see, by their positions."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mere.model.files import DataFile
from mere.model.schema import SNAPSHOT_ID
from mere.ports import Store
from mere.reading.footers import naming
from mere.reading.forms import parts, special
from mere.reading.living import gone
from mere.reading.visible import needs_snapshot


def hidden(store: Store, file: DataFile, snapshot: int) -> NDArray[np.int64]:
    """Return the positions of rows that were deleted, or came later than the snapshot; sorted."""
    found = [] if (listed := gone(store, file, snapshot)) is None else [listed.to_numpy()]
    if needs_snapshot(file, snapshot):
        found.append(_later(store, file, snapshot))
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _later(store: Store, file: DataFile, snapshot: int) -> NDArray[np.int64]:
    with naming(file.path):
        parquet = pq.ParquetFile(store.open(file.path), page_checksum_verification=True)
        part = special(parts(parquet), SNAPSHOT_ID)
        if part is None:
            return np.empty(0, np.int64)
        came = parquet.read(columns=list(part.leaves)).column(0).cast(pa.int64())
    later = pc.fill_null(pc.greater(came, snapshot), fill_value=False)
    return np.flatnonzero(later.to_numpy())
