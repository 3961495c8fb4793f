"""Rows that move between files while processes die or write: each stays, at every version."""

import logging
import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests import aftermath, jobs
from tests.killing import Lakes, old_and_new

import mere
from mere.errors import CatalogError, CommitConflictError, TaskError
from mere.kernels.pyarrow import PyarrowKernel


def scattered(lakes):
    """Give a lake many small files, some with deleted rows; return what its versions show."""
    with mere.connect(lakes.back()) as lake:
        table = lake.table("a")
        for n in range(10, 16, 2):
            table.append(jobs.rows(n, n + 1))
        table.delete("id IN (1, 11)")
        table.update({"text": "'new'"}, where="id IN (2, 12)")
        return shown(lake)


def shown(lake):
    """Return the rows of every version up to the last change of rows, and all changes."""
    table = lake.table("a")
    told = table.history().to_pylist()
    last = max(row["version"] for row in told if row["operation"] not in MOVES)
    rows = {}
    for version in range(1, last + 1):
        found = table.scan(version=version).to_arrow().to_pylist()
        rows[version] = Counter(tuple(row.values()) for row in found)
    changes = table.changes(1, last).to_pylist()
    return rows, Counter(tuple(row.values()) for row in changes)


MOVES = {"compact", "cluster", "repartition"}


STRIDES = {
    "compact": 1,
    "cluster": 2,
    "shuffle": 4,
    "repartition": 2,
    "reshape": 3,
    "reshape_into": 5,
}


