"""Processes that change the same rows at once leave what they would leave one after the other."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings
from tests import aftermath, jobs

import mere

WRITERS = 6
KEYS = 40
LONG = settings().max_examples > 1000  # HYPOTHESIS_PROFILE=long: half a minute instead of a moment

Rows = dict[int, tuple[int | None, str | None]]


@pytest.fixture(params=["sqlite", "postgres", "sqlite, copies"])
def url(request, tmp_path) -> str:
    """Hand out a lake with a table in which half of the keys lie."""
    kind, _, copies = request.param.partition(", ")
    found: str = f"sqlite://{tmp_path}/lake.db"
    if kind == "postgres":
        found = request.getfixturevalue("pg_url")
    mode = {"mere_write_mode": "copy-on-write" if copies else "merge-on-read"}
    with mere.connect(found, data_path=tmp_path / "files") as lake:
        table = lake.create_table(
            "a", jobs.COLUMNS, partition_by=["bucket(4, id)"], properties=mode
        )
        table.append(jobs.rows(*range(0, KEYS, 2), text="first"))
    return found


def replayed(calls: Iterable[list[Any]], rows: Rows) -> Iterable[tuple[int, Rows, list[Any]]]:
    """Do calls one after the other to a plain dict; say what each shows, and what it should."""
    for version, kind, ids, text, *told in calls:
        known = [number for number in ids if number in rows]
        if kind == "upsert":
            rows = rows | {n: (rows[n][0] if n in rows else None, text) for n in ids}
            expected = [len(ids) - len(known), len(known), 0]
        elif kind == "count":
            rows = rows | {n: ((rows[n][0] or 0) + 1, rows[n][1]) for n in known}
            expected = [0, len(known), 0]
        else:
            gone = set(ids[:2])
            expected = [0, 0, len(gone & rows.keys())]
            rows = {n: row for n, row in rows.items() if n not in gone}
        assert told == expected, (version, kind, ids, told, expected)
        yield version, rows, [kind, ids]


def shown(table: Any, version: int) -> Rows:
    found = table.scan(version=version).to_arrow().to_pylist()
    rows = {row["id"]: (row["part"], row["text"]) for row in found}
    assert len(rows) == len(found), f"version {version} shows a key twice"
    return rows


def test_six_processes_that_change_the_same_keys_act_one_after_the_other(url, stage):
    kernels = ["pyarrow", "duckdb"]
    work = [
        (
            "change_often",
            {
                "url": url,
                "worker": n,
                "times": 6,
                "keys": KEYS,
                "seconds": 30.0 if LONG else 0.0,
                "kernel": kernels[n % 2],
            },
        )
        for n in range(WRITERS)
    ]
    calls = [call for outcome in stage.together(work) for call in outcome.result]
    changed = sorted(call for call in calls if any(call[4:]))
    versions = [version for version, *_ in changed]
    assert len(set(versions)) == len(versions), "each commit is a version of its own"
    rows: Rows = dict.fromkeys(range(0, KEYS, 2), (0, "first"))
    every = max(1, len(changed) // 60)
    with mere.connect(url) as lake:
        table = lake.table("a")
        last = 2
        for number, (version, now, what) in enumerate(replayed(changed, rows)):
            if number % every == 0 or version == versions[-1]:
                assert shown(table, version) == now, (version, what)
            rows, last = now, version
        assert (last, shown(table, lake.version)) == (lake.version, rows)
        assert list(aftermath.wrong_versions(lake)) == []
