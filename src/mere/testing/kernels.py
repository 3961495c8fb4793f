"""What every kernel keeps, as checks that run against a kernel and a fresh, empty store.

```python
@pytest.mark.parametrize("check", KERNEL_CHECKS, ids=lambda check: check.__name__)
def test_my_kernel(check, tmp_path):
    check(MyKernel(), open_store(str(tmp_path)))
```
"""

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow import file_schema, schema_from, stream, to_arrow
from mere.arrow.footer import UNORDERED, digest_of
from mere.errors import MereError, SchemaMismatchError
from mere.model.files import Bounds, DataFile
from mere.model.layout import Layout, SortKey, folder, key_names, parse_key
from mere.model.schema import Schema, number
from mere.model.transforms import transform, transformed_kind
from mere.model.values import partition_text
from mere.model.work import Result, Write
from mere.ports import Kernel, Store
from mere.testing.everything import NOON, Row, every_row, everything, known, table_of

Check: TypeAlias = Callable[[Kernel, Store], None]

FOLDER = "main/t/"
INTENT = "intent7"


def write(
    kernel: Kernel,
    store: Store,
    rows: Any,
    schema: Schema,
    layout: Layout | None = None,
    **more: Any,
) -> Result:
    """Let a kernel write rows of any source."""
    task = Write(schema=schema, layout=layout or Layout(), folder=FOLDER, intent=INTENT, **more)
    return kernel.write(stream(rows), task=task, store=store)


def read(store: Store, file: DataFile) -> list[dict[str, Any]]:
    """Return the rows of one file, in order."""
    with store.open(file.path) as source:
        rows: list[dict[str, Any]] = pq.ParquetFile(source).read().to_pylist()
    return rows


def rows_in(store: Store, result: Result) -> list[dict[str, Any]]:
    """Return the rows of all files of a result, file by file."""
    return [row for file in result.files for row in read(store, file)]


def every_type_comes_back_as_it_was(kernel: Kernel, store: Store) -> None:
    """Extremes, NULLs, empty and nested values of every type."""
    schema, rows = everything(), every_row()
    result = write(kernel, store, table_of(rows, schema), schema)
    expected = table_of(rows, schema).cast(
        pa.schema([f.with_metadata(None) for f in file_schema(schema)])
    )
    _same(known(rows_in(store, result)), known(expected.to_pylist()))
    _same((result.rows_in, result.rows_out), (5, 5))


def files_carry_field_ids_and_optional_columns(kernel: Kernel, store: Store) -> None:
    """Readers match columns by id; a file outlives NOT NULL."""
    schema = everything()
    schema = Schema(fields=(*schema.fields[:-1], replace(schema.fields[-1], nullable=False)))
    result = write(kernel, store, table_of(every_row(), schema), schema)
    with store.open(result.files[0].path) as source:
        found = pq.ParquetFile(source).schema_arrow
    expected = file_schema(schema)
    _same(list(_ids(found)), list(_ids(expected)))
    _same([field.nullable for field in found], [True] * len(found))


def _ids(columns: Iterable[pa.Field]) -> Iterator[tuple[str, bytes]]:
    for column in columns:
        yield column.name, (column.metadata or {}).get(b"PARQUET:field_id", b"")
        kind = column.type
        if pa.types.is_map(kind):
            yield from _ids([kind.key_field, kind.item_field])
        elif pa.types.is_nested(kind):
            yield from _ids(kind.field(i) for i in range(kind.num_fields))


def files_are_named_by_time_and_writer(kernel: Kernel, store: Store) -> None:
    """A UUID of version 7 first, the announced writer after it, below the table's folder."""
    schema = number(schema_from({"a": "int64"}))
    for _ in range(2):
        write(kernel, store, {"a": [1]}, schema)
    paths = [file.path for file in store.list()]
    _same(len(paths), 2)
    for path in paths:
        place, _, name = path.rpartition("/")
        _same((place, name[36:]), (FOLDER.rstrip("/"), f"-{INTENT}.parquet"))
        _same(UUID(name[:36]).version, 7)


