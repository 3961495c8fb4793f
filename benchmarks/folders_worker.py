"""Maintain one plain folder in a process of its own: by mere, or by fsspeckit."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.meter import spend_above

_MERGED = 20_000
_DOUBLED = 10
_TARGET_MB = 128


def make(root: str, rows: int, files: int, *, doubled: bool) -> None:
    """Write files of trades whose ids follow each other; every tenth comes again if `doubled`."""
    Path(root).mkdir(parents=True)
    size = -(-rows // files)
    for number in range(files):
        ids = np.arange(number * size, min((number + 1) * size, rows))
        if doubled:
            ids = np.where(ids % _DOUBLED == 1, ids - 1, ids)
        pq.write_table(_trades(ids), f"{root}/{number:04}.parquet", compression="zstd")


def _trades(ids: Any) -> pa.Table:
    chance = np.random.default_rng(len(ids))
    return pa.table(
        {
            "trade_id": pa.array(ids, pa.int64()),
            "price": np.round(100 + chance.random(len(ids)), 2),
            "size": chance.random(len(ids)),
            "side": pa.array(np.array(["buy", "sell"])[ids % 2]),
        }
    )


def _news(rows: int) -> pa.Table:
    """Return rows to be merged: half of them have keys that are there, all over the folder."""
    half = _MERGED // 2
    known = np.arange(half) * (rows // half)
    return _trades(np.concatenate([known, np.arange(rows, rows + half)]))


def expected(verb: str, rows: int) -> tuple[int, int]:
    """Return how many rows there must be afterwards, and the sum of their ids."""
    total = rows * (rows - 1) // 2
    if verb == "compact":
        return rows, total
    if verb == "merge":
        half = _MERGED // 2
        return rows + half, total + half * rows + half * (half - 1) // 2
    gone = rows // _DOUBLED
    return rows - gone, total - sum(range(1, rows, _DOUBLED))


class _Mere:
    """The names of `mere.datasets`."""

    def __init__(self) -> None:
        from mere import datasets  # noqa: PLC0415  only the process of mere loads it

        self._names = datasets

    def compact(self, root: str) -> None:
        self._names.compact_parquet_dataset_pyarrow(root, target_mb_per_file=_TARGET_MB)

    def deduplicate(self, root: str) -> None:
        self._names.folder(root).deduplicate("trade_id")

    def merge(self, root: str, rows: pa.Table) -> None:
        self._names.ParquetCRUD(root).upsert(rows, ["trade_id"], [])


class _Fsspeckit:
    """What its users call."""

    def __init__(self) -> None:
        from fsspeckit.core import maintenance  # noqa: PLC0415  only its own process loads it
        from fsspeckit.datasets.pyarrow.io import PyarrowDatasetIO  # noqa: PLC0415  the same

        self._engine = maintenance.DatasetMaintenanceCoordinator("pyarrow")
        self._io = PyarrowDatasetIO()

    def compact(self, root: str) -> None:
        plan = self._engine.plan_compaction(root, target_mb_per_file=_TARGET_MB, codec="zstd")
        self._engine.execute(plan)

    def deduplicate(self, root: str) -> None:
        engine = self._engine
        engine.execute(
            engine.plan_partition_local_deduplication(root, key_columns=["trade_id"], codec="zstd")
        )

    def merge(self, root: str, rows: pa.Table) -> None:
        self._io.merge(rows, root, "upsert", ["trade_id"], compression="zstd")


_SYSTEMS: Mapping[str, Callable[[], Any]] = {"mere": _Mere, "fsspeckit": _Fsspeckit}


class Steps:
    """What the parent may ask of one system."""

    def __init__(self, name: str) -> None:
        """Import the system."""
        self._system = _SYSTEMS[name]()

    def ready(self, root: str, verb: str) -> dict[str, Any]:
        """Do it once in a small folder: what is loaded by that is not measured."""
        self._rows = ds.dataset(root).count_rows()
        with TemporaryDirectory() as folder:
            make(f"{folder}/small", 40, 4, doubled=True)
            more = (_trades(np.arange(3)),) if verb == "merge" else ()
            getattr(self._system, verb)(f"{folder}/small", *more)
        return {"rows": self._rows}

    def compact(self, root: str) -> dict[str, Any]:
        """Merge small files."""
        return self._measured(root, lambda: self._system.compact(root))

    def deduplicate(self, root: str) -> dict[str, Any]:
        """Keep one row of each key."""
        return self._measured(root, lambda: self._system.deduplicate(root))

    def merge(self, root: str) -> dict[str, Any]:
        """Update known rows and insert others."""
        rows = _news(self._rows)
        return self._measured(root, lambda: self._system.merge(root, rows))

    def _measured(self, root: str, do: Callable[[], None]) -> dict[str, Any]:
        _, cost = spend_above(do)
        found = ds.dataset(root, exclude_invalid_files=False).to_table(columns=["trade_id"])
        files = len(list(Path(root).rglob("*.parquet")))
        total = pc.sum(found["trade_id"]).as_py()
        return cost | {"rows": found.num_rows, "sum": total, "files": files}


def main(name: str) -> None:
    """Answer requests until there are no more."""
    # whatever a library prints must not look like an answer
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    steps = Steps(name)
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(steps, request.pop("do"))(**request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
