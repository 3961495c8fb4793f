"""What is worth doing goes first, a budget is kept, and what was done is not done again."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plan.test_rewrite import HEAD, WIDER, file_of, lineage_of

from mere.errors import UnknownColumnError
from mere.model.feed import Lineage, Trace
from mere.model.files import Bounds, DeleteFile
from mere.model.layout import MIB, Layout, SortKey
from mere.model.policy import USUAL, Policy
from mere.plan.rewrite import part_of
from mere.plan.upkeep import Chore, afforded, batched, chores_of, plan_upkeep, wanted_order

CHORES = st.lists(
    st.builds(
        Chore,
        table=st.sampled_from(["a", "b", "c"]),
        operation=st.just("compact"),
        task=st.integers(0, 5),
        files=st.integers(1, 9),
        bytes=st.integers(0, 1000),
        spared=st.integers(0, 10_000),
    ),
    max_size=20,
    unique_by=lambda chore: (chore.table, chore.task),
)
ORDERED = Policy(cluster_by=("a",), min_files=2).over(USUAL)
MARK = "cluster:linear:1"


@given(chores=CHORES, budget=st.none() | st.integers(0, 20_000))
def test_a_budget_is_kept_and_nothing_is_lost_or_left_without_reason(chores, budget):
    now, left = afforded(chores, budget)
    assert sorted(map(repr, (*now, *left))) == sorted(map(repr, chores))
    worths = [chore.worth for chore in now]
    assert worths == sorted(worths, reverse=True)
    if budget is None:
        assert not left
        return
    spent = sum(chore.cost for chore in now)
    assert spent <= budget
    assert all(spent + chore.cost > budget for chore in left)
    for chore in left:
        better = [other for other in now if other.worth >= chore.worth]
        assert sum(other.cost for other in better) + chore.cost > budget


@given(chores=CHORES, most=st.none() | st.integers(1, 3000))
def test_batches_hold_each_chore_once_one_table_each_the_best_first(chores, most):
    batches = batched(chores, most)
    every = [chore for batch in batches for chore in batch.chores]
    assert sorted(map(repr, every)) == sorted(map(repr, chores))
    worths = [batch.worth for batch in batches]
    assert worths == sorted(worths, reverse=True)
    for batch in batches:
        assert {chore.table for chore in batch.chores} == {batch.table}
        if most is None:
            assert sum(other.table == batch.table for other in batches) == 1
        else:
            assert batch.bytes <= most or len(batch.chores) == 1


@st.composite
def lineages(draw):
    sizes = draw(st.lists(st.integers(1, 3 * MIB), max_size=25))
    places = st.sampled_from([("x",), ("y",)])
    files = [file_of(n, size, 10, draw(places)) for n, size in enumerate(sizes)]
    marked = draw(st.sets(st.sampled_from(range(max(len(files), 1)))))
    gone = draw(st.sets(st.sampled_from(range(max(len(files), 1))), max_size=3))
    dead = DeleteFile(id=1, path="d", bytes=9, rows=5)
    files = [replace(f, deletes=dead) if f.id in gone else f for f in files]
    return lineage_of(files, marks=dict.fromkeys(marked, MARK))


def done(lineage, plan):
    """Return the lineage after a plan was carried out."""
    moved = {trace.file.id for task in plan.tasks for trace in task.inputs}
    pairs = zip(lineage.traces, lineage.schemas, strict=True)
    left = [(trace, schema) for trace, schema in pairs if trace.file.id not in moved]
    marks = {id_: mark for id_, mark in lineage.marks.items() if id_ not in moved}
    number = 1000
    for task, schema in zip(plan.tasks, plan.schemas, strict=True):
        rows = sum(trace.file.rows for trace in task.inputs)
        size = sum(trace.bytes for trace in task.inputs)
        count = -(-rows // (task.rows_per_file or rows or 1))
        for _ in range(count):
            number += 1
            place = task.inputs[0].file.partition
            new = file_of(number, size // count, max(rows // count, 1), place)
            left.append((Trace(file=new), schema))
            marks[number] = plan.mark
    return Lineage(
        oldest=0, traces=tuple(t for t, _ in left), schemas=tuple(s for _, s in left), marks=marks
    )


@given(lineage=lineages(), rules=st.sampled_from([ORDERED, USUAL]), target=st.integers(1, 3))
def test_a_second_run_finds_nothing_to_do_and_its_parts_are_the_whole(lineage, rules, target):
    rules = replace(rules, target_mb=target)
    plan = plan_upkeep(HEAD, lineage, rules, memory_bytes=1)
    moved = [trace.file.id for task in plan.tasks for trace in task.inputs]
    assert len(moved) == len(set(moved))
    assert not plan_upkeep(HEAD, done(lineage, plan), rules, memory_bytes=1).tasks
    chores = chores_of("t", plan, lineage.oldest)
    assert [chore.task for chore in chores] == list(range(len(plan.tasks)))
    assert sum(chore.bytes for chore in chores) == plan.report.rewritten_bytes
    part = part_of(HEAD, plan, range(0, len(plan.tasks), 2))
    assert [task.inputs for task in part.tasks] == [task.inputs for task in plan.tasks[::2]]
    assert [task.number for task in part.tasks] == list(range(len(part.tasks)))
    assert part.report.compacted_file_count == sum(len(task.inputs) for task in part.tasks)


def moved(lineage, rules):
    plan = plan_upkeep(HEAD, lineage, rules, memory_bytes=1)
    return [[trace.file.id for trace in task.inputs] for task in plan.tasks]


def test_new_rows_are_ordered_with_the_small_files_that_are_in_order_already():
    files = [file_of(1, 500), file_of(2, 200 * MIB), file_of(3, 400), file_of(4, 300)]
    marks = dict.fromkeys((1, 2, 3), MARK)
    rules = replace(ORDERED, min_files=2)
    assert moved(lineage_of(files, marks=marks), rules) == []  # one new file is not a good part
    more = [*files, file_of(5, 100)]
    assert moved(lineage_of(more, marks=marks), rules) == [[1, 3, 4, 5]]
    large = [file_of(1, 90 * MIB), file_of(2, 90 * MIB), file_of(3, 80 * MIB), file_of(4, 80 * MIB)]
    marks = {1: MARK, 2: MARK}
    assert moved(lineage_of(large, marks=marks), rules) == [[1, 2, 3, 4]]  # three instead of four
    large[2:] = [file_of(3, 120 * MIB), file_of(4, 120 * MIB)]
    assert moved(lineage_of(large, marks=marks), rules) == [[3, 4]]


def test_files_that_overlap_too_much_are_all_put_in_order_with_what_is_new():
    def spanning(*marked):
        span = {1: Bounds(minimum=1, maximum=9)}
        files = [file_of(n, 120 * MIB, bounds=span) for n in range(6)]
        return lineage_of(files, marks=dict.fromkeys(marked, MARK))

    assert moved(spanning(0, 1, 2, 3), ORDERED) == [[4, 5]]
    assert moved(spanning(0, 1, 2, 3), replace(ORDERED, max_overlap=5)) == [[4, 5]]
    limited = replace(ORDERED, max_overlap=4.5)
    assert moved(spanning(0, 1, 2, 3), limited) == [list(range(6))]
    assert moved(spanning(*range(6)), limited) == []  # nothing is new: it would be for nothing


def test_tables_that_are_not_to_be_touched_are_left_alone():
    lineage = lineage_of([file_of(n, 100) for n in range(9)])
    assert moved(lineage, USUAL) == [list(range(9))]
    assert moved(lineage, replace(USUAL, compact=False)) == []
    assert moved(lineage, replace(USUAL, min_files=10)) == []


def test_a_table_with_an_order_of_its_own_is_kept_in_it_when_rows_come_unsorted():
    order = (SortKey(column=1),)
    head = replace(HEAD, layout=Layout(order=order, sorts_later=True))
    found = wanted_order(head, USUAL)
    assert found is not None
    assert found.by == ("a",)
    assert wanted_order(replace(HEAD, layout=Layout(order=order)), USUAL) is None
    descending = Layout(order=(SortKey(column=1, descending=True),), sorts_later=True)
    assert wanted_order(replace(HEAD, layout=descending), USUAL) is None
    assert wanted_order(head, replace(USUAL, cluster_by=())) is None
    with pytest.raises(UnknownColumnError):
        plan_upkeep(HEAD, lineage_of([]), replace(USUAL, cluster_by=("nope",)), memory_bytes=1)


def test_many_small_files_are_worth_more_than_few_large_ones_and_overlap_counts():
    def worth(lineage, rules):
        plan = plan_upkeep(HEAD, lineage, rules, memory_bytes=1)
        (chore,) = chores_of("t", plan, lineage.oldest)
        return chore.worth

    small = lineage_of([file_of(n, 1000) for n in range(30)])
    large = lineage_of([file_of(n, 25 * MIB) for n in range(4)])
    assert worth(small, USUAL) > worth(large, USUAL) > 0

    def between(*pairs):
        spans = [{1: Bounds(minimum=low, maximum=high)} for low, high in pairs]
        files = [file_of(n, 100 * MIB, bounds=span) for n, span in enumerate(spans)]
        return lineage_of(files, schemas=[WIDER] * len(files))

    apart, across = between((1, 2), (3, 4)), between((1, 4), (1, 4))
    assert worth(across, ORDERED) > worth(apart, ORDERED) > 0
