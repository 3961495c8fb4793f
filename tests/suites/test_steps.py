"""Large tables are ordered in two steps, by tasks that share nothing, as one task would do it."""

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.suites.test_shaping import COLUMNS, rows_of, shows

import mere
from mere.datasets.opening import folder
from mere.model.work import Cuts, Rewrite
from mere.plan import steps
from mere.reading.ranges import Ranges, packed
from mere.testing.apart import ApartRunner
from mere.testing.runners import RUNNER_CHECKS

VERBS = {
    "linear": lambda table: table.cluster(["s", "i"], target_mb=0.02),
    "few values": lambda table: table.cluster("few", target_mb=0.02),
    "zorder": lambda table: table.cluster(["f", "s", "d"], order="zorder", target_mb=0.02),
    "hilbert": lambda table: table.cluster(["i", "n"], order="hilbert", target_mb=0.02),
    "repartition": lambda table: table.repartition(["month(d)", "bucket(5, s)"]),
}


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch):
    monkeypatch.setattr(steps, "STEP_BYTES", 1 << 14)


@pytest.fixture
def elsewhere(request):
    """Hand out a function that does the work of a lake by tasks that share nothing."""

    def do(lake, where):
        if where == "spark":
            return lake.on(request.getfixturevalue("spark"))
        runner = ApartRunner(twice=frozenset({0, 2}))
        return lake.on(runner, kernel="duckdb" if "duckdb" in where else "pyarrow")

    return do


def scattered(lake, files=5):
    """Make a table of unordered rows, some of them deleted, updated, or from before a column."""
    table = lake.create_table("t", COLUMNS)
    table.append(rows_of(0))
    table.evolve().add_column("few", "varchar").commit()
    for number in range(1, files):
        rows = rows_of(number)
        few = pa.array([None if n % 50 == 0 else "ab"[n % 2] for n in range(rows.num_rows)])
        table.append(rows.append_column("few", few))
    table.delete("i = 7")
    table.update({"s": "'new'"}, where="i = 8")
    return table


def stored(lake, report):
    """Return the rows of the files, in the order of these, with their ids and snapshots."""
    found = []
    for path in [file.path for file in report.files]:
        with lake._session.store.open(path) as source:  # noqa: SLF001  the bytes themselves
            found.append(pa.parquet.read_table(source))
    names = found[0].column_names
    return [str(row) for table in found for row in table.select(names).to_pylist()]


def shaped(lake, verb):
    """Return what a verb reports, and the rows that it wrote."""
    report = VERBS[verb](lake.table("t"))
    return report, stored(lake, report)


