"""Take files in that others wrote: how they name columns, and that none is in the lake twice.

What is adopted is remembered, because such files are not the lake's to delete.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mere.catalogs.dialect import Link, Row
from mere.catalogs.draft import Draft
from mere.catalogs.files import mappings
from mere.catalogs.folders import Folders
from mere.catalogs.opening import own_tables
from mere.catalogs.times import time_text
from mere.model.files import DataFile
from mere.model.mapping import Mapping, flat
from mere.plan.clearing import is_ours
from mere.ports import ReplanNeeded

MOVED = "adopted"
"""Marks files of which a table has the rows, since it moved them out of what was adopted."""


def known(link: Link, root: str, paths: Collection[str], own: Collection[str]) -> frozenset[str]:
    """Return which of these files a version lists already, or clean-up is about to delete.

    A file that was adopted counts, too, when a table has its rows in files of its own since. Only
    what has the name of one of them is looked at closely.
    """
    rows: list[tuple[int | None, str, bool]] = [
        (table, path, bool(relative)) for table, path, relative in link.rows("listed", first=-1)
    ]
    if "mere_loaded" in own or "mere_loaded" in own_tables(link):
        rows += [(None, path, False) for (path,) in link.rows("loaded_as", mark=MOVED)]
    return _taken(link, root, rows, paths)


def _taken(
    link: Link, root: str, rows: Sequence[tuple[int | None, str, bool]], paths: Collection[str]
) -> frozenset[str]:
    wanted = {_whole(root, path): path for path in paths}
    names = {path.rpartition("/")[2] for path in wanted}
    doomed = ((None, path, bool(rel)) for _, path, rel, _ in link.rows("scheduled"))
    folders = Folders.read(link, root)
    found: set[str] = set()
    for table, path, relative in (*rows, *doomed):
        if path.rpartition("/")[2] not in names:
            continue
        if table is None:
            place = root + path if relative else path
        else:
            key, below = folders.place(table, path, relative=relative)
            place = root + key if below else key
        found.add(_whole(root, place))
    return frozenset(wanted[place] for place in found & wanted.keys())


def _whole(root: str, path: str) -> str:
    """Spell the place of a file one way: absolute, without links of this machine."""
    whole = path if "://" in path or path.startswith("/") else root + path
    if whole.startswith("file://"):
        whole = "/" + whole.removeprefix("file://").lstrip("/")
    folder, _, name = whole.rpartition("/")
    return whole if "://" in whole else f"{os.path.realpath(folder)}/{name}"


def adopt(draft: Draft, table: int, files: Sequence[DataFile]) -> tuple[DataFile, ...]:
    """Keep how new files name the columns of a table; remember whose they are.

    Raises:
        ReplanNeeded: If somebody listed one of them since, or clean-up is about to delete it.
    """
    strangers = [file for file in files if file.names is not None and file.mapping_id is None]
    if not strangers:
        return tuple(files)
    link, root = draft.link, draft.data_path
    rows = [(t, path, bool(rel)) for t, path, rel in link.rows("listed_since", base=draft.base)]
    if _taken(link, root, rows, [file.path for file in strangers]):
        raise ReplanNeeded
    _remember(link, root, [file.path for file in strangers])
    ids = {names: number for number, names in mappings(link, table).items()}
    return tuple(_mapped(draft, table, file, ids) for file in files)


def _mapped(draft: Draft, table: int, file: DataFile, ids: dict[Mapping, int]) -> DataFile:
    names = file.names
    if names is None or file.mapping_id is not None:
        return file
    number = ids.get(names)
    if number is None:
        number = ids[names] = draft.file_id()
        draft.link.insert("ducklake_column_mapping", [(number, table, "map_by_name")])
        draft.link.insert("ducklake_name_mapping", [_name_row(number, row) for row in flat(names)])
    return replace(file, mapping_id=number)


def _name_row(number: int, row: tuple[int, str, int, int | None, bool]) -> Row:
    place, name, field, parent, hive = row
    return number, place, name, field, parent, hive


def _remember(link: Link, root: str, paths: Iterable[str]) -> None:
    spelled = [text for path in paths for text in spellings(root, path)]
    there = {row[0] for row in link.rows("adopted")}
    for path in there & set(spelled):
        link.run("forget_adopted", path=path)
    link.insert("mere_adopted", [(path, None) for path in dict.fromkeys(spelled)])


def spellings(root: str, path: str) -> tuple[str, ...]:
    """Return how a file is named where files are scheduled: one below the root in two ways."""
    below = path.removeprefix(root)
    inside = "://" not in below and not below.startswith("/")
    return (below, root + below) if inside else (path,)


def move(draft: Draft, table: int, places: Iterable[str]) -> None:
    """Remember that a table has the rows of adopted files in files of its own, from now on."""
    link, now = draft.link, time_text(datetime.now(UTC))
    paths = sorted({_whole(draft.data_path, place) for place in places})
    if paths:
        there = {row[0] for row in link.rows("loaded", table=table, first=paths[0], last=paths[-1])}
        rows = [(table, path, 0, MOVED, MOVED, draft.snapshot, now) for path in paths]
        link.insert("mere_loaded", [row for row in rows if row[1] not in there])


def leave(link: Link, root: str, rows: Iterable[Row]) -> frozenset[str]:
    """Say of adopted files that no version shows them any more; return which ones they are.

    `rows` are (place, is it below the root, id of the mapping). Files that another client adopted
    are remembered from now on; copies of our own are not among them.
    """
    known_ = {row[0] for row in link.rows("adopted")}
    now = time_text(datetime.now(UTC))
    left: set[str] = set()
    for place, below, mapping in rows:
        if place not in known_ and (mapping is None or (below and is_ours(place))):
            continue
        left.add(place)
        for text in spellings(root, place):
            if text in known_:
                link.run("left_adopted", path=text, since=now)
            else:
                link.insert("mere_adopted", [(text, now)])
    return frozenset(left)
