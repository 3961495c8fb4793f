"""Make rows with the extremes of every type, and compare rows whatever their order."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa

from mere.arrow import schema_from, to_arrow
from mere.model.schema import Schema, number

Row: TypeAlias = Mapping[str, Any]

NOON = datetime(2024, 2, 29, 12, 0, 0, 123456)  # noqa: DTZ001  a timestamp without zone
EVERY_LEAF: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int128": (Decimal(-(10**37)), Decimal(10**37)),
    "uint8": (0, 255),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "float32": (1.5, math.nan, math.inf, -0.0),
    "float64": (1.5, -math.inf, 1e308, 5e-324),
    "decimal(4,1)": (Decimal("-999.9"), Decimal("0.1")),
    "decimal(18,5)": (Decimal("-9999999999999.99999"), Decimal("1.50000")),
    "decimal(38,10)": (Decimal("-1234567890123456789012345678.0123456789"), Decimal(1)),
    "date": (date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)),
    "time": (time(0), time(23, 59, 59, 999999)),
    "timestamp": (NOON, datetime(1, 1, 1), datetime(9999, 12, 31)),  # noqa: DTZ001  without zone
    "timestamp_s": (NOON.replace(microsecond=0),),
    "timestamp_ms": (NOON.replace(microsecond=123000),),
    "timestamp_ns": (-1, 123456789),
    "timestamptz": (NOON.replace(tzinfo=UTC),),
    "varchar": ("", "a", "größe 日本", "x" * 300),
    "blob": (b"", b"\x00\xff", b"y" * 300),
    "json": ('{"a": 1}', "[]"),
    "uuid": (UUID(int=0), UUID(int=2**128 - 1)),
}


def everything() -> Schema:
    """Return a schema with every leaf type, and nested columns of them."""
    columns = {f"c{i} {kind}": kind for i, kind in enumerate(EVERY_LEAF)}
    columns["deep"] = 'struct<a: list<struct<x: int32, "y.z": varchar>>, b: float64>'
    columns["mapped"] = "map<varchar, list<decimal(5,2)>>"
    columns['quo"te'] = "int64"
    return number(schema_from(columns), start=3)


def every_row() -> list[dict[str, Any]]:
    """Return rows with the extremes of every type, NULLs, and empty nested values."""
    rows: list[dict[str, Any]] = []
    deep = [{"a": [{"x": 1, "y.z": "q"}, None], "b": 0.5}, {"a": [], "b": None}, None]
    for i in range(5):
        row: dict[str, Any] = {
            f"c{n} {kind}": values[i] if i < len(values) else None
            for n, (kind, values) in enumerate(EVERY_LEAF.items())
        }
        row["deep"] = deep[i % 3]
        row["mapped"] = [[("k", [Decimal("1.50"), None])], [], None][i % 3]
        row['quo"te'] = i
        rows.append(row)
    return rows


def table_of(rows: Iterable[Row], schema: Schema) -> pa.Table:
    """Return rows of Python values as an Arrow table with the columns of a schema."""
    kept = [{k: v.bytes if isinstance(v, UUID) else v for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist(kept, schema=to_arrow(schema, ids=False))


def known(rows: Iterable[Row]) -> Counter[str]:
    """Return rows in a form that can be compared in any order, NaN included."""
    return Counter(repr({k: _shown(v) for k, v in row.items()}) for row in rows)


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _shown(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(v) for v in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | float | UUID) else value
