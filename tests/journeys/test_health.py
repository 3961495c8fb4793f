"""How files lie is told by the catalog alone, with the very call that helps and what it costs."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.datasets.opening import folder

COLUMNS = {"a": "int64", "s": "string"}


def checks(table, **more):
    return {row["check"]: row for row in table.health(**more).to_pylist()}


def many(lake, count=12, **more):
    table = lake.create_table("t", COLUMNS, **more)
    for number in range(count):
        table.append({"a": [number, 50, 100 - number], "s": ["x", "y", "x"]})
    return table


def test_small_files_are_counted_and_the_advice_is_the_call_that_merges_them(lake):
    table = many(lake, partition_by=["s"])
    found = checks(table)
    assert (found["files_per_partition"]["value"], found["small_files"]["value"]) == (12, 24)
    assert found["fragmented_partitions"]["value"] == 2
    bad = found["small_files"]
    size = sum(table.files()["bytes"].to_pylist())
    assert (bad["verdict"], bad["read_bytes"], bad["write_bytes"]) == ("act", size, size)
    eval(bad["advice"], {"lake": lake})  # noqa: S307  it is the very call
    after = checks(table)
    assert (after["small_files"]["verdict"], after["files_per_partition"]["value"]) == ("good", 1)
    assert (after["old_files"]["value"], after["scheduled_files"]["value"]) == (0, 24)
    assert after["scheduled_files"]["verdict"] == "note"
    now = mere.Policy(delete_older_than=0)
    assert checks(table, policy=now)["scheduled_files"]["verdict"] == "act"


def test_overlap_and_order_are_told_and_the_advice_mends_them(lake):
    table = many(lake)
    policy = {"tables": {"t": {"cluster_by": ["a"]}}}
    found = checks(table, policy=policy)
    assert (found["unsorted_files"]["value"], found["overlap"]["value"]) == (12, 11)
    assert found["small_files"]["verdict"] == "good"  # they go when rows are put in order
    eval(found["unsorted_files"]["advice"], {"lake": lake})  # noqa: S307  it is the very call
    after = checks(table, policy=policy)
    assert (after["unsorted_files"]["value"], after["overlap"]["value"]) == (0, 0)


def test_a_table_with_an_order_is_told_when_its_files_overlap(lake):
    found = checks(many(lake, sort_by=["a"]))["overlap"]
    assert (found["value"], found["verdict"]) == (11, "note")
    assert found["advice"] == "lake.table('main.t').cluster(['a'])"


def test_deleted_rows_wait_for_the_versions_that_show_them(lake):
    table = many(lake, count=1)
    table.delete("a = 50")
    found = checks(table)["deleted_rows"]
    assert (found["value"], found["verdict"]) == (pytest.approx(1 / 3, abs=1e-4), "note")
    assert "lake.expire()" in found["advice"]
    lake.expire(0)
    found = checks(table)["deleted_rows"]
    assert (found["verdict"], found["read_bytes"] > 0) == ("act", True)
    eval(found["advice"], {"lake": lake})  # noqa: S307  it is the very call
    assert checks(table)["deleted_rows"]["value"] == 0


def test_what_only_old_versions_show_is_counted_for_the_table_and_the_lake(lake):
    table = many(lake, count=3)
    lake.create_table("other", COLUMNS).append({"a": [1], "s": ["x"]})
    size = sum(table.files()["bytes"].to_pylist())
    table.overwrite({"a": [1], "s": ["x"]})
    found = checks(table)
    assert (found["old_files"]["value"], found["old_bytes"]["value"]) == (3, size)
    assert checks(lake.table("other"))["old_files"]["value"] == 0
    whole = lake.health(policy={"expire_older_than": 0})
    of_lake = {row["check"]: row for row in whole.to_pylist() if row["table"] is None}
    assert (of_lake["old_bytes"]["value"], of_lake["versions"]["verdict"]) == (size, "act")
    assert {row["table"] for row in whole.to_pylist()} == {None, "main.t", "main.other"}


def test_row_groups_are_small_where_a_file_has_several(lake):
    table = lake.create_table("t", COLUMNS, properties={"parquet_row_group_size": 10})
    table.append(pa.table({"a": list(range(40)), "s": ["x"] * 40}))
    found = checks(table)["small_row_groups"]
    assert (found["value"], found["verdict"]) == (4, "note")


def test_the_checks_are_the_same_in_the_same_order_for_every_table(any_lake):
    table = any_lake.create_table("empty", COLUMNS)
    empty = table.health()
    assert set(empty["verdict"].to_pylist()) == {"good"}
    table.append({"a": [1], "s": ["x"]})
    assert table.health()["check"].equals(empty["check"])


def test_a_plain_folder_and_a_table_with_an_odd_name_are_advised_in_their_own_words(lake, tmp_path):
    files = tmp_path / "plain"
    files.mkdir()
    for number in range(5):
        pq.write_table(pa.table({"a": [number]}), files / f"{number}.parquet")
    table = lake.create_table('"o\'dd.na/me"', COLUMNS)
    for number in range(5):
        table.append({"a": [number], "s": ["x"]})
    for found in (folder(files), table):
        eval(checks(found)["small_files"]["advice"], {"lake": lake, "folder": folder})  # noqa: S307
        assert checks(found)["small_files"]["value"] == 1
