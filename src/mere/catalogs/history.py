"""Tell what each snapshot did to a table."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mere.catalogs.dialect import Link, Row
from mere.catalogs.times import as_time
from mere.model.history import Head
from mere.plan.conflict import Deed, parse

_ROWS = ("rows_inserted", "rows_updated", "rows_deleted")
_COUNTED = (*_ROWS, "files_added", "files_removed")
_WORDS = {
    "dropped_table": "drop",
    "inserted_into_table": "append",
    "inlined_insert": "append",
    "deleted_from_table": "delete",
    "inlined_delete": "delete",
    "merge_adjacent": "compact",
    "rewrite_delete": "rewrite",
    "compacted_table": "compact",
    "inline_flush": "flush",
    "flushed_inlined": "flush",
    "altered_table": "alter",
}


def history_of(link: Link, head: Head, own: Collection[str]) -> tuple[Mapping[str, Any], ...]:
    """Return one row per snapshot up to the head that changed the table, oldest first."""
    table, at = head.table_id, head.snapshot
    named = _named(link.rows("table_versions", table=table))
    counts = _counts(link, table, at)
    kept = _kept(link, table) if "mere_counted" in own else {}
    told = []
    for snapshot, moment, text, author, message, extra in link.rows("history", at=at):
        deeds = [deed for deed in parse(text) if deed.table_id == table]
        if not deeds and snapshot not in named:
            continue
        told.append(
            {
                "version": snapshot,
                "at": as_time(moment),
                "operation": _operation(deeds, named.get(snapshot)),
                "message": message,
                "author": author,
                **(kept.get(snapshot) or _counted(counts, snapshot)),
                **_said(extra, table),
            }
        )
    return tuple(told)


def keep_counts(
    link: Link, table: int, at: int, snapshots: Iterable[int], made: tuple[int, int]
) -> None:
    """Keep what snapshots did to a table, before the files go that tell it.

    The snapshot `at` is the one by which they go: of it, how many files came and went is `made`.
    """
    counts = _counts(link, table, at)
    known = _kept(link, table)
    told = {n: _counted(counts, n) for n in sorted(set(snapshots) - known.keys())}
    told[at] = dict(zip(_COUNTED, (0, 0, 0, *made), strict=True))
    rows = [(table, n, *(found[name] for name in _COUNTED)) for n, found in told.items()]
    link.insert("mere_counted", rows)


def _kept(link: Link, table: int) -> dict[int, dict[str, int]]:
    rows = link.rows("counted", table=table)
    return {row[0]: dict(zip(_COUNTED, row[1:], strict=True)) for row in rows}


def _counts(link: Link, table: int, at: int) -> Mapping[str, Mapping[int, Row]]:
    return {
        query: {row[0]: row[1:] for row in link.rows(query, table=table, at=at)}
        for query in ("files_begun", "files_ended", "deletes_begun", "deletes_ended")
    }


def _named(rows: Iterable[Row]) -> dict[int, str]:
    """Tell at which snapshots the table got a name: the first creates, later ones rename."""
    begins = sorted(row[0] for row in rows)
    return {begin: "rename" if number else "create" for number, begin in enumerate(begins)}


def _operation(deeds: Iterable[Deed], named: str | None) -> str:
    words = {_WORDS[deed.word] for deed in deeds if deed.word in _WORDS}
    if {"append", "delete"} <= words:
        words = words - {"append", "delete"} | {"overwrite"}
    if "compact" in words:
        words.discard("flush")
    return " and ".join(([named] if named else []) + sorted(words)) or "change"


def _said(extra: str | None, table: int) -> dict[str, Any]:
    """Return what the commit itself counted: deletes that were folded together tell it no more."""
    try:
        said = json.loads(extra or "{}")
        told = said["mere"] if isinstance(said, dict) else {}
        mine = told["table"] == table
        return {name: told[name] for name in ("operation", *_ROWS)} if mine else {}
    except (ValueError, KeyError, TypeError):
        return {}


def _counted(counts: Mapping[str, Mapping[int, Row]], snapshot: int) -> dict[str, int]:
    """Count files and rows that came and went.

    A delete file that replaces an older one counts only what it adds.
    """
    added, inserted = counts["files_begun"].get(snapshot, (0, 0))
    removed, ended = counts["files_ended"].get(snapshot, (0, 0))
    deleted = counts["deletes_begun"].get(snapshot, (0,))[0] or 0
    replaced = counts["deletes_ended"].get(snapshot, (0,))[0] or 0
    return {
        "rows_inserted": int(inserted or 0),
        "rows_updated": 0,
        "rows_deleted": int(ended or 0) + int(deleted) - int(replaced),
        "files_added": int(added),
        "files_removed": int(removed),
    }
