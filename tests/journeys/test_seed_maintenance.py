"""The seeds' scenarios of maintenance (S0, S2), on tables: each kernel, here and on Spark."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere

CANONICAL = {
    *("before_file_count", "after_file_count", "before_total_bytes", "after_total_bytes"),
    *("compacted_file_count", "rewritten_bytes", "compression_codec", "dry_run"),
}


@pytest.fixture(
    params=[
        "pyarrow",
        "duckdb",
        pytest.param("pyarrow on spark", marks=pytest.mark.spark),
        pytest.param("duckdb on spark", marks=pytest.mark.spark),
    ]
)
def place(request, tmp_path):
    """Open a lake whose work is done by a kernel here, or on executors."""
    kernel = request.param.split()[0]
    with mere.connect(tmp_path / "x.db") as lake:
        if "spark" in request.param:
            yield lake.on(request.getfixturevalue("spark"), kernel=kernel)
        else:
            yield lake.on(workers=2, kernel=kernel)


def made(number, count=300):
    random = np.random.default_rng(number)
    users = [None if n % 9 == 0 else n for n in random.integers(0, 100, count).tolist()]
    return pa.table(
        {
            "user_id": pa.array(users, pa.int64()),
            "event_date": pa.array([20_000 + n % 2 for n in range(count)], pa.date32()),
            "month": pa.array([1 if n % 3 else 10 for n in range(count)], pa.int32()),
            "text": [f"{number} {n}" for n in range(count)],
        }
    )


@pytest.fixture
def events(place):
    """Make a table of two partitions, 1 and 10, with four files in each."""
    here = place.on(workers=1, kernel="pyarrow")
    table = here.create_table("events", made(0).schema, partition_by=["month"])
    for number in range(4):
        table.append(made(number))
    return place.table("events")


def rows(table):
    return Counter(str(row) for row in table.scan().to_arrow().to_pylist())


def files(table):
    return {row["path"]: row["rows"] for row in table.files().to_pylist()}


def stored(lake):
    return {file.path for file in lake._session.store.list("")}  # noqa: SLF001  the bytes


def test_compaction_respects_thresholds_and_keeps_rows_schema_and_order_s2_2_s2_3_s2_4(events):
    before, schema, order = rows(events), events.schema, events.scan().to_arrow()
    report = events.compact(target_mb=None, target_rows=500)
    assert max(files(events).values()) <= 500
    assert (report.compacted_file_count, report.before_file_count) == (8, 8)
    assert (rows(events), events.schema) == (before, schema)
    assert report.rows_before == report.rows_after == 1200
    report = events.compact(target_mb=128)
    assert (report.after_file_count, len(files(events))) == (2, 2)
    for month in (1, 10):
        kept = order.filter(pa.compute.equal(order["month"], month))
        assert events.scan(where=f"month = {month}").to_arrow() == kept


def test_a_dry_run_plans_with_canonical_statistics_and_touches_no_file_s2_5_s2_17_s0_22(
    place, events
):
    there, version = stored(place), place.version
    for would in (events.compact(dry_run=True), events.cluster("user_id", dry_run=True)):
        assert CANONICAL | {"planned_groups"} <= set(would) | {"compression_codec"}
        groups = would["planned_groups"]
        assert sorted(path for group in groups for path in group) == sorted(files(events))
        assert (len(groups), would["dry_run"], would["after_file_count"]) == (2, True, 2)
    assert would["zorder_columns"] == ("user_id",)
    assert (stored(place), place.version) == (there, version)
    done = events.compact()
    assert set(done) >= CANONICAL
    assert (done["files_before"], done["files_after"], done["dry_run"]) == (8, 2, False)
    assert done["compression_codec"] == "zstd"


def test_optimizing_orders_rows_with_nulls_last_within_each_file_s2_8_s2_9_s2_10(place, events):
    before = rows(events)
    report = events.cluster(["user_id", "event_date"], target_mb=0.002)
    assert report["zorder_columns"] == ("user_id", "event_date")
    assert report["compression_codec"] == "zstd"
    assert report.files_added == len(files(events)) > 2
    for path in files(events):
        with place._session.store.open(path) as source:  # noqa: SLF001  the bytes themselves
            found = pq.read_table(source, columns=["user_id", "event_date"]).to_pylist()
        keys = [(r["user_id"] is None, r["user_id"] or 0, r["event_date"]) for r in found]
        assert keys == sorted(keys)
    assert rows(events) == before


class Untouched:
    """A kernel that must not be asked for anything."""

    name = "untouched"

    def write(self, *_, **__):
        raise AssertionError

    probe = rewrite = write


@pytest.mark.parametrize(
    ("call", "kind", "match"),
    [
        (lambda t: t.cluster(["user_id", "nope"]), ValueError, "user_id, event_date, month, text"),
        (lambda t: t.compact(target_mb=0), ValueError, "target_mb must be greater than 0"),
        (lambda t: t.compact(target_mb=-1), ValueError, "target_mb must be greater than 0"),
        (lambda t: t.compact(target_rows=0), ValueError, "target_rows must be greater than 0"),
        (lambda t: t.compact(max_file_mb=0), ValueError, "max_file_mb must be greater than 0"),
        (lambda t: t.compact(target_mb=None), ValueError, "target_mb, target_rows or both"),
        (lambda t: t.compact(memory_mb=0), ValueError, "memory_mb must be 1 or more"),
        (lambda t: t.cluster("user_id", target_mb=0), ValueError, "target_mb must be greater"),
        (
            lambda t: t.compact(where={"month": 2}),
            FileNotFoundError,
            "no matching Parquet files were found under main.events",
        ),
        (lambda t: t.cluster("user_id", where="month = 2"), FileNotFoundError, "no matching"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work_s2_11_s2_12_s2_13_s0_32_s0_33(
    tmp_path, call, kind, match
):
    with mere.connect(tmp_path / "x.db") as lake:
        lake.create_table("events", made(0).schema, partition_by=["month"])
        lake.table("events").append(made(0))
        there, version = stored(lake), lake.version
        with pytest.raises(kind, match=match):
            call(lake.on(kernel=Untouched(), workers=1).table("events"))
        assert (stored(lake), lake.version) == (there, version)


@pytest.mark.parametrize("where", [{"month": 1}, "month = 1", [("month", "=", 1)]])
def test_only_the_partition_that_was_meant_is_touched_s2_15_s2_16_k1(events, where):
    tenth = {path for path in files(events) if "month=10/" in path}
    assert len(tenth) == 4
    report = events.compact(where=where)
    assert (report.compacted_file_count, report.files_added) == (4, 1)
    assert tenth < set(files(events))
    again = events.cluster("user_id", where=where)
    assert (again.compacted_file_count, len(files(events))) == (1, 5)
    assert tenth < set(files(events))


def test_what_meets_the_thresholds_is_left_alone_the_second_time_s0_34_s0_25(place, events):
    for call in (
        lambda: events.compact(target_rows=300),
        lambda: events.compact(target_mb=0.003),
        lambda: events.cluster(["user_id", "month"], order="hilbert"),
        lambda: events.repartition(["event_date"]),
        events.compact,
    ):
        call()
        version, there = place.version, stored(place)
        again = call()
        assert (again.compacted_file_count, again.files_added) == (0, 0)
        assert (again.version, place.version, stored(place)) == (version, version, there)


def test_small_targets_break_no_file_up_and_few_files_are_left_s0_17_s1_17_s1_18_k19(events):
    before = files(events)
    for sizes in (
        {"target_rows": 30},
        {"target_mb": 0.0005},
        {"min_files": 5},
        {"max_file_mb": 0.0001},
    ):
        report = events.compact(**sizes)
        assert (report.compacted_file_count, files(events)) == (0, before), sizes
    assert events.compact(min_files=4, max_file_mb=1).compacted_file_count == 8
