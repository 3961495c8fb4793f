"""The commands that keep a lake do what the library does, and nothing on a dry run."""

import pytest

import mere
from mere.errors import NotFoundError

pytestmark = pytest.mark.usefixtures("lake")


def test_init_makes_a_lake_once(tmp_path, mere_):
    where = ("--lake", tmp_path / "new.db", "--data-path", tmp_path / "files")
    assert mere_("init", *where, "--dry-run").out == "would make the lake\n"
    with pytest.raises(NotFoundError):
        mere.connect(tmp_path / "new.db", create=False)
    made = mere_("init", *where, "--json").json
    assert (made["made"], made["version"]) == (True, 0)
    assert made["data_path"] == f"{tmp_path}/files/"
    assert mere_("init", *where, "--json").json["made"] is False


def test_a_lake_may_be_named_before_the_command(mere_, tmp_path, monkeypatch):
    monkeypatch.delenv("MERE_LAKE")
    assert mere_("--lake", tmp_path / "shop.db", "--json", "tables").json == ["main.trades"]


def test_without_a_lake_the_hint_says_how_to_name_one(mere_, monkeypatch):
    monkeypatch.delenv("MERE_LAKE", raising=False)
    shown = mere_("tables")
    assert shown.code == 2
    assert "MERE_LAKE" in shown.err


def test_only_init_makes_a_lake(tmp_path, mere_):
    shown = mere_("tables", "--lake", tmp_path / "none.db")
    assert shown.code == 1
    assert "mere init" in shown.err
    assert not (tmp_path / "none.db").exists()


def test_tags_come_are_listed_and_go(lake, mere_):
    version = lake.version
    assert mere_("tag", "now", "--dry-run").out == f"would tag version {version} as now\n"
    assert lake.tags() == {}
    assert mere_("tag", "now").out == f"tagged version {version} as now\n"
    assert mere_("tag", "first", "--version", 1, "--json").json["version"] == 1
    assert mere_("tag", "--json").json == {"first": 1, "now": version}
    assert mere_("tag").lines == [["name", "version"], ["first", "1"], ["now", str(version)]]
    assert mere_("tag", "now", "--drop", "--dry-run").code == 0
    assert "now" in lake.tags()
    assert mere_("tag", "now", "--drop").code == 0
    assert lake.tags() == {"first": 1}


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_tag_that_is_not_there_cannot_be_dropped(mere_, dry):
    shown = mere_("tag", "none", "--drop", *dry)
    assert shown.code == 1
    assert "no tag 'none'" in shown.err


def test_expire_and_vacuum_clear_a_lake(lake, mere_):
    lake.table("trades").overwrite([{"id": 1, "side": "ask"}])
    lake.close()
    assert mere_("expire", "--older-than", "0 s", "--dry-run", "--json").json["dry_run"] is True
    assert lake.snapshots().num_rows == 4
    done = mere_("expire", "--older-than", "0 s", "--json").json
    assert done["versions"] == [0, 1, 2]
    assert len(done["files"]) == 2
    shown = mere_("vacuum", "--grace", "0 s", "--dry-run")
    assert [line[-1] for line in shown.lines[:3]] == ["reason", "expired", "expired"]
    assert mere_("vacuum", "--grace", "0 s", "--json").json["bytes"] > 0
    assert mere_("vacuum", "--grace", "0 s", "--json").json["files"] == []
    assert lake.table("trades").count() == 1


def test_expire_keeps_as_many_as_it_is_told(mere_):
    done = mere_("expire", "--older-than", "0 s", "--keep-last", 2, "--json").json
    assert done["versions"] == [0]
    assert mere_("expire", "--keep-last", 0).code == 2


def test_a_length_of_time_that_is_none_is_a_wrong_call(mere_):
    shown = mere_("expire", "--older-than", "soon")
    assert shown.code == 2
    assert "hint: such as '7 days'" in shown.err


def test_storage_options_come_as_pairs_and_their_values_are_not_repeated(mere_):
    shown = mere_("tables", "--storage-option", "just-a-secret")
    assert shown.code == 2
    assert "KEY=VALUE" in shown.err
    shown = mere_("tables", "--storage-option", "region=somewhere")
    assert shown.code == 2
    assert "local folders take no storage options, got: region" in shown.err
    assert "somewhere" not in shown.err
