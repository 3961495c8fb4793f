"""Plan in a process of its own: `cold` once and print, or as a worker that the parent asks."""

import json
import os
import sys
import time
from typing import Any

import mere
from benchmarks.meter import peak_bytes, spend
from benchmarks.questions import predicate

IMPORTED = time.monotonic()


class Steps:
    """What the parent may ask."""

    def __init__(self, url: str) -> None:
        """Open the lake, which reads next to nothing."""
        self._table = mere.connect(url).table("t")

    def plan(self, question: str, files: int, turn: int) -> dict[str, Any]:
        """Find the files that can match."""
        where = predicate(question, files, turn)
        scan, cost = spend(lambda: self._table.scan(where))
        found = scan.found
        groups = sum(len(kept.groups) for kept in found.kept.values())
        return cost | {"kept": len(found.files), "of": found.total_files, "groups": groups}

    def append(self, turn: int) -> dict[str, Any]:
        """Commit one row."""
        row = {f"c{n}": turn for n in range(1, 11)}
        return spend(lambda: self._table.append([row]))[1]


def cold(url: str, question: str, files: int) -> None:
    """Print when the imports were done, when the files were known, and what it took."""
    scan = mere.connect(url).table("t").scan(predicate(question, files, 0))
    done, spent = time.monotonic(), time.process_time()
    print(IMPORTED, done, spent, peak_bytes(), len(scan.found.files), scan.found.total_files)


def main(url: str) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    steps = Steps(url)
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(steps, request.pop("do"))(**request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        cold(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main(sys.argv[1])
