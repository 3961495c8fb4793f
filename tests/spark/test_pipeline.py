"""Steps between tables: what is new goes through them once, whatever crashes."""

import signal
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812  the name that Spark's own documentation uses
from tests.spark.programs import program

import mere
import mere.spark
from mere.errors import (
    CommitConflictError,
    InvalidInputError,
    MereError,
    NotFoundError,
    SnapshotNotFoundError,
    TaskError,
    UnsupportedError,
)
from mere.lake import Lake
from mere.spark import Pipeline, new, whole
from mere.testing.faults import Fault, Faulty, InjectedError, Side

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark, tmp_path):
    with mere.connect(tmp_path / "shop.db") as opened:
        opened.create_table("raw", {"id": "int64", "day": "date", "n": "int64"})
        yield opened.on(spark)


def put(lake, *numbers, day="2026-11-16"):
    return lake.table("raw").append([row(i, day=day) for i in numbers]).version


def row(number, *, day):
    return {"id": number, "day": date.fromisoformat(day), "n": number}


def copying(mode="append", **more):
    """Return a pipeline of one step that copies what is new."""
    flow = Pipeline("shop")

    @flow.step("copy", reads="raw", mode=mode, **more)
    def copied(raw):
        return raw

    return flow


def ids(lake, name="copy"):
    return sorted(lake.table(name).scan().to_arrow()["id"].to_pylist())


def ran(flow, lake, **more):
    (report,) = flow.run(lake, **more)
    return report


# --- what is new -------------------------------------------------------------------------------


def test_a_step_begins_with_the_whole_table_and_goes_on_with_what_comes(lake):
    flow = copying()
    put(lake, 1, 2)
    put(lake, 3)
    first = ran(flow, lake)
    assert (first.rows_read, first.rows_written, first.since) == (3, 3, -1)
    put(lake, 4)
    second = ran(flow, lake)
    assert (second.since, second.reached, second.rows_read) == (first.version, 5, 1)
    assert ids(lake) == [1, 2, 3, 4]
    assert str(second).startswith("copied: append to main.copy, 1 rows in 1 files, version 6")


def test_a_run_without_news_makes_no_version_and_is_remembered(lake):
    flow = copying()
    put(lake, 1)
    ran(flow, lake)
    lake.create_table("other", {"id": "int64"})
    before = lake.version
    report = ran(flow, lake)
    assert (report.report, report.reads, lake.version) == (None, (), before)
    assert flow.progress(lake)["copied"].reached == before
    run = flow.progress(lake)["copied"].run
    ran(flow, lake)
    assert flow.progress(lake)["copied"].run == run, "nothing happened since: nothing to remember"


def test_a_step_that_makes_nothing_of_its_news_does_not_see_them_again(lake):
    flow, seen = Pipeline("shop"), []

    @flow.step("copy", reads="raw")
    def few(raw):
        seen.append(raw.count())
        return raw.where("id > 100")

    put(lake, 1, 2)
    version = ran(flow, lake).reached
    put(lake, 3)
    assert ran(flow, lake).report is None
    assert seen == [2, 1]
    assert flow.progress(lake)["few"].wrote is None
    assert flow.progress(lake)["few"].reached > version
    assert ids(lake) == []


def test_what_maintenance_does_is_not_new(lake, oracle):
    flow = copying()
    put(lake, 1)
    ran(flow, lake)
    put(lake, 2)
    put(lake, 3)
    lake.close()
    con = oracle(lake.url.replace("sqlite://", "sqlite:"))
    con.execute("CALL ducklake_merge_adjacent_files('lake')")
    con.close()
    put(lake, 4)
    ran(flow, lake)
    assert ids(lake) == [1, 2, 3, 4]


def test_rows_that_were_only_copied_are_not_new(lake):
    """Where a table has touched files written anew, a file that came holds rows that did not."""
    flow = Pipeline("shop")

    @flow.step("copy", reads=new("raw", changes="insert"))
    def copied(raw):
        return raw

    lake.table("raw").set_option("mere_write_mode", "copy-on-write")
    put(lake, 1, 2, 3)
    ran(flow, lake)
    lake.table("raw").update({"n": "0"}, where="id = 2")
    put(lake, 4)
    assert ran(flow, lake).rows_written == 2
    rows = lake.table("copy").scan().to_arrow().select(["id", "n"]).to_pylist()
    assert sorted((row["id"], row["n"]) for row in rows) == [(1, 1), (2, 0), (2, 2), (3, 3), (4, 4)]


