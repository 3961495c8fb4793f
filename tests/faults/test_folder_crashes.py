"""A folder that somebody died in is as it was before or as it is after, for whoever comes next."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests import jobs

from mere.datasets import folder
from mere.errors import CorruptionError, InvalidInputError
from mere.stores import open_store


def filled(path: Path) -> Path:
    """Make a partitioned folder as others would: the files hold the partition's column, too."""
    for name, ids in {"a": (1, 2), "b": (3, 4), "c": (1, 3, 5, 6)}.items():
        table = jobs.rows(*ids, text="x" if name < "c" else "y")
        for part in (0, 1):
            (path / f"part={part}").mkdir(parents=True, exist_ok=True)
            some = table.filter([value == part for value in table["part"].to_pylist()])
            pq.write_table(some, path / f"part={part}" / f"{name}.parquet")
    return path


def seen(path: Path) -> list[Any]:
    """Return the rows that a reader finds that knows nothing of us."""
    query = f"SELECT id, part, text FROM '{path}/**/*.parquet' ORDER BY ALL"
    return duckdb.sql(query).fetchall()


def told(path: Path | str) -> list[Any]:
    """Return the rows that the table tells."""
    found = folder(path).scan(columns=["id", "part", "text"]).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.mark.parametrize("verb", ["append", "one file", "upsert", "compact", "repartition"])
def test_whoever_comes_next_finds_all_of_a_change_or_nothing(tmp_path, stage, verb):
    was, path = filled(tmp_path / "was"), tmp_path / "here"
    shutil.copytree(was, path)
    old = seen(path)
    calls = stage.run("change_folder", path=str(path), verb=verb).result
    new = seen(path)
    moves = verb in ("compact", "repartition")
    assert moves == (old == new)
    assert not (path / "_mere").exists()
    ends, halves = set(), 0
    places = [(1, "before"), *((at, "after") for at in range(1, len(calls) + 1))]
    for at, when in places:  # after one call is before the next
        shutil.rmtree(path)
        shutil.copytree(was, path)
        died = stage.run("change_folder", path=str(path), verb=verb, at=at, when=when)
        place = f"{when} call {at}, {calls[at - 1]}"
        assert died.killed, place
        halves += seen(path) not in (old, new)
        found = told(path)
        assert found in (old, new), place
        assert seen(path) == found, place
        ends.add(found == new)
    assert moves or ends == {True, False}
    if verb != "append":  # its files appear side by side: a kill may find both or none of them
        assert bool(halves) == (verb != "one file"), "the control: there were halves to be mended"
    folder(path).append(jobs.rows(50, 51))
    assert not (path / "_mere").exists()


def test_one_who_may_not_write_sees_a_change_that_was_not_brought_to_its_end(tmp_path, stage):
    path = filled(tmp_path / "here")
    calls = stage.run(
        "change_folder", path=str(shutil.copytree(path, tmp_path / "b")), verb="upsert"
    )
    at = calls.result.index("move") + 1
    new = told(tmp_path / "b")
    assert stage.run("change_folder", path=str(path), verb="upsert", at=at, when="after").killed
    before = sorted(path.rglob("*"))
    assert seen(path) != new
    table = folder(path, read_only=True)
    rows = table.scan(columns=["id", "part", "text"]).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == new
    with pytest.raises(InvalidInputError, match="read_only"):
        table.compact()
    assert sorted(path.rglob("*")) == before


def test_a_file_that_was_to_take_the_place_of_others_and_is_lost_costs_none_of_them(
    tmp_path, stage
):
    path = filled(tmp_path / "here")
    calls = stage.run(
        "change_folder", path=str(shutil.copytree(path, tmp_path / "b")), verb="compact"
    )
    at = calls.result.index("move") + 1
    assert stage.run("change_folder", path=str(path), verb="compact", at=at, when="before").killed
    next((path / "_mere").rglob("*.staged")).unlink()
    with pytest.raises(CorruptionError, match="nowhere to be found") as told_so:
        folder(path)
    assert len(list(path.rglob("*.parquet"))) == 6
    (journal,) = (path / "_mere").glob("*.journal")
    assert journal.name in str(told_so.value.hint)
    journal.unlink()
    assert told(path) == seen(path)


def test_nothing_is_lost_in_object_storage_either(tmp_path, stage, s3):
    files = {str(p.relative_to(tmp_path / "d")): p for p in filled(tmp_path / "d").rglob("*.pa*")}

    def sent(name: str) -> str:
        url = f"s3://{s3.bucket}/{name}"
        store = open_store(url)
        for below, file in files.items():
            store.put(below, file.read_bytes())
        return url

    job: dict[str, Any] = {"verb": "upsert", "environment": s3.environment}
    url = sent("whole")
    old = told(url)
    calls = stage.run("change_folder", path=url, **job).result
    new = told(url)
    ends = set()
    for at in range(calls.index("put"), len(calls) + 1, 2):
        url = sent(f"dies-{at}")
        when = ("before", "after")[at // 2 % 2]
        assert stage.run("change_folder", path=url, at=at, when=when, **job).killed
        found = told(url)
        assert found in (old, new), f"{when} call {at}, {calls[at - 1]}"
        ends.add(found == new)
        folder(url).compact()
        assert told(url) == found
        assert not [file for file in open_store(url).list() if file.path.startswith("_mere/")]
    assert ends == {True, False}
