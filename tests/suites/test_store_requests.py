"""Object stores ask little: few requests, large ones, and bounded memory."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.recorder import recording

from mere.stores import open_store
from mere.stores.ranges import GAP, WIDEST, spanned

MIB = 1024 * 1024


@pytest.fixture
def asked(s3):
    with recording(s3.endpoint) as recorder:
        yield recorder


@pytest.fixture
def store(s3, asked):
    return open_store(f"{s3.url}/lake", storage_options={"endpoint": asked.endpoint})


def write_table(store, rows=400_000):
    table = pa.table({name: range(rows) for name in "abcdef"})
    with store.writer("t.parquet") as sink:
        parquet.write_table(table, sink, row_group_size=rows // 4, compression="none")
    return table


def test_a_small_file_takes_one_request(store, asked):
    with store.writer("small") as sink:
        sink.write(b"x" * MIB)
    assert asked.take() == ["PUT"]
    store.put("smaller", b"x")
    assert asked.take() == ["PUT"]


def test_a_large_file_goes_out_in_parts_of_eight_mib(store, asked):
    with store.writer("large") as sink:
        for _ in range(33):
            sink.write(b"x" * MIB)
    assert sorted(r.bytes // MIB for r in asked.requests if r.method == "PUT") == [1, 8, 8, 8, 8]
    assert asked.take().count("POST") == 2


def test_a_footer_takes_one_request(store, asked):
    write_table(store)
    asked.take()
    with store.open("t.parquet") as file:
        assert parquet.read_metadata(file).num_row_groups == 4
    assert asked.take() == ["GET"]


def test_a_whole_file_takes_two_requests(store, asked):
    table = write_table(store)
    asked.take()
    with store.open("t.parquet") as file:
        assert parquet.ParquetFile(file, pre_buffer=True).read() == table
    assert asked.take() == ["GET", "GET"]


def test_a_file_that_fits_into_its_tail_takes_one_request(store, asked):
    table = write_table(store, rows=1000)
    asked.take()
    with store.open("t.parquet") as file:
        assert parquet.ParquetFile(file, pre_buffer=True).read() == table
    assert asked.take() == ["GET"]


def test_near_ranges_share_a_request_and_far_ones_do_not(store, asked):
    with store.writer("r") as sink:
        sink.write(b"x" * 4 * MIB)
    asked.take()
    store.read_ranges("r", [(n * 1000, 10) for n in range(100)])
    assert asked.take() == ["GET"]
    store.read_ranges("r", [(0, 10), (2 * MIB, 10), (3 * MIB, 10)])
    assert asked.take() == ["GET"] * 3


def test_deleting_many_takes_one_request(store, asked):
    for number in range(30):
        store.put(str(number), b"x")
    asked.take()
    store.delete([str(number) for number in range(30)])
    assert asked.take() == ["POST"]


def test_opening_a_store_asks_nothing(store, asked):
    store.resolve("a")
    store.options("duckdb")
    assert asked.take() == []


MEMORY = """
import resource, sys
from mere.stores import open_store
store = open_store(sys.argv[1])
store.put("warm", b"x")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with store.writer("large") as sink:
    for _ in range(200):
        sink.write(b"x" * 1024 * 1024)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
def test_a_write_of_200_mib_holds_less_than_100_mib(s3):
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, s3.url], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 100


RANGES = st.lists(
    st.tuples(st.integers(0, 100 * MIB), st.integers(0, 20 * MIB)), min_size=0, max_size=30
)


@given(ranges=RANGES)
def test_requests_cover_every_range_and_waste_little(ranges):
    spans = spanned(ranges)
    for start, length in ranges:
        assert not length or any(
            first <= start and start + length <= first + width for first, width in spans
        )
    assert spans == sorted(spans)
    assert all(width <= max(WIDEST, *(length for _, length in ranges)) for _, width in spans)
    assert sum(w for _, w in spans) <= sum(length for _, length in ranges) + GAP * len(ranges)


def test_a_local_store_loads_no_client_of_far_away_storage(tmp_path):
    program = (
        "import sys; from mere.stores import open_store; open_store(sys.argv[1]).put('a', b'x');"
        "print(sorted({'obstore', 'fsspec'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


WITHOUT_FSSPEC = """
import sys
sys.modules["fsspec"] = None
from mere.errors import EngineMissingError
from mere.stores import open_store
try:
    open_store("memory://x")
except EngineMissingError as error:
    print(error.hint)
"""


def test_a_missing_library_is_named_with_the_way_to_install_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FSSPEC], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "pip install fsspec"
