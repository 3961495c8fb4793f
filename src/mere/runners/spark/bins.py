"""Decide which tasks share a Spark partition, so that starting Python never costs the most.

A Spark task in Python costs some hundredths of a second before it does anything; a rewrite of a
small file takes no longer. So there are no more partitions than keep all cores busy, unless the
tasks are large: then there are some more, for an even end.
"""

import heapq
from collections.abc import Sequence

from mere.model.files import DataFile
from mere.model.loading import Source
from mere.model.work import Input, Task

LARGE_BYTES = 32 << 20
MOST_PER_SLOT = 4


def bins(tasks: Sequence[Task], *, slots: int) -> list[int]:
    """Return the number of the partition that each task goes to, counted from 0 without gaps.

    The heaviest tasks are dealt out first, each to where least lies so far.
    """
    weights = [_weight(task) for task in tasks]
    most = max(slots, min(sum(weights) // LARGE_BYTES, MOST_PER_SLOT * slots))
    loads = [(0, number) for number in range(min(len(tasks), most))]
    chosen = [0] * len(tasks)
    for place in sorted(range(len(tasks)), key=lambda place: -weights[place]):
        load, number = heapq.heappop(loads)
        chosen[place] = number
        heapq.heappush(loads, (load + weights[place], number))
    return chosen


def _weight(task: Task) -> int:
    """Return the bytes that a task reads; one that reads none counts as well."""
    inputs: tuple[DataFile | Input | Source, ...] = getattr(task, "inputs", ())
    return 1 + sum(file.bytes for file in inputs)
