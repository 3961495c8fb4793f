"""Read a small part of a table in a process of its own, through mere or from the bare folder."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

import mere
from benchmarks import trades
from benchmarks.meter import spend

FOLDER = "pyarrow, folder"
TOLD = "pyarrow, told of partitions"
_START = datetime(2026, 1, 1)  # noqa: DTZ001  the column has no zone
_PER_HOUR = 3_600_000_000 // 86_400


class Steps:
    """What the parent may ask of one system."""

    def __init__(self, name: str) -> None:
        """Take note of which it is."""
        self._name = name

    def load(self, root: str, source: str, question: str, files: int) -> dict[str, Any]:
        """Make the table that a question is about, of about so many files."""
        rows = trades.load(source)
        Path(root).mkdir(parents=True)
        by = {} if question == "one hour" else {"partition_by": ["product_id"]}
        commits = files if question == "one hour" else files // trades.PRODUCTS
        table = mere.connect(f"{root}/lake.db").create_table("t", rows.schema, **by)
        size = -(-rows.num_rows // commits)
        for first in range(0, rows.num_rows, size):
            part = rows.slice(first, size)
            table.append(part.sort_by("ts") if question == "one hour" else part)
        return {"files": table.files().num_rows}

    def read(self, root: str, question: str, turn: int, rows: int) -> dict[str, Any]:
        """Open the table anew, and read what the question asks for."""
        how = self._mere if self._name == mere.__name__ else self._pyarrow
        found, cost = spend(lambda: how(root, question, turn, rows))
        return cost | {"rows": found.num_rows, "sum": pc.sum(found["trade_id"]).as_py() or 0}

    def _mere(self, root: str, question: str, turn: int, rows: int) -> pa.Table:
        lake = mere.connect(f"{root}/lake.db", create=False)
        return lake.table("t").scan(_where(mere.col, question, turn, rows)).to_arrow()

    def _pyarrow(self, root: str, question: str, turn: int, rows: int) -> pa.Table:
        hive = "hive" if self._name == TOLD else None
        folder = ds.dataset(f"{root}/lake.db.files", format="parquet", partitioning=hive)
        return folder.to_table(filter=_where(pc.field, question, turn, rows))


def _where(column: Callable[[str], Any], question: str, turn: int, rows: int) -> Any:
    """Return what is asked for, something else each turn."""
    if question == "one hour":
        hours = max(1, rows // _PER_HOUR)
        start = _START + timedelta(hours=turn * 7 % hours)
        return (column("ts") >= start) & (column("ts") < start + timedelta(hours=1))
    return column("product_id") == f"product-{turn * 7 % trades.PRODUCTS:03}"


def answers() -> Iterator[str]:
    """Answer requests until there are no more."""
    steps = Steps(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        yield json.dumps(getattr(steps, request.pop("do"))(**request))


if __name__ == "__main__":
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for answer in answers():
        told.write(answer + "\n")
        told.flush()
