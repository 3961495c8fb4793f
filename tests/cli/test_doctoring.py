"""The doctor's exit code says whether something is wrong."""

from pathlib import Path

import pytest


def test_a_healthy_lake_has_exit_code_0(lake, mere_):
    shown = mere_("doctor", "--deep")
    assert shown.code == 0
    assert shown.out.startswith("looked at every page of 2 file(s)")
    assert shown.out.endswith("healthy\n")
    assert lake.doctor().files == 2


@pytest.mark.parametrize("json", [False, True])
def test_damage_has_exit_code_1_and_names_the_file(lake, mere_, json):
    path = next(Path(lake.data_path).rglob("*.parquet"))
    path.unlink()
    shown = mere_("doctor", *(["--json"] if json else []))
    assert shown.code == 1
    if json:
        assert shown.json["healthy"] is False
        assert [finding["check"] for finding in shown.json["findings"]] == ["missing"]
    else:
        assert shown.lines[0] == ["verdict", "check", "table", "path", "detail"]
        assert shown.lines[1][:3] == ["wrong", "missing", "main.trades"]
        assert shown.lines[1][3].endswith(path.name)
