"""A write that dies or fails anywhere leaves the old version or the new one, and a usable lake."""

import errno
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest
from tests import aftermath, jobs
from tests.killing import Lakes, fill, killed_everywhere, old_and_new

import mere
from mere.catalogs.dialect import CommitUnsureError
from mere.errors import CatalogError, MereError, StorageError

VERBS = ["append", "overwrite", "transaction"]
DETOURS = ("before", "after")


def test_an_append_that_is_killed_anywhere_is_whole_or_not_there(tmp_path, stage):
    kills, wrongs = killed_everywhere(Lakes.made(tmp_path), stage, verb="append")
    assert wrongs == []
    assert kills > 150


@pytest.mark.parametrize("verb", ["overwrite", "transaction"])
def test_a_change_that_is_killed_at_any_step_is_whole_or_not_there(tmp_path, stage, verb):
    # what only reads, and each piece of a file, is tried with the append
    lakes = Lakes.made(tmp_path)
    kills, wrongs = killed_everywhere(lakes, stage, verb=verb, silent=["rows", "write"])
    assert wrongs == []
    assert kills > 60


def test_a_commit_in_pieces_would_be_found(tmp_path, stage):
    """The control: statements that commit one by one are caught at most places."""
    job: dict[str, Any] = {"verb": "transaction", "without": "whole", "silent": ["rows", "write"]}
    lakes = Lakes.made(tmp_path)
    calls, allowed = old_and_new(lakes, stage, **job)
    start = calls.index("commit") + 2
    caught = []
    for at in range(start, len(calls), 2):
        stage.run("die_at", url=lakes.back(), at=at, when="after", **job)
        try:
            caught.append(bool(list(aftermath.wrongs(lakes.url, allowed=allowed))))
        except MereError:
            caught.append(True)
    assert len(caught) > 8
    assert sum(caught) > len(caught) * 0.6


@pytest.mark.parametrize("seed", range(2))
def test_a_commit_that_is_killed_inside_is_whole_or_not_there(tmp_path, stage, seed):
    del seed  # the moments are random: two rounds can run side by side
    lakes = Lakes.made(tmp_path)
    calls, allowed = old_and_new(lakes, stage, verb="append")
    last = len(calls)
    assert calls[-1] == "leave writing"
    seen = set()
    for _ in range(20):
        outcome = stage.run("die_inside", url=lakes.back(), verb="append", at=last, seconds=0.002)
        assert outcome.killed
        seen.add(aftermath.state_of(lakes.url)[""][0])
        assert list(aftermath.wrongs(lakes.url, allowed=allowed)) == []
    assert seen <= {allowed[0][""][0], allowed[1][""][0]}


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_a_kernel_that_is_killed_while_it_writes_leaves_nothing_to_see(tmp_path, stage, kernel):
    lakes = Lakes.made(tmp_path)
    old = aftermath.state_of(lakes.url)
    partial = 0
    for n in range(8):
        job = {"kernel": kernel, "seconds": 0.1 if kernel == "pyarrow" else 0.2, "number": 10**6}
        assert stage.run("die_writing", url=lakes.back(), **job).killed, n
        partial += bool(len(list(lakes.folder.rglob("*.parquet"))) > 3)
        found = aftermath.state_of(lakes.url)
        whole = len(found["main.a"]) == 200_004 and found[""] == [old[""][0] + 1]
        assert found == old or whole
        assert list(aftermath.wrongs(lakes.url, allowed=[found])) == []


def test_other_catalogs_stand_the_same(tmp_path, stage, pg_url):
    lakes = Lakes.made(tmp_path, "duckdb")
    job: dict[str, Any] = {
        "verb": "append",
        "silent": ["rows", "write", "reading", "enter reading"],
    }
    kills, wrongs = killed_everywhere(lakes, stage, every=4, **job)
    assert wrongs == []
    assert kills > 12
    fill(pg_url, data_path=tmp_path / "files")
    assert killed_on_a_server(pg_url, stage, job, every=3) > 16


