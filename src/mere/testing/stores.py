"""What every store keeps, as checks that run against a fresh, empty store.

```python
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_my_store(check):
    check(my_empty_store())
```
"""

import hashlib
import io
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import dataset, parquet

from mere.errors import AlreadyExistsError, InvalidInputError, MereError, StorageError
from mere.ports import Store
from mere.testing.paths import BAD_PATHS, ODD_NAMES

MIB = 1024 * 1024
LARGE = 20  # MiB: more than any store holds in memory before it sends


def a_small_file_comes_back_as_it_was(store: Store) -> None:
    """Write, put, read, look: the same bytes by every road."""
    with store.writer("a/b/one.bin") as sink:
        sink.write(b"hello ")
        sink.write(b"world")
    store.put("two.bin", b"hello world")
    for path in ("a/b/one.bin", "two.bin"):
        _same(store.read(path), b"hello world")
        _same(store.size(path), 11)
        with store.open(path) as file:
            _same(bytes(file.read()), b"hello world")


def an_empty_file_is_a_file(store: Store) -> None:
    """Nothing written is still something to list."""
    with store.writer("empty") as sink:
        _same(sink.closed, expected=False)
    _same(store.size("empty"), 0)
    _same(store.read("empty"), b"")
    _same([file.path for file in store.list()], ["empty"])
    with store.open("empty") as file:
        _same(bytes(file.read()), b"")


def a_large_file_comes_back_as_it_was(store: Store) -> None:
    """Stream more than fits into one request."""
    expected = hashlib.sha256()
    with store.writer("large.bin") as sink:
        for block in _blocks():
            expected.update(block)
            sink.write(block)
    _same(store.size("large.bin"), LARGE * MIB)
    _same(hashlib.sha256(store.read("large.bin")).digest(), expected.digest())


def pyarrow_writes_and_reads_parquet(store: Store) -> None:
    """Give pyarrow a sink, a file and a filesystem, and get the table back from each."""
    table = pa.table({"n": range(50_000), "t": [f"text {n}" for n in range(50_000)]})
    with store.writer("t/day=1/x.parquet") as sink:
        parquet.write_table(table, sink, row_group_size=10_000)
    with store.open("t/day=1/x.parquet") as file:
        reader = parquet.ParquetFile(file)
        _same(reader.metadata.num_row_groups, 5)
        _same(reader.read_row_group(3, columns=["t"]), table.select(["t"]).slice(30_000, 10_000))
        _same(reader.read(), table)
    path = store.resolve("t/day=1/x.parquet").rpartition("://")[2]
    found = dataset.dataset([path], filesystem=store.filesystem(), format="parquet")
    _same(found.to_table(), table)


def a_taken_name_is_refused_and_keeps_its_bytes(store: Store) -> None:
    """Files never change."""
    store.put("taken", b"first")
    _refused(AlreadyExistsError, lambda: store.put("taken", b"second"))
    _refused(AlreadyExistsError, lambda: _write(store, "taken", [b"second"]))
    _refused(AlreadyExistsError, lambda: _write(store, "taken", _blocks()))
    _refused(AlreadyExistsError, lambda: store.put_all([("one", b"x"), ("taken", b"x")]))
    _same(_paths(store, ""), ["taken"])
    _same(store.read("taken"), b"first")


def an_exception_while_writing_leaves_nothing(store: Store) -> None:
    """Whatever was written before the exception is gone, and the name is free."""
    for blocks in ([], [b"some"], _blocks()):
        _refused(KeyError, partial(_write, store, "a/half", blocks, KeyError))
        _same(list(store.list()), [])
        _missing(store, "a/half")
    store.put("a/half", b"whole")
    _same(store.read("a/half"), b"whole")


