"""Many writers and readers at once, through the public surface: every row once, no error."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests import aftermath, crippled, jobs
from tests.lost_answers import proxy

import mere
from mere.catalogs import intents, sql
from mere.catalogs.opening import OWN
from mere.errors import CatalogError, CommitConflictError, MereError
from mere.lake import Lake
from mere.ports import Session


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path) -> str:
    """Hand out a lake with an empty table of two partitions."""
    found: str = f"sqlite://{tmp_path}/lake.db"
    if request.param == "postgres":
        found = request.getfixturevalue("pg_url")
    return made(found, tmp_path)


def made(url: str, tmp_path: Path) -> str:
    with mere.connect(url, data_path=tmp_path / "files") as lake:
        lake.create_table("a", jobs.COLUMNS, partition_by=["part"])
    return url


def values(outcomes: list[Any]) -> list[Any]:
    return [outcome.result for outcome in outcomes]


# --- many writers ---------------------------------------------------------------------------------


def test_eight_processes_append_fifteen_times_each_and_every_row_is_there_once(url, stage):
    work = [("append_often", {"url": url, "first": 100 * n, "times": 15}) for n in range(8)]
    versions = sorted(v for made in values(stage.together(work)) for v in made)
    assert versions == list(range(2, 122)), "120 commits, each a version of its own, without gaps"
    found = aftermath.state_of(url)
    assert found["main.a"] == [100 * n + time for n in range(8) for time in range(15)]
    with mere.connect(url) as lake:
        assert list(aftermath.wrong_versions(lake)) == []
        assert list(aftermath.wrong_files(url, Path(lake.data_path))) == []
        counts = [lake.table("a").scan(version=v).count() for v in range(1, 122, 10)]
    assert counts == list(range(0, 121, 10)), "each version holds one row more than the one before"


def test_processes_take_turns_at_a_duckdb_catalog(tmp_path, stage):
    url = made(f"duckdb://{tmp_path}/lake.ducklake", tmp_path)
    work = [("append_often", {"url": url, "first": 100 * n, "times": 4}) for n in range(3)]
    versions = sorted(v for made in values(stage.together(work)) for v in made)
    assert versions == list(range(2, 14))
    assert len(aftermath.state_of(url)["main.a"]) == 12


def test_a_duckdb_catalog_that_another_process_holds_is_a_clear_error(tmp_path):
    path = tmp_path / "lake.ducklake"
    url = made(f"duckdb://{path}", tmp_path)
    dialect = jobs.dialect_of(url, wait_s=0.5)
    with closing(duckdb.connect(str(path))):  # another configuration in this process does as well
        started = time.monotonic()
        with pytest.raises(CatalogError, match=r"not free for 0\.5 s") as error:
            sql.opened(dialect, data_path=None, new_data_path=None, create=False)
        assert 0.4 < time.monotonic() - started < 20
    assert "one process at a time" in str(error.value.hint)
    with mere.connect(url) as lake:
        assert lake.table("a").append(jobs.rows(1)).version == 2


def test_a_duckdb_file_that_is_being_made_is_waited_for_and_an_empty_one_is_an_error(tmp_path):
    path = tmp_path / "lake.ducklake"
    path.touch()
    url = f"duckdb://{path}"
    with pytest.raises(CatalogError, match="empty"):
        mere.connect(url)

    def make() -> None:
        time.sleep(0.3)
        path.unlink()
        duckdb.connect(str(path)).close()

    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(make)
        with mere.connect(url) as lake:
            assert lake.version == 0
        made.result()


def test_a_held_sqlite_catalog_is_a_clear_error_after_the_wait(tmp_path):
    url = made(f"sqlite://{tmp_path}/lake.db", tmp_path)
    dialect = jobs.dialect_of(url, wait_s=0.3)
    catalog = sql.opened(dialect, data_path=None, new_data_path=None, create=False)
    with closing(sqlite3.connect(tmp_path / "lake.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(CatalogError, match=r"busy for 0\.3 s"):
            catalog.announce(1)
        holder.execute("ROLLBACK")
    assert catalog.announce(1)


def test_writers_overwriters_and_readers_only_ever_meet_whole_commits(url, stage):
    with mere.connect(url) as lake:
        lake.create_table("log", jobs.COLUMNS)
        lake.table("a").append(jobs.rows(*range(20), text="round -1"))
    work: list[tuple[str, dict[str, Any]]] = [
        ("overwrite_often", {"url": url, "part": 0, "times": 10}),
        ("overwrite_often", {"url": url, "part": 1, "times": 10}),
        ("append_often", {"url": url, "first": 0, "times": 10, "table": "log"}),
        ("watch", {"url": url, "times": 15}),
        ("watch", {"url": url, "times": 15}),
    ]
    *versions, seen, also_seen = values(stage.together(work))
    assert seen == also_seen == []
    assert sorted(v for one in versions for v in one) == list(range(4, 34))
    with mere.connect(url) as lake:
        assert list(aftermath.wrong_versions(lake)) == []
        rows = lake.table("a").scan().to_arrow().to_pylist()
        assert sorted(row["id"] for row in rows) == list(range(20))
        assert {row["text"] for row in rows} == {"round 9"}
        assert lake.table("log").count() == 10


def test_overwriters_of_one_partition_leave_one_of_their_states(url, stage):
    with mere.connect(url) as lake:
        lake.table("a").append(jobs.rows(*range(20), text="round -1"))
    work = [("overwrite_often", {"url": url, "part": 1, "times": 6}) for _ in range(3)]
    versions = sorted(v for one in values(stage.together(work)) for v in one)
    assert versions == list(range(3, 21))
    with mere.connect(url) as lake:
        rows = lake.table("a").scan("part = 1").to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(1, 20, 2))
    assert len({row["text"] for row in rows}) == 1


def test_threads_share_a_lake(url):
    with mere.connect(url) as lake:
        table = lake.table("a")

        def work(worker: int) -> list[int]:
            reports = [table.append(jobs.rows(100 * worker + n)) for n in range(5)]
            assert lake.table("a").count() >= 5
            return [int(report.version or 0) for report in reports]

        with ThreadPoolExecutor(6) as pool:
            versions = sorted(v for made in pool.map(work, range(6)) for v in made)
        assert versions == list(range(2, 32))
        ids = aftermath.state(lake)["main.a"]
    assert ids == [100 * worker + n for worker in range(6) for n in range(5)]


def test_writers_that_take_the_lock_late_fail_in_each_others_way(tmp_path):
    """The control of the lock: taken with the first change only, it ends in the user's hands."""
    url = made(f"sqlite://{tmp_path}/lake.db", tmp_path)
    dialect: Any = jobs.dialect_of(url, wait_s=5.0)
    assert failures_of_two(dialect, threading.Barrier(1)) == []
    late = failures_of_two(crippled.Deferred(dialect), threading.Barrier(2))
    assert len(late) == 1
    assert "locked" in late[0]