def killed_on_a_server(url: str, stage: Any, job: dict[str, Any], *, every: int) -> int:
    """Kill appends one after the other on one lake; return how many."""
    kills = 0
    stage.run("count_calls", url=url, **job)  # the first one on a lake asks more
    calls = stage.run("count_calls", url=url, **job).result
    for at in range(1, len(calls) + 1, every):
        for when in ("before", "after"):
            old = aftermath.state_of(url)
            new = old | {"": [old[""][0] + 1], "main.a": sorted([*old["main.a"], 11, 12])}
            assert stage.run("die_at", url=url, at=at, when=when, **job).killed
            assert list(aftermath.wrongs(url, allowed=[old, new])) == []
            kills += 1
    return kills


def test_the_reference_implementation_agrees_after_a_crash(tmp_path, stage, oracle):
    lakes = Lakes.made(tmp_path)
    calls, (old, new) = old_and_new(lakes, stage, verb="append")
    commit = calls.index("commit") + 1
    for at, when in [(commit - 10, "before"), (commit + 9, "after"), (len(calls), "after")]:
        stage.run("die_at", url=lakes.back(), verb="append", at=at, when=when)
        expected = new if at == len(calls) else old
        connection = oracle(f"sqlite:{lakes.folder / 'lake.db'}", data_inlining_row_limit=0)
        found = connection.execute("SELECT id FROM lake.a ORDER BY id").fetchall()
        assert [number for (number,) in found] == expected["main.a"]
        connection.execute("INSERT INTO lake.a VALUES (77, 1, 'y')")
        connection.close()
        with mere.connect(lakes.url) as lake:
            assert lake.table("a").count() == len(expected["main.a"]) + 1


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_lake_whose_maker_was_killed_is_made_by_the_next(tmp_path, stage, kind):
    for n in range(12 if kind == "sqlite" else 6):
        url = f"{kind}://{tmp_path}/lake{n}"
        where = str(tmp_path / f"files{n}")
        seconds = 0.03 if kind == "sqlite" else 0.2
        stage.run("die_making", url=url, data_path=where, seconds=seconds)
        outcome = stage.run("begin_from_nothing", url=url, data_path=where, number=2)
        assert outcome.error is None, outcome
        found = aftermath.state_of(url)
        assert found in ({"": [3], "main.a": [2]}, {"": [4], "main.a": [1, 2]})


def test_a_disk_that_is_full_changes_nothing_and_goes_on_with_room(tmp_path, stage):
    lakes = Lakes.made(tmp_path)
    old = aftermath.state_of(lakes.url)
    told = []
    for room in (0, 300, 600, 1000, 5000, 50_000, 100_000, 10_000_000):
        told.append(stage.run("append_with_little_room", url=lakes.back(), room=room).result)
        done = told[-1] == "done"
        assert (aftermath.state_of(lakes.url) == old) is not done, (room, told)
        assert not any(aftermath.wrong_files(lakes.url, lakes.folder / "lake.db.files"))
        with mere.connect(lakes.url) as lake:
            assert lake.table("a").append(jobs.rows(98)).version == old[""][0] + 1 + done
    assert set(told) == {"StorageError", "CatalogError", "done"}


# --- errors instead of deaths ---------------------------------------------------------------------


def failing(kind: type[Exception], *told: Any) -> Any:
    def burn() -> None:
        raise kind(*told)

    return burn


def announced(url: str) -> list[Any]:
    with jobs.dialect_of(url).reading() as link:
        return [row[0] for row in link.ask("SELECT intent_id FROM mere_intent")]


@pytest.mark.parametrize("verb", ["append", "transaction"])
def test_an_error_anywhere_reaches_the_caller_and_changes_nothing_or_everything(tmp_path, verb):
    lakes = Lakes.made(tmp_path)
    silent = jobs.SILENT if verb == "append" else jobs.SILENT.union(["write"])
    counted = jobs.Fuse(silent=silent)
    old = aftermath.state_of(lakes.url)
    jobs.VERBS[verb](jobs.numbered_lake(lakes.url, counted, deep=False))
    new = aftermath.state_of(lakes.url)
    for at, call in enumerate(counted.calls, start=1):
        kind = StorageError if "writ" in call else CatalogError
        for when in ("before", "after"):
            act = failing(kind, "made for the test")
            fuse = jobs.Fuse(at=at, when=when, act=act, silent=silent)
            with jobs.numbered_lake(lakes.back(), fuse, deep=False) as lake:
                with pytest.raises(kind, match="made for the test"):
                    jobs.VERBS[verb](lake)
                fuse.armed = False
            done = call == "commit" and when == "after"
            assert aftermath.state_of(lakes.url) == (new if done else old), (at, call, when)
            if (call, when) != ("announce", "after"):  # then nobody knows what to withdraw
                assert announced(lakes.url) == [], (at, call, when)


