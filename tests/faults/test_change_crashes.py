"""A change of rows that is killed anywhere leaves the old rows or the new ones, in every file."""

from typing import Any

import pytest
from tests import aftermath, jobs
from tests.killing import Lakes, killed_everywhere, old_and_new

from mere.errors import MereError

VERBS = ["delete", "update", "upsert", "merge"]
FEW = ["rows", "write"]  # what only reads, and each piece of a file: tried with the append


@pytest.mark.parametrize("verb", VERBS)
def test_a_change_that_is_killed_at_any_step_is_whole_or_not_there(tmp_path, stage, verb):
    lakes = Lakes.made(tmp_path, more=jobs.begin_again)
    every = 1 if verb in ("delete", "upsert") else 3
    kills, wrongs = killed_everywhere(lakes, stage, every=every, whole=True, verb=verb, silent=FEW)
    assert wrongs == []
    assert kills >= 76 / every


def test_files_that_are_written_anew_are_there_once_whenever_it_is_killed(tmp_path, stage):
    lakes = Lakes.made(tmp_path, more=jobs.begin_copies)
    kills, wrongs = killed_everywhere(lakes, stage, every=3, whole=True, verb="upsert", silent=FEW)
    assert wrongs == []
    assert kills > 25


@pytest.mark.parametrize("verb", ["delete", "upsert"])
def test_other_catalogs_stand_changes_that_are_killed(tmp_path, stage, verb):
    lakes = Lakes.made(tmp_path, "duckdb", more=jobs.begin_again)
    silent = [*FEW, "reading", "enter reading", "leave reading"]
    kills, wrongs = killed_everywhere(
        lakes, stage, every=9, whole=True, verb=verb, kernel="duckdb", silent=silent
    )
    assert wrongs == []
    assert kills >= 6


def test_a_change_of_rows_in_pieces_would_be_found(tmp_path, stage):
    """The control: statements that commit one by one are caught at most places."""
    lakes = Lakes.made(tmp_path, more=jobs.begin_again)
    job: dict[str, Any] = {"verb": "upsert", "without": "whole", "silent": FEW}
    calls, allowed = old_and_new(lakes, stage, whole=True, **job)
    caught = []
    for at in range(calls.index("commit") + 2, len(calls), 3):
        stage.run("die_at", url=lakes.back(), at=at, when="after", **job)
        try:
            found = list(aftermath.wrongs(lakes.url, allowed=allowed, whole=True))
        except MereError:
            found = ["unreadable"]
        caught.append(bool(found))
    assert len(caught) > 5
    assert sum(caught) > len(caught) / 2


@pytest.mark.parametrize("verb", ["delete", "upsert"])
def test_duckdb_agrees_after_a_change_was_killed(tmp_path, stage, oracle, verb):
    lakes = Lakes.made(tmp_path, more=jobs.begin_again)
    calls, (old, new) = old_and_new(lakes, stage, whole=True, verb=verb, silent=FEW)
    commit = calls.index("commit") + 1
    for at, when in [(commit - 1, "after"), (len(calls) - 1, "after"), (len(calls), "after")]:
        stage.run("die_at", url=lakes.back(), at=at, when=when, verb=verb, silent=FEW)
        expected = new if at == len(calls) else old
        connection = oracle(f"sqlite:{lakes.folder / 'lake.db'}")
        found = connection.execute("SELECT * FROM lake.a").fetchall()
        connection.close()
        assert sorted(found, key=repr) == expected["main.a"]