def test_rows_that_lie_in_the_catalog_are_new_once(lake, oracle):
    flow = copying()
    put(lake, 1)
    ran(flow, lake)
    lake.close()
    con = oracle(lake.url.replace("sqlite://", "sqlite:"), data_inlining_row_limit=10)
    con.execute("INSERT INTO raw VALUES (2, DATE '2026-11-16', 2)")
    con.close()
    assert ran(flow, lake).rows_written == 1
    lake.close()
    con = oracle(lake.url.replace("sqlite://", "sqlite:"), data_inlining_row_limit=10)
    con.execute("INSERT INTO raw VALUES (3, DATE '2026-11-16', 3)")
    con.close()
    ran(flow, lake)
    assert ids(lake) == [1, 2, 3]
    lake.close()
    con = oracle(lake.url.replace("sqlite://", "sqlite:"), data_inlining_row_limit=10)
    con.execute("DELETE FROM raw WHERE id = 3")
    con.close()
    with pytest.raises(UnsupportedError, match="deleted or updated"):
        ran(flow, lake)


def test_updates_stop_a_step_that_reads_appends_and_come_to_one_that_reads_inserts(lake):
    strict = copying()
    loose = Pipeline("loose")

    @loose.step("forms", reads=new("raw", changes="insert"), mode="upsert", on="id")
    def forms(raw):
        return raw

    put(lake, 1, 2)
    ran(strict, lake)
    ran(loose, lake)
    lake.table("raw").update({"n": "n * 10"}, where="id = 2")
    lake.table("raw").update({"n": "n + 1"}, where="id = 2")
    put(lake, 3)
    lake.table("raw").delete("id = 3")
    with pytest.raises(UnsupportedError, match="deleted or updated at version"):
        ran(strict, lake)
    assert ids(lake) == [1, 2]
    assert ran(loose, lake).rows_written == 1
    rows = lake.table("forms").scan().to_arrow().sort_by("id").select(["id", "n"]).to_pylist()
    assert rows == [{"id": 1, "n": 1}, {"id": 2, "n": 21}]


def test_a_source_that_was_restored_must_be_read_from_the_beginning(lake):
    flow = Pipeline("shop")

    @flow.step("copy", reads=new("raw", changes="insert"), mode="upsert", on="id")
    def copied(raw):
        return raw

    first = put(lake, 1, 2)
    ran(flow, lake)
    lake.table("raw").delete("id = 1")
    ran(flow, lake)
    lake.table("raw").restore(version=first)
    with pytest.raises(UnsupportedError, match="restored"):
        ran(flow, lake)
    flow.backfill(lake, "copied")
    assert ids(lake) == [1, 2]


def test_versions_that_expired_unread_are_an_error_and_read_ones_are_not(lake):
    flow = copying()
    put(lake, 1)
    ran(flow, lake)
    lake.expire(older_than=0)
    put(lake, 2)
    assert ran(flow, lake).rows_written == 1
    put(lake, 3)
    put(lake, 4)
    lake.expire(older_than=0)
    with pytest.raises(SnapshotNotFoundError, match="expired"):
        ran(flow, lake)
    flow.backfill(lake, "copied")
    assert ids(lake) == [1, 2, 3, 4]


# --- modes -------------------------------------------------------------------------------------


def test_each_mode_writes_as_it_says(lake):
    flow = Pipeline("modes")
    for mode, more in (
        ("append", {}),
        ("upsert", {"on": ("day",)}),
        ("partitions", {"partition_by": "day"}),
        ("overwrite", {}),
    ):

        @flow.step(mode, reads="raw", mode=mode, name=mode, **more)
        def summed(raw):
            return raw.groupBy("day").agg(F.sum("n").alias("n"))

    put(lake, 1, 2, day="2026-11-16")
    flow.run(lake)
    put(lake, 5, day="2026-11-16")
    put(lake, 7, day="2026-11-17")
    flow.run(lake)
    found = {
        name: sorted(lake.table(name).scan().to_arrow()["n"].to_pylist())
        for name in ("append", "upsert", "partitions", "overwrite")
    }
    assert found == {
        "append": [3, 5, 7],
        "upsert": [5, 7],
        "partitions": [5, 7],
        "overwrite": [5, 7],
    }
    assert lake.table("partitions").partition_by == ("day",)


