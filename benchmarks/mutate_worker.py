"""Change rows of one system in a process of its own, and read it before and after."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks import systems, trades
from benchmarks.meter import spend, spend_above

_NEW = 1 << 32
_FEW = 10


class Steps:
    """What the parent may ask of one system; what each row must be is kept beside it."""

    def __init__(self, name: str) -> None:
        """Import the system."""
        self._kind = systems.load(name)
        self._system: Any = None
        self._rows: pa.Table
        self._product: NDArray[np.int64]
        self._alive: NDArray[np.bool_]
        self._new: list[int] = []
        self._key: Sequence[str] = ()

    def load(
        self, root: str, source: str, rows: int, parts: int, by: Sequence[str]
    ) -> dict[str, Any]:
        """Make a table in several commits, and open it anew; `by` partitions it."""
        self._key = ("product_id", "trade_id") if by else ("trade_id",)
        self._rows = trades.load(source).slice(0, rows)
        numbers = pc.utf8_slice_codeunits(self._rows["product_id"], len("product-"))
        self._product = numbers.cast(pa.int64()).to_numpy()
        self._alive = np.ones(rows, dtype=bool)
        Path(root).mkdir(parents=True)
        system = self._kind(root)
        system.create(self._rows.schema, *([] if by else [[]]))
        size = -(-rows // parts)
        for k in range(parts):
            system.append(self._rows.slice(k * size, size))
        system.close()
        self._system = self._kind(root)
        self._system.open()
        return {"files": len(list(Path(root).rglob("*.parquet")))}

    def delete(self, turn: int, share: float) -> dict[str, Any]:
        """Delete trades of ten products that follow each other: this share of theirs."""
        size = int(len(self._alive) * share)
        first = (turn + 1) * size
        chosen = [(turn * _FEW + n) % trades.PRODUCTS for n in range(_FEW)]
        names = [f"product-{number:03}" for number in chosen]
        _, cost = spend_above(lambda: self._system.delete(names, first, first + size))
        span = slice(first, first + size)
        self._alive[span] &= ~np.isin(self._product[span], chosen)
        return cost

    def upsert(self, turn: int, size: int, known: float, product: int | None) -> dict[str, Any]:
        """Upsert rows of which so many are known; of one product, or of all."""
        given = self._source(turn, size, int(size * known), product)
        return spend_above(lambda: self._system.upsert(given, self._key))[1]

    def _source(self, turn: int, size: int, known: int, product: int | None) -> pa.Table:
        """Choose rows that are there, and make up others; all get a new price."""
        chance = np.random.default_rng(turn)
        there = np.flatnonzero(self._alive & ((self._product == product) | (product is None)))
        old = np.sort(chance.choice(there, known, replace=False))
        rows = self._rows.take(pa.array(np.concatenate([old, old[: size - known]])))
        fresh = _NEW + len(self._new) + np.arange(size - known)
        self._new += fresh.tolist()
        ids = pa.chunked_array([pa.array(np.concatenate([old, fresh]))])
        rows = rows.set_column(1, rows.schema.field("trade_id"), ids)
        price = pa.chunked_array([pa.array(np.full(size, float(turn)))])
        return rows.set_column(4, rows.schema.field("price"), price).combine_chunks()

    def read(self, product: str) -> dict[str, Any]:
        """Read one partition of the table that is open."""
        return spend(lambda: self._system.read(product))[1]

    def column(self) -> dict[str, Any]:
        """Read a column of all rows, and add it up; say what it should come to."""
        found, cost = spend(lambda: self._system.column("trade_id"))
        there = np.flatnonzero(self._alive)
        wanted = [len(there) + len(self._new), int(there.sum()) + sum(self._new)]
        total = pc.sum(found["trade_id"]).as_py()
        return cost | {"rows": found.num_rows, "sum": total, "wanted": wanted}

    def close(self) -> dict[str, Any]:
        """Let go of the table."""
        self._system.close()
        return {}


def main(name: str) -> None:
    """Answer requests until there are no more."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    steps = Steps(name)
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(steps, request.pop("do"))(**request)
        told.write(json.dumps(answer) + "\n")
        told.flush()


if __name__ == "__main__":
    main(sys.argv[1])
