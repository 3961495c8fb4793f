"""Every point that was asked for lives somewhere and is shown by a test; the page says where."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import mere
from mere import datasets

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/points.md"
POINTS = {"S0": 37, "S1": 45, "S2": 18}
ROW = re.compile(
    r"^\| (S\d-\d+) \| (.+) \| `(mere[\w.]*)` \| \[([\w ]+)\]\(\.\./\.\./([\w/.]+)\) \|$"
)
LINES = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| S")]
FOUND = [match.groups() for line in LINES if (match := ROW.match(line))]

SIGNATURES = {
    "collect_dataset_stats": "path, filesystem=None, partition_filter=None",
    "collect_dataset_stats_pyarrow": "path, filesystem=None, partition_filter=None",
    "plan_compaction_groups": "files, target_mb_per_file, target_rows_per_file",
    "plan_optimize_groups": (
        "files, zorder_columns, sample_schema, target_mb_per_file, target_rows_per_file"
    ),
    "FileInfo": "path, size_bytes, num_rows",
    "compact_parquet_dataset_pyarrow": (
        "path, target_mb_per_file=None, target_rows_per_file=None, partition_filter=None, "
        "compression=None, dry_run=False, filesystem=None, engine='local'"
    ),
    "optimize_parquet_dataset_pyarrow": (
        "path, zorder_columns, target_mb_per_file=None, target_rows_per_file=None, "
        "partition_filter=None, compression=None, dry_run=False, filesystem=None, engine='local'"
    ),
    "DuckDBParquetHandler": "filesystem=None, storage_options=None, engine='local'",
    "DuckDBParquetHandler._collect_dataset_stats": "path, partition_filter=None",
    "DuckDBParquetHandler.compact_parquet_dataset": (
        "path, target_mb_per_file=None, target_rows_per_file=None, partition_filter=None, "
        "compression=None, dry_run=False"
    ),
    "DuckDBParquetHandler.optimize_parquet_dataset": (
        "path, zorder_columns, target_mb_per_file=None, target_rows_per_file=None, "
        "partition_filter=None, compression=None, dry_run=False"
    ),
    "Repartitioner": (
        "source_dir, target_dir, new_partition_cols, compression='zstd', batch_size=1000000, "
        "engine='local', kernel='pyarrow', filesystem=None, storage_options=None"
    ),
    "Repartitioner.estimate_size": "",
    "Repartitioner.repartition": (
        "delete_source=False, validate=True, dry_run=False, transform_fn=None"
    ),
    "ParquetCompactor": (
        "dataset_dir, target_file_size_mb=100, compression='zstd', "
        "engine='local', kernel='pyarrow', filesystem=None, storage_options=None"
    ),
    "ParquetCompactor.compact": (
        "min_file_count=2, max_file_size_mb=None, delete_source_files=True, dry_run=False"
    ),
    "ParquetCRUD": (
        "dataset_dir, compression='zstd', backup_dir=None, "
        "engine='local', kernel='pyarrow', filesystem=None, storage_options=None"
    ),
    "ParquetCRUD.delete": ("filter_expr, partition_filter=None, dry_run=False, create_backup=True"),
    "ParquetCRUD.update": (
        "filter_expr, update_expr, partition_filter=None, dry_run=False, create_backup=True"
    ),
    "ParquetCRUD.upsert": (
        "new_data, key_cols, partition_cols, update_cols=None, dry_run=False, create_backup=True"
    ),
    "ParquetCRUD.adopt": "lake, name",
}


def test_every_point_has_one_line():
    assert len(FOUND) == len(LINES)
    expected = [f"{name}-{n}" for name, last in POINTS.items() for n in range(1, last + 1)]
    assert [point for point, *_ in FOUND] == expected


@pytest.mark.parametrize("place", sorted({row[2] for row in FOUND}))
def test_every_place_of_a_point_exists(place):
    module, _, name = place.rpartition(".")
    try:
        importlib.import_module(place)
    except ModuleNotFoundError:
        *modules, last = module.split(".")
        owner = mere if not modules else getattr(importlib.import_module(".".join(modules)), last)
        assert callable(getattr(owner, name))


@pytest.mark.parametrize("test", sorted({row[3:] for row in FOUND}))
def test_every_test_of_a_point_is_there(test):
    name, path = test
    text = (ROOT / path).read_text("utf-8")
    assert re.search(rf"^def test_{name.replace(' ', '_')}\(", text, re.MULTILINE)


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_names_and_their_defaults_are_those_that_were_asked_for(name):
    thing: Any = datasets
    for part in name.split("."):
        thing = getattr(thing, part)
    told = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name != "self"
    ]
    found = str(inspect.Signature(told))
    assert found == f"({SIGNATURES[name]})"