def test_steps_run_after_those_that_write_what_they_read(lake):
    flow = Pipeline("shop")

    @flow.step("gold.sums", reads=whole("silver.rows"), mode="overwrite")
    def sums(rows):
        return rows.groupBy("day").agg(F.count("*").alias("rows"))

    @flow.step("silver.rows", reads="raw")
    def rows(raw):
        return raw.where("id > 1")

    assert [step.name for step in flow.steps] == ["rows", "sums"]
    put(lake, 1, 2, 3)
    flow.run(lake)
    assert lake.table("gold.sums").scan().to_arrow()["rows"].to_pylist() == [2]
    before = lake.version
    assert [report.report for report in flow.run(lake)] == [None, None]
    assert lake.version == before, "a whole table that did not change is not read again"
    put(lake, 4)
    flow.run(lake)
    assert lake.table("gold.sums").scan().to_arrow()["rows"].to_pylist() == [3]
    assert [r.step for r in flow.run(lake, only="sums")] == ["sums"]


def test_a_table_beside_what_is_new_is_read_whole(lake):
    flow = Pipeline("shop")

    @flow.step("days", reads=["raw", whole("raw")], mode="upsert", on="day")
    def days(came, everything):
        touched = came.select("day").distinct()
        return (
            everything.join(touched, "day", "left_semi").groupBy("day").agg(F.sum("n").alias("n"))
        )

    put(lake, 1, 2, day="2026-11-16")
    put(lake, 3, day="2026-11-17")
    flow.run(lake)
    put(lake, 10, day="2026-11-16")
    assert ran(flow, lake).rows_written == 1
    rows = lake.table("days").scan().to_arrow().sort_by("day")["n"].to_pylist()
    assert rows == [13, 3]


# --- dry runs and backfills --------------------------------------------------------------------


def test_a_dry_run_says_what_would_be_read_and_changes_nothing(lake):
    flow = copying()

    @flow.step("sums", reads="copy")
    def sums(copy):
        return copy.groupBy("day").agg(F.sum("n").alias("n"))

    put(lake, 1, 2)
    second = put(lake, 3)
    copied, summed = flow.run(lake, dry_run=True)
    assert (copied.rows_read, copied.reads[0].files, copied.reads[0].versions[-1]) == (3, 2, second)
    assert (summed.reads, summed.waits_for) == ((), ("main.copy",))
    assert "waits for main.copy" in str(summed)
    assert lake.tables() == ["main.raw"]
    assert (lake.version, flow.progress(lake)) == (second, {})
    flow.run(lake)
    put(lake, 4)
    copied, summed = flow.run(lake, dry_run=True)
    assert (copied.dry_run, copied.rows_read, summed.waits_for) == (True, 1, ("main.copy",))


def test_a_backfill_from_the_beginning_replaces_all_that_was_written(lake):
    put(lake, 1, 2)
    flow = copying()
    ran(flow, lake)
    put(lake, 3)
    ran(flow, lake)
    flow = Pipeline("shop")

    @flow.step("copy", reads="raw", name="copied")
    def corrected(raw):
        return raw.withColumn("id", F.col("id") * 10)

    put(lake, 4)
    planned = flow.backfill(lake, "copied", dry_run=True)
    assert (planned.rows_read, planned.dry_run, ids(lake)) == (4, True, [1, 2, 3])
    before = lake.version
    assert flow.backfill(lake, "copied").rows_written == 4
    assert (ids(lake), lake.version) == ([10, 20, 30, 40], before + 1)
    assert ran(flow, lake).report is None, "the step has read all of it"


def test_a_backfill_of_an_upsert_keeps_no_row_that_is_not_made_again(lake):
    put(lake, 1, 2)
    flow = copying("upsert", on="id")
    ran(flow, lake)
    flow = Pipeline("shop")

    @flow.step("copy", reads="raw", mode="upsert", on="id", name="copied")
    def corrected(raw):
        return raw.where("id > 1")

    before = lake.version
    report = flow.backfill(lake, "copied")
    assert (ids(lake), lake.version, report.version) == ([2], before + 1, before + 1)


