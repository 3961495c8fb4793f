"""`mere maintain` does what the rules call for, says what it did, and leaves no second helping."""

import pytest

RULES = """
expire_older_than = 0
delete_older_than = 0

[tables.trades]
min_files = 2
"""


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(RULES, "utf-8")
    return path


def test_maintain_does_what_its_dry_run_said_and_then_finds_nothing(lake, mere_, rules):
    table = lake.table("trades")
    for n in range(3):
        table.append([{"id": 100 + n, "side": "ask"}])
    version, files = lake.version, len(table.files())
    would = mere_("maintain", "--policy", rules, "--dry-run", "--json").json
    assert (would["dry_run"], lake.version, len(table.files())) == (True, version, files)
    assert [p["operation"] for p in would["pieces"]] == ["expire", "compact"]
    done = mere_("maintain", "--policy", rules, "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    states = {piece["state"] for piece in done.json["pieces"]}
    assert (states, len(table.files())) == ({"done"}, files - done.json["files_removed"] + 1)
    again = mere_("maintain", "--policy", rules)
    assert (again.code, again.out) == (0, "maintain: nothing to do\n")


def test_what_a_budget_has_no_room_for_is_said_and_is_no_failure(lake, mere_, rules):
    lake.table("trades").append([{"id": 100, "side": "ask"}])
    done = mere_("maintain", "--policy", rules, "--budget-mb", "0.000001", "--json")
    states = {piece["operation"]: piece["state"] for piece in done.json["pieces"]}
    assert (done.code, states["compact"]) == (0, "left")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policy", "none.toml"], "cannot be read"),
        (["--budget-mb", "0"], "budget_mb takes a number above 0"),
        (["--memory-mb", "0"], "must be 1 or more"),
    ],
)
def test_a_wrong_call_is_told_and_nothing_is_done(lake, mere_, arguments, told):
    version = lake.version
    shown = mere_("maintain", *arguments)
    assert shown.code in (1, 2)
    assert told in shown.err
    assert lake.version == version


def test_health_lists_every_check_of_a_table_and_what_is_not_good_in_the_lake(lake, mere_, rules):
    lake.table("trades").append([{"id": 100, "side": "ask"}])
    checks = {row["check"]: row for row in mere_("health", "trades", "--json").json}
    assert (checks["small_files"]["value"], checks["small_files"]["verdict"]) == (3, "good")
    shown = mere_("health", "--policy", rules)
    assert "check(s) are good" in shown.out
    assert "lake.table('main.trades').compact(target_mb=128, min_files=2)" in shown.out
    every = mere_("health", "--policy", rules, "--json").json
    assert {"good", "act"} <= {row["verdict"] for row in every}
