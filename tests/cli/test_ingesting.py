"""`mere ingest` loads files of others, each once, and says so."""

import pytest


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "in"
    made.mkdir()
    for n in (1, 2):
        (made / f"{n}.csv").write_text(f"id;price\n{n};1,5\n")
    return made


SPELLED = ["--option", "delimiter=;", "--option", "decimal_point=,"]


def test_ingest_tells_each_commit_and_the_sum(lake, folder, mere_):
    keys = ["--partition-by", "bucket(4, id)", "--message", "first"]
    done = mere_("ingest", folder, "prices", *SPELLED, *keys)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "version 3: 2 files, 2 rows; 0 files left"
    assert "loaded 2 file(s) of 30 bytes into main.prices: 2 rows in 1 commit(s)" in done.out
    assert lake.table("prices").partition_by == ("bucket(4, id)",)
    assert lake.table("prices").scan().to_arrow()["price"].to_pylist() == [1.5, 1.5]
    again = mere_("ingest", folder, "prices", "--json")
    assert (again.json["skipped"], again.json["sources"]) == (2, [])


def test_a_dry_run_lists_files_and_loads_none(lake, folder, mere_):
    would = mere_("ingest", folder, "prices", "--dry-run")
    assert would.lines[:3] == [["source"], [str(folder / "1.csv")], [str(folder / "2.csv")]]
    assert lake.tables() == ["main.trades"]


def test_files_that_are_left_out_are_told_by_the_exit_code(lake, folder, mere_):
    (folder / "3.csv").write_text("id;price\nx;1\n")
    columns = ["--column", "id=int64", "--column", "price=decimal(9,2)"]
    arguments = ["ingest", folder, "prices", *SPELLED, *columns]
    stopped = mere_(*arguments)
    assert stopped.code == 2
    assert f"cannot read '{folder}/3.csv' as csv" in stopped.err
    left_out = mere_(*arguments, "--on-error", "skip")
    assert left_out.code == 1
    assert f"not loaded: cannot read '{folder}/3.csv'" in left_out.out
    assert lake.table("prices").count() == 2


def test_a_wrong_word_is_a_wrong_call(folder, mere_, lake):
    assert mere_("ingest", folder, "prices", "--changed", "maybe").code == 2
    assert mere_("ingest", folder, "prices", "--column", "id").code == 2
    assert mere_("ingest", folder / "none", "prices").code == 1
    assert lake.tables() == ["main.trades"]