def an_exception_in_a_parquet_writer_leaves_nothing(store: Store) -> None:
    """A writer that closes its file in passing would publish a short but valid one."""
    table = pa.table({"n": range(1000)})

    def broken() -> None:
        with store.writer("x.parquet") as sink, parquet.ParquetWriter(sink, table.schema) as out:
            out.write_table(table)
            raise KeyError

    _refused(KeyError, broken)
    _same(list(store.list()), [])
    _missing(store, "x.parquet")


def a_range_is_cut_as_a_slice_is(store: Store) -> None:
    """Ranges that reach over the end bring what there is."""
    data = bytes(range(256)) * 1024
    store.put("r", data)
    for start, length in ((0, 5), (7, None), (len(data) - 3, 10), (len(data), 4), (10**9, 4)):
        end = None if length is None else start + length
        _same(store.read("r", start, length), data[start:end])
    _same(store.read("r", 5, 0), b"")
    _refused(InvalidInputError, lambda: store.read("r", -1, 2))
    _refused(InvalidInputError, lambda: store.read("r", 1, -2))


def several_ranges_come_in_the_order_they_were_asked(store: Store) -> None:
    """Near or far, overlapping or empty, each range brings its own bytes or an error."""
    data = b"".join(_blocks())
    _write(store, "r", [data])
    ranges = [(len(data) - 4, 4), (0, 4), (2, 4), (9 * MIB, MIB), (100, 0), (MIB, 3), (5 * MIB, 70)]
    _same(
        store.read_ranges("r", ranges), [data[start : start + length] for start, length in ranges]
    )
    _same(store.read_ranges("r", []), [])
    _refused(StorageError, lambda: store.read_ranges("r", [(0, 1), (len(data) - 1, 2)]))
    _refused(StorageError, lambda: store.read_ranges("r", [(len(data) + 5, 1)]))


def an_open_file_is_read_anywhere(store: Store) -> None:
    """Seek from each side, in small and in large steps, as a local file would do."""
    data = b"".join(_blocks())[: 3 * MIB + 17]
    store.put("f", data)
    other = io.BytesIO(data)
    with store.open("f") as file:
        for offset, whence, length in (
            (0, 0, 4),
            (-8, 2, 8),
            (-70_000, 2, 69_000),
            (2 * MIB, 0, 100),
            (0, 1, 100_000),
            (-50, 1, 10),
            (MIB, 0, MIB),
            (3 * MIB, 0, MIB),
            (0, 0, 3 * MIB + 17),
        ):
            _same(file.seek(offset, whence), other.seek(offset, whence))
            _same(bytes(file.read(length)), other.read(length))
            _same(file.tell(), other.tell())
        _same(file.size(), len(data))


def a_missing_file_is_a_storage_error(store: Store) -> None:
    """Say that it is not there, with the reason attached, by whatever it is asked for."""
    store.put("there", b"x")
    _missing(store, "not/there")


def a_listing_is_deep_and_ends_at_folder_names(store: Store) -> None:
    """Below a folder means below it: names that only begin alike are others."""
    store.put_all((path, path.encode()) for path in ("a/1", "a/b/2", "a/b/c/3", "ab/4", "5"))
    _same(_paths(store, ""), ["5", "a/1", "a/b/2", "a/b/c/3", "ab/4"])
    _same(_paths(store, "a"), ["a/1", "a/b/2", "a/b/c/3"])
    _same(_paths(store, "a/"), ["a/1", "a/b/2", "a/b/c/3"])
    _same(_paths(store, "a/b"), ["a/b/2", "a/b/c/3"])
    _same(_paths(store, "z/nothing"), [])
    now = datetime.now(UTC)
    for file in store.list():
        _same(file.bytes, len(file.path))
        _same(abs(file.modified - now) < timedelta(hours=1), expected=True)


def deleting_is_done_in_bulk_and_twice_is_fine(store: Store) -> None:
    """What is gone already needs no deleting, and what was not named stays."""
    paths = [f"d/{n}" for n in range(20)]
    store.put_all((path, b"x") for path in (*paths, "stays"))
    store.delete([*paths, "never/was"])
    _same(_paths(store, ""), ["stays"])
    store.delete(paths)
    store.delete([])
    _same(_paths(store, ""), ["stays"])


