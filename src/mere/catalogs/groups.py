"""Pack the row groups of one file into one small value of the catalog, and unpack them.

So recent files have them, column by column; many files together are folded into `segments`.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from mere.errors import CorruptionError
from mere.model.files import Bounds, RowGroup
from mere.model.promotion import keeps_bounds
from mere.model.values import bounds_from_text, stat_texts

Groups: TypeAlias = tuple[RowGroup, ...]
UNKNOWN = Bounds()


def pack(groups: Sequence[RowGroup], kinds: Mapping[int, str]) -> bytes:
    """Spell row groups compactly; `kinds` are the types of the leaf columns."""
    sizes = [[g.rows for g in groups], [g.bytes for g in groups], [g.raw_bytes for g in groups]]
    columns = sorted({column for group in groups for column in group.bounds} & kinds.keys())
    bounds = {
        column: [kinds[column], *_pack(kinds[column], [g.bounds.get(column) for g in groups])]
        for column in columns
    }
    return zlib.compress(json.dumps([sizes, bounds], separators=(",", ":")).encode(), 1)


def _pack(kind: str, bounds: Sequence[Bounds | None]) -> list[list[Any]]:
    known = [found or UNKNOWN for found in bounds]
    texts = [stat_texts(kind, found) for found in known]
    return [
        [low for low, _ in texts],
        [high for _, high in texts],
        [found.nulls for found in known],
        [found.values for found in known],
        [found.nan for found in known],
        [found.bytes for found in known],
    ]


def unpack(data: bytes, kinds: Mapping[int, str]) -> Groups:
    """Read row groups back, with the bounds of the columns that are among `kinds`.

    Raises:
        CorruptionError: If the value was not packed here.
    """
    try:
        sizes, columns = json.loads(zlib.decompress(data))
        bounds = {
            int(column): _unpack(packed, kinds[int(column)])
            for column, packed in columns.items()
            if int(column) in kinds
        }
        return tuple(
            RowGroup(
                ordinal=i,
                rows=rows,
                bytes=size,
                raw_bytes=raw,
                bounds={c: found[i] for c, found in bounds.items() if found[i] != UNKNOWN},
            )
            for i, (rows, size, raw) in enumerate(zip(*sizes, strict=True))
        )
    except (zlib.error, ValueError, TypeError, IndexError) as error:
        msg = "the catalog holds row groups that cannot be read"
        raise CorruptionError(msg, hint="delete the rows of mere_row_group") from error


def _unpack(packed: Sequence[Any], now: str) -> list[Bounds]:
    kind, *parts = packed
    kept = keeps_bounds(kind, now)
    return [
        bounds_from_text(
            now,
            low if kept else None,
            high if kept else None,
            nulls=nulls,
            values=values,
            nan=nan,
            bytes=size,
        )
        for low, high, nulls, values, nan, size in zip(*parts, strict=True)
    ]
