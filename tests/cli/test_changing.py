"""The commands that change a table report what they did, and nothing happens on a dry run."""

import pytest


def test_delete_reports_rows_and_a_dry_run_keeps_them(lake, mere_):
    table = lake.table("trades")
    would = mere_("delete", "trades", "--where", "id < 4", "--dry-run", "--json").json
    assert (would["dry_run"], would["rows_deleted"], table.count()) == (True, 4, 12)
    done = mere_("delete", "trades", "--where", "id < 4")
    assert done.code == 0
    assert done.out.startswith("delete of main.trades done")
    assert table.count() == 8


def test_delete_asks_for_a_condition(lake, mere_):
    assert mere_("delete", "trades").code == 2
    assert lake.table("trades").count() == 12


def test_update_sets_columns_to_expressions(lake, mere_):
    done = mere_("update", "trades", "--set", "side='mid'", "--set", "id = id + 100", "--json")
    assert done.json["rows_updated"] == 12
    assert lake.table("trades").count("side = 'mid' AND id >= 100") == 12


@pytest.mark.parametrize("text", ["side", "side="])
def test_an_assignment_without_a_value_is_a_wrong_call(lake, mere_, text):
    shown = mere_("update", "trades", "--set", text)
    assert shown.code == 2
    assert "cannot read --set" in shown.err
    assert lake.table("trades").count() == 12


def test_restore_goes_back_by_version_or_tag(lake, mere_):
    table = lake.table("trades")
    lake.tag("full")
    table.delete("id < 4")
    would = mere_("restore", "trades", "--tag", "full", "--dry-run")
    assert would.out.endswith("12 rows instead of 8\n")
    assert table.count() == 8
    assert mere_("restore", "trades", "--tag", "full", "--message", "oops").code == 0
    assert table.count() == 12
    assert table.history()["message"].to_pylist()[-1] == "oops"
    assert mere_("restore", "trades").code == 2


def test_deduplicate_keeps_one_row_of_each_key(lake, mere_):
    table = lake.table("trades")
    typed = ("deduplicate", "trades", "--on", "side", "--order-by", "ts DESC, id")
    assert mere_(*typed, "--dry-run", "--json").json["rows_deleted"] == 10
    assert table.count() == 12
    assert mere_(*typed).code == 0
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [10, 11]
    assert mere_("deduplicate", "trades").code == 2


def test_upsert_takes_files_of_every_format(lake, mere_, tmp_path):
    table = lake.table("trades")
    source = tmp_path / "corrections.csv"
    source.write_text("id,side\n1,mid\n2,\n100,new\n")
    typed = ("upsert", "trades", source, "--on", "id")
    would = mere_(*typed, "--dry-run", "--json").json
    assert (would["rows_updated"], would["rows_inserted"], table.count()) == (2, 1, 12)
    done = mere_(*typed)
    assert done.out.startswith("upsert of main.trades done"), done.err
    assert table.count("id IN (1, 100) AND side IN ('mid', 'new')") == 2
    assert table.count("id = 2 AND side IS NULL AND ts IS NOT NULL") == 1
    lines = tmp_path / "lines.json"
    lines.write_text('{"id": 1, "side": "last", "ts": "2026-05-01 00:00:00"}\n{"id": 200}\n')
    left = mere_("upsert", "trades", lines, "--on", "id", "--no-insert", "--update", "side")
    assert left.code == 0, left.err
    assert (table.count("side = 'last'"), table.count()) == (1, 13)


def test_upsert_refuses_files_that_do_not_agree_and_keys_that_come_twice(lake, mere_, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("id,side\n1,mid\n")
    (tmp_path / "in" / "2.csv").write_text("id\n2\n")
    refused = mere_("upsert", "trades", tmp_path / "in", "--on", "id")
    assert refused.code == 2
    assert "2.csv has other columns than" in refused.err
    (tmp_path / "in" / "2.csv").write_text("side,id\nmid,1\n")
    twice = mere_("upsert", "trades", tmp_path / "in", "--on", "id")
    assert "1 key(s) more than once: id=1" in twice.err
    assert mere_("upsert", "trades", tmp_path / "none.csv", "--on", "id").code == 1
    assert lake.table("trades").count("side = 'mid'") == 0
