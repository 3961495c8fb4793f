"""Plain folders of Parquet files, without a catalog: as tables, and by the names of old.

| names | what for |
|---|---|
| `folder` | a folder as a table, with every verb of one |
| `FileInfo`, `collect_dataset_stats` | what lies there |
| `plan_compaction_groups`, `plan_optimize_groups` | what would be written anew |
| `compact_parquet_dataset_pyarrow`, `optimize_…`, `collect_…` | few files, rows in order |
| `DuckDBParquetHandler` | the same on DuckDB |
| `Repartitioner`, `ParquetCompactor`, `ParquetCRUD` | other partitions, few files, changes |
"""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.datasets.compactor import ParquetCompactor
    from mere.datasets.crud import ParquetCRUD
    from mere.datasets.duckdb import DuckDBParquetHandler
    from mere.datasets.maintaining import (
        collect_dataset_stats,
        collect_dataset_stats_pyarrow,
        compact_parquet_dataset_pyarrow,
        optimize_parquet_dataset_pyarrow,
    )
    from mere.datasets.opening import folder
    from mere.datasets.planning import FileInfo, plan_compaction_groups, plan_optimize_groups
    from mere.datasets.repartitioner import Repartitioner

__all__ = [
    "DuckDBParquetHandler",
    "FileInfo",
    "ParquetCRUD",
    "ParquetCompactor",
    "Repartitioner",
    "collect_dataset_stats",
    "collect_dataset_stats_pyarrow",
    "compact_parquet_dataset_pyarrow",
    "folder",
    "optimize_parquet_dataset_pyarrow",
    "plan_compaction_groups",
    "plan_optimize_groups",
]

__getattr__ = later(
    __name__,
    names={
        "DuckDBParquetHandler": "duckdb",
        "FileInfo": "planning",
        "ParquetCRUD": "crud",
        "ParquetCompactor": "compactor",
        "Repartitioner": "repartitioner",
        "collect_dataset_stats": "maintaining",
        "collect_dataset_stats_pyarrow": "maintaining",
        "compact_parquet_dataset_pyarrow": "maintaining",
        "folder": "opening",
        "optimize_parquet_dataset_pyarrow": "maintaining",
        "plan_compaction_groups": "planning",
        "plan_optimize_groups": "planning",
    },
)