def a_moved_file_is_there_by_its_new_name(store: Store) -> None:
    """Whole, in a folder that may be new; folders that are left empty may be dropped."""
    store.put("from/here/a", b"bytes")
    store.put("from/b", b"stays")
    store.move("from/here/a", "to/there/c")
    store.prune(["from/here/", "from", "never/was"])
    _same(_paths(store, ""), ["from/b", "to/there/c"])
    _same(store.read("to/there/c"), b"bytes")
    store.put("from/here/a", b"again")
    _same(store.read("from/here/a"), b"again")
    error = _refused(StorageError, lambda: store.move("never/was", "to/there/d"))
    _same(isinstance(error.__cause__, FileNotFoundError), expected=True)
    _same(_paths(store, "to"), ["to/there/c"])


def odd_names_come_back_as_they_were(store: Store) -> None:
    """A name is stored letter by letter: nothing is decoded, folded or merged."""
    for number, path in enumerate(ODD_NAMES):
        store.put(path, str(number).encode())
    _same(_paths(store, ""), sorted(ODD_NAMES))
    for number, path in enumerate(ODD_NAMES):
        _same(store.read(path), str(number).encode())
        with store.open(store.resolve(path)) as file:
            _same(bytes(file.read()), str(number).encode())
    store.delete(ODD_NAMES)
    _same(list(store.list()), [])


def bad_paths_are_refused(store: Store) -> None:
    """Nothing climbs, nothing is ambiguous, and nothing is written or deleted elsewhere."""
    store.put("stays", b"x")
    for path in BAD_PATHS:
        _refused(InvalidInputError, partial(store.put, path, b"x"))
        _refused(InvalidInputError, partial(_write, store, path, [b"x"]))
        _refused(InvalidInputError, partial(store.delete, ["stays", path]))
        if not path.startswith("/") and "://" not in path and not path.startswith("C:"):
            _refused(InvalidInputError, partial(store.read, path))
            _refused(InvalidInputError, partial(store.open, path))
            _refused(InvalidInputError, partial(store.size, path))
            _refused(InvalidInputError, partial(store.resolve, path))
            _refused(InvalidInputError, partial(store.read_ranges, path, [(0, 1)]))
    _same(_paths(store, ""), ["stays"])


def the_root_is_absolute_and_names_resolve_below_it(store: Store) -> None:
    """An absolute name is the root and the path, and opens as the path does."""
    _same(store.url.endswith("/"), expected=True)
    _same(store.url.startswith("/") or "://" in store.url, expected=True)
    store.put("a/b", b"bytes")
    _same(store.resolve("a/b"), store.url + "a/b")
    absolute = store.resolve("a/b")
    _same(store.resolve(absolute), absolute)
    _same(store.read(absolute), b"bytes")
    _same(store.read(absolute, 1, 2), b"yt")
    _same(store.size(absolute), 5)
    _same(store.read_ranges(absolute, [(0, 2)]), [b"by"])
    _same([file.path for file in store.list(store.resolve("a"))], [absolute])


def threads_share_a_store(store: Store) -> None:
    """Many write and read at once, each its own file."""

    def work(number: int) -> bytes:
        path = f"p={number % 4}/{number}"
        with store.writer(path) as sink:
            sink.write(str(number).encode() * 1000)
        return store.read(path)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(32)))
    _same(found, [str(number).encode() * 1000 for number in range(32)])
    _same(len(list(store.list())), 32)


def one_of_many_gets_a_name(store: Store) -> None:
    """When threads race for one name, at most one wins, and its bytes stay."""

    def work(number: int) -> bytes | None:
        try:
            store.put("prize", str(number).encode())
        except AlreadyExistsError:
            return None
        return str(number).encode()

    with ThreadPoolExecutor(8) as pool:
        winners = [name for name in pool.map(work, range(16)) if name is not None]
    _same(len(winners), 1)
    _same(store.read("prize"), winners[0])


