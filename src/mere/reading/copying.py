"""Remember what becomes of the rows of a file, until all of it is known and it is written anew."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mere.model.schema import Schema
from mere.reading.pieces import OpenFile, Rows

Numbers = NDArray[np.int64]
_STAYS, _FIRST_CLAUSE = -1, 0


class Copied:
    """One file, and which clause decides about each of its living rows, -1 for none."""

    def __init__(self, file: OpenFile) -> None:
        """Know of no row that goes."""
        self.file = file
        self.touched = False
        self._judged: dict[int, tuple[NDArray[np.int16], Numbers | None]] = {}
        self._picked: Numbers | None = None

    def judge(self, ordinal: int, chosen: Numbers, match: Numbers | None) -> None:
        """Remember the clauses of the rows of one row group, and their matching staged rows."""
        if (chosen != _STAYS).any():
            self.touched = True
            self._judged[ordinal] = chosen.astype(np.int16), match

    def pick(self, places: Numbers) -> None:
        """Remember rows that the first clause is about, by their positions, in order."""
        self.touched = bool(len(places))
        self._picked = places

    def rows(self, schema: Schema, *, ids: bool) -> Iterator[tuple[Rows, Numbers, Numbers | None]]:
        """Yield the living rows of the whole file, each with its clause and staged row."""
        for ordinal in range(self.file.parquet.metadata.num_row_groups):
            chosen, match = self._judged.get(ordinal, (None, None))
            start = 0
            for rows in self.file.batches(ordinal, schema, ids=ids, origins=ids):
                part = slice(start, start + len(rows.places))
                start = part.stop
                stays = np.full(len(rows.places), _STAYS, dtype=np.int64)
                clauses = stays if chosen is None else chosen[part].astype(np.int64)
                if self._picked is not None:
                    picked = np.isin(rows.places, self._picked, assume_unique=True)
                    clauses = np.where(picked, _FIRST_CLAUSE, stays)
                yield rows, clauses, None if match is None else match[part]