@pytest.mark.parametrize(
    ("verb", "where"),
    [*((verb, "apart") for verb in VERBS), ("zorder", "duckdb"), ("linear", "spark")],
)
def test_rows_lie_as_one_task_would_put_them(verb, where, elsewhere, tmp_path):
    with mere.connect(str(tmp_path / "one.db")) as lake:
        scattered(lake.on(workers=1))
        one, rows = shaped(lake.on(workers=1), verb)
    with mere.connect(str(tmp_path / "other.db")) as lake:
        table = scattered(lake.on(workers=1))
        last = lake.version
        before = shows(table, last)
        two, same = shaped(elsewhere(lake, where), verb)
        assert shows(table, last) == before, "no version notices"
    if verb == "repartition":  # files come in the order of partitions, or of tasks
        rows, same = sorted(rows), sorted(same)
    assert rows == same
    assert (one.plan, str(two.plan).partition(":")[0]) == (None, "ordered in two steps")
    alike = {"rows_before", "rows_after", "compacted_file_count", "partitions", "compression_codec"}
    assert {name: one.get(name) for name in alike} == {name: two.get(name) for name in alike}
    assert abs(one.files_added - two.files_added) <= max(2, one.files_added // 8)


def test_what_lies_between_the_steps_is_gone_afterwards(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        scattered(lake.on(workers=1))
        there = {path.name for path in tmp_path.rglob("*.parquet")}
        runner = ApartRunner()
        report = VERBS["zorder"](lake.on(runner).table("t"))
        new = {path.name for path in tmp_path.rglob("*.parquet")} - there
        made = [file.path for file in report.files]
        made += [file.deletes.path for file in report.files if file.deletes]
        assert new == {path.rpartition("/")[2] for path in made}
        done = [task for task in runner.done if isinstance(task, Rewrite)]
        dealt = [task for task in done if task.cuts]
        ordered = [task for task in done if not task.cuts]
        assert len(dealt) > 1
        assert len(ordered) > 1
        read = [trace.file.path.rpartition("/")[2] for task in done for trace in task.inputs]
        read = [name for name in read if name in there]
        assert len(read) == len(set(read)) == report.compacted_file_count


def test_what_one_task_can_do_is_done_by_one(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = scattered(lake.on(workers=1))
        local = table.cluster("i", target_mb=0.02, dry_run=True)
        assert local.plan is None
        far = lake.on(ApartRunner()).table("t").cluster("i", target_mb=0.02, dry_run=True)
        assert "ranges" in str(far.plan)
        assert lake.on(ApartRunner()).table("t").cluster("i", dry_run=True).plan is None


def test_large_partitions_are_ordered_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "STEP_BYTES", 1 << 11)
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = lake.create_table("t", COLUMNS, partition_by=["month(d)"])
        for number in range(3):
            table.append(rows_of(number))
        rows = sorted(map(str, table.scan().to_arrow().to_pylist()))
        before = table.partitions().select(["partition", "rows"]).to_pylist()
        report = lake.on(ApartRunner()).table("t").cluster("i", target_mb=0.003)
        assert str(report.plan).count("two steps") > 1
        assert table.partitions().select(["partition", "rows"]).to_pylist() == before
        assert sorted(map(str, table.scan().to_arrow().to_pylist())) == rows
        assert lake.doctor().healthy


def test_folders_of_plain_files_are_ordered_in_two_steps(tmp_path):
    rows = pa.concat_tables([rows_of(number) for number in range(6)]).drop_columns(["n"])
    ds.write_dataset(
        rows.append_column("part", pa.array(["a", "b"] * (rows.num_rows // 2))),
        tmp_path / "t",
        format="parquet",
        partitioning=ds.partitioning(pa.schema({"part": pa.string()}), flavor="hive"),
        max_rows_per_file=200,
        max_rows_per_group=200,
    )
    table = folder(tmp_path / "t", runner=ApartRunner())
    expected = sorted(map(str, table.scan().to_arrow().to_pylist()))
    report = table.cluster("i", target_mb=0.003)
    assert str(report.plan).count("two steps") == 2
    assert report.files_added > 2
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == expected
    found = ds.dataset(tmp_path / "t", partitioning="hive").to_table()
    assert found.num_rows == rows.num_rows
    assert "two steps" in str(table.repartition("s").plan)
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == expected


values = st.none() | st.integers(-3, 3)
rows = st.tuples(values, st.none() | st.sampled_from(["", "a", "b"]))


@given(found=st.lists(rows, max_size=40), fences=st.lists(rows, max_size=5), flags=st.data())
@settings(max_examples=60)
def test_ranges_are_told_as_a_sort_would_cut_them(found, fences, flags):
    def table(rows):
        return pa.table(
            {"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows])}
        ).cast(pa.schema({"a": pa.int64(), "b": pa.string()}))

    def rank(row):
        return (row[0] is None, row[0] or 0, row[1] is None, row[1] or "")

    fences = sorted(set(fences), key=rank)
    behind = flags.draw(st.tuples(*[st.booleans() for _ in fences]))
    ranges = Ranges.of(Cuts(rows=packed(table(fences)), behind=behind))
    numbers = ranges.numbers([column.combine_chunks() for column in table(found).columns])
    assert numbers.tolist() == [
        sum(
            rank(fence) < rank(row) or (fence == row and not after)
            for fence, after in zip(fences, behind, strict=True)
        )
        for row in found
    ]


@pytest.mark.parametrize("check", RUNNER_CHECKS, ids=lambda check: check.__name__)
def test_the_runner_of_these_tests_keeps_what_every_runner_keeps(check):
    check(ApartRunner(), lambda rows: rows)
