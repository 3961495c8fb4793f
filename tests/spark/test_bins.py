"""Which tasks share a Spark partition."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.model.files import DataFile
from mere.runners.spark.bins import LARGE_BYTES, MOST_PER_SLOT, bins

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Reads:
    """A task that reads one file of so many bytes."""

    inputs: tuple[DataFile, ...]


def reading(*sizes):
    return [Reads((DataFile(path="f", bytes=size, rows=1),)) for size in sizes]


@given(
    sizes=st.lists(st.integers(0, 4 * LARGE_BYTES), min_size=1, max_size=60),
    slots=st.integers(1, 9),
)
def test_every_partition_gets_a_task_and_none_gets_far_more_than_the_others(sizes, slots):
    found = bins(reading(*sizes), slots=slots)
    assert sorted(set(found)) == list(range(max(found) + 1))
    assert len(set(found)) <= max(slots, MOST_PER_SLOT * slots)
    loads = [
        sum(size for size, place in zip(sizes, found, strict=True) if place == number)
        for number in set(found)
    ]
    assert max(loads) - min(loads) <= max(sizes) + len(sizes)


def test_many_small_tasks_make_no_more_partitions_than_there_are_cores():
    assert set(bins(reading(*[1000] * 500), slots=2)) == {0, 1}


def test_large_tasks_get_more_partitions_for_an_even_end():
    assert len(set(bins(reading(*[LARGE_BYTES] * 500), slots=2))) == 2 * MOST_PER_SLOT
