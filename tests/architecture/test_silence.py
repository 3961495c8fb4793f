"""Importing mere is quiet: no engine is loaded before it is asked for."""

import json
import subprocess
import sys

import pytest

import mere

HEAVY = {
    "adbc_driver_manager", "boto3", "daft", "datafusion", "duckdb", "fsspec", "numpy", "obstore",
    "pandas", "polars", "psycopg", "py4j", "pyarrow", "pyspark", "s3fs", "sqlglot", "sqlite3",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after a statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(printed.stdout))


def test_the_check_sees_an_engine_that_is_loaded():
    assert "sqlglot" in loaded_by("import sqlglot") & HEAVY


@pytest.mark.parametrize(
    "statement",
    [
        "import mere",
        "import mere; mere.__version__; dir(mere)",
        "import mere; mere.errors.MereError",
    ],
)
def test_importing_mere_loads_no_engine(statement):
    assert not loaded_by(statement) & HEAVY


@pytest.mark.parametrize("package", ["mere.errors", "mere.model", "mere.plan", "mere.ports"])
def test_thinking_loads_no_engine(package):
    everything = (
        f"import importlib, pkgutil, {package}\n"
        f"for found in pkgutil.walk_packages(getattr({package}, '__path__', []), '{package}.'):\n"
        "    importlib.import_module(found.name)"
    )
    assert not loaded_by(everything) & HEAVY


READ = """
import mere
table = mere.connect({url!r}).table("t")
assert table.scan({{"day": "a"}}).to_arrow().num_rows == 2
"""
WRITERS = (
    "mere.ops.", "mere.kernels.", "mere.parquet.", "mere.sqltext.", "mere.catalogs.commit",
    "mere.catalogs.sifting", "mere.arrow.casting",
)  # fmt: skip


def test_a_read_loads_nothing_that_writes_and_no_engine_but_arrow(tmp_path):
    url = str(tmp_path / "lake.db")
    table = mere.connect(url).create_table(
        "t", {"day": "string", "n": "int64"}, partition_by=["day"]
    )
    table.append([{"day": "b", "n": 3}])
    table.append([{"day": "a", "n": 1}, {"day": "a", "n": 2}])
    loaded = loaded_by(READ.format(url=url))
    assert loaded & HEAVY <= {"numpy", "pyarrow", "sqlite3"}
    assert not {name for name in loaded if name.startswith(WRITERS)}
    assert not {"pyarrow.compute", "pyarrow.dataset"} & loaded, "they take a while to load"


WORKER = """
import mere.spark.source
source = mere.spark.source.MereSource({{"lake": {url!r}, "path": "t"}})
reader = source.reader(source.schema())
(part,) = reader.partitions()
assert sum(batch.num_rows for batch in reader.read(part)) == 1
"""


def test_a_worker_of_spark_that_reads_loads_nothing_that_writes_and_no_pandas(tmp_path):
    """Spark starts four of them for each read."""
    url = mere.connect(tmp_path / "lake.db").url
    with mere.connect(url) as lake:
        lake.create_table("t", {"n": "int64"}).append([{"n": 3}])
    loaded = loaded_by(WORKER.format(url=url))
    assert loaded & HEAVY <= {"numpy", "py4j", "pyarrow", "pyspark", "sqlite3"}
    assert not {name for name in loaded if name.startswith(("mere.ops.", "mere.kernels."))}


def test_the_check_sees_what_a_write_loads():
    loaded = loaded_by("import mere.ops, mere.kernels.pyarrow; mere.ops.write")
    assert len({name for name in loaded if name.startswith(WRITERS)}) > 5
