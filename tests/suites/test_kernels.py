"""The suite of the kernel port, against every kernel; and that they agree with each other."""

import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datafusion
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from mere.arrow import schema_from, to_arrow
from mere.errors import InvalidInputError, StorageError, UnsupportedError
from mere.kernels.duckdb import DuckdbKernel
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.files import DataFile
from mere.model.layout import Layout, SortKey, parse_key
from mere.model.schema import number
from mere.ports import Kernel
from mere.stores import from_obstore, open_store
from mere.testing.everything import known, table_of
from mere.testing.kernels import KERNEL_CHECKS, Check, read, write

ORDER = SortKey(column=3)
KERNELS: dict[str, Kernel] = {
    "pyarrow": PyarrowKernel(),
    "pyarrow on one thread": PyarrowKernel(threads=1),
    "pyarrow in little memory": PyarrowKernel(threads=4, memory_bytes=50_000),
    "duckdb": DuckdbKernel(threads=2),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("check", KERNEL_CHECKS, ids=lambda check: check.__name__)
def test_a_kernel_keeps_what_every_kernel_keeps(check: Check, kernel: Kernel, tmp_path: Path):
    check(kernel, open_store(str(tmp_path / "root")))


@pytest.mark.parametrize("kernel", [PyarrowKernel(), DuckdbKernel()], ids=["pyarrow", "duckdb"])
def test_an_object_store_gets_the_same(kernel: Kernel):
    for number_, check in enumerate(KERNEL_CHECKS):
        check(kernel, from_obstore(MemoryStore(), f"mem://root-{number_}"))


def _values(kind: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), kind)


MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": _values(st.integers(-(2**63), 2**63 - 1)),
            "f": _values(st.floats(width=64)),
            "s": _values(st.text(max_size=300)),
            "t": _values(MOMENTS),
            "d": _values(st.decimals(-999, 999, places=2)),
            "b": _values(st.binary(max_size=300)),
            "l": _values(st.lists(_values(st.integers(0, 9)), max_size=3)),
        }
    ),
    max_size=30,
)
SCHEMA = number(
    schema_from(
        {
            "i": "int64",
            "f": "float64",
            "s": "varchar",
            "t": "timestamp",
            "d": "decimal(9,2)",
            "b": "blob",
            "l": "list<int32>",
        }
    )
)
KEYS = ("i", "s", "t", "d", "b", "year(t)", "hour(t)", "bucket(5, s)", "bucket(7, i)", "f")


