"""A folder that somebody died in is as it was before or as it is after, for whoever comes next."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests import jobs

from mere.datasets import folder


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


def told(path: Path) -> list[Any]:
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
    for at in range(1, len(calls) + 1):
        for when in ("before", "after"):
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
    assert bool(halves) == (verb != "one file"), "the control: there were halves to be mended"
    folder(path).append(jobs.rows(50, 51))
    assert not (path / "_mere").exists()
