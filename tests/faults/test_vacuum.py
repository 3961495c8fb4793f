"""A sweep that dies anywhere, or runs beside writers: nothing listed goes, nothing dead stays."""

import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests import aftermath, jobs

import mere
from mere.errors import CommitConflictError, StorageError

DEAD = "UPDATE mere_intent SET host = 'elsewhere', created_at = '2020-01-01 00:00:00+00'"


@pytest.fixture
def url(tmp_path):
    """Hand out a lake with a past that expired, and with files of a writer that died."""
    found = f"sqlite://{tmp_path}/lake.db"
    with mere.connect(found, data_path=tmp_path / "files") as lake:
        table = lake.create_table("a", jobs.COLUMNS, partition_by=["part"])
        table.append(jobs.rows(1, 2, 3, 4))
        table.overwrite(jobs.rows(5, 6))
    return found


def files(url):
    return {path.name for path in Path(url[9:]).parent.rglob("*.parquet")}


def listed(url):
    with closing(jobs.dialect_of(url)) as dialect, dialect.reading() as link:
        return {Path(row[0]).name for row in link.ask("SELECT path FROM ducklake_data_file")}


def test_files_of_a_writer_that_was_killed_go_at_once_and_by_name(url, stage):
    before = files(url)
    calls = stage.run("count_calls", url=url, verb="append").result
    with mere.connect(url) as lake:
        lake.expire(0)
        assert lake.vacuum(0).files
    place = len(calls) - calls[::-1].index("commit")
    kept = files(url)
    assert stage.run("die_at", url=url, verb="append", at=place, when="before").killed
    orphans = files(url) - kept
    assert orphans
    assert not orphans & before
    with mere.connect(url) as lake:
        swept = lake.vacuum("7 days")
        assert {Path(path).name for path in swept.paths} == orphans
        assert {file.reason for file in swept.files} == {"crashed"}
        assert len(swept.fenced) == 1
    assert files(url) == kept == listed(url)


@pytest.mark.parametrize("verb", ["vacuum", "expire"])
def test_a_clean_up_that_is_killed_anywhere_loses_nothing_and_the_next_one_ends_it(
    url, stage, tmp_path, verb
):
    folder, was = Path(url[9:]).parent, tmp_path.with_name(tmp_path.name + "-was")
    if verb == "vacuum":
        with mere.connect(url) as lake:
            lake.expire(0)
    calls = stage.run("count_calls", url=url, verb="append").result
    place = len(calls) - calls[::-1].index("commit")
    assert stage.run("die_at", url=url, verb="append", at=place, when="before").killed
    state = aftermath.state_of(url)
    shutil.copytree(folder, was)
    calls = stage.run("count_calls", url=url, verb=verb, silent=["rows"]).result
    assert "leave writing" in calls
    wrong = []
    for at in range(1, len(calls) + 1):
        for when in ("before", "after"):
            shutil.rmtree(folder)
            shutil.copytree(was, folder)
            assert stage.run("die_at", url=url, verb=verb, at=at, when=when, silent=["rows"]).killed
            if aftermath.state_of(url) != state:
                wrong.append(f"{when} call {at}, {calls[at - 1]}: other rows")
            with mere.connect(url) as lake:
                lake.expire(0)
                lake.vacuum(0)
            if files(url) != listed(url):
                wrong.append(f"{when} call {at}, {calls[at - 1]}: {files(url) ^ listed(url)}")
            if aftermath.state_of(url) != state:
                wrong.append(f"{when} call {at}, {calls[at - 1]}: other rows after the next")
    assert wrong == []
    assert len(calls) > 10


def beside(url, *, at, when, without="", dead=True):
    """Append, and sweep at one of its calls; return whether it was committed."""

    def sweep():
        if dead:
            with closing(jobs.dialect_of(url)) as dialect, dialect.writing() as link:
                link.ask(DEAD)
        with mere.connect(url) as other:
            other.vacuum(0)

    fuse = jobs.Fuse(at=at, when=when, act=sweep)
    lake = jobs.numbered_lake(url, fuse, deep=False, without=without)
    try:
        jobs.append(lake)
    except (CommitConflictError, StorageError):
        return False
    return True


def lost(url):
    """Say which listed files are not there."""
    return listed(url) - files(url)


def every_place(url, **more):
    fuse = jobs.Fuse()
    jobs.append(jobs.numbered_lake(url, fuse, deep=False))
    calls = list(fuse.calls)
    for at in range(1, len(calls) + 1):
        for when in ("before", "after"):
            yield f"{when} {calls[at - 1]}", beside(url, at=at, when=when, **more)


def test_a_living_writer_is_never_disturbed_by_a_sweep_at_any_moment(url):
    places = list(every_place(url, dead=False))
    assert [place for place, committed in places if not committed] == []
    assert lost(url) == set()
    assert len(places) > 10
    with mere.connect(url) as lake:
        assert lake.table("a").count() == 2 + 2 * (len(places) + 1)


def test_a_writer_taken_for_dead_is_fenced_and_loses_no_more_than_its_attempt(url):
    places = list(every_place(url))
    committed = sum(done for _, done in places)
    assert lost(url) == set()
    assert 0 < committed < len(places)
    with mere.connect(url) as lake:
        assert lake.table("a").count() == 2 + 2 * (committed + 1)
        assert lake.table("a").append(jobs.rows(1)).rows_inserted == 1


def test_without_the_fence_rows_would_be_lost(url):
    """The control: a commit that does not ask for its announcement lists files that are gone."""
    assert list(every_place(url, without="fence"))
    assert lost(url)


def test_four_writers_and_a_long_reader_beside_sweeps_and_expiry(url, stage):
    with mere.connect(url) as lake:
        scan = lake.table("a").scan()
        before = sorted(scan.to_arrow()["id"].to_pylist())
        stop = threading.Event()
        swept = []

        def sweep():
            while not stop.is_set():
                with mere.connect(url) as other:
                    other.expire(0, keep_last=3)
                    swept.append(other.vacuum("1 hour"))

        thread = threading.Thread(target=sweep)
        thread.start()
        work = [("append_often", {"url": url, "first": 100 * n, "times": 8}) for n in range(1, 5)]
        outcomes = stage.together(work)
        stop.set()
        thread.join()
        assert [outcome.error for outcome in outcomes] == [None] * 4
        assert lake.table("a").count() == 2 + 4 * 8
        assert sorted(scan.to_arrow()["id"].to_pylist()) == before
        assert swept
        lake.expire(0)
        lake.vacuum(0)
    assert lost(url) == set()
    assert files(url) == listed(url)


def test_a_file_that_no_client_knows_goes_only_when_it_is_old(url):
    folder = Path(url[9:]).parent / "files" / "main" / "a"
    for name in ("stranger.parquet", "notes.txt", "half.parquet.tmp"):
        (folder / name).write_bytes(b"x")
    with mere.connect(url) as lake:
        assert lake.vacuum("1 hour").waiting >= 1
        assert (folder / "stranger.parquet").exists()
        assert "main/a/stranger.parquet" in lake.vacuum(0).paths
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == [
        "half.parquet.tmp",
        "notes.txt",
    ]