def test_a_range_of_versions_is_run_again(lake):
    flow = copying()
    put(lake, 1)
    second = put(lake, 2)
    put(lake, 3)
    ran(flow, lake)
    put(lake, 4)
    flow = Pipeline("shop")

    @flow.step("copy", reads="raw", name="copied")
    def corrected(raw):
        return raw.withColumn("n", -F.col("n"))

    flow.backfill(lake, "copied", since=second, until=second, replacing="id = 2")
    ran(flow, lake)
    rows = lake.table("copy").scan().to_arrow().sort_by("id")["n"].to_pylist()
    assert rows == [1, -2, 3, -4]


def test_partitions_of_a_range_are_replaced_as_they_come(lake):
    flow = Pipeline("shop")

    @flow.step("days", reads=["raw", whole("raw")], mode="partitions", partition_by="day")
    def days(came, everything):
        return everything.join(came.select("day").distinct(), "day", "left_semi")

    put(lake, 1, day="2026-11-16")
    second = put(lake, 2, day="2026-11-17")
    ran(flow, lake)
    lake.table("days").append([row(99, day="2026-11-17")])
    flow.backfill(lake, "days", since=second, until=second)
    assert ids(lake, "days") == [1, 2]


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mode": "replace"}, "unknown mode 'replace'"),
        ({"mode": "upsert"}, "'on' belongs to mode 'upsert'"),
        ({"on": "id"}, "'on' belongs to mode 'upsert'"),
        ({"mode": "upsert", "on": "id", "merge_schema": True}, "'merge_schema' does not go"),
        ({"reads": []}, "it reads no table"),
        ({"reads": "main.copy"}, "reads what is new in main.copy, which it writes"),
        ({"name": "a/b"}, "no name for a step"),
    ],
)
def test_a_step_that_cannot_be_meant_is_refused(more, said):
    flow = Pipeline("shop")
    settings = {"reads": "raw", "name": "step", **more}
    with pytest.raises(InvalidInputError, match=said):
        flow.step("copy", **settings)(lambda raw: raw)
    assert flow.steps == ()


def test_a_pipeline_that_cannot_be_meant_is_refused(lake):
    flow = Pipeline("shop")
    flow.step("b", reads="a", name="first")(lambda a: a)
    with pytest.raises(InvalidInputError, match="wait for each other"):
        flow.step("a", reads="b", name="second")(lambda b: b)
    with pytest.raises(InvalidInputError, match="has a step 'first' already"):
        flow.step("c", reads="a", name="first")(lambda a: a)
    with pytest.raises(NotFoundError, match="no step 'third'"):
        flow.run(lake, only="third")
    with pytest.raises(InvalidInputError, match="no name for a pipeline"):
        Pipeline("a/b")
    with pytest.raises(InvalidInputError, match="'changes' takes append or insert"):
        new("raw", changes="all")


@pytest.mark.parametrize(
    ("mode", "asked", "said"),
    [
        ("append", {"since": 1}, "does not tell which rows it wrote"),
        ("append", {"until": 1}, "needs its first version"),
        ("append", {"since": 3, "until": 2, "replacing": "true"}, "ends before it begins"),
        ("overwrite", {"since": 1}, "replaces all rows"),
        ("partitions", {"since": 1, "replacing": "true"}, "knows what to replace"),
        ("upsert", {"since": 1, "until": 2}, "would replace newer ones"),
    ],
)
def test_a_backfill_that_could_not_replace_what_was_written_is_refused(lake, mode, asked, said):
    flow = copying(mode, **({"on": "id"} if mode == "upsert" else {}))
    with pytest.raises(InvalidInputError, match=said):
        flow.backfill(lake, "copied", **asked)


def test_a_lake_that_is_opened_for_reading_is_planned_on_and_not_written(lake):
    put(lake, 1)
    with mere.connect(lake.url, read_only=True) as reading:
        assert ran(copying(), reading, dry_run=True).rows_read == 1
        with pytest.raises(InvalidInputError, match="read_only=True"):
            copying().run(reading)
        with pytest.raises(InvalidInputError, match="read_only=True"):
            copying().backfill(reading, "copied")


def test_a_range_that_was_never_read_cannot_be_read_again(lake):
    flow = copying("upsert", on="id")
    with pytest.raises(SnapshotNotFoundError, match="has read nothing"):
        flow.backfill(lake, "copied", since=1)


