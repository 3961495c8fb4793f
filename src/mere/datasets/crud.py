"""Delete, update and upsert rows of a dataset: `ParquetCRUD`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mere import arrow
from mere.datasets.partitions import partition_condition
from mere.datasets.places import LOCAL, Place, backup_in
from mere.datasets.planning import listed
from mere.datasets.results import changed
from mere.datasets.upserting import held, upsert_once
from mere.errors import InvalidInputError
from mere.model.expr import Expr, lit
from mere.where import translate

if TYPE_CHECKING:
    from mere.lake import Lake
    from mere.model.report import Report


@dataclass(frozen=True)
class ParquetCRUD:
    """Changes rows of a folder of Parquet: files are written anew, and swapped all at once.

    Args:
        dataset_dir: The folder.
        compression: The codec of new files.
        backup_dir: Where files are copied to before they go, if a call does not say otherwise.
        engine: `"local"`, or the SparkSession that does the work.
        kernel: `"pyarrow"` or `"duckdb"`.
        filesystem: An fsspec filesystem that reaches the folder.
        storage_options: Region, endpoint, credentials.

    Every call returns `partitions_affected`, `files_read`, `files_written`, `files_deleted`,
    `rows_before`, `rows_after`, `rows_deleted`, `rows_updated`, `rows_inserted`, `backup` (the
    copies that were made), and the canonical statistics. A dry run counts the same and writes
    nothing.
    """

    dataset_dir: str | os.PathLike[str]
    compression: str | None = "zstd"
    backup_dir: str | os.PathLike[str] | None = None
    engine: Any = LOCAL
    kernel: str = "pyarrow"
    filesystem: Any = field(default=None, repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    def delete(
        self,
        filter_expr: Any,
        partition_filter: Any = None,
        dry_run: bool = False,
        create_backup: bool = True,
    ) -> dict[str, Any]:
        """Delete the rows that match; a row for which the condition is NULL stays.

        Args:
            filter_expr: Which rows: a polars, pyarrow or mere expression, SQL text, a dict or
                (column, operator, value) tuples.
            partition_filter: Only in these partitions; see `collect_dataset_stats`.
            dry_run: Only count.
            create_backup: Copy files to `backup_dir`, if there is one, before they go.

        Raises:
            ValueError: If a column does not exist; nothing was read.
            FileNotFoundError: If there is no Parquet file.
        """
        where = _both(filter_expr, partition_filter)
        place = self._place(create_backup=create_backup and not dry_run)
        return self._told(place.table().delete(where, dry_run=dry_run), place)

    def update(
        self,
        filter_expr: Any,
        update_expr: Mapping[str, Any],
        partition_filter: Any = None,
        dry_run: bool = False,
        create_backup: bool = True,
    ) -> dict[str, Any]:
        """Set columns of the rows that match, all from what the row was before.

        Args:
            filter_expr: Which rows, as `delete` takes it.
            update_expr: New values by column: a value, text standing for itself, or an expression.
            partition_filter: Only in these partitions; see `collect_dataset_stats`.
            dry_run: Only count.
            create_backup: Copy files to `backup_dir`, if there is one, before they go.

        Raises:
            ValueError: If a column does not exist or a value does not fit; nothing was changed.
            FileNotFoundError: If there is no Parquet file.
        """
        where = _both(filter_expr, partition_filter)
        sets = {column: _value(value) for column, value in update_expr.items()}
        place = self._place(create_backup=create_backup and not dry_run)
        return self._told(place.table().update(sets, where, dry_run=dry_run), place)

    def upsert(
        self,
        new_data: Any,
        key_cols: Sequence[str],
        partition_cols: Sequence[str],
        update_cols: Sequence[str] | None = None,
        dry_run: bool = False,
        create_backup: bool = True,
    ) -> dict[str, Any]:
        """Update the rows whose keys the dataset has, insert the others; a key is there once then.

        Columns that `new_data` lacks keep their values, and are NULL in rows that are new. A row
        whose partition changes moves. Of rows that shared one of these keys before, one stays.

        Args:
            new_data: Anything with an Arrow stream; each key once.
            key_cols: The columns that tell rows apart.
            partition_cols: The partition columns, which `new_data` must have; the folder says how
                its files lie.
            update_cols: The columns to update; None for all but the keys.
            dry_run: Only count.
            create_backup: Copy files to `backup_dir`, if there is one, before they go.

        Raises:
            ValueError: If a column is missing, or `new_data` holds a key twice; nothing was
                changed.
            FileNotFoundError: If there is no Parquet file.
        """
        place = self._place(create_backup=create_backup and not dry_run)
        table = place.table()
        rows = held(new_data, table.scan().head.schema)
        found = arrow.names_of(rows)
        keys, partitions = listed(key_cols), (*listed(partition_cols), *table.partition_by)
        _require("Key columns", keys, found, "new_data")
        _require("Partition columns", partitions, found, "data")
        report = upsert_once(table, rows, keys, update_cols, dry_run=dry_run)
        return self._told(report, place)

    def adopt(self, lake: Lake, name: str) -> Report:
        """Make the folder a table of a lake, where it lies: no byte is rewritten.

        From then on the lake says which files count: change rows through it, no longer here.

        Raises:
            FileNotFoundError: If there is no Parquet file.
        """
        table = self._place(create_backup=False).table()
        table.count()  # whatever a crash left half done is brought to its end first
        return lake.adopt(table.name, name)

    def _place(self, *, create_backup: bool) -> Place:
        return Place(
            path=os.fspath(self.dataset_dir),
            filesystem=self.filesystem,
            storage_options=self.storage_options,
            kernel=self.kernel,
            engine=self.engine,
            compression=self.compression,
            backup=backup_in(self.backup_dir) if create_backup else None,
        )

    def _told(self, report: Report, place: Place) -> dict[str, Any]:
        copies = () if place.backup is None else report.gone
        return changed(report, place.path) | {
            "backup": [f"{place.backup}/{name}" for name in copies]
        }


def _both(filter_expr: Any, partition_filter: Any) -> Expr:
    """Return what rows must fulfil to be meant."""
    where, within = translate(filter_expr), partition_condition(partition_filter)
    return where if within is None else within & where


def _value(value: Any) -> Any:
    """Return a new value as `Table.update` takes it, where text is SQL."""
    if isinstance(value, str):
        return lit(value)
    is_expression = type(value).__name__ in ("Expr", "Expression")
    return translate(value) if is_expression else value


def _require(what: str, wanted: Sequence[str], held: Sequence[str], where: str) -> None:
    missing = [name for name in dict.fromkeys(wanted) if name not in held]
    if missing:
        msg = f"{what} not found in {where}: {', '.join(missing)}; it has: {', '.join(held)}"
        raise InvalidInputError(msg)