def failures_of_two(dialect: Any, both_have_read: threading.Barrier) -> list[str]:
    """Let two read and then write in one transaction each; return how it failed."""

    def meet(token: str) -> str | None:
        try:
            with dialect.writing() as link:
                link.rows("newest")
                both_have_read.wait(60)
                link.insert("mere_commit", [(token, 1, None)])
                time.sleep(0.2)
        except MereError as error:
            return str(error)
        return None

    tokens = [f"{who} of {both_have_read.parties}" for who in ("one", "other")]
    with ThreadPoolExecutor(2) as pool:
        return [failure for failure in pool.map(meet, tokens) if failure]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_those_who_begin_at_once_make_one_lake_and_one_table(request, tmp_path, stage, kind):
    url = f"{kind}://{tmp_path}/lake"
    if kind == "postgres":
        url = request.getfixturevalue("pg_url")
    job = {"url": url, "data_path": str(tmp_path / "files")}
    work = [("begin_from_nothing", {**job, "number": n}) for n in range(4)]
    assert sorted(values(stage.together(work))) == [3, 4, 5, 6]
    assert aftermath.state_of(url) == {"": [6], "main.a": [0, 1, 2, 3]}


# --- the same token -------------------------------------------------------------------------------


def test_a_token_makes_one_version_one_after_the_other_and_at_once(url, stage):
    job = ("append_with_token", {"url": url, "number": 7, "token": "batch 1"})
    told = [values([stage.run(job[0], **job[1])])[0] for _ in range(2)]
    assert told == [[2, 1], [2, 0]]
    for n in range(3):
        both = ("append_with_token", {"url": url, "number": 10 + n, "token": f"both {n}"})
        answers = values(stage.together([both, both, both]))
        assert sorted(inserted for _, inserted in answers) == [0, 0, 1]
        assert {version for version, _ in answers} == {3 + n}
    assert aftermath.state_of(url) == {"": [5], "main.a": [7, 10, 11, 12]}
    with mere.connect(url) as lake:
        strays = list(aftermath.wrong_files(url, Path(lake.data_path)))
    assert all("neither" in stray for stray in strays), "only files that a sweep may take"