def every_engine_gets_an_answer(store: Store) -> None:
    """What an engine needs is a dictionary of texts, perhaps an empty one."""
    for engine in ("daft", "datafusion", "duckdb", "polars", "spark"):
        answer = store.options(engine)
        _same({type(word) for item in answer.items() for word in item} <= {str}, expected=True)


def a_pickled_store_reads_the_same(store: Store) -> None:
    """A store travels to other processes, and so does its pyarrow filesystem."""
    store.put("a", b"bytes")
    other: Store = pickle.loads(pickle.dumps(store))  # noqa: S301  just made
    _same(other.url, store.url)
    _same(other.read("a"), b"bytes")
    with other.writer("b") as sink:
        sink.write(b"more")
    _same(store.read("b"), b"more")
    files = pickle.loads(pickle.dumps(store.filesystem()))  # noqa: S301  just made
    path = store.resolve("a").rpartition("://")[2]
    with files.open_input_file(path) as file:
        _same(file.read(), b"bytes")


# What every store keeps; what those do that refuse a taken name atomically (disks, object storage);
# and what those do that can leave their process.
STORE_CHECKS: tuple[Callable[[Store], None], ...] = (
    a_small_file_comes_back_as_it_was,
    an_empty_file_is_a_file,
    a_large_file_comes_back_as_it_was,
    pyarrow_writes_and_reads_parquet,
    a_taken_name_is_refused_and_keeps_its_bytes,
    an_exception_while_writing_leaves_nothing,
    an_exception_in_a_parquet_writer_leaves_nothing,
    a_range_is_cut_as_a_slice_is,
    several_ranges_come_in_the_order_they_were_asked,
    an_open_file_is_read_anywhere,
    a_missing_file_is_a_storage_error,
    a_listing_is_deep_and_ends_at_folder_names,
    deleting_is_done_in_bulk_and_twice_is_fine,
    a_moved_file_is_there_by_its_new_name,
    odd_names_come_back_as_they_were,
    bad_paths_are_refused,
    the_root_is_absolute_and_names_resolve_below_it,
    threads_share_a_store,
    every_engine_gets_an_answer,
)

ARBITER_CHECKS: tuple[Callable[[Store], None], ...] = (one_of_many_gets_a_name,)
TRAVEL_CHECKS: tuple[Callable[[Store], None], ...] = (a_pickled_store_reads_the_same,)


def _blocks() -> list[bytes]:
    return [bytes([number]) * MIB for number in range(LARGE)]


def _write(
    store: Store, path: str, blocks: list[bytes], failure: type[Exception] | None = None
) -> None:
    with store.writer(path) as sink:
        for block in blocks:
            sink.write(block)
        if failure is not None:
            raise failure


def _paths(store: Store, prefix: str) -> list[str]:
    return sorted(file.path for file in store.list(prefix))


def _missing(store: Store, path: str) -> None:
    calls: tuple[Callable[[], Any], ...] = (
        lambda: store.read(path),
        lambda: store.read(path, 1, 2),
        lambda: store.size(path),
        lambda: store.open(path),
        lambda: store.read_ranges(path, [(0, 1)]),
    )
    for call in calls:
        error = _refused(StorageError, call)
        _same(isinstance(error.__cause__, FileNotFoundError), expected=True)
        _same(isinstance(error, MereError) and error.hint is not None, expected=True)


def _refused(kind: type[Exception], call: Callable[[], Any]) -> Exception:
    try:
        call()
    except kind as error:
        return error
    msg = f"expected {kind.__name__}, but the call succeeded"
    raise AssertionError(msg)


def _same(found: Any, expected: Any) -> None:
    if found != expected:
        msg = f"expected {expected!r:.500}, found {found!r:.500}"
        raise AssertionError(msg)
