"""Choose how the columns of a new file are encoded, by looking at its first rows."""

from dataclasses import dataclass
from math import ceil, isnan, log2
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from mere.arrow.footer import Floats
from mere.arrow.leaves import decoded
from mere.errors import InvalidInputError, UnsupportedError
from mere.model.layout import Layout
from mere.model.schema import ROW_ID, Field, Schema
from mere.model.values import FLOATS

_SAMPLE = 8192
_FEW_ROWS = 64
_WIDE = 64
_COMPRESSED = 0.4  # what codecs leave of values that are stored as they are, measured
DICTIONARY_BYTES = 4 << 20
"""How large a dictionary may become; by default it would be given up half way, at 1 MiB."""
_DELTA = "DELTA_BINARY_PACKED"
_DELTAS = frozenset(
    {"int8", "int16", "int32", "int64", "date", "time"}
    | {"timestamp", "timestamptz", "timestamp_s", "timestamp_ms", "timestamp_ns"}
)
_CODECS = {"uncompressed": "none", "lz4_raw": "lz4", "none": "none"}
_KNOWN = frozenset({"none", "snappy", "gzip", "zstd", "lz4", "brotli"})
_NO_PARQUET = {"interval": "pyarrow cannot write intervals"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One leaf column: its field, its path in the file, and the way to its values."""

    field: Field
    path: str
    steps: tuple[str | int, ...]


def leaves(schema: Schema) -> tuple[Leaf, ...]:
    """List the leaf columns in the order in which a file holds them.

    Raises:
        UnsupportedError: Naming a column whose type pyarrow cannot write.
    """
    found = tuple(
        leaf for i, field in enumerate(schema.fields) for leaf in _leaves(field, field.name, (i,))
    )
    for leaf in found:
        if leaf.field.type in _NO_PARQUET:
            msg = f"column {leaf.path!r} of type {leaf.field.type}: "
            raise UnsupportedError(
                msg + _NO_PARQUET[leaf.field.type], hint='kernel="duckdb" writes them'
            )
    return found


def _leaves(field: Field, path: str, steps: tuple[str | int, ...]) -> tuple[Leaf, ...]:
    if not field.children:
        return (Leaf(field=field, path=path, steps=steps),)
    between = {"list": "list.", "map": "key_value."}.get(field.type, "")
    return tuple(
        leaf
        for i, child in enumerate(field.children)
        for leaf in _leaves(child, f"{path}.{between}{child.name}", (*steps, _step(field, i)))
    )


def _step(parent: Field, place: int) -> str | int:
    if parent.type == "struct":
        return place
    return {"list": "elements", "map": ("keys", "items")[place]}[parent.type]


def values_of(table: pa.Table, leaf: Leaf) -> pa.ChunkedArray:
    """Return the values of a leaf; nested ones without their parents' NULLs."""
    column = table.column(leaf.steps[0])
    if len(leaf.steps) == 1 and not isinstance(column.type, pa.BaseExtensionType):
        return column
    chunks: list[Any] = (column if column.num_chunks else _one_chunk(column)).chunks
    for step in leaf.steps[1:]:
        chunks = [_inner(chunk, step) for chunk in chunks]
    return pa.chunked_array([decoded(chunk) for chunk in chunks])


def _one_chunk(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([], column.type)])


