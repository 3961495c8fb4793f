"""The commands that keep a table in shape report what they did, and a dry run does nothing."""

import pytest


def scattered(lake):
    table = lake.table("trades")
    for n in range(3):
        table.append([{"id": 100 + n}])
    return table


def test_compact_merges_files_and_a_dry_run_only_says_so(lake, mere_):
    table = scattered(lake)
    files, version = len(table.files()), lake.version
    would = mere_("compact", "trades", "--dry-run", "--json").json
    assert (would["dry_run"], would["before_file_count"], lake.version) == (True, files, version)
    assert would["planned_groups"]
    done = mere_("compact", "trades", "--target-mb", "64", "--message", "tidy", "--json")
    assert done.code == 0
    assert done.json["after_file_count"] == would["after_file_count"] == len(table.files()) < files
    assert table.history()["message"].to_pylist()[-1] == "tidy"
    assert mere_("compact", "trades", "--json").json["compacted_file_count"] == 0


@pytest.mark.parametrize("wrong", ["--target-mb=0", "--target-rows=-1", "--min-files=1"])
def test_a_size_that_cannot_be_meant_is_a_wrong_call(lake, mere_, wrong):
    version = lake.version
    shown = mere_("compact", "trades", wrong)
    assert (shown.code, lake.version) == (2, version)
    assert "must be" in shown.err


def test_cluster_orders_rows_and_says_how_much_files_overlap(lake, mere_):
    table = scattered(lake)
    would = mere_("cluster", "trades", "--by", "side,id", "--dry-run", "--json").json
    assert (would["dry_run"], would["zorder_columns"]) == (True, ["side", "id"])
    done = mere_("cluster", "trades", "--by", "id", "--order", "zorder", "--json").json
    assert done["overlap_after"] == 0
    assert len(table.files()) == done["after_file_count"]
    assert mere_("cluster", "trades", "--by", "id", "--order", "zorder", "--json").json[
        "compacted_file_count"
    ] == 0  # fmt: skip
    assert mere_("cluster", "trades", "--by", "nope").code == 2
    assert mere_("cluster", "trades").code == 2


def test_repartition_moves_rows_and_a_dry_run_says_how_many_partitions(lake, mere_):
    table = scattered(lake)
    before = table.count()
    would = mere_("repartition", "trades", "--by", "bucket(2, id)", "--dry-run", "--json").json
    assert (would["partitions"], table.partition_by) == (2, ("side",))
    assert mere_("repartition", "trades", "--by", "bucket(2, id)").code == 0
    assert (table.partition_by, table.count()) == (("bucket(2, id)",), before)
    assert mere_("repartition", "trades", "--by", "").code == 0
    assert (table.partition_by, table.count()) == ((), before)


def test_repartition_copies_rows_into_a_new_table(lake, mere_):
    table = scattered(lake)
    copied = mere_("repartition", "trades", "--by", "bucket(2, id)", "--into", "new", "--json").json
    assert (copied["table"], copied["rows_after"]) == ("main.new", table.count())
    assert (lake.table("new").count(), table.partition_by) == (table.count(), ("side",))
    assert mere_("repartition", "trades", "--by", "", "--into", "new").code != 0


@pytest.mark.spark
def test_each_command_does_its_work_on_spark_and_answers_scripts(lake, mere_, spark):
    table = scattered(lake)
    spark.sparkContext.setJobGroup("mere", "what the commands do")
    before = sorted(table.scan().to_arrow()["id"].to_pylist())
    for command in (
        ("compact", "trades"),
        ("cluster", "trades", "--by", "id"),
        ("repartition", "trades", "--by", "bucket(2, id)"),
        ("maintain",),
    ):
        for n in range(5):
            table.append([{"id": 200 + n}])
            before.append(200 + n)
        version = lake.version
        would = mere_(*command, "--spark", "--dry-run", "--json")
        assert (would.code, would.json["dry_run"], lake.version) == (0, True, version)
        jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup("mere"))
        done = mere_(*command, "--spark", "--json")
        assert (done.code, done.json["dry_run"], lake.version > version) == (0, False, True)
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("mere")) > jobs
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == sorted(before)
