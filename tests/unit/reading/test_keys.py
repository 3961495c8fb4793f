"""Keys are found where they are, by whichever way is quickest."""

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mere.reading.keys import Keys
from mere.reading.source import Chunk

NUMBERS = st.lists(st.none() | st.integers(-20, 20), max_size=40)
ASCENDING = st.sets(st.integers(-200, 200), min_size=1).map(sorted)
PARTS = st.sampled_from(["a", "b", None])


def expected(source: Sequence[object], asked: Sequence[object]) -> list[int]:
    """Return the first place of each key in the source, -1 where NULL or absent."""
    first = {key: at for at, key in reversed(list(enumerate(source)))}
    return [-1 if key is None else first.get(key, -1) for key in asked]


def column(*chunks: list[int | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(chunk, pa.int64()) for chunk in chunks], pa.int64())


@given(source=NUMBERS, asked=st.lists(NUMBERS | ASCENDING, max_size=3))
def test_whole_numbers_are_found_in_any_order(source, asked):
    found = Keys.of([column(source)]).match([column(*asked)])
    assert found.tolist() == expected(source, [key for chunk in asked for key in chunk])


@given(
    source=st.lists(st.tuples(PARTS, st.none() | st.integers(0, 9)), max_size=30),
    asked=NUMBERS | ASCENDING,
    part=st.sampled_from(["a", "b", "c"]),
)
def test_rows_of_one_partition_are_looked_up_among_its_own(source, asked, part):
    parts, ids = ([row[side] for row in source] for side in (0, 1))
    rows = pa.table({"part": pa.array(parts, pa.string()), "id": pa.array(ids, pa.int64())})
    keys = Chunk(rows, ("part", "id")).known(("part", pa.scalar(part)))
    pairs = [None if None in row else row for row in source]
    wanted = [None if key is None else (part, key) for key in asked]
    assert keys.match([column(asked)]).tolist() == expected(pairs, wanted)
