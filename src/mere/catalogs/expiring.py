"""Let old versions go, and the rows that only they saw; files are scheduled, not deleted."""

from collections.abc import Iterable
from datetime import timedelta

from mere.catalogs import adopting, heads, references
from mere.catalogs.dialect import Link, Row
from mere.catalogs.files import chunks
from mere.catalogs.folders import Folders
from mere.catalogs.times import as_time, time_text
from mere.model.clearing import Cleared, Doomed
from mere.plan.clearing import expired

_OF_TABLES = (
    *("ducklake_table", "ducklake_column", "ducklake_column_tag", "ducklake_table_stats"),
    *("ducklake_table_column_stats", "ducklake_partition_info", "ducklake_partition_column"),
    *("ducklake_sort_info", "ducklake_sort_expression", "ducklake_schema_versions"),
    *("ducklake_inlined_data_tables", "mere_loaded"),
)


def expire(link: Link, data_path: str, *, older_s: float, keep_last: int, dry_run: bool) -> Cleared:
    """Drop the versions that may go and all that no other version shows."""
    now = as_time(link.rows("now")[0][0])
    gone = expired(
        tuple(heads.as_snapshot(row) for row in link.rows("snapshots")),
        tagged={tag.version for tag in references.tags(link)},
        before=now - timedelta(seconds=older_s),
        keep_last=keep_last,
    )
    for ids in chunks(gone):
        link.run("drop_snapshots", ids=ids)
        link.run("drop_snapshot_changes", ids=ids)
    files = _drop_files(link, Folders.read(link, data_path), time_text(now)) if gone else ()
    if gone:
        _drop_definitions(link)
    return Cleared(operation="expire", dry_run=dry_run, versions=gone, files=files)


def _drop_files(link: Link, folders: Folders, now: str) -> tuple[Doomed, ...]:
    dead = link.rows("dead_files")
    ids = [row[0] for row in dead]
    deletes = {row[0]: row for row in link.rows("dead_deletes")}
    for part in chunks(ids):
        deletes |= {row[0]: row for row in link.rows("deletes_of", ids=part)}
        for name in ("files", "file_bounds", "file_variants", "file_partitions"):
            link.run(f"drop_{name}", ids=part)
    for part in chunks(list(deletes)):
        link.run("drop_delete_files", ids=part)
    for name in (
        "row_groups",
        "segments",
        "footers",
        "marks",
        "counts",
    ):  # also where others expired
        link.run(f"drop_dead_{name}")
    _drop_inlined_deletes(link, dead)
    kept = {row[0] for part in chunks(ids) for row in link.rows("paths_still_listed", ids=part)}
    places = [(folders.place(row[1], row[2], relative=bool(row[3])), row) for row in dead]
    kept |= adopting.leave(
        link, folders.root, ((*place, row[5]) for place, row in places if place[0] not in kept)
    )
    places += [(folders.place(r[1], r[2], relative=bool(r[3])), r) for r in deletes.values()]
    going: dict[tuple[str, bool], Row] = {}
    for place, row in places:
        if place[0] not in kept:
            going.setdefault(place, row)
    link.insert(
        "ducklake_files_scheduled_for_deletion",
        [(row[0], *place, now) for place, row in going.items()],
    )
    link.run("drop_shared")
    return tuple(
        Doomed(path=path, bytes=row[4] or 0, reason="expired") for (path, _), row in going.items()
    )


def _drop_inlined_deletes(link: Link, dead: Iterable[Row]) -> None:
    """Drop deletes that lie in the catalog, of files that are gone."""
    files: dict[int, list[int]] = {}
    for row in dead:
        files.setdefault(row[1], []).append(row[0])
    for table, ids in files.items():
        name = f"ducklake_inlined_delete_{table}"
        if link.rows("table_there", name=name):
            for part in chunks(ids):
                numbers = ", ".join(map(str, part))
                link.ask(f'DELETE FROM "{name}" WHERE file_id IN ({numbers})')  # noqa: S608  own ids


def _drop_definitions(link: Link) -> None:
    """Drop tables, schemas, views, comments and macros that no version shows."""
    tables = [row[0] for row in link.rows("dead_tables")]
    for part in chunks(tables):
        for (name,) in link.rows("inlined_of", ids=part):
            link.ask(f'DROP TABLE IF EXISTS "{name}"')
        _drop_by_id(link, _OF_TABLES, "table_id", part)
        for table in part:
            link.ask(f'DROP TABLE IF EXISTS "ducklake_inlined_delete_{table}"')
    for part in chunks([row[0] for row in link.rows("dead_schemas")]):
        link.run("drop_schemas", ids=part)
    for name in ("views", "tags", "column_tags"):
        link.run(f"drop_dead_{name}")
    macros = ("ducklake_macro", "ducklake_macro_impl", "ducklake_macro_parameters")
    for part in chunks([row[0] for row in link.rows("dead_macros")]):
        _drop_by_id(link, macros, "macro_id", part)


def _drop_by_id(link: Link, names: Iterable[str], column: str, ids: Iterable[int]) -> None:
    numbers = ", ".join(map(str, ids))
    for name in names:
        link.ask(f"DELETE FROM {name} WHERE {column} IN ({numbers})")  # noqa: S608  own names and ids