@pytest.mark.parametrize("verb", STRIDES)
def test_a_move_that_is_killed_at_any_step_is_whole_or_not_there(tmp_path, stage, verb):
    lakes = Lakes.made(tmp_path)
    before = scattered(lakes)
    lakes.keep()
    job = {"verb": verb, "silent": ["rows", "write"]}
    calls, allowed = old_and_new(lakes, stage, **job)
    wrongs = []
    steps = range(1, len(calls) + 1, STRIDES[verb])
    for at in steps:
        for when in (
            ("before", "after") if verb == "compact" else (("before", "after")[at % 4 // 2],)
        ):
            outcome = stage.run("die_at", url=lakes.back(), at=at, when=when, **job)
            assert outcome.killed, f"{when} {calls[at - 1]}: {outcome}"
            if lakes.untouched():
                continue
            with mere.connect(lakes.url) as lake:
                same = shown(lake) == before
            found = list(aftermath.wrongs(lakes.url, allowed=allowed, again=at % 5 == 0))
            found += [] if same else ["shows other rows at some version"]
            wrongs += [f"{when} call {at}, {calls[at - 1]}: {wrong}" for wrong in found]
    assert wrongs == []
    assert len(calls) > 40


def test_maintenance_that_is_killed_leaves_each_table_whole_and_is_taken_up_again(tmp_path, stage):
    lakes = Lakes.made(tmp_path)
    with mere.connect(lakes.url) as lake:
        for n in range(10, 16):
            lake.table("a").append(jobs.rows(n, n + 1))
            lake.table("b").append(jobs.rows(n))
        lake.table("a").delete("id IN (1, 11)")
    lakes.keep()
    before = newest(lakes)
    job = {"verb": "maintain", "silent": ["rows", "write", "read", "size"]}
    calls = stage.run("count_calls", url=lakes.back(), **job).result
    assert newest(lakes) == before
    states = set()
    for at in range(1, len(calls) + 1, max(len(calls) // 14, 1)):
        outcome = stage.run("die_at", url=lakes.back(), at=at, when="after", **job)
        assert outcome.killed, f"after {calls[at - 1]}: {outcome}"
        assert newest(lakes) == before, f"after call {at}, {calls[at - 1]}"
        with mere.connect(lakes.url) as lake:
            states.add((len(lake.table("a").files()), len(lake.table("b").files())))
            assert lake.doctor().healthy
            jobs.maintain(lake)
            assert not lake.maintain({"expire_older_than": 0, "delete_older_than": 0})
            assert not lake.doctor().findings
            files = len(lake.table("a").files()) + len(lake.table("b").files())
            assert files == len(stored(lakes)) == 3
    assert len(states) == 3, "before both, between them, after both"


def newest(lakes):
    """Return the rows that each table shows now."""
    with mere.connect(lakes.url) as lake:
        found = {name: lake.table(name).scan().to_arrow().to_pylist() for name in lake.tables()}
    return {name: sorted(map(str, rows)) for name, rows in found.items()}


@pytest.mark.parametrize("error", [CatalogError("not heard"), KeyboardInterrupt()])
def test_an_error_after_the_commit_takes_no_file_away_that_is_listed(tmp_path, error):
    lakes = Lakes.made(tmp_path)
    before = scattered(lakes)
    counted = jobs.Fuse()
    lakes.keep()
    jobs.VERBS["compact"](jobs.numbered_lake(lakes.url, counted, deep=False))

    def interrupt():
        raise error

    at = counted.calls.index("commit") + 1
    fuse = jobs.Fuse(at=at, when="after", act=interrupt)
    with jobs.numbered_lake(lakes.back(), fuse, deep=False) as lake:
        with pytest.raises(type(error)):
            jobs.VERBS["compact"](lake)
        fuse.armed = False
    with mere.connect(lakes.url) as lake:
        assert lake.table("a").history()["operation"].to_pylist()[-1] == "compact"
        assert shown(lake) == before
        assert lake.doctor().healthy


class Between:
    """A kernel that lets something happen after its first rewrite, or spoils what it tells."""

    name = "between"

    def __init__(self, act=None, spoil=None):
        self.act = act
        self.spoil = spoil
        self.rewrites = 0

    def write(self, rows, *, task, store):
        return PyarrowKernel().write(rows, task=task, store=store)

    def probe(self, task, *, store):
        return PyarrowKernel().probe(task, store=store)

    def rewrite(self, task, *, store):
        found = PyarrowKernel().rewrite(task, store=store)
        self.rewrites += 1
        if self.act is not None and self.rewrites == 1:
            self.act()
        return found if self.spoil is None else self.spoil(found)


def stored(lakes):
    return {path.name for path in lakes.folder.rglob("*.parquet")}


@pytest.mark.parametrize("off", [{"rows_out": -1}, {"rows_in": 1, "rows_out": 1}, {"dropped": 1}])
def test_a_kernel_that_loses_or_doubles_a_row_changes_nothing(tmp_path, off):
    lakes = Lakes.made(tmp_path)
    before = scattered(lakes)

    def spoil(found):
        return replace(found, **{name: getattr(found, name) + n for name, n in off.items()})

    with mere.connect(lakes.url) as lake:
        version = lake.version
        with pytest.raises(TaskError, match="nothing was committed"):
            lake.on(kernel=Between(spoil=spoil)).table("a").compact()
        assert lake.version == version
        assert shown(lake) == before


@pytest.mark.parametrize("how", ["delete", "update", "overwrite", "compact"])
def test_what_others_touch_meanwhile_stays_and_the_rest_is_moved(tmp_path, how):
    lakes = Lakes.made(tmp_path)
    scattered(lakes)
    with mere.connect(lakes.url) as lake:
        table = lake.table("a")
        expected = {row["id"] for row in table.scan().to_arrow().to_pylist()}
        files = len(table.files())
        act = {
            "delete": lambda: table.delete("id = 10"),
            "update": lambda: table.update({"text": "'x'"}, where="id = 10"),
            "overwrite": lambda: table.overwrite(jobs.rows(10), where="part = 0"),
            "compact": lambda: table.compact(where="part = 0"),
        }[how]
        report = lake.on(kernel=Between(act), workers=1).table("a").compact()
        odd = len(
            [row for row in table.files().to_pylist() if dict(row["partition"])["part"] == "1"]
        )
        assert report.compacted_file_count > 1
        assert odd == report.files_added == 1
        assert len(table.files()) < files
        expected -= {"delete": {10}, "overwrite": {2, 4, 12, 14}}.get(how, set())
        assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == sorted(expected)
        listed = {row["path"].rpartition("/")[2] for row in table.files().to_pylist()}
        assert listed <= stored(lakes)
        assert lake.doctor().healthy


def test_when_all_was_touched_meanwhile_nothing_is_done_and_nothing_is_left(tmp_path):
    lakes = Lakes.made(tmp_path)
    scattered(lakes)
    with mere.connect(lakes.url) as lake:
        table = lake.table("a")
        kept = stored(lakes)
        deleting = Between(lambda: table.delete("true"))
        report = lake.on(kernel=deleting, workers=1).table("a").compact()
        assert (report.compacted_file_count, report.files_added) == (0, 0)
        assert table.count() == 0
        assert stored(lakes) == kept
        assert lake.doctor().healthy


def test_a_version_answers_the_same_when_others_have_moved_its_rows(tmp_path):
    with mere.connect(tmp_path / "lake.db") as lake, mere.connect(tmp_path / "lake.db") as other:
        table = lake.create_table("t", {"d": "int64", "v": "int64"}, partition_by=["d"])
        for n in range(2):
            table.append(pa.table({"d": range(70), "v": [n] * 70}))
        with lake.transaction() as change:
            pinned = change.table("t")
            assert pinned.scan("d = 7").count() == 2
            assert other.table("t").compact().files_removed == 140
            assert pinned.scan("d = 7").count() == 2
            assert pinned.upsert([{"d": 7, "v": 1}], on=["d", "v"]).rows_inserted == 0
        assert table.scan("d = 7").to_arrow().to_pylist() == [{"d": 7, "v": 0}, {"d": 7, "v": 1}]


def test_an_old_version_is_counted_as_it_lies_now_when_others_have_moved_its_rows(tmp_path):
    with mere.connect(tmp_path / "lake.db") as lake, mere.connect(tmp_path / "lake.db") as other:
        table = lake.create_table("t", {"d": "int64"}, partition_by=["d"])
        table.append(pa.table({"d": range(130)}))
        assert table.scan().explain().rows_total == 130
        for _ in range(2):
            other.table("t").append(pa.table({"d": range(3)}))
        version = other.version
        other.table("t").compact()
        with mere.connect(tmp_path / "lake.db") as fresh:
            told = fresh.table("t").scan(version=version).explain()
        assert table.scan(version=version).explain() == told
        assert (told.files_total, told.rows_total) == (130, 136)


def test_columns_that_change_meanwhile_do_not_stop_a_move(tmp_path):
    lakes = Lakes.made(tmp_path)
    before = scattered(lakes)
    with mere.connect(lakes.url) as lake:
        table = lake.table("a")
        adding = Between(lambda: table.evolve().add_column("more", "int64", default=7).commit())
        report = lake.on(kernel=adding, workers=1).table("a").compact()
        assert report.compacted_file_count > 3
        assert set(table.scan().to_arrow()["more"].to_pylist()) == {7}
        last = max(before[0])
        found = table.scan(version=last).to_arrow().to_pylist()
        assert Counter(tuple(row.values()) for row in found) == before[0][last]


def test_a_table_that_is_dropped_or_made_anew_meanwhile_is_a_conflict(tmp_path):
    lakes = Lakes.made(tmp_path)
    scattered(lakes)
    with mere.connect(lakes.url) as lake:

        def drop():
            lake.drop_table("a")
            lake.create_table("a", jobs.COLUMNS)

        with pytest.raises(CommitConflictError, match="dropped"):
            lake.on(kernel=Between(drop), workers=1).table("a").compact()
        assert lake.table("a").count() == 0
        assert lake.doctor().healthy


LOG = logging.getLogger(__name__)
BESIDE_SECONDS = float(os.environ.get("MERE_BESIDE_SECONDS", "0"))
"""How long processes write beside a compaction, at least; by default until they did a little."""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_merging_beside_writers_loses_and_doubles_nothing(tmp_path, stage, request, kind):
    url = f"sqlite://{tmp_path}/lake.db" if kind == "sqlite" else request.getfixturevalue("pg_url")
    with mere.connect(url, data_path=tmp_path / "files") as lake:
        lake.create_table("a", jobs.COLUMNS, partition_by=["part"])
        lake.table("a").append(jobs.rows(*range(20)))
    beside = {"url": url, "seconds": BESIDE_SECONDS}
    work = [("append_often", beside | {"first": 10**6 * n, "times": 4}) for n in range(1, 5)]
    work += [("upsert_often", beside | {"ids": [*range(0, 20, n)], "times": 4}) for n in (1, 2)]
    work.append(("compact_often", beside | {"times": 6}))
    outcomes = stage.together(work)
    assert [outcome.error for outcome in outcomes] == [None] * len(work)
    *appended, (whole, one), (half, other), merged = (outcome.result for outcome in outcomes)
    assert sum(merged) > 0
    new = [10**6 * n + time for n, done in enumerate(appended, 1) for time in range(len(done))]
    with mere.connect(url) as lake:
        table = lake.table("a")
        versions = [version for done in appended for version in done]
        assert len(set(versions)) == len(versions) <= lake.version
        rows = {row["id"]: row["text"] for row in table.scan().to_arrow().to_pylist()}
        assert (sorted(rows), table.count()) == ([*range(20), *new], 20 + len(new))
        assert {rows[id_] for id_ in range(1, 20, 2)} == {str(whole - 1)}
        assert {rows[id_] for id_ in range(0, 20, 2)} <= {str(whole - 1), str(half - 1)}
        changes = Counter((c["id"], c["change_type"]) for c in table.changes(1).to_pylist())
        assert all(changes[id_, "insert"] == 1 for id_ in [*range(20), *new])
        assert all(changes[id_, "delete"] == 0 for id_ in rows)
        assert {changes[id_, "update_postimage"] for id_ in range(1, 20, 2)} == {whole}
        assert {changes[id_, "update_postimage"] for id_ in range(0, 20, 2)} == {whole + half}
        assert lake.doctor().healthy
        files = len(table.files())
        table.compact()
        assert len(table.files()) == 2
    LOG.info("%d appends, %d upserts, %d in vain", len(new), whole + half, one + other)
    LOG.info("%d compactions", len(merged))
    LOG.info("%d files were merged, %d were left, %d versions", sum(merged), files, max(versions))


def test_a_repartitioning_takes_up_what_others_changed_meanwhile(tmp_path):
    lakes = Lakes.made(tmp_path)
    scattered(lakes)
    with mere.connect(lakes.url) as lake:
        table = lake.table("a")
        kernel = Between(lambda: table.delete("id = 10"))
        report = lake.on(kernel=kernel, workers=1).table("a").repartition(["bucket(2, id)"])
        assert report.retries == 1
        assert table.partition_by == ("bucket(2, id)",)
        assert len(table.files()) == 2
        ids = [2, 3, 4, 12, 13, 14, 15]
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == ids
        assert lake.doctor().healthy


def test_a_repartitioning_beside_an_append_leaves_the_new_rows_where_they_are(tmp_path):
    lakes = Lakes.made(tmp_path)
    scattered(lakes)
    with mere.connect(lakes.url) as lake:
        table = lake.table("a")
        kernel = Between(lambda: table.append(jobs.rows(50)))
        report = lake.on(kernel=kernel, workers=1).table("a").repartition(["bucket(2, id)"])
        assert report.retries == 0
        assert len(table.files()) == 3
        assert table.scan(where="id = 50").count() == 1
        assert table.repartition(["bucket(2, id)"]).compacted_file_count == 1


def test_a_table_four_times_as_large_as_memory_is_never_held_whole_s2_7_s0_6(tmp_path, stage):
    url, memory_mb, count = f"sqlite://{tmp_path}/x.db", 32, 1 << 21
    random = np.random.default_rng(1)
    with mere.connect(url) as lake:
        table = lake.create_table("wide", dict.fromkeys("abcdefgh", "int64"))
        for _ in range(8):
            columns = {name: random.integers(0, 1 << 62, count // 8) for name in "abcdefgh"}
            table.append(pa.table(columns))
        assert 8 * 8 * count == 4 * (memory_mb << 20)
        for verb, more in (("cluster", {"by": ["a"], "target_mb": 32}), ("compact", {})):
            held = stage.run("peak_of", url=url, verb=verb, memory_mb=memory_mb, **more).result
            LOG.info("%s: %d MiB", verb, held >> 20)
            assert held < 3 * (memory_mb << 20), verb
            assert table.history()["operation"].to_pylist()[-1] == verb
            column = table.scan(columns=["a"]).to_arrow()["a"].to_numpy()
            in_order = verb != "cluster" or bool((np.diff(column) >= 0).all())
            assert (len(column), in_order) == (count, True)
