"""Many writers on one lake: everything lands once, and nobody sees an error."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest

from mere.catalogs import duckdb, postgres, sqlite
from mere.catalogs.dialect import CommitUnsureError
from mere.errors import CatalogError
from mere.testing.lakes import append, create, numbers_in

WRITER = """
import sys
from importlib import import_module
from mere.testing.lakes import append

kind, url, files, worker, commits = sys.argv[1:]
catalog = import_module("mere.catalogs." + kind).open_catalog(url, data_path=files)
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(commits)):
    intent = catalog.announce(1)
    append(catalog, "t", int(worker) * 1_000_000 + n, intents=(intent,))
catalog.close()
"""


def race(kind, url, files, *, workers, commits):
    """Let so many processes commit at once."""
    arguments = [sys.executable, "-c", WRITER, kind, url, files]
    processes: list[Any] = [
        subprocess.Popen(
            [*arguments, str(worker), str(commits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for worker in range(workers)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=250)[1] for process in processes]
    assert errors == [""] * workers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "workers", "commits"), [("sqlite", 8, 15), ("postgres", 8, 15), ("duckdb", 3, 4)]
)
def test_every_commit_of_every_process_lands_once(kind, workers, commits, tmp_path, request):
    module = {"sqlite": sqlite, "postgres": postgres, "duckdb": duckdb}[kind]
    url = str(tmp_path / "lake") if kind != "postgres" else request.getfixturevalue("pg_url")
    files = str(tmp_path / "files")
    catalog = module.open_catalog(url, data_path=files)
    create(catalog, "t")
    race(kind, url, files, workers=workers, commits=commits)
    head = catalog.head("t")
    expected = sorted(w * 1_000_000 + n for w in range(workers) for n in range(commits))
    assert numbers_in(catalog, head) == expected
    assert [s.id for s in catalog.snapshots()] == list(range(workers * commits + 2))
    starts = sorted(file.row_id_start for file in catalog.files(head).files)
    assert starts == list(range(0, workers * commits * 10, 10))
    catalog.close()


def opening(kind, url, files):
    program = """
import sys
from importlib import import_module
print("ready", flush=True)
sys.stdin.readline()
open_catalog = import_module("mere.catalogs." + sys.argv[1]).open_catalog
print(open_catalog(sys.argv[2], data_path=sys.argv[3]).snapshot().id)
"""
    return subprocess.Popen(
        [sys.executable, "-c", program, kind, url, files],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "duckdb"])
def test_of_two_that_make_a_lake_at_once_one_does_and_the_other_opens_it(kind, tmp_path, request):
    url = str(tmp_path / "lake") if kind != "postgres" else request.getfixturevalue("pg_url")
    processes = [opening(kind, url, str(tmp_path / "files")) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    answers = [process.communicate("go\n", timeout=100)[0] for process in processes]
    assert answers == ["0\n"] * 3


@pytest.fixture
def lake(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    create(catalog, "t")
    return tmp_path / "lake.db"


def test_a_writer_waits_for_its_turn_and_says_so_when_it_does_not_come(lake):
    with closing(sqlite3.connect(lake, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        impatient = sqlite.open_catalog(lake, wait_s=0.05)
        with pytest.raises(CatalogError, match="stayed busy"):
            append(impatient, "t", 1)
        started = time.monotonic()
        patient = sqlite.open_catalog(lake, wait_s=20)
        done = threading.Thread(target=append, args=(patient, "t", 2))
        done.start()
        time.sleep(0.3)
        other.rollback()
        done.join()
        assert time.monotonic() - started >= 0.3
    assert numbers_in(patient, patient.head("t")) == [2]


def test_a_commit_waits_for_readers_and_readers_for_a_commit(lake):
    with closing(sqlite3.connect(lake, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM ducklake_snapshot").fetchone()
        with pytest.raises(CatalogError, match="readers held"):
            append(sqlite.open_catalog(lake, wait_s=0.1), "t", 1)
    with closing(sqlite3.connect(lake, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CatalogError, match="stayed busy"):
            sqlite.open_catalog(lake, wait_s=0.1)
    catalog = sqlite.open_catalog(lake)
    assert numbers_in(catalog, catalog.head("t")) == []


def test_a_duckdb_file_that_another_process_holds_is_waited_for(tmp_path):
    path = str(tmp_path / "lake.ducklake")
    create(duckdb.open_catalog(path), "t")
    program = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
    holder: Any = subprocess.Popen(
        [sys.executable, "-c", program, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(CatalogError, match=r"was not free for 0\.2 s"):
        duckdb.open_catalog(path, wait_s=0.2)
    threading.Timer(0.3, holder.stdin.close).start()
    catalog = duckdb.open_catalog(path)
    append(catalog, "t", 1)
    assert numbers_in(catalog, catalog.head("t")) == [1]
    holder.wait()
    holder.stdout.close()


def test_postgres_writers_queue_at_the_lock_and_would_collide_without(pg_url, tmp_path):
    catalog = postgres.open_catalog(pg_url, data_path=str(tmp_path), wait_s=0.2)
    create(catalog, "t")
    with psycopg.connect(pg_url) as other:
        other.execute("LOCK TABLE ducklake_snapshot IN SHARE ROW EXCLUSIVE MODE")
        assert catalog.head("t").file_count == 0  # readers do not wait
        with pytest.raises(CatalogError, match="55P03"):
            append(catalog, "t", 1)
    append(catalog, "t", 1)
    # The control: whoever takes a number without the lock finds it taken.
    with psycopg.connect(pg_url) as other:
        ((newest,),) = other.execute("SELECT max(snapshot_id) FROM ducklake_snapshot").fetchall()
        append(catalog, "t", 2)
        with pytest.raises(psycopg.errors.UniqueViolation):
            other.execute("INSERT INTO ducklake_snapshot (snapshot_id) VALUES (%s)", (newest + 1,))
    catalog.close()


def test_a_broken_off_writer_is_tried_again_a_bounded_number_of_times(pg_url, tmp_path):
    catalog = postgres.open_catalog(pg_url, data_path=str(tmp_path))
    create(catalog, "t")
    tries = []

    def cut_off(link):
        tries.append(link.ask("SELECT pg_terminate_backend(pg_backend_pid())"))

    with pytest.raises((CatalogError, CommitUnsureError)):
        catalog._write(cut_off)  # noqa: SLF001  what every writing call goes through
    assert tries == []
    append(catalog, "t", 1)
    assert numbers_in(catalog, catalog.head("t")) == [1]
    catalog.close()


@pytest.mark.slow
def test_writers_killed_at_random_leave_whole_commits(lake):
    arguments = [sys.executable, "-c", WRITER, "sqlite", str(lake), f"{lake}.files/"]
    for round_ in range(4):
        process: Any = subprocess.Popen(
            [*arguments, str(round_), "100000"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(0.2 + 0.13 * round_)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    catalog = sqlite.open_catalog(lake)
    numbers = numbers_in(catalog, catalog.head("t"))
    assert [s.id for s in catalog.snapshots()] == list(range(len(numbers) + 2))
    for round_ in range(4):
        mine = [n % 1_000_000 for n in numbers if n // 1_000_000 == round_]
        assert mine == list(range(len(mine)))
    assert len(numbers) > 4