@given(rows=ROWS, keys=st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
@settings(max_examples=40)
def test_both_kernels_write_the_same(rows: list[dict[str, Any]], keys: list[str]):
    layout = Layout(id=3, keys=tuple(parse_key(key, SCHEMA) for key in keys))
    with TemporaryDirectory() as root:
        stores = [open_store(f"{root}/{name}") for name in ("one", "other")]
        table = table_of(rows, SCHEMA)
        both: tuple[Kernel, Kernel] = (PyarrowKernel(), DuckdbKernel())
        pair = [
            write(kernel, store, table, SCHEMA, layout)
            for kernel, store in zip(both, stores, strict=True)
        ]
        one, other = [
            {
                file.path.rpartition("/")[0]: (file, _shown(read(store, file)))
                for file in result.files
            }
            for store, result in zip(stores, pair, strict=True)
        ]
        assert {place: rows for place, (_, rows) in one.items()} == {
            place: rows for place, (_, rows) in other.items()
        }
        assert [(r.rows_in, r.rows_out, len(r.files)) for r in pair] == [
            (len(rows), len(rows), len(one))
        ] * 2
        for place, (file, _) in one.items():
            _agree(file, other[place][0])


def _shown(rows: list[dict[str, Any]]) -> list[str]:
    return [repr(row) for row in rows]


def _agree(one: DataFile, other: DataFile) -> None:
    """The same partition and the same bounds, except where a text is cut."""
    assert repr(one.partition) == repr(other.partition)
    assert one.rows == other.rows
    for column, mine in one.bounds.items():
        theirs = other.bounds[column]
        if theirs.exact:
            assert (mine.minimum, mine.maximum) == (theirs.minimum, theirs.maximum)
        assert (mine.nulls, mine.values, mine.nan) == (theirs.nulls, theirs.values, theirs.nan)


def test_what_is_written_does_not_depend_on_threads(tmp_path: Path):
    schema = number(schema_from({"p": "int32", "n": "int64", "s": "varchar"}))
    layout = Layout(id=1, keys=(parse_key("p", schema),), row_group_rows=3000, order=(ORDER,))
    rows = {
        "p": [i * i % 7 for i in range(60_000)],
        "n": list(range(60_000)),
        "s": [f"text {i % 1000}" for i in range(60_000)],
    }
    table = pa.table(rows, schema=to_arrow(schema))
    written = []
    for threads in (1, 2, 5):
        store = open_store(str(tmp_path / str(threads)))
        kernel = PyarrowKernel(threads=threads, memory_bytes=2_000_000)
        result = write(kernel, store, iter(table.to_batches(1000)), schema, layout)
        written.append([(file.partition, store.read(file.path)) for file in result.files])
    assert written[0] == written[1] == written[2]


def test_memory_stays_bounded_while_rows_stream_through(tmp_path: Path):
    """Three hundred megabytes go through a kernel that may hold thirty."""
    script = f"""
import resource, numpy as np, pyarrow as pa
from mere.arrow import schema_from
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.layout import Layout, parse_key
from mere.model.schema import number
from mere.stores import from_obstore, open_store
from mere.testing.kernels import write
schema = number(schema_from({{"p": "int32", "a": "int64", "b": "float64"}}))
layout = Layout(id=1, keys=(parse_key("p", schema),))
store = open_store({str(tmp_path)!r})
def batches(count):
    random = np.random.default_rng(0)
    for _ in range(count):
        yield pa.record_batch({{
            "p": random.integers(0, 20, 50_000).astype("int32"),
            "a": random.integers(0, 2**60, 50_000),
            "b": random.random(50_000),
        }})
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
kernel = PyarrowKernel(threads=2, memory_bytes=30 << 20)
write(kernel, store, batches(10), schema, layout)
before = peak()
result = write(kernel, store, batches(300), schema, layout)
assert result.rows_out == 15_000_000
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 150


class CountingStore:
    """A store that knows how many of its files were open at once."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.lock = threading.Lock()
        self.open = self.most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    @contextmanager
    def writer(self, path: str) -> Iterator[Any]:
        with self.store.writer(path) as sink:
            with self.lock:
                self.open += 1
                self.most = max(self.most, self.open)
            try:
                yield sink
            finally:
                with self.lock:
                    self.open -= 1


@pytest.mark.parametrize("memory", [100_000, 1 << 30])
def test_no_more_files_are_open_than_may_be(memory: int, tmp_path: Path):
    schema = number(schema_from({"p": "int32", "n": "int64"}))
    layout = Layout(id=1, keys=(parse_key("p", schema),), row_group_rows=500)
    rows = pa.table({"p": [i % 60 for i in range(60_000)], "n": range(60_000)})
    store: Any = CountingStore(open_store(str(tmp_path)))
    kernel = PyarrowKernel(threads=3, memory_bytes=memory)
    batches = iter(rows.to_batches(5000))
    result = write(kernel, store, batches, schema, layout, max_open_files=10)
    assert result.rows_out == 60_000
    assert 1 < store.most <= 10 + 3


def test_columns_that_do_not_repeat_get_no_dictionary(tmp_path: Path):
    schema = number(schema_from({"id": "int64", "name": "varchar", "price": "float64"}))
    rows = pa.table(
        {
            "id": range(50_000),
            "name": [f"n{i % 10}" for i in range(50_000)],
            "price": [i * 1.000001 for i in range(50_000)],
        }
    )
    (file,) = write(PyarrowKernel(), open_store(str(tmp_path)), rows, schema).files
    group = pq.read_metadata(tmp_path / file.path).row_group(0)
    encodings = [set(group.column(i).encodings) for i in range(3)]
    assert "DELTA_BINARY_PACKED" in encodings[0]
    assert "RLE_DICTIONARY" in encodings[1]
    assert "RLE_DICTIONARY" not in encodings[2]
    assert file.bytes < 1_000_000


def test_columns_whose_many_values_repeat_get_a_dictionary(tmp_path: Path):
    """A sample shows most of these values once, and one of the dictionaries is above 1 MiB."""
    users = [f"user {i * i}" for i in range(35_000)]
    digests = [sha256(user.encode()).hexdigest()[:32] for user in users]
    places = pa.array(np.random.default_rng(1).integers(0, len(users), 300_000))
    rows = pa.table({"user": users, "digest": digests}).take(places)
    schema = number(schema_from({"user": "varchar", "digest": "varchar"}))
    (file,) = write(PyarrowKernel(), open_store(str(tmp_path)), rows, schema).files
    pq.write_table(rows, tmp_path / "plain.parquet", use_dictionary=False, compression="zstd")
    ours, plain = (
        [
            pq.read_metadata(tmp_path / name).row_group(0).column(i).total_compressed_size
            for i in (0, 1)
        ]
        for name in (file.path, "plain.parquet")
    )
    assert ours[0] < 0.85 * plain[0]
    assert ours[1] < 0.4 * plain[1]


def test_pages_carry_checksums_that_tell_damage(tmp_path: Path):
    schema = number(schema_from({"a": "int64"}))
    store = open_store(str(tmp_path))
    (file,) = write(PyarrowKernel(), store, {"a": [i * i * i for i in range(10_000)]}, schema).files
    raw = bytearray((tmp_path / file.path).read_bytes())
    raw[len(raw) // 3] ^= 1
    with pytest.raises(OSError, match="CRC"):
        pq.ParquetFile(pa.BufferReader(bytes(raw)), page_checksum_verification=True).read()


@pytest.mark.parametrize("name", ["pyarrow", "duckdb"])
def test_other_engines_read_what_a_kernel_writes(name: str, tmp_path: Path):
    schema = number(
        schema_from(
            {
                "id": "int64",
                "small": "int8",
                "at": "timestamp",
                "day": "date",
                "price": "decimal(9,2)",
                "text": "varchar",
                "tags": "list<varchar>",
            }
        )
    )
    noon = datetime(2024, 1, 1, 12)  # noqa: DTZ001
    rows = [
        {
            "id": i * 7919,
            "small": i % 100,
            "at": noon + timedelta(microseconds=i * i),
            "day": date(2024, 1, 1) + timedelta(days=i),
            "price": Decimal(i).scaleb(-2),
            "text": None if i % 10 == 0 else f"row {i}",
            "tags": ["a", None] * (i % 3),
        }
        for i in range(5000)
    ]
    result = write(KERNELS[name], open_store(str(tmp_path)), table_of(rows, schema), schema)
    path = str(tmp_path / result.files[0].path)
    expected = known(rows)
    assert known(duckdb.sql(f"FROM '{path}'").to_arrow_table().to_pylist()) == expected
    assert known(pl.read_parquet(path).to_dicts()) == expected
    context = datafusion.SessionContext()
    assert known(context.read_parquet(path).to_pylist()) == expected


def test_a_file_with_nan_is_pruned_by_nobody(tmp_path: Path):
    """DuckDB sorts NaN highest: bounds without it would hide rows."""
    schema = number(schema_from({"f": "float64"}))
    store = open_store(str(tmp_path))
    result = write(PyarrowKernel(), store, {"f": [1.0, float("nan"), 2.0]}, schema)
    path = str(tmp_path / result.files[0].path)
    assert duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE f > 5").fetchone() == (1,)
    assert duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE f = 'nan'").fetchone() == (1,)


def test_pyarrow_refuses_intervals_by_name_and_duckdb_writes_them(tmp_path: Path):
    schema = number(schema_from({"a": "int64", "wait": "interval"}))
    rows = pa.table({"a": [1], "wait": pa.array([timedelta(days=1, seconds=2)])})
    with pytest.raises(UnsupportedError, match="'wait'"):
        write(PyarrowKernel(), open_store(str(tmp_path / "one")), rows, schema)
    result = write(DuckdbKernel(), open_store(str(tmp_path / "other")), rows, schema)
    path = str(tmp_path / "other" / result.files[0].path)
    assert duckdb.sql(f"SELECT wait FROM '{path}'").fetchone() == (timedelta(days=1, seconds=2),)


def test_a_full_disk_leaves_nothing(tmp_path: Path):
    schema = number(schema_from({"a": "varchar"}))
    rows = [{"a": sha256(bytes([i % 256, i // 256])).hexdigest()} for i in range(20_000)]
    store = open_store(str(tmp_path))
    layout = Layout(target_file_bytes=20_000, row_group_rows=2048)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        with pytest.raises((StorageError, OSError)):
            write(PyarrowKernel(), store, table_of(rows, schema), schema, layout)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(store.list()) == []


@pytest.mark.parametrize("kernel", [PyarrowKernel, DuckdbKernel])
def test_settings_that_cannot_work_are_refused(kernel: Any):
    for wrong in ({"threads": 0}, {"memory_bytes": 0}):
        with pytest.raises(InvalidInputError):
            kernel(**wrong)
    schema = number(schema_from({"a": "int64"}))
    layout = Layout(compression="middle-out")
    with pytest.raises(InvalidInputError, match="zstd"):
        write(kernel(), open_store("/nonexistent"), {"a": [1]}, schema, layout)
