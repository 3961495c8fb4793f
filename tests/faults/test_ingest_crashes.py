"""A load that dies anywhere, or meets another one, brings every file in once."""

import json
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests import aftermath, jobs

import mere

QUIET = ["rows", "write", "open", "reading", "enter reading"]
DEEP = [*QUIET, "run", "insert", "ask"]
EVERY = {"sqlite": 1, "duckdb": 8, "postgres": 3}
IDS = {"one": [11, 12], "two": [13], "three": [14, 15, 16]}


@pytest.fixture
def folder(tmp_path):
    """Make three files of one to three rows."""
    made = tmp_path / "in"
    made.mkdir()
    for name, ids in IDS.items():
        lines = [json.dumps({"id": n, "part": n % 2, "text": "x"}) for n in ids]
        (made / f"{name}.ndjson").write_text("\n".join(lines))
    return made


def made(url, tmp_path):
    with mere.connect(url, data_path=tmp_path / "files") as lake:
        lake.create_table("a", jobs.COLUMNS, partition_by=["part"])
    return url


def loaded(url, src):
    """Load once more, in this process; return the ids that are there, and what it had to do."""
    with mere.connect(url) as lake:
        done = lake.ingest(src, "a")
        again = lake.ingest(src, "a")
        assert (again.sources, again.skipped) == ((), len(IDS))
        return aftermath.state(lake)["main.a"], len(done.sources)


def wrong_things(url):
    with mere.connect(url) as lake:
        return [
            *aftermath.wrong_versions(lake),
            *aftermath.wrong_files(url, Path(lake.data_path)),
        ]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_a_load_that_is_killed_at_any_step_is_finished_by_the_next(
    request, tmp_path, stage, folder, kind
):
    """Before or after each call of the catalog and the store, on a lake of its own each."""
    server = request.getfixturevalue("postgres") if kind == "postgres" else None
    everything = sorted(n for ids in IDS.values() for n in ids)
    # what only reads changes nothing; statement by statement it is done on one of the catalogs
    job = {"src": str(folder), "silent": QUIET if kind == "sqlite" else DEEP}
    with lake_in(tmp_path, kind, server) as url:
        calls = stage.run("load", url=url, **job).result
    seen = set()
    places = [(at, "before" if at % 2 else "after") for at in range(1, len(calls) + 1)]
    for at, when in [*places[:: EVERY[kind]], (len(calls), "after")]:
        with lake_in(tmp_path, kind, server) as url:
            assert stage.run("load", url=url, at=at, when=when, **job).killed
            ids, left = loaded(url, folder)
            assert (ids, wrong_things(url)) == (everything, []), (at, when, calls[at - 1])
            seen.add(left)
    assert seen == {0, 2, 3}, "no batch, the first, or both had been committed"
    assert len(calls) > (60 if kind == "sqlite" else 20)


@contextmanager
def lake_in(tmp_path, kind, server):
    """Make a lake in a folder of its own, or on the server."""
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    with ExitStack() as stack:
        url = f"{kind}://{place}/lake.db"
        if server is not None:
            url = stack.enter_context(server.database())
        yield made(url, place)


def test_without_its_memory_a_load_would_double_rows(tmp_path, folder):
    """The control: files that the catalog forgets come twice."""
    url = made(f"sqlite://{tmp_path}/lake.db", tmp_path)
    loaded(url, folder)
    with jobs.dialect_of(url).writing() as link:
        link.ask("DELETE FROM mere_loaded")
    ids, _ = loaded(url, folder)
    assert len(ids) == 12


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_processes_that_load_at_once_share_the_work(request, tmp_path, stage, kind):
    """The table is missing, too: one makes it, and every file comes in once."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(12):
        (folder / f"{n:02}.csv").write_text(f"id,part\n{n},{n % 2}\n")
    url = f"{kind}://{tmp_path}/lake.db"
    if kind == "postgres":
        url = request.getfixturevalue("pg_url")
    mere.connect(url, data_path=tmp_path / "files").close()
    job = {"url": url, "src": str(folder), "batch_mb": 30 / (1 << 20), "partition_by": "part"}
    told = [o.result for o in stage.together([("load_at_once", job)] * 4)]
    with mere.connect(url) as lake:
        ids = sorted(lake.table("new").scan().to_arrow()["id"].to_pylist())
    assert ids == list(range(12))
    assert sum(rows for rows, _, _ in told) == 12
    assert all(files + skipped == 12 for _, files, skipped in told)
    with mere.connect(url) as lake:
        lake.vacuum(0)  # what was written in vain is nobody's
    assert wrong_things(url) == []
