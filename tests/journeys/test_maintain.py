"""A lake keeps itself in shape: by rules, table by table, whatever becomes of one of them."""

import pyarrow as pa
import pytest

import mere
from mere.errors import CommitConflictError, InvalidInputError, MereError, StorageError
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.history import Change, Mark

NOW = {"expire_older_than": 0, "delete_older_than": 0}
COLUMNS = {"a": "int64", "s": "string"}


def rows(number, count=20):
    return pa.table({"a": [(7 * n + number) % 50 for n in range(count)], "s": ["x", "y"] * 10})


def scattered(lake, *names, files=5, **more):
    for name in names:
        table = lake.create_table(name, COLUMNS, **more)
        for number in range(files):
            table.append(rows(number))


def shown(lake):
    """Return the rows of every table, in an order of their own."""
    return {name: sorted(map(str, lake.table(name).scan().to_arrow().to_pylist()))
            for name in lake.tables()}  # fmt: skip


def states(done):
    return {(piece.operation, piece.table): str(piece.state) for piece in done}


class Troubled:
    """A kernel that has something happen when the files of a table are written anew."""

    name = "troubled"

    def __init__(self, table, act):
        self.table = table
        self.act = act

    def write(self, rows, *, task, store):
        return PyarrowKernel().write(rows, task=task, store=store)

    def probe(self, task, *, store):
        return PyarrowKernel().probe(task, store=store)

    def rewrite(self, task, *, store):
        done = PyarrowKernel().rewrite(task, store=store)
        if f"/{self.table}/" in task.inputs[0].file.path:
            self.act()
        return done


def test_one_run_does_it_all_and_a_second_one_nothing(any_lake):
    lake = any_lake
    scattered(lake, "plain")
    scattered(lake, "parted", partition_by=["s"])
    lake.create_table("empty", COLUMNS)
    lake.table("plain").delete("a < 20")
    lake.drop_table("parted")
    lake.create_table("gone", COLUMNS).append(rows(1))
    lake.drop_table("gone")
    scattered(lake, "parted", partition_by=["s"])
    policy = {**NOW, "tables": {"parted": {"cluster_by": ["a"], "cluster_order": "zorder"}}}
    before, version = shown(lake), lake.version
    would = lake.maintain(policy, dry_run=True)
    assert lake.version == version
    assert states(would) == {
        ("expire", None): "planned",
        ("cluster", "main.parted"): "planned",
        ("compact", "main.plain"): "planned",
    }
    done = lake.maintain(policy)
    assert states(done) == {**dict.fromkeys(states(would), "done"), ("vacuum", None): "done"}
    assert (done.ok, done.files_removed, done.files_added) == (True, 15, 3)
    assert shown(lake) == before
    assert not lake.table("plain").files()["deletes"].to_pylist()[0]
    assert lake.snapshots().num_rows == 1
    assert lake.doctor().healthy
    assert not lake.doctor().findings
    again = lake.maintain(policy)
    assert (len(again), str(again)) == (0, "maintain: nothing to do")
    assert "act" not in lake.health(policy=policy)["verdict"].to_pylist()


@pytest.mark.spark
def test_the_work_is_done_on_spark_alike(spark, tmp_path):
    found = []
    for name in ("here", "there"):
        with mere.connect(tmp_path / f"{name}.db") as lake:
            scattered(lake, "t", partition_by=["s"])
            before = shown(lake)
            done = (lake.on(spark) if name == "there" else lake).maintain(NOW)
            assert shown(lake) == before
            found.append([(p.operation, p.table, p.state, p.files) for p in done])
    assert found[0] == found[1]
    assert len(found[0]) > 2


def failing():
    msg = "the disk is full"
    raise StorageError(msg)


def test_what_fails_at_one_table_is_said_and_the_others_are_done(lake):
    scattered(lake, "bad", "good")
    before = shown(lake)
    troubled = lake.on(kernel=Troubled("bad", failing), workers=1)
    done = troubled.maintain()
    assert states(done) == {("compact", "main.bad"): "failed", ("compact", "main.good"): "done"}
    assert not done.ok
    with pytest.raises(MereError, match="the disk is full"):
        done.require()
    assert (len(lake.table("bad").files()), len(lake.table("good").files())) == (5, 1)
    assert shown(lake) == before
    assert states(lake.maintain()) == {("compact", "main.bad"): "done"}


def test_a_table_that_goes_or_is_made_anew_meanwhile_stops_nobody(lake):
    scattered(lake, "a", "b", "c")

    def others():
        lake.drop_table("b")
        lake.drop_table("a")
        scattered(lake, "a", files=1)

    done = lake.on(kernel=Troubled("a", others), workers=1).maintain()
    assert states(done) == {
        ("compact", "main.a"): "conflict",
        ("compact", "main.b"): "gone",
        ("compact", "main.c"): "done",
    }
    with pytest.raises(CommitConflictError):
        done.require()
    assert done.of("gone")[0].detail == "dropped meanwhile"


def test_what_others_change_meanwhile_is_left_and_said(lake):
    scattered(lake, "t", partition_by=["s"])
    table = lake.table("t")
    deleting = Troubled("t", lambda: table.delete("s = 'x'"))
    done = lake.on(kernel=deleting, workers=1).maintain()
    (piece,) = done
    assert (piece.state, done.ok) == ("done", True)
    assert piece.detail.endswith("what others changed meanwhile was left")
    assert table.count("s = 'y'") == 50