def a_file_is_described_as_it_lies_there(kernel: Kernel, store: Store) -> None:
    """Bytes, rows, footer and row groups are those of the file, for whoever opens it."""
    schema = everything()
    result = write(kernel, store, table_of(every_row(), schema), schema)
    _same({file.path for file in store.list()}, {file.path for file in result.files})
    for file in result.files:
        with store.open(file.path) as source:
            metadata = pq.ParquetFile(source).metadata
        _same(file.bytes, store.size(file.path))
        length = metadata.serialized_size
        _same(file.footer_bytes, length)
        footer = store.read(file.path, file.bytes - 8 - length, length)
        _same(file.digest, digest_of(footer))
        _same(file.rows, metadata.num_rows)
        _same([g.rows for g in file.row_groups], [metadata.row_group(0).num_rows])
        _same(set(file.bounds), {leaf.id for _, leaf in schema.leaves()})
    _same(result.encoded_bytes, sum(file.bytes for file in result.files))


def bounds_are_those_of_the_values(kernel: Kernel, store: Store) -> None:
    """Minimum, maximum, NULLs and NaN of every leaf at the top, typed."""
    schema, rows = everything(), every_row()
    (file,) = write(kernel, store, table_of(rows, schema), schema).files
    for column in schema.fields:
        if not column.children and column.type not in UNORDERED:
            check_bounds(file.bounds[column.id], [row[column.name] for row in rows], column.type)


def check_bounds(bounds: Bounds, values: Sequence[Any], kind: str) -> None:
    """Compare bounds with the values that they stand for."""
    there = [value for value in values if value is not None]
    ordered = [v for v in there if not (isinstance(v, float) and math.isnan(v))]
    _same((bounds.nulls, bounds.values), (len(values) - len(there), len(there)))
    if kind in ("float32", "float64"):
        _same(bounds.nan, len(ordered) < len(there))
    low, high = (min(ordered), max(ordered)) if ordered else (None, None)
    if bounds.exact:
        _same((bounds.minimum, bounds.maximum), (low, high))
    elif bounds.minimum is not None and bounds.maximum is not None:
        _true(bounds.minimum <= low, f"{bounds.minimum!r} is above {low!r}")
        _true(bounds.maximum >= high, f"{bounds.maximum!r} is below {high!r}")


def nan_leaves_no_bounds_in_the_file(kernel: Kernel, store: Store) -> None:
    """Other readers sort NaN differently and would skip row groups that match."""
    schema = number(schema_from({"a": "float64", "b": "float32", "c": "struct<x: float64>"}))
    rows = {"a": [1.0, math.nan], "b": [1.0, None], "c": [{"x": math.nan}, None]}
    table = pa.table(rows, schema=to_arrow(schema, ids=False))
    (file,) = write(kernel, store, table, schema).files
    with store.open(file.path) as source:
        group = pq.ParquetFile(source).metadata.row_group(0)
    told = [s is not None and s.has_min_max for s in _statistics(group)]
    _same(told, [False, True, False])
    _same([file.bounds[i].nan for i in (1, 2, 4)], [True, False, True])
    _same((file.bounds[1].minimum, file.bounds[1].maximum), (1.0, 1.0))


def _statistics(group: Any) -> list[Any]:
    return [group.column(i).statistics for i in range(group.num_columns)]


def nan_that_comes_late_leaves_no_bounds_in_its_file(kernel: Kernel, store: Store) -> None:
    """The first row groups may be closed when NaN turns up."""
    schema = number(schema_from({"a": "float64"}))
    values = [float(i) for i in range(6000)]
    values[5000] = math.nan
    layout = Layout(row_group_rows=2048)
    result = write(kernel, store, {"a": values}, schema, layout)
    seen = [row["a"] for row in rows_in(store, result)]
    _same(known([{"a": v} for v in seen]), known([{"a": v} for v in values]))
    for file in result.files:
        with store.open(file.path) as source:
            metadata = pq.ParquetFile(source).metadata
        for i in range(metadata.num_row_groups):
            (stats,) = _statistics(metadata.row_group(i))
            if stats is not None and stats.has_min_max:
                _same(file.row_groups[i].bounds[1].nan in (False, None), expected=True)
        check_bounds(file.bounds[1], [row["a"] for row in read(store, file)], "float64")


def columns_are_matched_by_name_and_filled(kernel: Kernel, store: Store) -> None:
    """Any order, any case; what is missing gets its default or NULL."""
    schema = number(schema_from({"a": "int64", "b": "varchar", "c": "int32", "d": "date"}))
    fields = list(schema.fields)
    fields[2] = replace(fields[2], default="7")
    schema = Schema(fields=tuple(fields))
    rows = pa.table({"B": ["x"], "a": pa.array([5], pa.int8())})
    result = write(kernel, store, rows, schema)
    _same(rows_in(store, result), [{"a": 5, "b": "x", "c": 7, "d": None}])


