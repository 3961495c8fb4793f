"""What would be written anew is said before anything is opened, as `compact` does it."""

import polars as pl
import pyarrow as pa
import pytest

from mere.datasets import FileInfo, plan_compaction_groups, plan_optimize_groups
from mere.datasets.partitions import partition_condition

MB = 1 << 20
SCHEMA = pa.schema([("user_id", pa.int64()), ("event_date", pa.date32())])


def info(path, mb, rows=10):
    return FileInfo(path, int(mb * MB), rows)


def paths(groups):
    return [[file.path for file in group] for group in groups]


def test_a_file_is_described_by_its_path_its_bytes_and_its_rows():
    file = FileInfo("a.parquet", 10, 3)
    assert (file.path, file.size_bytes, file.num_rows) == ("a.parquet", 10, 3)
    assert file == FileInfo(path="a.parquet", size_bytes=10, num_rows=3)


def test_small_files_of_a_folder_meet_and_large_and_single_ones_stay():
    files = [info("d=1/a", 10), info("d=1/b", 20), info("d=1/large", 99), info("d=2/alone", 10)]
    plan = plan_compaction_groups(files, 100, None)
    assert paths(plan["groups"]) == [["d=1/a", "d=1/b"]]
    assert [file.path for file in plan["untouched"]] == ["d=1/large", "d=2/alone"]
    stats = plan["planned_stats"]
    assert stats == {
        "before_file_count": 4,
        "after_file_count": 3,
        "before_total_bytes": 139 * MB,
        "after_total_bytes": 139 * MB,
        "compacted_file_count": 2,
        "rewritten_bytes": 30 * MB,
        "compression_codec": None,
        "dry_run": True,
        "planned_groups": [["d=1/a", "d=1/b"]],
    }
    assert {name: plan[name] for name in stats} == stats


def test_groups_hold_no_more_than_the_thresholds_and_no_two_would_fit_into_one():
    files = [info(f"f{n}", 3 + n % 5, rows=100) for n in range(40)]
    by_size = plan_compaction_groups(files, 20, None)["groups"]
    assert all(sum(file.size_bytes for file in group) <= 20 * MB for group in by_size)
    by_rows = plan_compaction_groups(files, None, 300)["groups"]
    assert [len(group) for group in by_rows] == [3] * 13
    merged = [info(f"m{n}", sum(f.size_bytes for f in g) / MB) for n, g in enumerate(by_size)]
    assert plan_compaction_groups(merged, 20, None)["groups"] == []


def test_files_that_meet_the_thresholds_are_left_alone():
    plan = plan_compaction_groups([info("a", 100), info("b", 120)], 100, None)
    assert (plan["groups"], plan["compacted_file_count"]) == ([], 0)
    assert plan_compaction_groups([], 100, None)["planned_groups"] == []


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((0, None), "target_mb_per_file must be greater than 0, got 0"),
        ((None, -1), "target_rows_per_file must be greater than 0, got -1"),
        ((float("nan"), None), "target_mb_per_file"),
        ((None, None), "there is no target"),
    ],
)
def test_thresholds_that_cannot_be_meant_are_refused(sizes, said):
    with pytest.raises(ValueError, match=said):
        plan_compaction_groups([info("a", 1)], *sizes)


def test_all_files_of_a_folder_are_ordered_together():
    files = [info("d=1/a", 10), info("d=1/b", 20), info("d=2/c", 10)]
    plan = plan_optimize_groups(files, ["user_id"], SCHEMA, 16, None)
    assert paths(plan["groups"]) == [["d=1/a", "d=1/b"], ["d=2/c"]]
    stats = plan["planned_stats"]
    assert (stats["after_file_count"], stats["zorder_columns"]) == (3, ["user_id"])
    assert plan_optimize_groups(files, ["user_id"], SCHEMA, None, None)["after_file_count"] == 2
    assert plan_optimize_groups(files, ["user_id"], SCHEMA, None, 10)["after_file_count"] == 3


@pytest.mark.parametrize(
    "schema",
    [SCHEMA, pl.Schema({"user_id": pl.Int64, "event_date": pl.Date}), ["user_id", "event_date"]],
)
def test_an_unknown_column_is_refused_whatever_tells_the_columns(schema):
    with pytest.raises(ValueError, match=r"unknown column 'nope'.*user_id, event_date"):
        plan_optimize_groups([info("a", 1)], ["user_id", "nope"], schema, 1, None)
    with pytest.raises(ValueError, match="names no column"):
        plan_optimize_groups([info("a", 1)], [], schema, 1, None)
    with pytest.raises(ValueError, match="target_rows_per_file"):
        plan_optimize_groups([info("a", 1)], ["user_id"], schema, None, 0)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("date=2025-11-04", "date = '2025-11-04'"),
        ("/p=a b%2Fc/h=7/", "p = 'a b/c' AND h = '7'"),
        (["month=1", "month=2"], "month = '1' OR month = '2'"),
        ("d=__HIVE_DEFAULT_PARTITION__", "d IS NULL"),
        ({"p": "A", "n": 3}, "p = 'A' AND n = 3"),
        (("n", ">", 3), "n > 3"),
        ([("n", ">", 3), ("p", "=", "A")], "n > 3 AND p = 'A'"),
        (pl.col("n") > 3, "n > 3"),
    ],
)
def test_a_filter_of_partitions_is_taken_in_every_form(given, meant):
    assert str(partition_condition(given)) == str(partition_condition_of(meant))


def partition_condition_of(text):
    from mere.where import translate  # noqa: PLC0415  the other side of the comparison

    return translate(text)


@pytest.mark.parametrize("given", [3, b"date=1", [1, 2], ["month=1", 2]])
def test_a_filter_of_another_form_is_a_type_error(given):
    with pytest.raises(TypeError, match="partition_filter cannot be"):
        partition_condition(given)


@pytest.mark.parametrize("given", ["", "nope", "date=1/nope", []])
def test_a_prefix_that_names_no_partition_is_refused(given):
    with pytest.raises(ValueError, match="partition_filter"):
        partition_condition(given)
