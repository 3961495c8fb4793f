"""Change a few rows and merge many files on Spark: natively and through mere."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses

from mere.lake import Lake
from mere.model.files import DataFile
from mere.model.history import Change, EditFiles

if TYPE_CHECKING:
    from benchmarks.spark_worker import Work

Do = Callable[[], Any]
KEYED, TOUCHED, SMALL, MERGED = 40, 2, 400, 4
_EVERY, _NEW, _PLACE, _FIRST = 10, 20, 3, 5
"""Of the rows in the touched files every tenth is changed, and one in twenty is a new one."""


def make(lake: Lake, source: DataFrame, rows: int) -> int:
    """Make a table of files with stretches of ids each, and one of many small files.

    Returns how many rows the changes add.

    Raises:
        RuntimeError: If there are not as many files as there should be.
    """
    for name, files in (("keyed", KEYED), ("small", SMALL)):
        table = lake.create_table(name, source.schema)
        stretch = (F.col("id") * files / rows).cast("int")
        table.append(source.repartitionById(files, stretch).sortWithinPartitions("id"))
        found = table.files().num_rows
        if found != files:
            msg = f"{name} has {found} files, not {files}"
            raise RuntimeError(msg)
    share = rows // KEYED
    ids = range(_FIRST * share, (_FIRST + TOUCHED) * share)
    return sum(1 for number in ids if number % (_EVERY * _NEW) == _PLACE)


def changes(source: DataFrame, rows: int) -> DataFrame:
    """Return new versions of rows in two of forty files, and some new rows beyond the last."""
    share = rows // KEYED
    touched = source.where(f"id >= {_FIRST * share} AND id < {(_FIRST + TOUCHED) * share}")
    some = touched.where(f"id % {_EVERY} = {_PLACE}").withColumn("note", F.lit("corrected"))
    new = F.when(F.col("id") % (_EVERY * _NEW) == _PLACE, F.col("id") + rows)
    return some.withColumn("id", F.coalesce(new, F.col("id")))


def upsert_native(work: "Work") -> Do:
    """Write all rows anew: those without a change, and the changes, which are broadcast."""
    files = work.files_of("keyed")

    def do() -> None:
        changed = changes(work.source(), work.rows)
        kept = work.spark.read.parquet(*files).join(F.broadcast(changed), "id", "left_anti")
        kept.unionByName(changed).write.parquet(f"{work.root}/out-{uuid4()}")

    return do


def upsert_mere(work: "Work") -> Do:
    """Upsert the changes into a table that holds what it held when it was made."""
    table = work.lake().table("keyed")
    table.restore(version=work.keyed)
    return lambda: table.upsert(changes(work.source(), work.rows), on="id").rows_after


def compact_native(work: "Work") -> Do:
    """Read the small files, and write their rows as few."""
    files = work.files_of("small")

    def do() -> None:
        frame = work.spark.read.parquet(*files).coalesce(MERGED)
        frame.write.parquet(f"{work.root}/out-{uuid4()}")

    return do


def compact_mere(work: "Work") -> Do:
    """Merge the files of a table that lists copies of the small ones."""
    lake = work.lake()
    name = f"copy_{uuid4().hex}"
    size = _listed(lake, work.spark, name)
    table = work.lake().table(name)
    target_mb = size / MERGED / (1 << 20) * 1.01

    def do() -> int:
        report = table.compact(target_mb=target_mb)
        if (report.files_removed, report.files_added) not in {(SMALL, MERGED), (SMALL, MERGED + 1)}:
            msg = f"merged {report.files_removed} files into {report.files_added}"
            raise RuntimeError(msg)
        return report.rows_after

    return do


def _listed(lake: Lake, spark: SparkSession, name: str) -> int:
    """List links to the small files in a new table; return the bytes of all."""
    small = lake.on(spark).table("small")
    table = lake.create_table(name, small.schema)
    session = lake._session  # noqa: SLF001  no verb lists a file that lies there already
    head = session.catalog.head(table.name)
    found = session.catalog.files(session.catalog.head("small"), bounds=True, groups=True)
    root = Path(session.store.url)
    copies: list[DataFile] = []
    for file in found.files:
        path = f"{head.folder}{uuid4()}.parquet"
        (root / head.folder).mkdir(parents=True, exist_ok=True)
        os.link(root / file.path, root / path)
        copies.append(replace(file, id=0, path=path, row_id_start=None, since=0))
    edit = EditFiles(
        table_id=head.table_id, operation="append", adds=tuple(copies), schema=head.schema
    )
    session.catalog.commit(Change(base=head.snapshot, edits=(edit,)))
    return sum(file.bytes for file in copies)