def partitions_lie_in_their_folders(kernel: Kernel, store: Store) -> None:
    """Every transform, NULL included; the partition columns stay in the file."""
    schema = number(schema_from({"k": "varchar", "ts": "timestamp", "n": "int64"}))
    texts = ["day(ts)", "k", "bucket(4, n)", "hour(ts)", "bucket(3, k)"]
    layout = Layout(id=9, keys=tuple(parse_key(text, schema) for text in texts))
    rows = [
        {"k": k, "ts": ts, "n": n}
        for k in ("a/b", "", None, "é=%", "../x")
        for ts in (NOON, None)
        for n in (0, -5, None)
    ]
    result = write(kernel, store, table_of(rows * 2, schema), schema, layout)
    _same(known(rows_in(store, result)), known(rows * 2))
    for file in result.files:
        for row in read(store, file):
            _check_partition(file, row, schema, layout)
    _same(len(result.files), len({file.partition for file in result.files}))


def _check_partition(file: DataFile, row: Row, schema: Schema, layout: Layout) -> None:
    fields = {field.id: field for field in schema.fields}
    columns = [fields[key.column] for key in layout.keys]
    values = tuple(
        transform(key, column.type, row[column.name])
        for key, column in zip(layout.keys, columns, strict=True)
    )
    kinds = [transformed_kind(k, c.type) for k, c in zip(layout.keys, columns, strict=True)]
    texts = [partition_text(kind, value) for kind, value in zip(kinds, values, strict=True)]
    below = folder(key_names(layout, schema), texts)
    _same((file.partition, file.partition_id), (values, layout.id))
    _same(file.path[: file.path.rindex("/") + 1], FOLDER + below)


def rows_of_a_partition_keep_their_order(kernel: Kernel, store: Store) -> None:
    """Mixed partitions come apart without shuffling their rows."""
    schema = number(schema_from({"p": "int32", "n": "int64"}))
    layout = Layout(id=1, keys=(parse_key("p", schema),))
    rows = {"p": [(i * 7919) % 13 for i in range(20_000)], "n": list(range(20_000))}
    result = write(kernel, store, pa.table(rows, schema=to_arrow(schema)), schema, layout)
    for file in result.files:
        numbers = [row["n"] for row in read(store, file)]
        _same(numbers, sorted(numbers))
    _same(result.rows_out, 20_000)


def rows_are_ordered_within_a_row_group(kernel: Kernel, store: Store) -> None:
    """Several keys, both directions, NULLs on either side."""
    schema = number(schema_from({"a": "int32", "b": "varchar", "n": "int64"}))
    order = (SortKey(column=1, nulls_first=True), SortKey(column=2, descending=True))
    rows = [
        {"a": a, "b": b, "n": n} for n, b in enumerate(("x", None, "y")) for a in (3, None, 1, 2)
    ]
    result = write(kernel, store, table_of(rows, schema), schema, Layout(order=order))
    found = [(row["a"], row["b"]) for row in rows_in(store, result)]
    expected = [(a, b) for a in (None, 1, 2, 3) for b in ("y", "x", None)]
    _same(found, expected)


def row_groups_are_as_large_as_the_layout_says(kernel: Kernel, store: Store) -> None:
    """However small the batches are that come in."""
    schema = number(schema_from({"a": "int64"}))
    batches = (pa.record_batch({"a": list(range(i, i + 100))}) for i in range(0, 10_000, 100))
    layout = Layout(row_group_rows=4096)
    (file,) = write(kernel, store, batches, schema, layout).files
    _same([group.rows for group in file.row_groups], [4096, 4096, 1808])
    _same([group.ordinal for group in file.row_groups], [0, 1, 2])
    for i, group in enumerate(file.row_groups):
        last = min((i + 1) * 4096, 10_000) - 1
        _same((group.bounds[1].minimum, group.bounds[1].maximum), (i * 4096, last))


def a_full_file_is_followed_by_another(kernel: Kernel, store: Store) -> None:
    """Files stay near the target, and no row is lost between them."""
    schema = number(schema_from({"a": "blob"}))
    rows = [{"a": bytes([i % 256]) * 1 + i.to_bytes(4, "big") * 250} for i in range(4000)]
    layout = Layout(target_file_bytes=200_000, row_group_rows=2048, compression="none")
    batches = table_of(rows, schema).to_batches(max_chunksize=100)
    result = write(kernel, store, iter(batches), schema, layout)
    _true(len(result.files) > 1, "all rows went into one file")
    _same(known(rows_in(store, result)), known(rows))