def test_an_error_of_the_system_is_told_in_our_words(tmp_path):
    lakes = Lakes.made(tmp_path)
    old = aftermath.state_of(lakes.url)
    fuse = jobs.Fuse()
    jobs.append(jobs.numbered_lake(lakes.url, fuse, deep=False))
    write = fuse.calls.index("write") + 1
    for number in (errno.EIO, errno.ENOSPC, errno.EPIPE):
        act = failing(OSError, number, "made for the test")
        lake = jobs.numbered_lake(lakes.back(), jobs.Fuse(at=write + 3, act=act), deep=False)
        with pytest.raises(MereError, match="made for the test"):
            jobs.append(lake)
        assert aftermath.state_of(lakes.url) == old


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_end_was_not_heard_happens_once(tmp_path, when):
    lakes = Lakes.made(tmp_path)
    fuse = jobs.Fuse()
    jobs.append(jobs.numbered_lake(lakes.url, fuse))
    new = aftermath.state_of(lakes.url)
    burn = failing(CommitUnsureError)
    for at in (fuse.calls.index("leave writing") + 1, len(fuse.calls)):
        assert fuse.calls[at - 1] == "leave writing"
        jobs.append(jobs.numbered_lake(lakes.back(), jobs.Fuse(at=at, when=when, act=burn)))
        assert aftermath.state_of(lakes.url) == new


# --- the power is cut -----------------------------------------------------------------------------


def lost_with_the_power(root: Path, flushed: dict[str, Any], *, old: Container[Path] = ()) -> int:
    """Take away what was not flushed when the commit ended; return how many files suffered."""
    lost = 0
    for path in [path for path in root.rglob("*.parquet") if path not in old]:
        within = [step for step in (path, *path.parents) if step.is_relative_to(root)]
        steps = [step for step in within if step not in old]
        named = all(step.name in flushed.get(str(step.parent), ()) for step in steps)
        size = flushed.get(str(path), 0) if named else 0
        if size < path.stat().st_size:
            lost += 1
            with path.open("r+b") as file:
                file.truncate(size)
    return lost


@pytest.mark.parametrize("without", ["", "flushes", "first"])
def test_what_a_commit_lists_survives_a_power_cut(tmp_path, stage, without):
    url = f"sqlite://{tmp_path}/lake.db"
    with mere.connect(url) as lake:
        lake.create_table("a", jobs.COLUMNS, partition_by=["part"])
    flushed = stage.run("noting_flushes", url=url, verb="append", without=without).result
    lost = lost_with_the_power(tmp_path / "lake.db.files", flushed)
    with mere.connect(url) as lake:
        if not without:
            assert lost == 0
            assert sorted(lake.table("a").scan().to_arrow()["id"].to_pylist()) == [11, 12]
        else:  # the controls: a store that does not flush, and one that writes behind
            with pytest.raises(MereError):
                lake.table("a").scan().to_arrow()


@pytest.mark.parametrize("overtaken", [False, True])
def test_the_delete_files_of_a_commit_survive_a_power_cut(tmp_path, stage, overtaken):
    """They were written ahead for this commit, or anew, since another one came before it."""
    lakes = Lakes.made(tmp_path, more=jobs.begin_again)
    root = lakes.folder / "lake.db.files"
    old = {root, *root.rglob("*")}
    asked = {"verb": "upsert", "overtaken": overtaken}
    flushed = stage.run("noting_flushes", url=lakes.url, **asked).result
    new = set(root.rglob("*-delete.parquet")) - old
    assert len(new) == 3
    assert new <= {Path(path) for path in flushed}
    assert lost_with_the_power(root, flushed, old=old) == 0
    with mere.connect(lakes.url) as lake:
        found = lake.table("a").scan("text = 'new'").to_arrow()["id"].to_pylist()
    assert sorted(found) == [1, 2, 107, 200, 201]
