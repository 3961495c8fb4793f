"""Tell what was measured on: figures of different machines do not compare."""

import json
import os
import platform

from benchmarks.processes import Bench

_VERSIONS = """
import json, sys
from importlib.metadata import distributions
names = ("pyarrow", "deltalake", "pyiceberg", "duckdb", "duckdb-extension-ducklake", "polars",
         "pyspark")
print(json.dumps({d.name: d.version for d in distributions() if d.name in names}))
"""


def load() -> str:
    """Return how many processes wanted to run, over 1, 5 and 15 minutes."""
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def facts(bench: Bench) -> dict[str, object]:
    """Return the machine, the versions and the sizes."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory": f"{memory / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        **json.loads(bench.call("-c", _VERSIONS)),
        "rows": bench.rows,
        "files": bench.files,
        "rounds": bench.rounds,
        "load before": load(),
    }


def spell(found: dict[str, object]) -> str:
    """Return the facts in one line."""
    return ", ".join(f"{name} {value}" for name, value in found.items())
