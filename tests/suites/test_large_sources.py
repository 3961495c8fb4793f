"""Sources that no memory holds are matched chunk by chunk, on every runner alike."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plan.test_overwrite import HEAD

import mere
from mere.datasets.opening import folder
from mere.errors import DuplicateKeyError
from mere.model.files import Bounds, DataFile
from mere.model.work import Insert, Probe, Staged
from mere.plan import steps
from mere.plan.chunks import Meeting, chunked
from mere.testing.apart import ApartRunner

COLUMNS = {"p": "varchar", "k": "int64", "f": "float64", "v": "int64"}
ROWS, FILES = 6000, 6


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr("mere.ops.mutate.source.FEW_BYTES", 1000)
    monkeypatch.setattr("mere.ops.mutate.source.FEW_ON_SPARK", 1000)
    monkeypatch.setattr("mere.ops.mutate.source.CHUNK_BYTES", 8000)
    monkeypatch.setattr(steps, "STEP_BYTES", 16_000)


def rows_from(first, count, *, v, step=1):
    keys = np.arange(first, first + count * step, step)
    floats = keys / 8
    floats[(keys == 999) | (keys == 2999)] = np.nan
    parts = [None if n % 997 == 0 else "abc"[n % 3] for n in keys.tolist()]
    return pa.table({"p": parts, "k": keys, "f": floats, "v": np.full(count, v)})


def made(lake, partition_by=()):
    """Make a table of files with stretches of keys each."""
    table = lake.on(workers=1).create_table("t", COLUMNS, partition_by=partition_by)
    for number in range(FILES):
        table.append(rows_from(number * ROWS // FILES, ROWS // FILES, v=0))
    return table


def source():
    """Return new versions of a third of the keys and as many new keys, in no order."""
    rows = pa.concat_tables(
        [rows_from(2000, 2000, v=1), rows_from(ROWS, 1000, v=1), rows_from(10**6, 1000, v=1)]
    )
    return rows.take(pa.array(np.random.default_rng(1).permutation(rows.num_rows)))


def answer(lake, on, partition_by, rows):
    table = made(lake, partition_by)
    report = lake.table("t").upsert(rows, on=on)
    found = table.scan().to_arrow().sort_by([("k", "ascending"), ("v", "ascending")])
    facts = ("rows_inserted", "rows_updated", "rows_deleted", "rows_after", "files_removed")
    return {name: report[name] for name in facts}, str(found.to_pylist()), report.plan


@pytest.mark.parametrize(
    ("on", "partition_by"),
    [(["k"], []), (["p", "k"], ["p"]), (["k"], ["bucket(4, k)"]), (["f", "p"], []), (["f"], [])],
    ids=str,
)
def test_every_runner_merges_a_large_source_alike(on, partition_by, tmp_path, monkeypatch):
    rows = source()
    found = []
    for name, runner in (("local", None), ("apart", ApartRunner(twice=frozenset({0})))):
        with mere.connect(str(tmp_path / f"{name}.db")) as lake:
            there = lake.on(workers=2) if runner is None else lake.on(runner)
            found.append(answer(there, on, partition_by, rows))
    with monkeypatch.context() as patch, mere.connect(str(tmp_path / "few.db")) as lake:
        patch.setattr("mere.ops.mutate.source.FEW_BYTES", 1 << 30)
        expected = answer(lake.on(workers=1), on, partition_by, rows)
    assert found[0][:2] == found[1][:2] == expected[:2]
    assert all("chunks of files" in plan for _, _, plan in found)
    assert "in memory" in expected[2]


@pytest.mark.spark
def test_spark_merges_a_large_frame_as_it_would_a_small_one(spark, tmp_path, monkeypatch):
    rows = source()
    with mere.connect(str(tmp_path / "one.db")) as lake:
        frame = spark.createDataFrame(rows)
        facts, found, plan = answer(lake.on(spark), ["k"], [], frame)
        assert "chunks of files" in plan
        twice = frame.unionAll(frame.where("k = 2000"))
        with pytest.raises(DuplicateKeyError, match="k=2000"):
            lake.on(spark).table("t").upsert(twice, on="k")
    monkeypatch.undo()
    with mere.connect(str(tmp_path / "other.db")) as lake:
        assert answer(lake.on(workers=1), ["k"], [], rows)[:2] == (facts, found)


def test_each_task_reads_only_what_can_match_its_files(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        made(lake)
        runner = ApartRunner()
        report = lake.on(runner).table("t").upsert(source(), on="k")
        probes = [task for task in runner.done if isinstance(task, Probe)]
        inserts = [task for task in runner.done if isinstance(task, Insert)]
        assert len(inserts) == 1, "together they fill no file"
        staged = {file.path: file for task in inserts for file in task.staged.inputs}
        assert len(inserts[0].staged.chunks) == len(staged) > 3, "a file each, however few bytes"
        assert 2 <= sum(len(task.inputs) for task in probes) < FILES
        for task in probes:
            assert task.staged is not None
            assert 0 < len(task.staged.inputs) < len(staged)
            assert all(given.chunks for given in task.inputs)
        assert re.search(r"each file in 1\.\d of them", str(report.plan))


keys = st.tuples(st.integers(0, 9) | st.none(), st.sampled_from("abc") | st.none())


def file_of(rows, number, *, partition_id=None, partition=()):
    bounds = {}
    for place, id_ in ((0, 2), (1, 1)):
        there = [row[place] for row in rows if row[place] is not None]
        if there:
            bounds[id_] = Bounds(minimum=min(there), maximum=max(there))
    return DataFile(
        path=f"{number}",
        bytes=10,
        rows=len(rows),
        bounds=bounds,
        partition_id=partition_id,
        partition=partition,
    )


@given(
    source=st.lists(keys, min_size=1, max_size=30),
    target=st.lists(keys, min_size=1, max_size=6),
    per_file=st.integers(1, 5),
    parted=st.booleans(),
)
@settings(max_examples=150)
def test_no_chunk_that_holds_a_key_of_a_file_is_left_out(source, target, per_file, parted):
    def rank(row):
        k, s = row
        by = (s is None, s or "", k is None, k or 0)
        return by if parted else (*by[2:], *by[:2])

    source.sort(key=rank)
    groups = [[row for row in source if row[1] == s] for s in ("a", "b", "c", None)]
    runs = [run for run in groups if run] if parted else [source]
    files: list[DataFile] = []
    held = {}
    for run in runs:
        for start in range(0, len(run), per_file):
            rows = run[start : start + per_file]
            held[str(len(files))] = rows
            files.append(file_of(rows, len(files), partition=(rows[0][1],) if parted else ()))
    chunks = chunked(files, [2, 1], chunk_rows=8)
    rows_of = [[row for file in chunk for row in held[file.path]] for chunk in chunks]
    whole = [{row for row in rows if None not in row} for rows in rows_of]
    assert sum(map(len, whole)) == len(set().union(*whole)), "no key lies in two chunks"
    staged = Staged(
        schema=HEAD.schema,
        on=("x", "p"),
        chunks=chunks,
        parted=HEAD.layout.keys if parted else (),
    )
    same = {row[1] for row in target}
    own = {"partition_id": 5, "partition": (target[0][1],)} if len(same) == 1 else {}
    meets = Meeting.of(HEAD, staged).chunks(file_of(target, 99, **own))
    wanted = {row for row in target if None not in row}
    assert {n for n, rows in enumerate(whole) if rows & wanted} <= set(meets)


def test_a_plain_folder_takes_a_large_source(tmp_path):
    (tmp_path / "t").mkdir()
    for number in range(3):
        pa.parquet.write_table(
            rows_from(number * 1000, 1000, v=0), tmp_path / "t" / f"{number}.parquet"
        )
    table = folder(tmp_path / "t", runner=ApartRunner())
    report = table.upsert(rows_from(2000, 2000, v=1), on="k")
    assert (report.rows_updated, report.rows_inserted) == (1000, 1000)
    assert "chunks of files" in str(report.plan)
    found = pa.parquet.read_table(tmp_path / "t").sort_by("k")
    assert found["k"].to_pylist() == list(range(4000))
    assert found["v"].to_pylist() == [0] * 2000 + [1] * 2000
