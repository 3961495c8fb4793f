"""Measure one call inside the process that makes it: wall time, CPU seconds, peak memory."""

import gc
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_KIB = 1024


def cpu_seconds() -> float:
    """Return what this process, its threads and its finished children have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_bytes() -> int:
    """Return the most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def spend(do: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call, and return the answer beside what it took."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    answer = do()
    took = time.perf_counter() - wall
    return answer, {"wall": took, "cpu": cpu_seconds() - cpu, "peak": peak_bytes()}


def memory() -> tuple[int, int]:
    """Return the bytes that this process holds now, and the most it held since `rest`."""
    told = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, most = (int(told[name].split()[0]) * _KIB for name in ("VmRSS", "VmHWM"))
    return now, most


def rest() -> None:
    """Begin to look for the most memory anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def spend_above(do: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call as `spend` does; the peak is what was held above what was held before."""
    gc.collect()
    rest()
    before, _ = memory()
    answer, cost = spend(do)
    return answer, cost | {"peak": max(memory()[1] - before, 0)}