def test_a_budget_of_bytes_takes_what_is_worth_most_and_the_next_run_the_rest(lake):
    scattered(lake, "few", files=4)
    scattered(lake, "many", files=12)
    size = sum(lake.table("many").files()["bytes"].to_pylist())
    policy = {"budget_mb": 2 * size / 1e6}
    done = lake.maintain(policy)
    assert states(done) == {("compact", "main.many"): "done", ("compact", "main.few"): "left"}
    assert [piece.table for piece in done.left] == ["main.few"]
    assert states(lake.maintain(policy)) == {("compact", "main.few"): "done"}


def test_nothing_new_is_begun_when_the_time_is_over(lake):
    scattered(lake, "t")
    version = lake.version
    done = lake.maintain({"budget_minutes": 1e-9, **NOW})
    assert set(states(done).values()) == {"left"}
    assert (lake.version, lake.snapshots().num_rows, done.ok) == (version, version + 1, True)


def test_rules_in_the_catalog_hold_and_those_of_a_call_come_before_them(lake):
    scattered(lake, "loud")
    lake.create_schema("calm")
    scattered(lake, "calm.left", "calm.right", "calm.full", files=6)
    lake.set_option("auto_compact", value=False, schema="calm")
    lake.table("calm.right").set_option("auto_compact", value=True)
    lake.set_option("mere_min_files", 6)
    lake.set_option("mere_expire", value=False)
    lake.table("calm.right").set_option("mere_cluster_by", ["a", "s"])
    done = lake.maintain({"tables": {"calm.full": {"compact": True}}})
    assert states(done) == {("cluster", "calm.right"): "done", ("compact", "calm.full"): "done"}
    with pytest.raises(InvalidInputError, match="takes a number of files, got 1"):
        lake.set_option("mere_min_files", 1)
    done = lake.maintain({"min_files": 2, "tables": {"nowhere": {"compact": False}}})
    assert states(done) == {("compact", "main.loud"): "done"}
    assert done.notes == ("the policy has rules for what is not there: main.nowhere",)


def test_versions_that_a_step_of_a_pipeline_has_still_to_read_stay(lake):
    scattered(lake, "t")
    reached = lake.version - 2
    mark = Mark(step="market/bars", run=1, reached=reached)
    lake._session.catalog.commit(Change(base=lake.version, edits=(), mark=mark))  # noqa: SLF001
    lake.tag("first", version=1)
    done = lake.maintain(NOW)
    assert lake.snapshots()["version"].to_pylist() == [1, *range(reached, lake.version + 1)]
    assert "that the step 'market/bars' has still to read" in str(done)
    assert lake.table("t").changes(reached + 1).num_rows == 40
    assert not lake.maintain(NOW)


def test_deleted_rows_go_by_the_share_that_the_option_says(lake):
    lake.create_table("t", COLUMNS).append(rows(0))
    table = lake.table("t")
    table.delete("a < 5")
    lake.expire(0)
    assert not lake.maintain({"expire": False})
    assert not table.compact().files_added
    table.set_option("rewrite_delete_threshold", 0.05)
    assert table.compact(dry_run=True).files_added == 1
    assert states(lake.maintain({"expire": False})) == {("compact", "main.t"): "done"}
    assert table.files()["deletes"].to_pylist() == [0]


def test_a_lake_that_is_open_for_reading_is_looked_at_and_not_changed(lake, tmp_path):
    scattered(lake, "t")
    with mere.connect(tmp_path / "shop.db", read_only=True) as reader:
        would = reader.maintain(dry_run=True)
        assert states(would) == {("compact", "main.t"): "planned"}
        assert would.notes == ("a lake that is open for reading is not searched for old files",)
        assert "act" in reader.table("t").health()["verdict"].to_pylist()
        with pytest.raises(InvalidInputError, match="read_only"):
            reader.maintain()
    with lake.transaction() as tx, pytest.raises(InvalidInputError, match="inside a transaction"):
        tx.maintain()


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"budget": 3}, "no rule 'budget'"),
        (3, "a policy is a mere.Policy, a mapping"),
        ("none.toml", "cannot be read"),
        ({"tables": {"t": {"cluster_by": ["nope"]}}}, None),
    ],
)
def test_a_policy_that_cannot_be_meant_changes_nothing(lake, policy, told):
    scattered(lake, "t")
    version = lake.version
    if told is None:  # of one table, which the others need not suffer from
        (piece,) = lake.maintain(policy)
        assert (piece.state, piece.table) == ("failed", "main.t")
        assert "unknown column 'nope'" in piece.detail
    else:
        with pytest.raises(MereError, match=told):
            lake.maintain(policy)
    assert lake.version == version


def test_an_empty_lake_has_nothing_to_do_and_is_well(lake):
    assert str(lake.maintain(dry_run=True)) == "maintain: nothing to do"
    assert not lake.maintain()
    assert set(lake.health()["verdict"].to_pylist()) == {"good"}


def test_the_result_is_readable_and_becomes_a_table(lake):
    scattered(lake, "t")
    done = lake.maintain()
    table = done.to_arrow()
    assert table.column_names[:4] == ["operation", "table", "state", "files"]
    assert table.to_pylist()[0]["detail"] == "5 files became 1"
    assert str(done).splitlines()[0].startswith("done: compact main.t: 5 file(s)")
    assert done.as_dict()["pieces"][0]["state"] == "done"
