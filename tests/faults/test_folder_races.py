"""Maintainers of one folder do not harm each other, nor those who know nothing of them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests import jobs

from mere.datasets import folder
from mere.errors import CommitConflictError, MereError
from mere.testing.faults import InjectedError


def seen(path: str) -> list[Any]:
    """Return the rows that a reader finds that knows nothing of us."""
    query = f"SELECT id, text FROM read_parquet('{path}/**/*.parquet', hive_partitioning=false)"
    return duckdb.sql(query).fetchall()


def at_call(path: str, name: str, number: int, act: Callable[[], object], **more: Any) -> Any:
    """Open a folder that acts before the n-th call of a name to its store, and only then."""
    return jobs.numbered_folder(path, _Acting(name=name, number=number, act=act), **more)


@dataclass(slots=True, kw_only=True)
class _Acting(jobs.Fuse):
    """Acts before the n-th call of one name."""

    name: str
    number: int

    def through(self, name: str, call: Callable[[], Any]) -> Any:
        self.calls.append(name)
        if name == self.name and self.calls.count(name) == self.number:
            self.burn()
        return call()


def small(path: Path, files: int = 3) -> str:
    """Make a folder of files of two rows each."""
    path.mkdir(exist_ok=True)
    for n in range(files):
        pq.write_table(jobs.rows(2 * n, 2 * n + 1), path / f"{n}.parquet")
    return str(path)


def test_maintainers_and_one_who_drops_files_lose_and_double_nothing(tmp_path, stage):
    path = str(tmp_path / "d")
    jobs.drop_files(small(tmp_path / "d", 0), first=2000, times=4)
    calls = [
        ("keep_folder", {"path": path, "verb": "compact", "times": 8}),
        ("keep_folder", {"path": path, "verb": "compact", "times": 8}),
        ("keep_folder", {"path": path, "verb": "upsert a", "times": 4}),
        ("keep_folder", {"path": path, "verb": "upsert b", "times": 4}),
        ("drop_files", {"path": path, "first": 3000, "times": 40}),
    ]
    ended = [outcome.result for outcome in stage.together(calls)]
    found = Counter(id_ for id_, _ in seen(path))
    upserted = {id_ for n in range(3) for id_ in range(n, 1000, 100)}
    assert set(found) == {*range(2000, 2004), *range(3000, 3040), *upserted}
    assert set(found.values()) == {1}
    # Less than a hundred commits came between, so each change was planned again often enough.
    assert all(end.endswith("rows") for end in (*ended[2], *ended[3]))
    assert not (tmp_path / "d" / "_mere").exists()


@pytest.mark.parametrize("verb", ["compact", "delete"])
def test_a_file_that_somebody_writes_anew_meanwhile_is_a_conflict(tmp_path, verb):
    path = small(tmp_path / "d")

    def write_anew() -> None:
        pq.write_table(jobs.rows(7, 8, 9), f"{path}/1.parquet")

    table = at_call(path, "put", 1, write_anew)
    with pytest.raises(CommitConflictError, match="was written anew by somebody else"):
        table.compact() if verb == "compact" else table.delete("id = 2")
    assert sorted(id_ for id_, _ in seen(path)) == [0, 1, 4, 5, 7, 8, 9]
    assert folder(path).count() == 7
    assert [found.name for found in Path(path).iterdir() if found.name[0] == "_"] == []


def test_a_change_of_rows_sees_what_was_dropped_in_meanwhile(tmp_path):
    path = small(tmp_path / "d")
    table = at_call(path, "put", 1, lambda: jobs.drop_files(path, first=50, times=1))
    done = table.upsert(jobs.rows(1, 50, text="new"), on="id")
    assert (done.rows_updated, done.rows_inserted, done.retries) == (2, 0, 1)
    assert dict(seen(path))[50] == "new"


def test_one_who_was_taken_for_dead_and_lives_changes_nothing(tmp_path):
    path = small(tmp_path / "d")

    def follow() -> None:
        impatient = jobs.numbered_folder(path, jobs.Fuse(), patience_s=0)
        assert impatient.delete("id = 3").rows_deleted == 1

    table = at_call(path, "put", 2, follow)
    with pytest.raises(CommitConflictError, match="took this process for dead"):
        table.compact()
    assert sorted(id_ for id_, _ in seen(path)) == [0, 1, 2, 4, 5]
    assert folder(path).compact().compacted_file_count == 3
    assert sorted(id_ for id_, _ in seen(path)) == [0, 1, 2, 4, 5]


def test_maintainers_meet_in_object_storage_as_they_do_on_a_disk(s3):
    url = f"s3://{s3.bucket}/d"
    for ids in ((1, 2), (3, 4), (5, 6)):
        folder(url, schema=jobs.COLUMNS).append(jobs.rows(*ids))

    def follow() -> None:
        impatient = jobs.numbered_folder(url, jobs.Fuse(), patience_s=0)
        assert impatient.delete("id = 3").rows_deleted == 1

    with pytest.raises(CommitConflictError, match="took this process for dead"):
        at_call(url, "put", 2, follow).compact()
    late = at_call(url, "put", 1, lambda: folder(url).upsert(jobs.rows(2, 9), on="id"))
    done = late.upsert(jobs.rows(9, 10, text="late"), on="id")
    assert (done.rows_updated, done.rows_inserted, done.retries) == (1, 1, 1)
    found = folder(url).scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == [1, 2, 4, 5, 6, 9, 10]
    assert found["text"].to_pylist().count("late") == 2


def test_a_plan_whose_files_are_gone_is_made_again_or_refused(tmp_path):
    path = small(tmp_path / "d")
    table = at_call(path, "enter writer", 1, lambda: folder(path).compact())
    with pytest.raises(CommitConflictError, match="others replaced files"):
        at_call(path, "read", 4, lambda: folder(path).compact()).compact()
    assert table.update(set={"text": "'u'"}, where="id < 2").rows_updated == 2
    assert sorted(seen(path))[:3] == [(0, "u"), (1, "u"), (2, "x")]


def test_an_answer_that_is_lost_never_makes_two_of_one(tmp_path):
    """Whatever a verb says, the folder is as before or as after; an error says if it is after."""
    path = small(tmp_path / "was")
    old = sorted(seen(path))
    fuse = jobs.Fuse(silent=SILENT)
    jobs.numbered_folder(path, fuse).upsert(NEW, on="id")
    new = sorted(seen(path))
    ends = Counter[str]()
    for at in range(fuse.calls.index("put"), len(fuse.calls) + 1):
        for when in ("before", "after"):
            path = small(tmp_path / f"{when}-{at}")
            broken = jobs.Fuse(at=at, when=when, act=refuse, silent=SILENT)
            said = "done"
            try:
                jobs.numbered_folder(path, broken).upsert(NEW, on="id")
            except MereError as error:
                said = "committed" if "do not repeat" in str(error) else "not committed"
            except InjectedError:
                said = "not committed"
            impatient = jobs.numbered_folder(path, jobs.Fuse(), patience_s=0)
            assert impatient.count() == (7 if said != "not committed" else 6), (when, at, said)
            assert sorted(seen(path)) == (new if said != "not committed" else old)
            ends[said] += 1
    assert set(ends) == {"done", "committed", "not committed"}


NEW = jobs.rows(1, 50, text="new")
SILENT = jobs.SILENT | {"read", "open", "resolve", "rows", "write"}


def refuse() -> None:
    """Fail as a storage may: once."""
    msg = "injected"
    raise InjectedError(msg)
