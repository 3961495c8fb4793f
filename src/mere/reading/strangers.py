"""Learn from the footer alone what a file is that others wrote: columns, rows, bounds."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mere.arrow import from_arrow
from mere.arrow.footer import data_file, digest_of
from mere.errors import CorruptionError, InvalidInputError, MereError, UnsupportedError
from mere.model.adoption import Stranger
from mere.model.files import StoredFile
from mere.model.mapping import folder_names
from mere.model.schema import ROW_ID, SINCE_ID, SNAPSHOT_ID, Field, Schema, number
from mere.ports import Store
from mere.reading.footers import AFTER, MAGIC, as_file, naming, opened, raw_footer
from mere.reading.forms import Part, parts
from mere.telling import telling

_FOOTERS_A_CORE = 8
_AT_ONCE = 10_000
_NAMED = 5
_OURS = frozenset({ROW_ID, SINCE_ID, SNAPSHOT_ID})
_UNITS = {"time": "us", "timestamptz": "us"}
"""Statistics count in the file's unit, and these types are read in microseconds."""


def look_at(
    found: Iterable[tuple[StoredFile, str]], *, store: Store, so: str = ""
) -> Iterator[Stranger]:
    """Read the footers of files side by side; each comes with the path whose folders count.

    Raises:
        MereError: Naming the files that are broken or that no table can hold; `so` says what that
            means.
    """
    broken: list[MereError] = []
    items, do = list(found), partial(_look, store=store)
    if not items:
        return
    threads = _FOOTERS_A_CORE * (os.cpu_count() or 1)
    with telling("look at files", "footers") as told, ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(items), _AT_ONCE):
            told(start, len(items))
            for seen in pool.map(do, items[start : start + _AT_ONCE]):
                if isinstance(seen, MereError):
                    broken.append(seen)
                elif not broken:
                    yield seen
    if broken:
        first = broken[0]
        others = [error.message for error in broken[1:_NAMED]]
        more = [f"and {len(broken) - _NAMED} more"] if len(broken) > _NAMED else []
        hint = "; ".join(text for text in (so, first.hint) if text)
        raise type(first)("; ".join([first.message, *others, *more]), hint=hint or None) from first


def _look(item: tuple[StoredFile, str], *, store: Store) -> Stranger | MereError:
    file, path = item
    try:
        return replace(look(file, store=store), folders=folder_names(path))
    except MereError as error:
        return error


def look(found: StoredFile, *, store: Store) -> Stranger:
    """Read the footer of a file, once.

    Raises:
        CorruptionError: If it is no Parquet file, or is cut off.
        UnsupportedError: If no table can hold one of its columns.
        InvalidInputError: If two of its columns have one name, or it belongs to a lake.
    """
    with naming(found.path):
        footer = raw_footer(store, found.path, found.bytes)
        parquet = opened(as_file(footer))
        described = parts(parquet)
    _require_whole(found, parquet.metadata, len(footer))
    if any(part.id in _OURS for part in described):
        msg = f"{found.path} holds rows that have ids in a lake of their own"
        raise InvalidInputError(msg, hint="append the file instead: its rows get new ids then")
    schema = _columns(found.path, parquet)
    file = data_file(
        parquet.metadata,
        schema=schema,
        path=found.path,
        size=found.bytes,
        footer_bytes=len(footer),
        digest=digest_of(footer),
        places=_places(parquet.metadata.schema, schema.fields, described),
    )
    blank = tuple(f.name for f in parquet.schema_arrow if pa.types.is_null(f.type))
    return Stranger(file=file, schema=schema, blank=blank)


def _columns(path: str, parquet: pq.ParquetFile) -> Schema:
    """Return a file's own columns, numbered; columns of nothing but NULL fit any type."""
    try:
        return number(from_arrow(_required_types(parquet.schema_arrow), untyped=None))
    except MereError as error:
        msg = f"{path}: {error.message}"
        raise type(error)(msg, hint=error.hint) from error


def _required_types(schema: pa.Schema) -> pa.Schema:
    """Refuse what only pyarrow knows to be more than the number that others see."""
    for field in schema:
        if pa.types.is_duration(field.type):
            msg = f"column {field.name!r} holds durations, which other readers see as numbers"
            raise UnsupportedError(msg, hint="append the file instead")
        if not pa.types.is_null(field.type) and _holds_nothing(field.type):
            msg = f"column {field.name!r} has parts of no type, {field.type}"
            raise UnsupportedError(msg, hint="append the file instead")
        if getattr(field.type, "extension_name", "") == "parquet.variant":
            msg = f"column {field.name!r} holds variants, which cannot be adopted yet"
            raise UnsupportedError(msg)
    return schema


def _holds_nothing(kind: pa.DataType) -> bool:
    parts_ = (kind.field(i).type for i in range(kind.num_fields))
    return bool(pa.types.is_null(kind)) or any(map(_holds_nothing, parts_))


def _require_whole(found: StoredFile, metadata: pq.FileMetaData, footer: int) -> None:
    """Refuse a file that is shorter than its footer says."""
    end = found.bytes - footer - AFTER
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for at in range(group.num_columns if group.num_rows else 0):
            column = group.column(at)
            first = column.dictionary_page_offset or column.data_page_offset
            if first < len(MAGIC) or first + column.total_compressed_size > end:
                msg = f"{found.path} is shorter than its footer says"
                raise CorruptionError(msg)


def _places(footer: Any, fields: Sequence[Field], described: Sequence[Part]) -> dict[int, int]:
    """Tell which column of the file each leaf is, where its statistics can be understood."""
    columns = {footer.column(i).path: i for i in range(len(footer))}
    found: dict[int, int] = {}
    for field, part in _pairs(fields, described):
        at = columns.get(part.leaves[0]) if len(part.leaves) == 1 else None
        if at is not None and _is_understood(field, part, footer.column(at).physical_type):
            found[field.id] = at
    return found


def _pairs(fields: Sequence[Field], described: Sequence[Part]) -> Iterator[tuple[Field, Part]]:
    """Pair leaves with their parts of the file; a part of nothing but NULL has no field."""
    known = {part.name: part for part in described}
    for field in fields:
        part = known.get(field.name)
        if part is None:
            continue
        if not field.children:
            yield field, part
        elif field.type == "struct":
            yield from _pairs(field.children, part.children)
        else:
            for child, inner in zip(field.children, part.children, strict=False):
                yield from _pairs((child,), (replace(inner, name=child.name),))


def _is_understood(field: Field, part: Part, physical: str) -> bool:
    if physical == "INT96":
        return False
    wanted = _UNITS.get(field.type)
    if wanted is None:
        return True
    unit = getattr(part.type, "unit", None)
    return bool(unit == wanted)
