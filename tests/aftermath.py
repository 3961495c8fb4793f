"""Look at a lake after something happened to it, and say what is wrong with it."""

from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.jobs import dialect_of, rows

import mere
from mere.lake import Lake

State = dict[str, list[Any]]
"""The ids in each table, or its rows, and the version under `""`."""


def state(lake: Lake, *, whole: bool = False) -> State:
    """Return the ids of every table and the version, as one moment; `whole` returns the rows."""
    version = lake.version
    found: State = {"": [version]}
    for name in lake.tables():
        scan = lake.table(name).scan(columns=None if whole else ["id"], version=version)
        rows = [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
        found[name] = sorted(rows, key=repr) if whole else sorted(number for (number,) in rows)
    return found


def state_of(url: str, *, whole: bool = False) -> State:
    """Return the state of the lake at a URL."""
    with mere.connect(url) as lake:
        return state(lake, whole=whole)


def wrongs(
    url: str, *, allowed: Collection[State], again: bool = True, whole: bool = False
) -> Iterator[str]:
    """Open a lake again and say what is wrong; `again` also appends to it."""
    with mere.connect(url) as lake:
        found = state(lake, whole=whole)
        if found not in allowed:
            yield f"shows {found}, which was never committed"
        yield from wrong_versions(lake)
        yield from wrong_files(url, Path(lake.data_path))
        if not again:
            return
        table = lake.table("a")
        before = sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
        version = table.append(rows(98, 99)).version
        ids = sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
        if version != found[""][0] + 1 or ids != sorted([*before, 98, 99]):
            yield f"showed {found}, and after an append {ids} at version {version}"


def wrong_versions(lake: Lake) -> Iterator[str]:
    """Say so when a version is missing or there twice."""
    versions = lake.snapshots()["version"].to_pylist()
    if versions != list(range(len(versions))):
        yield f"versions have gaps: {versions}"


def wrong_files(url: str, root: Path) -> Iterator[str]:
    """Say which listed files are not there, and which others no sweep could tell apart."""
    with closing(dialect_of(url)) as dialect, dialect.reading() as link:
        sizes = link.ask(
            "SELECT path, file_size_bytes FROM ducklake_data_file"
            " UNION ALL SELECT path, file_size_bytes FROM ducklake_delete_file"
        )
        old = {
            Path(row[0]).name
            for row in link.ask("SELECT path FROM ducklake_files_scheduled_for_deletion")
        }
        running = {row[0] for row in link.ask("SELECT intent_id FROM mere_intent")}
    listed = {Path(path).name: size for path, size in sizes}
    there = {path.name: path.stat().st_size for path in root.rglob("*") if path.is_file()}
    for name, size in listed.items():
        if there.get(name) != size:
            yield f"lists {name} with {size} bytes, there are {there.get(name)}"
    for name in there.keys() - listed.keys() - old:
        intent = Path(name).stem.removesuffix("-delete").rpartition("-")[2]
        if intent not in running:
            yield f"holds {name}, of which neither a table nor an announcement knows"