def test_without_its_token_the_same_batch_comes_twice(tmp_path):
    """The control: nobody looks at tokens."""
    url = made(f"sqlite://{tmp_path}/lake.db", tmp_path)
    for without, expected in [("", [7]), ("tokens", [7, 8, 8])]:
        for _ in range(2):
            lake = jobs.numbered_lake(url, jobs.Fuse(), without=without)
            number = 8 if without else 7
            with lake.transaction(token=f"batch {without}") as tx:
                tx.table("a").append(jobs.rows(number))
        assert aftermath.state_of(url)["main.a"] == expected


class _Starting:
    """A catalog that lets trouble begin when a commit does."""

    def __init__(self, behind: Any, trouble: Any) -> None:
        self.behind = behind
        self.trouble = trouble

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)

    def commit(self, change: Any, *more: Any) -> Any:
        self.trouble.start()
        return self.behind.commit(change, *more)


@pytest.mark.parametrize("lose", ["answer", "request"])
@pytest.mark.parametrize("token", [None, "mine"])
def test_a_commit_whose_end_is_lost_is_there_once(pg_url, tmp_path, lose, token):
    made(pg_url, tmp_path)
    with proxy(pg_url, lose=lose) as (through, trouble), mere.connect(through) as lake:
        session = lake._session  # noqa: SLF001  a part is swapped for one that brings trouble
        troubled = Lake(replace(session, catalog=_Starting(session.catalog, trouble)))
        report = troubled.table("a").append(jobs.rows(1, 2), token=token)
        assert trouble.happened
        assert (report.version, report.rows_inserted) == (2, 2)
        trouble.happened = False
        with troubled.transaction(token=token and "another") as tx:
            tx.table("a").append(jobs.rows(3))
            tx.table("a").overwrite(jobs.rows(5), partitions="dynamic")
        assert trouble.happened
        assert lake.table("a").append(jobs.rows(7)).version == 4
    assert aftermath.state_of(pg_url) == {"": [4], "main.a": [2, 5, 7]}


def test_without_its_token_a_lost_answer_doubles_rows(pg_url, tmp_path):
    """The control: the retry after a lost answer does not find what it did."""
    made(pg_url, tmp_path)
    with proxy(pg_url, lose="answer") as (through, trouble):
        lake = jobs.numbered_lake(through, jobs.Fuse(), without="tokens")
        session = lake._session  # noqa: SLF001  see above
        troubled = Lake(replace(session, catalog=_Starting(session.catalog, trouble)))
        troubled.table("a").append(jobs.rows(1, 2))
        assert trouble.happened
        lake.close()
    assert aftermath.state_of(pg_url)["main.a"] == [1, 1, 2, 2]


# --- announcements, and the sweep that revokes them -----------------------------------------------


def announced(url: str) -> list[str]:
    with closing(jobs.dialect_of(url)) as dialect, dialect.reading() as link:
        return [row[0] for row in link.ask("SELECT intent_id FROM mere_intent")]


def swept(url: str) -> None:
    """Revoke every announcement and delete what no table lists, as a sweep does."""
    with mere.connect(url) as lake:
        root = Path(lake.data_path)
    strays = {path.name: path for path in root.rglob("*.parquet")}
    with closing(jobs.dialect_of(url)) as dialect, dialect.writing() as link:
        link.ask("DELETE FROM mere_intent WHERE 1 = 1")
        listed = [row[0] for row in link.ask("SELECT path FROM ducklake_data_file")]
    for path in listed:
        strays.pop(Path(path).name, None)
    for path in strays.values():
        path.unlink()


class _Interrupted:
    """A catalog before whose commit something else happens."""

    def __init__(self, behind: Any, before: Any) -> None:
        self.behind = behind
        self.before = before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)

    def commit(self, change: Any, *more: Any) -> Any:
        self.before()
        return self.behind.commit(change, *more)


