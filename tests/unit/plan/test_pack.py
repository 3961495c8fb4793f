"""Files are put into groups: each in one, none too large, and never again differently."""

from hypothesis import given
from hypothesis import strategies as st

from mere.plan.pack import alike, first_fit

weights = st.lists(st.tuples(st.integers(1, 120), st.integers(1, 60)), max_size=60)


def weigh(file):
    return file[1]


def room_for(group, capacity):
    return all(sum(w[i] for _, w in group) <= capacity[i] for i in (0, 1))


@given(weights=weights, capacity=st.tuples(st.integers(1, 150), st.integers(1, 80)))
def test_every_file_is_in_one_group_which_is_no_larger_than_asked(weights, capacity):
    files = list(enumerate(weights))
    groups = first_fit(files, weigh, capacity)
    assert sorted(file for group in groups for file in group) == files
    assert all(group == sorted(group) and group for group in groups)
    assert all(len(group) == 1 or room_for(group, capacity) for group in groups)


@given(weights=weights, capacity=st.tuples(st.integers(1, 150), st.integers(1, 80)))
def test_no_two_groups_fit_into_one(weights, capacity):
    groups = first_fit(list(enumerate(weights)), weigh, capacity)
    for number, one in enumerate(groups):
        assert not any(room_for([*one, *other], capacity) for other in groups[:number])


@given(weights=weights, capacity=st.tuples(st.integers(1, 150), st.integers(1, 80)))
def test_each_file_goes_to_the_first_group_that_has_room(weights, capacity):
    expected: list[list[tuple[int, tuple[int, int]]]] = []
    for file in enumerate(weights):
        fits = (group for group in expected if room_for([*group, file], capacity))
        place = next(fits, None)
        if place is None:
            expected.append([file])
        else:
            place.append(file)
    assert first_fit(list(enumerate(weights)), weigh, capacity) == expected


def test_very_many_files_are_packed_in_time():
    files = [(n, (51 + n % 2, 1)) for n in range(20_000)]
    assert len(first_fit(files, weigh, (105, 1 << 62))) == 10_000


def test_files_that_are_alike_come_together_in_their_order():
    assert alike([5, 2, 7, 4], lambda n: n % 2) == {1: [5, 7], 0: [2, 4]}
