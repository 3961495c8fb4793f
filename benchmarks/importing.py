"""Import the library in a fresh process."""

from collections.abc import Iterator

from benchmarks.processes import Bench
from benchmarks.results import MERE, Case, Sample

_TIMED = """
import time; wall, cpu = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""
_SHOWN = {
    MERE: "import mere",
    "mere, used": "import mere; mere.connect('sqlite:////{folder}/lake.db').tables()",
    "pyarrow.dataset": "import pyarrow.dataset",
    "deltalake": "import deltalake",
    "duckdb": "import duckdb",
    "pyiceberg": "import pyiceberg.catalog.sql",
}


def measure(bench: Bench) -> Iterator[Case]:
    """Time the import statement; the best of several counts, as the rest is other people's work."""
    case = Case(name="import", target=0.05)
    with bench.place("importing") as folder:
        for _ in range(bench.rounds + 1):
            for name, statement in _SHOWN.items():
                code = _TIMED.format(statement=statement.format(folder=str(folder).lstrip("/")))
                wall, cpu = map(float, bench.call("-c", code).split())
                best = case.samples.get(name, [Sample(wall=wall, cpu=cpu)])[0]
                case.samples[name] = [best if best.wall <= wall else Sample(wall=wall, cpu=cpu)]
    case.facts["best of"] = bench.rounds
    yield case


def breakdown(bench: Bench) -> str:
    """Return what `python -X importtime` says of the import."""
    return bench.call("-X", "importtime", "-c", "import os; os.dup2(1, 2)\nimport mere")