def _inner(array: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return array.flatten()[step]
    if step == "elements":
        return array.flatten()
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return (array.keys if step == "keys" else array.items).slice(start, end - start)


def nan_columns(table: pa.Table, columns: tuple[Leaf, ...]) -> frozenset[int]:
    """Return the ids of the float columns that hold NaN."""
    floats = [leaf for leaf in columns if leaf.field.type in FLOATS]
    return frozenset(leaf.field.id for leaf in floats if _holds_nan(values_of(table, leaf)))


def _holds_nan(values: pa.ChunkedArray) -> bool:
    total = pc.sum(values).as_py()  # NaN makes every sum NaN, though infinities may too
    return total is not None and isnan(total) and bool(pc.any(pc.is_nan(values)).as_py())


def floats_of(
    table: pa.Table, columns: tuple[Leaf, ...], untold: frozenset[int]
) -> dict[int, Floats]:
    """Tell of the float columns that a file keeps no statistics of what those would have told."""
    return {
        leaf.field.id: _floats(values_of(table, leaf))
        if leaf.field.id in untold
        else Floats(nan=False)
        for leaf in columns
        if leaf.field.type in FLOATS
    }


def _floats(values: pa.ChunkedArray) -> Floats:
    low, high = pc.min_max(values).as_py().values()
    known = low is not None and not isnan(low)  # NaN is a bound only of nothing but NaN
    return Floats(
        nan=_holds_nan(values),
        minimum=low + 0.0 if known else None,
        maximum=high + 0.0 if known else None,
        nulls=values.null_count,
        values=len(values) - values.null_count,
    )


def codec(layout: Layout) -> str:
    """Return pyarrow's name of the layout's compression.

    Raises:
        InvalidInputError: If there is no such codec.
    """
    name = layout.compression.lower()
    name = _CODECS.get(name, name)
    if name not in _KNOWN:
        msg = f"unknown compression {layout.compression!r}; known: {', '.join(sorted(_KNOWN))}"
        raise InvalidInputError(msg)
    return name


def writer_options(
    table: pa.Table, columns: tuple[Leaf, ...], layout: Layout, nan: frozenset[int]
) -> dict[str, Any]:
    """Return the options of a new file, chosen by its first rows.

    Columns whose values repeat often enough get a dictionary; the others none, since one that is
    as long as the column makes the file larger. Whole numbers and times without one are stored as
    differences. Float columns that hold NaN get no statistics: readers differ on where NaN sorts.
    """
    few = _repeating(table, columns) if table.num_rows > _FEW_ROWS else frozenset()
    rest = [leaf for leaf in columns if leaf.path not in few and leaf.field.type in _DELTAS]
    deltas = {leaf.path: _DELTA for leaf in rest} if table.num_rows > _FEW_ROWS else None
    known = [leaf.path for leaf in columns if leaf.field.id not in nan]
    return {
        "compression": codec(layout),
        "compression_level": layout.compression_level,
        "data_page_version": f"{layout.page_version}.0",
        "use_dictionary": sorted(few) if few else False,
        "dictionary_pagesize_limit": DICTIONARY_BYTES,
        "column_encoding": deltas or None,
        "write_statistics": known if nan else True,
        "sorting_columns": sorting_columns(columns, layout) or None,
        "store_schema": False,
        "store_decimal_as_integer": True,
        "write_page_index": True,
        "write_page_checksum": True,
        "write_time_adjusted_to_utc": any(leaf.field.type == "timetz" for leaf in columns),
    }


def sorting_columns(columns: tuple[Leaf, ...], layout: Layout) -> list[pq.SortingColumn]:
    """Return the order of rows within each row group, as files declare it."""
    places = {leaf.field.id: i for i, leaf in enumerate(columns)}
    return [
        pq.SortingColumn(places[key.column], key.descending, key.nulls_first)
        for key in layout.order
        if key.column in places
    ]


def _repeating(table: pa.Table, columns: tuple[Leaf, ...]) -> frozenset[str]:
    """Find the columns that a dictionary makes smaller, in a sample spread over the rows."""
    asked = [leaf for leaf in columns if leaf.field.id != ROW_ID]
    sample = table
    if table.num_rows > _SAMPLE:
        rows = pa.array(np.linspace(0, table.num_rows - 1, _SAMPLE, dtype=np.int64))
        looked = {leaf.steps[0] for leaf in asked}
        some = [
            column.take(rows)
            if place in looked and not kinds.is_dictionary(column.type)
            else column.slice(0, _SAMPLE)
            for place, column in enumerate(table.columns)
        ]
        sample = pa.Table.from_arrays(some, schema=table.schema)
    many = table.num_rows / sample.num_rows
    return frozenset(leaf.path for leaf in asked if _repeats(values_of(sample, leaf), leaf, many))


def _repeats(column: pa.ChunkedArray, leaf: Leaf, many: float) -> bool:
    """Tell whether a dictionary and its numbers take less than the values, each of `many`."""
    sample = column.drop_null()
    if kinds.is_boolean(sample.type) or not len(sample):
        return False
    values = len(sample) * many
    if kinds.is_dictionary(sample.type):  # it holds what all rows have, not only the sample
        words = sample.chunk(0).dictionary
        return _pays(len(words), values, width=words.nbytes / max(len(words), 1))
    different = _different(sample, values)
    width = sample.nbytes / len(sample)
    bits = _delta_bits(sample) if leaf.field.type in _DELTAS else None
    return _pays(different, values, width=width, bits=bits)


def _pays(different: float, values: float, *, width: float, bits: float | None = None) -> bool:
    """Tell whether so many different values and numbers into them are less than all `values`."""
    plain = 8 * width * _COMPRESSED if bits is None else bits
    numbers = values * ceil(log2(max(different, 1)))
    return different * width <= DICTIONARY_BYTES and different * plain + numbers < values * plain


def _different(sample: pa.ChunkedArray, values: float) -> float:
    """Guess how many different values there are, by how many a sample shows once and twice.

    This is the estimate of Chao: few values shown twice mean that most were not shown at all.
    """
    counts = sample.value_counts().field("counts").to_numpy()
    if values <= len(sample):
        return float(len(counts))
    _, once, twice = map(int, np.bincount(counts, minlength=3)[:3])
    unseen = once * (once - 1) / (2 * (twice + 1))
    return min(len(counts) + unseen, values)


def _delta_bits(sample: pa.ChunkedArray) -> int:
    """Return how wide a difference of two neighbours is, when they have nothing in common."""
    whole = pa.int64() if sample.type.bit_width == _WIDE else pa.int32()
    low, high = pc.min_max(sample.cast(whole)).as_py().values()
    return int(high - low).bit_length() + 1


def ordered(table: pa.Table, schema: Schema, layout: Layout) -> pa.Table:
    """Return the rows in the layout's order; rows that are equal in it keep theirs."""
    if not layout.order:
        return table
    names = {field.id: i for i, field in enumerate(schema.fields)}
    keys: dict[str, pa.ChunkedArray] = {}
    directions: list[tuple[str, str]] = []
    for i, key in enumerate(layout.order):
        column = table.column(names[key.column])
        stored = pa.chunked_array([decoded(c) for c in column.chunks], decoded_type(column.type))
        keys[f"n{i}"], keys[f"v{i}"] = stored.is_null(), stored
        directions.append((f"n{i}", "descending" if key.nulls_first else "ascending"))
        directions.append((f"v{i}", "descending" if key.descending else "ascending"))
    return table.take(pc.sort_indices(pa.table(keys), sort_keys=directions))


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the storage of an extension type, any other type as it is."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
