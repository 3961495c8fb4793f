"""Hold one system in a process of its own, and measure what the parent asks for.

Each line on standard input is a request in JSON, each line on the first standard output an answer.
"""

import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import systems, trades
from benchmarks.meter import peak_bytes, spend, spend_above


def _sums(rows: pa.Table) -> dict[str, int]:
    return {"rows": rows.num_rows, "sum": pc.sum(rows["trade_id"]).as_py() or 0}


class Steps:
    """What the parent may ask of one system; each step returns samples or answers."""

    def __init__(self, name: str) -> None:
        """Import the system."""
        self._name = name
        self._kind = systems.load(name)
        self._commits = 0
        self._system: Any = None

    def load(self, root: str, source: str, parts: int) -> dict[str, Any]:
        """Make a table in several commits, and leave it open."""
        rows = trades.load(source)
        Path(root).mkdir(parents=True)
        self._system = self._kind(root)
        self._system.create(rows.schema)
        size = -(-rows.num_rows // parts)
        for k in range(parts):
            self._system.append(rows.slice(k * size, size))
        return {}

    def bulk(self, root: str, source: str, form: str) -> dict[str, Any]:
        """Append everything in one commit to a new table; check it, and throw it away."""
        rows = trades.load(source)
        Path(root).mkdir(parents=True)
        system = self._kind(root)
        system.create(rows.schema)
        feed = (
            rows
            if form == "table"
            else pa.RecordBatchReader.from_batches(rows.schema, iter(rows.to_batches()))
        )
        _, cost = spend(lambda: system.append(feed))
        files = list(Path(root).rglob("*.parquet"))
        facts = {"files": len(files), "bytes": sum(file.stat().st_size for file in files)}
        answer = cost | facts | _sums(system.column("trade_id"))
        system.close()
        shutil.rmtree(root)
        gc.collect()
        return answer

    def shape(self, root: str, source: str, parts: int, verb: str) -> dict[str, Any]:
        """Bring a table of many small files into shape in a process that did not write them."""
        made = "from benchmarks.worker import Steps; "
        made += f"Steps({self._name!r}).load({root!r}, {source!r}, {parts})"
        subprocess.run([sys.executable, "-c", made], check=True, stdout=sys.stderr)
        system = self._kind(root)
        system.open()
        start = peak_bytes()
        _, cost = spend(getattr(system, verb))
        answer = cost | {"more": cost["peak"] - start} | _sums(system.column("trade_id"))
        system.close()
        shutil.rmtree(root)
        return answer

    def needle(self, root: str, source: str, parts: int, price: float) -> dict[str, Any]:
        """Ask for few rows before and after rows were ordered, each time by a lake just opened."""
        rows = trades.load(source)
        Path(root).mkdir(parents=True)
        self._kind(root).create(rows.schema, by=())
        system = self._kind(root)
        system.open()
        size = -(-rows.num_rows // parts)
        for k in range(parts):
            system.append(rows.slice(k * size, size))
        before = self._dear(root, price)
        system.zorder()
        after = self._dear(root, price)
        shutil.rmtree(root)
        return {"before": before, "after": after}

    def _dear(self, root: str, price: float) -> list[dict[str, Any]]:
        samples = []
        for _ in range(5):
            system = self._kind(root)
            system.open()
            found, cost = spend(lambda system=system: system.dear(price))
            samples.append(cost | _sums(found))
            system.close()
        return samples

    def order(self, root: str, source: str, parts: int) -> dict[str, Any]:
        """Order a table that is four times as large as the memory for it."""
        self.load(root, source, parts)
        raw = trades.load(source).nbytes
        memory_mb = max(raw // 4 >> 20, 1)
        _, cost = spend_above(lambda: self._system.order(memory_mb))
        found = self._system.column("trade_id")
        self._system.close()
        shutil.rmtree(root)
        told = {"memory_mb": memory_mb, "raw_mb": raw >> 20}
        return cost | _sums(found) | told

    def open(self, root: str) -> dict[str, Any]:
        """Open a table and keep it."""
        self._system = self._kind(root)
        return spend(self._system.open)[1]

    def close(self) -> dict[str, Any]:
        """Let go of the table."""
        self._system.close()
        return {}

    def open_read(self, root: str, product: str) -> dict[str, Any]:
        """Open the table anew, and read one partition."""

        def both() -> pa.Table:
            self._system = self._kind(root)
            self._system.open()
            return self._system.read(product)

        rows, cost = spend(both)
        self._system.close()
        return cost | _sums(rows)

    def read(self, product: str) -> dict[str, Any]:
        """Read one partition of the table that is open."""
        rows, cost = spend(lambda: self._system.read(product))
        return cost | _sums(rows)

    def commit(self, times: int) -> list[dict[str, Any]]:
        """Commit one row, several times."""
        samples = []
        for _ in range(times):
            self._commits += 1
            row = trades.one(self._commits)
            samples.append(spend(lambda row=row: self._system.append(row))[1])
        return samples

    def total(self) -> dict[str, Any]:
        """Count and sum up all rows of the table that is open."""
        return _sums(self._system.column("trade_id"))


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