def test_a_function_that_fails_changes_nothing_and_keeps_its_error(lake):
    flow = Pipeline("shop")

    @flow.step("copy", reads="raw")
    def wrong(raw):
        return raw.count()

    @flow.step("other", reads="raw")
    def failing(raw):
        return raw.select(F.raise_error(F.lit("no")).alias("x"))

    put(lake, 1)
    with pytest.raises(InvalidInputError, match="returned int, not a Spark DataFrame"):
        flow.run(lake, only="wrong")
    with pytest.raises(TaskError):
        flow.run(lake, only="failing")
    assert flow.progress(lake) == {}


# --- crashes -----------------------------------------------------------------------------------


def faulty(lake, fault):
    session = lake._session  # noqa: SLF001  only there can a catalog be made to fail
    return Lake(replace(session, catalog=Faulty(session.catalog, fault)))


def test_a_run_that_breaks_off_at_any_call_is_made_up_for_by_the_next(lake):
    """Before each call to the catalog, and after each that changes something: each row once."""
    flow = copying("upsert", on="id")
    put(lake, -1)
    flow.run(lake)
    put(lake, 0)
    count = Fault()
    flow.run(faulty(lake, count))
    places: list[tuple[int, Side]] = [(at, "before") for at in range(1, len(count.calls) + 1)]
    places += [(at, "after") for at, name in enumerate(count.calls, 1) if name == "commit"]
    assert any(when == "after" for _, when in places)
    for number, (at, when) in enumerate(places, 1):
        put(lake, number)
        with pytest.raises((InjectedError, MereError)):
            flow.run(faulty(lake, Fault(at=at, when=when, act="raise")))
        flow.run(lake)
        assert ids(lake) == list(range(-1, number + 1)), f"{when} call {at}"


def test_an_append_whose_answer_was_lost_is_not_made_again(lake):
    flow = copying()
    put(lake, 1)
    flow.run(lake)
    put(lake, 2)
    count = Fault()
    flow.run(faulty(lake, count))
    at = count.calls.index("commit") + 1
    put(lake, 3)
    with pytest.raises(InjectedError):
        flow.run(faulty(lake, Fault(at=at, when="after", act="raise")))
    assert ids(lake) == [1, 2, 3]
    assert flow.run(lake)[0].report is None
    assert ids(lake) == [1, 2, 3]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_driver_that_is_killed_at_its_commit_doubles_and_loses_nothing(lake, when):
    put(lake, 1, 2, 3)
    said = program("dying_pipeline", lake.url, when)
    assert said.returncode == -signal.SIGKILL, said.stderr
    there = ids(lake) if "main.copy" in lake.tables() else []
    assert there == ([1, 2, 3] if when == "after" else [])
    lying = len(list(Path(lake.data_path).rglob("*.parquet")))
    listed = sum(lake.table(name).files().num_rows for name in lake.tables())
    assert (lying > listed) == (when == "before"), "files that no version lists"
    assert len(lake.vacuum(grace=0).files) == lying - listed
    flow = copying()
    assert ran(flow, lake).rows_written == 3 - len(there)
    assert ids(lake) == [1, 2, 3]


def test_two_runs_at_once_make_one(lake):
    """The other run commits while this one has read what is new and written its files."""
    flow = Pipeline("shop")
    others: list[object] = []

    @flow.step("copy", reads="raw", name="copied")
    def copied(raw):
        if not others:
            others.append("at work")
            others.append(ran(copying(), lake).rows_written)
            put(lake, 3)
        return raw

    put(lake, 1, 2)
    report = ran(flow, lake)
    assert others == ["at work", 2]
    assert report.rows_written == 1, "begun again, with what came after the other's run"
    assert ids(lake) == [1, 2, 3]


def test_a_run_that_is_overtaken_every_time_gives_up(lake):
    flow = Pipeline("shop")

    @flow.step("copy", reads="raw", name="copied")
    def copied(raw):
        ran(copying(), lake)
        put(lake, 1)
        return raw

    put(lake, 1)
    with pytest.raises(CommitConflictError):
        ran(flow, lake)
    assert len(ids(lake)) == lake.table("raw").count() - 1, "all but the row that came last"


def test_without_the_mark_a_repeated_run_doubles_rows(lake, monkeypatch):
    """The negative control: what the mark prevents."""
    monkeypatch.setattr("mere.catalogs.progress.put", lambda *_: None)
    monkeypatch.setattr("mere.spark.pipeline.marking.token_of", lambda _: None)
    flow = copying()
    put(lake, 1)
    flow.run(lake)
    flow.run(lake)
    assert ids(lake) == [1, 1]
