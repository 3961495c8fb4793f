"""A writer that dies anywhere in a commit leaves the old version or the new one, never between."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from tests.lost_answers import proxy

from mere.catalogs import commit as committing
from mere.catalogs import sqlite
from mere.catalogs.dialect import CommitUnsureError
from mere.catalogs.opening import OWN
from mere.catalogs.postgres import open_catalog
from mere.catalogs.sql import SqlCatalog
from mere.errors import CommitConflictError
from mere.model.history import Change
from mere.testing.faults import Fault, Faulty, InjectedError
from mere.testing.lakes import adding, append, create, file_of, numbers_in

KILLED = """
import json, sqlite3, sys
from importlib import import_module
from mere.catalogs.opening import OWN
from mere.catalogs.sql import SqlCatalog
from mere.testing.faults import Faulty, at_every_call
from mere.testing.lakes import append, create, numbers_in

kind, url, files, torn = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "torn"
module = import_module("mere.catalogs." + kind)

def opened():
    return module.open_catalog(url, data_path=files)

catalog = opened()
create(catalog, "t")
catalog.close()
violations, done = [], 0

def act(fault):
    mine = opened()
    dialect = mine._dialect
    if torn:
        begin, link = dialect._begin, None
        def without_transaction(*args, **more):
            connection = begin(*args, **more)
            connection.execute("COMMIT")
            return connection
        dialect._begin = without_transaction
        dialect._commit = lambda connection: None
    mine._dialect = Faulty(dialect, fault)
    intent = mine.announce(1)
    append(mine, "t", done, token=f"token {done}", intents=(intent,))

def look(place):
    global done
    mine = opened()
    try:
        there = numbers_in(mine, mine.head("t"))
        assert there in (list(range(done)), list(range(done + 1))), there
        append(mine, "t", done, token=f"token {done}")
        done += 1
        head = mine.head("t")
        assert numbers_in(mine, head) == list(range(done)), numbers_in(mine, head)
        assert [s.id for s in mine.snapshots()] == list(range(done + 2))
        with mine._dialect.reading() as link:
            ids = [row[0] for row in link.rows("files", table=1, at=head.snapshot)]
            assert ids == list(range(done)), ids
            assert link.rows("table_stats", table=1) == [(done * 10, done * 10, done * 1000)]
    except Exception as error:
        violations.append(f"{place}: {error!r}"[:300])
        if torn:
            print(json.dumps([violations, []])); sys.exit()
    finally:
        mine.close()