def interrupted(lake: Lake, before: Any) -> Lake:
    session: Session = lake._session  # noqa: SLF001  a part is swapped
    catalog: Any = _Interrupted(session.catalog, before)
    return Lake(replace(session, catalog=catalog))


def test_a_sweep_that_takes_a_writer_for_dead_makes_it_start_again(url):
    with mere.connect(url) as lake:
        lake.table("a").append(jobs.rows(1))
        with pytest.raises(CommitConflictError, match="fenced"):
            interrupted(lake, lambda: swept(url)).table("a").append(jobs.rows(2))
        assert aftermath.state(lake)["main.a"] == [1]
        assert lake.table("a").append(jobs.rows(2)).version == 3, "it announces itself anew"
        assert aftermath.state(lake)["main.a"] == [1, 2]
        assert list(aftermath.wrong_files(url, Path(lake.data_path))) == []


def test_without_the_fence_a_sweep_costs_rows(tmp_path):
    """The control: a commit that does not look lists files that are gone."""
    url = made(f"sqlite://{tmp_path}/lake.db", tmp_path)
    lake = jobs.numbered_lake(url, jobs.Fuse(), without="fence")
    interrupted(lake, lambda: swept(url)).table("a").append(jobs.rows(2))
    with mere.connect(url) as lake:
        assert lake.table("a").count() == 1, "the catalog counts the row"
        with pytest.raises(MereError):
            lake.table("a").scan().to_arrow()


def test_a_burst_of_appends_announces_once_and_close_ends_it(url):
    seen = set()
    with mere.connect(url) as lake:
        lake.create_table("b", jobs.COLUMNS)
        for n in range(5):
            lake.table("ab"[n % 2]).append(jobs.rows(n))
            seen.update(announced(url))
        with lake.transaction() as tx:
            tx.table("a").append(jobs.rows(8))
            tx.table("b").append(jobs.rows(9))
        seen.update(announced(url))
        assert len(seen) == 1
    assert announced(url) == []


def test_an_append_costs_one_write_transaction_once_it_is_announced(tmp_path):
    url = made(f"sqlite://{tmp_path}/lake.db", tmp_path)
    fuse = jobs.Fuse()
    lake = jobs.numbered_lake(url, fuse)
    jobs.append(lake)
    assert fuse.calls.count("enter writing") == 2
    fuse.calls.clear()
    jobs.append(lake)
    assert fuse.calls.count("enter writing") == 1


def catalog_of(url: str, *, intent_s: float) -> sql.SqlCatalog:
    dialect = jobs.dialect_of(url)
    with mere.connect(url) as lake:
        root = lake.data_path
    return sql.SqlCatalog(dialect, data_path=root, own=OWN, read_only=False, intent_s=intent_s)


def test_an_old_announcement_is_replaced_and_ends_when_nobody_counts_on_it(url):
    catalog = catalog_of(url, intent_s=0.0)
    first = catalog.announce(1)
    second = catalog.announce(1)
    assert first != second
    assert set(announced(url)) == {first, second}, "the first is still written under"
    catalog.withdraw(first)
    third = catalog.announce(1)
    assert set(announced(url)) == {second, third}
    catalog.withdraw(second)
    catalog.withdraw(third)
    catalog.close()
    assert announced(url) == []


def test_closing_leaves_an_announcement_to_those_who_write_under_it(url):
    catalog = catalog_of(url, intent_s=600.0)
    intent = catalog.announce(1)
    assert catalog.announce(1) == intent
    catalog.withdraw(intent)
    catalog.close()
    assert announced(url) == [intent], "one write goes on"
    catalog.withdraw(intent)
    catalog.close()
    assert announced(url) == []


def test_a_fork_announces_itself(url, stage):
    parent, child, left = values([stage.run("announce_over_a_fork", url=url)])[0]
    assert parent != child
    assert left == [parent], "the child ended its own, and left the parent's alone"


def test_announcements_are_counted():
    known = intents.Intents(lasts_s=600.0)
    assert known.join() is None
    known.begin("one")
    assert known.join() == "one"
    known.release(["one", "unknown"])
    known.retire()
    assert known.over() == ()
    assert known.join() is None
    known.release(["one"])
    assert known.over() == ("one",)
    known.forget(["one"])
    assert known.over() == ()