def no_rows_make_no_file(kernel: Kernel, store: Store) -> None:
    """Neither an empty stream nor one of empty batches leaves anything."""
    schema = number(schema_from({"a": "int64 not null"}))
    for layout in (Layout(), Layout(id=1, keys=(parse_key("a", schema),))):
        for rows in (iter(()), pa.table({"a": pa.array([], pa.int64())})):
            _same(write(kernel, store, rows, schema, layout), Result())
    _same(list(store.list()), [])


def an_error_leaves_nothing(kernel: Kernel, store: Store) -> None:
    """Neither a stream that breaks off nor a value that does not fit; the error is the cause's."""
    schema = number(schema_from({"p": "int32", "a": "int8 not null"}))
    good = pa.record_batch({"p": pa.array(range(5000), pa.int32()), "a": pa.array([1] * 5000)})
    wide = pa.record_batch({"p": pa.array([1], pa.int32()), "a": pa.array([300])})
    null = pa.record_batch({"p": pa.array([1], pa.int32()), "a": pa.array([None], pa.int64())})
    small = Layout(row_group_rows=2048, target_file_bytes=1)
    parts = replace(small, id=1, keys=(parse_key("bucket(3, p)", schema),))
    for bad, word in ((wide, "300"), (null, "NOT NULL")):
        for layout in (small, parts):
            error = _error(partial(write, kernel, store, iter([good, bad]), schema, layout))
            _true(isinstance(error, SchemaMismatchError), f"got {error!r}")
            _true("'a'" in str(error) and word in str(error), str(error))
    error = _error(partial(write, kernel, store, _broken(good), schema, small))
    _true(isinstance(error, MereError | _BrokenSourceError), f"got {error!r}")
    _same(list(store.list()), [])


class _BrokenSourceError(Exception):
    """What a user's own generator raises."""


def _broken(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield batch
    raise _BrokenSourceError


def many_partitions_stay_within_few_open_files(kernel: Kernel, store: Store) -> None:
    """More partitions than files may be open at once: every row arrives all the same."""
    schema = number(schema_from({"p": "int32", "n": "int64"}))
    layout = Layout(id=1, keys=(parse_key("p", schema),), row_group_rows=10)
    rows = [{"p": i % 40, "n": i} for i in range(2000)]
    result = write(kernel, store, table_of(rows, schema), schema, layout, max_open_files=3)
    _same(known(rows_in(store, result)), known(rows))
    _same(len({file.partition for file in result.files}), 40)


def a_kernel_travels_by_pickle(kernel: Kernel, store: Store) -> None:
    """On an executor it writes what it writes here."""
    schema = number(schema_from({"a": "int64"}))
    arrived = pickle.loads(pickle.dumps(kernel))  # noqa: S301  pickled right here
    _same(arrived, kernel)
    _same(rows_in(store, write(arrived, store, {"a": [1]}, schema)), [{"a": 1}])


def _error(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001  the check looks at it
        return error
    return None


def _same(found: object, expected: object) -> None:
    if found != expected:
        msg = f"expected {expected!r}, found {found!r}"
        raise AssertionError(msg)


def _true(holds: bool, message: str) -> None:  # noqa: FBT001  the shape of an assertion
    if not holds:
        raise AssertionError(message)


KERNEL_CHECKS: tuple[Check, ...] = (
    every_type_comes_back_as_it_was,
    files_carry_field_ids_and_optional_columns,
    files_are_named_by_time_and_writer,
    a_file_is_described_as_it_lies_there,
    bounds_are_those_of_the_values,
    nan_leaves_no_bounds_in_the_file,
    nan_that_comes_late_leaves_no_bounds_in_its_file,
    columns_are_matched_by_name_and_filled,
    partitions_lie_in_their_folders,
    rows_of_a_partition_keep_their_order,
    rows_are_ordered_within_a_row_group,
    row_groups_are_as_large_as_the_layout_says,
    a_full_file_is_followed_by_another,
    no_rows_make_no_file,
    an_error_leaves_nothing,
    many_partitions_stay_within_few_open_files,
    a_kernel_travels_by_pickle,
)
