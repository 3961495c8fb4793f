"""What is written anew together: small files of one kind, once, and nothing without reason."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.errors import InvalidInputError, NoFilesError
from mere.model.feed import Lineage, Trace
from mere.model.files import DataFile, DeleteFile
from mere.model.history import Head
from mere.model.layout import MIB, Layout
from mere.model.schema import Field, Schema
from mere.plan.rewrite import Sizes, plan_compaction, require_files

OLD = Schema(fields=(Field(name="a", type="int64", id=1),))
RENAMED = Schema(fields=(Field(name="b", type="int64", id=1),))
WIDER = Schema(fields=(*OLD.fields, Field(name="c", type="varchar", id=2)))
HEAD = Head(
    snapshot=9, schema_version=1, table_id=1, uuid="", namespace="main", name="t",
    folder="main/t/", schema=WIDER,
)  # fmt: skip


def file_of(number, size, rows=10, partition=(), **more):
    return DataFile(
        id=number, path=f"main/t/f{number}.parquet", bytes=size, rows=rows, since=number,
        row_id_start=number * 1000, partition_id=1 if partition else None, partition=partition,
        **more,
    )  # fmt: skip


def lineage_of(files, schemas=None, **more):
    traces = tuple(
        Trace(file=file, deletes=(file.deletes,) if file.deletes else ()) for file in files
    )
    known = tuple(schemas or [OLD] * len(traces))
    return Lineage(oldest=0, traces=traces, schemas=known, **more)


def groups(lineage, head=HEAD, **sizes):
    plan = plan_compaction(head, lineage, Sizes(**sizes), memory_bytes=1)
    return [[trace.file.id for trace in task.inputs] for task in plan.tasks]


@st.composite
def lineages(draw):
    sizes = draw(st.lists(st.tuples(st.integers(1, 3 * MIB), st.integers(1, 400)), max_size=30))
    kinds = [(("x",), ("y",), (None,), ("1",), (1,)), (OLD, RENAMED, WIDER)]
    files = []
    schemas = []
    for number, (size, rows) in enumerate(sizes):
        files.append(file_of(number, size, rows, draw(st.sampled_from(kinds[0]))))
        schemas.append(draw(st.sampled_from(kinds[1])))
    return lineage_of(files, schemas)


@given(lineage=lineages(), target=st.integers(1, 3), rows=st.none() | st.integers(1, 900))
def test_tasks_are_disjoint_and_fit_and_stay_in_one_partition_and_definition(lineage, target, rows):
    sizes = Sizes(target_mb=target, target_rows=rows)
    plan = plan_compaction(HEAD, lineage, sizes, memory_bytes=1)
    moved = [trace.file for task in plan.tasks for trace in task.inputs]
    assert len(moved) == len({file.id for file in moved})
    forms = {t.file.id: s.fields[1:] for t, s in zip(lineage.traces, lineage.schemas, strict=True)}
    for task, schema in zip(plan.tasks, plan.schemas, strict=True):
        files = [trace.file for trace in task.inputs]
        assert len(files) > 1
        assert sum(file.bytes for file in files) <= target * MIB
        assert rows is None or sum(file.rows for file in files) <= rows
        assert len({repr(file.partition) for file in files}) == 1
        assert {forms[file.id] for file in files} == {schema.fields[1:]}
        assert all(file.bytes < target * MIB for file in files)


@given(lineage=lineages(), target=st.integers(1, 3), rows=st.none() | st.integers(1, 900))
def test_a_second_run_finds_nothing_to_do(lineage, target, rows):
    sizes = Sizes(target_mb=target, target_rows=rows)
    plan = plan_compaction(HEAD, lineage, sizes, memory_bytes=1)
    moved = {trace.file.id for task in plan.tasks for trace in task.inputs}
    pairs = zip(lineage.traces, lineage.schemas, strict=True)
    left = [(trace, schema) for trace, schema in pairs if trace.file.id not in moved]
    for number, (task, schema) in enumerate(zip(plan.tasks, plan.schemas, strict=True)):
        files = [trace.file for trace in task.inputs]
        merged = file_of(
            100 + number, sum(f.bytes for f in files), sum(f.rows for f in files),
            files[0].partition,
        )  # fmt: skip
        left.append((Trace(file=merged), schema))
    again = Lineage(oldest=0, traces=tuple(t for t, _ in left), schemas=tuple(s for _, s in left))
    assert not plan_compaction(HEAD, again, sizes, memory_bytes=1).tasks


def test_what_shrank_when_it_was_merged_is_merged_again_only_with_something_new():
    files = [file_of(n, 100) for n in (1, 2)]
    marks = dict.fromkeys((1, 2), Sizes(target_mb=1).mark)
    assert groups(lineage_of(files, marks=marks), target_mb=1) == []
    assert groups(lineage_of(files, marks=marks), target_mb=2) == [[1, 2]]
    more = [*files, file_of(3, 100)]
    assert groups(lineage_of(more, marks=marks), target_mb=1) == [[1, 2, 3]]
    odd = {1: "zorder:1", 2: "size:many:9"}
    assert groups(lineage_of(files, marks=odd), target_mb=1) == [[1, 2]]


def test_files_near_the_target_and_lonely_ones_are_left_alone():
    files = [file_of(1, 4 * MIB), file_of(2, 3 * MIB), file_of(3, MIB), file_of(4, MIB)]
    assert groups(lineage_of(files), target_mb=4) == [[3, 4]]
    assert groups(lineage_of(files[:3]), target_mb=4) == []
    assert groups(lineage_of(files), target_mb=4, max_file_mb=3.5) == [[2, 3]]


def test_a_target_smaller_than_the_files_breaks_none_up():
    files = [file_of(n, MIB, rows=1000) for n in range(4)]
    assert groups(lineage_of(files), target_mb=0.5) == []
    assert groups(lineage_of(files), target_rows=300) == []


def test_rows_alone_can_be_the_target():
    files = [file_of(n, 100, rows=100) for n in range(1, 6)]
    assert groups(lineage_of(files), target_mb=None, target_rows=200) == [[1, 2], [3, 4]]


def test_min_files_counts_the_small_files_of_a_partition():
    files = [file_of(n, 10, partition=("x" if n < 4 else "y",)) for n in range(1, 6)]
    assert groups(lineage_of(files), min_files=3) == [[1, 2, 3]]
    assert groups(lineage_of(files), min_files=2) == [[1, 2, 3], [4, 5]]


def test_files_of_renamed_columns_go_together_and_keep_the_oldest_name():
    files = [file_of(n, 10) for n in (1, 2, 3)]
    lineage = lineage_of(files, [OLD, RENAMED, WIDER])
    plan = plan_compaction(HEAD, lineage, Sizes(), memory_bytes=1)
    assert [[t.file.id for t in task.inputs] for task in plan.tasks] == [[1, 2]]
    assert plan.schemas == (OLD,)


def test_a_large_file_is_cleared_of_deleted_rows_that_no_version_shows():
    deletes = DeleteFile(path="d", bytes=1, rows=4, since=2, last=5)
    file = file_of(1, 900 * MIB, deletes=deletes)
    for oldest, expected in ((5, [[1]]), (4, []), (0, [])):
        assert groups(replace(lineage_of([file]), oldest=oldest)) == expected
    few = replace(file, deletes=replace(deletes, rows=2))
    assert groups(replace(lineage_of([few]), oldest=5)) == []
    inlined = replace(
        lineage_of([]), oldest=5, schemas=(OLD,),
        traces=(Trace(file=file_of(1, 900 * MIB), gone=((0, 1), (1, 5), (2, 5), (3, 6))),),
    )  # fmt: skip
    assert groups(inlined) == [[1]]
    assert groups(replace(inlined, oldest=4)) == []


def test_the_codec_is_kept_unless_somebody_said_which():
    lineage = lineage_of([file_of(1, 10), file_of(2, 10)])
    for options, kept in (((), True), ((("parquet_compression", "zstd"),), False)):
        head = replace(HEAD, layout=Layout(options=options))
        (task,) = plan_compaction(head, lineage, Sizes(), memory_bytes=1).tasks
        assert task.keep_codec is kept


def test_new_files_lie_where_the_old_ones_of_the_partition_do():
    files = [file_of(n, 10, partition=("a b",)) for n in (1, 2)]
    beside = [replace(f, path=f"main/t/p=a%20b/{f.id}.parquet") for f in files]
    elsewhere = [replace(f, path=f"/data/{f.id}.parquet") for f in files]
    for found, folder in ((beside, "main/t/p=a%20b/"), (elsewhere, "main/t/")):
        (task,) = plan_compaction(HEAD, lineage_of(found), Sizes(), memory_bytes=1).tasks
        assert task.write.folder == folder


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({"target_mb": 0}, "target_mb must be greater than 0, got 0"),
        ({"target_mb": -1.5}, "target_mb must be greater than 0"),
        ({"target_mb": float("nan")}, "target_mb must be greater than 0"),
        ({"target_rows": 0}, "target_rows must be greater than 0"),
        ({"max_file_mb": 0}, "max_file_mb must be greater than 0"),
        ({"min_files": 1}, "min_files must be 2 or more"),
        ({"target_mb": None}, "there is no target"),
    ],
)
def test_sizes_that_cannot_be_meant_are_refused(sizes, told):
    with pytest.raises(InvalidInputError, match=told) as error:
        plan_compaction(HEAD, lineage_of([]), Sizes(**sizes), memory_bytes=1)
    assert isinstance(error.value, ValueError)


def test_the_forecast_says_what_becomes_of_how_many_files():
    files = [file_of(n, 10) for n in (1, 2, 3)]
    head = replace(HEAD, file_count=5, bytes=1000, rows=50)
    report = plan_compaction(head, lineage_of(files), Sizes(), memory_bytes=1).report
    assert (report.before_file_count, report.after_file_count) == (5, 3)
    assert (report.compacted_file_count, report.rewritten_bytes) == (3, 30)
    assert report.planned_groups == (tuple(file.path for file in files),)
    assert (report.before_total_bytes, report.rows_before, report.rows_after) == (1000, 50, 50)
    assert report.dry_run


def test_no_files_are_an_error_that_says_where_was_looked():
    with pytest.raises(NoFilesError, match=r"no matching Parquet files.*main\.t where day = 1"):
        require_files([], HEAD, "day = 1")
