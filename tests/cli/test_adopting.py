"""Existing Parquet becomes a table from the command line."""

import pyarrow as pa
import pyarrow.parquet as pq


def old(tmp_path):
    folder = tmp_path / "old" / "day=2026-01-01"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), folder / "a.parquet")
    return tmp_path / "old"


def test_adopt_makes_a_table_and_a_dry_run_does_not(lake, mere_, tmp_path):
    would = mere_("adopt", str(old(tmp_path)), "past", "--dry-run", "--json").json
    assert (would["dry_run"], would["files_added"], would["rows_inserted"]) == (True, 1, 2)
    assert "main.past" not in lake.tables()
    done = mere_("adopt", str(tmp_path / "old"), "past")
    assert done.out.startswith("adopt of main.past done")
    assert lake.table("past").partition_by == ("day",)


def test_folders_can_mean_nothing_and_keys_can_be_given(lake, mere_, tmp_path):
    folder = old(tmp_path)
    assert mere_("adopt", str(folder), "past", "--flat").code == 0
    assert lake.table("past").schema.names == ["id"]
    copied = tmp_path / "copy.parquet"
    pq.write_table(pa.table({"id": [1], "side": ["bid"]}), copied)
    shown = mere_("adopt", str(copied), "more", "--partition-by", "bucket(4, id),side")
    assert shown.code == 0
    assert lake.table("more").partition_by == ("bucket(4, id)", "side")


def test_what_cannot_be_adopted_is_said_with_the_exit_code_of_its_kind(lake, mere_, tmp_path):
    assert mere_("adopt", str(tmp_path / "nowhere"), "past").code != 0
    assert mere_("adopt", str(old(tmp_path)), "past", "--partition-by", "").code == 2
    assert "main.past" not in lake.tables()