calls = at_every_call(act, look, step=int(sys.argv[5]))
print(json.dumps([violations, calls]))
"""


def killed_everywhere(kind, url, files, torn="whole", step=1):
    arguments = [sys.executable, "-c", KILLED, kind, url, files, torn, str(step)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), [("sqlite", 1), ("postgres", 1), ("duckdb", 7)])
def test_a_writer_killed_at_any_call_leaves_old_or_new(kind, step, tmp_path, request):
    url = str(tmp_path / "lake") if kind != "postgres" else request.getfixturevalue("pg_url")
    violations, calls = killed_everywhere(kind, url, str(tmp_path / "files"), step=step)
    assert violations == []
    assert len(calls) * step > 40


def test_without_the_transaction_the_same_test_finds_torn_commits(tmp_path):
    violations, _ = killed_everywhere("sqlite", str(tmp_path / "lake"), str(tmp_path), "torn")
    assert violations


@pytest.fixture
def lake(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    create(catalog, "t")
    return catalog


def failing(catalog, **fault):
    """Return the same catalog, through a dialect that fails."""
    numbered = Fault(act="raise", **fault)
    dialect = Faulty(catalog._dialect, numbered)  # noqa: SLF001  an adapter is wrapped, not its users
    return numbered, SqlCatalog(dialect, data_path=catalog.data_path, own=OWN, read_only=False)


def test_an_error_at_any_call_changes_nothing_or_everything(lake):
    counted, counting = failing(lake)
    append(counting, "t", 0)
    for at in range(1, len(counted.calls) + 1):
        for when in ("before", "after"):
            before = numbers_in(lake, lake.head("t"))
            _, broken = failing(lake, at=at, when=when)
            new = at * 10 + (when == "after")
            with pytest.raises(InjectedError):
                append(broken, "t", new)
            assert numbers_in(lake, lake.head("t")) in (before, sorted([*before, new]))
    snapshots = [snapshot.id for snapshot in lake.snapshots()]
    assert snapshots == list(range(len(snapshots)))


def test_a_fenced_writer_commits_nothing_even_with_its_files_in_place(lake, tmp_path):
    intent = lake.announce(1)
    with closing(sqlite3.connect(tmp_path / "lake.db", isolation_level=None)) as sweep:
        sweep.execute("UPDATE mere_intent SET state = 'revoked'")
    with pytest.raises(CommitConflictError, match="fenced"):
        append(lake, "t", 1, intents=(intent,))
    assert numbers_in(lake, lake.head("t")) == []
    append(lake, "t", 1)  # the control: nothing else stood in the way
    assert numbers_in(lake, lake.head("t")) == [1]


@pytest.mark.parametrize("lose", ["answer", "request"])
def test_a_lost_end_of_a_commit_is_settled_by_the_token(postgres, tmp_path, lose):
    with postgres.database() as url, proxy(url, lose=lose) as (through, trouble):
        catalog = open_postgres(through, tmp_path)
        create(catalog, "t")
        trouble.start()
        committed = append(catalog, "t", 1)
        assert trouble.happened
        assert not committed.repeated
        assert numbers_in(catalog, catalog.head("t")) == [1]
        assert [snapshot.id for snapshot in catalog.snapshots()] == [0, 1, 2]
        catalog.close()


def test_without_the_token_a_lost_answer_doubles_rows(postgres, tmp_path):
    with postgres.database() as url, proxy(url, lose="answer") as (through, trouble):
        catalog = open_postgres(through, tmp_path)
        create(catalog, "t")
        head = catalog.head("t")
        change = Change(base=1, edits=(adding(head, file_of(head, {"id": (1, 1)})),))
        trouble.start()
        for n in range(2):
            attempt = committing.Attempt(
                change=change, token=f"new each time {n}", mine=str(n), data_path=catalog.data_path
            )
            try:
                with catalog._dialect.writing() as link:  # noqa: SLF001  below the token check
                    committing.commit(link, attempt)
            except CommitUnsureError:
                continue
        assert trouble.happened
        assert numbers_in(catalog, catalog.head("t")) == [1, 1]
        catalog.close()


def test_a_connection_that_broke_while_idle_is_replaced(postgres, tmp_path):
    with postgres.database() as url, proxy(url) as (through, trouble):
        catalog = open_postgres(through, tmp_path)
        create(catalog, "t")
        trouble.cut()
        append(catalog, "t", 1)
        trouble.cut()
        assert numbers_in(catalog, catalog.head("t")) == [1]
        catalog.close()


def open_postgres(url, tmp_path):
    return open_catalog(url, data_path=str(tmp_path / "files"))


def test_a_read_only_reader_gets_past_a_commit_that_a_crash_cut_off(tmp_path, lake):
    append(lake, "t", 1)
    program = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE ducklake_data_file SET path = hex(zeroblob(200000))")
connection.execute("DELETE FROM ducklake_snapshot")
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "lake.db")], check=False)
    assert (tmp_path / "lake.db-journal").stat().st_size > 0
    reader = sqlite.open_catalog(tmp_path / "lake.db", read_only=True)
    assert numbers_in(reader, reader.head("t")) == [1]
    writer = sqlite.open_catalog(tmp_path / "lake.db")
    append(writer, "t", 2)
    assert numbers_in(writer, writer.head("t")) == [1, 2]
    writer.close()
