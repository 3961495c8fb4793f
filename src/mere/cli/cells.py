"""Turn Arrow values into what JSON, a line of text, or a terminal can show."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, time, timedelta
from typing import Any

_LETTERS = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_STEP = 1000
_TIMES = ("date", "time", "timestamp")


def columns(data: Any) -> list[str]:
    """Name the columns of rows, each once: a second `a` is `a_2`."""
    names: list[str] = []
    for name in data.schema.names:
        number, chosen = 1, name
        while chosen in names:
            number += 1
            chosen = f"{name}_{number}"
        names.append(chosen)
    return names


def rows(data: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an Arrow table or stream as plain values, batch by batch."""
    for batch in data.to_batches() if hasattr(data, "to_batches") else data:
        if batch.num_columns:
            yield from zip(*(_values(column) for column in batch.columns), strict=True)


def records(data: Any) -> list[dict[str, Any]]:
    """Return rows as mappings from column to plain value."""
    names = columns(data)
    return [dict(zip(names, row, strict=True)) for row in rows(data)]


def _values(column: Any) -> list[Any]:
    """Return the values of a column; times as text, as Python cannot hold them all."""
    if str(column.type).startswith(_TIMES):
        column = column.cast("string")
    values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    return [plain(value) for value in values]


def plain(value: Any) -> Any:
    """Return a value as JSON has it: what JSON cannot say is said as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each) for each in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return plain(asdict(value))
    return _scalar(value)


def _scalar(value: Any) -> Any:
    match value:
        case float() if math.isfinite(value):
            return value
        case bytes():
            return value.hex()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
    return str(value)


def text(value: Any, *, null: str = "") -> str:
    """Return a value as it stands in a cell."""
    if value is None:
        return null
    if isinstance(value, dict):
        return ", ".join(f"{key}={text(each, null='NULL')}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(text(each, null="NULL") for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def line(values: tuple[Any, ...], *, null: str = "") -> str:
    """Return a row as one line with tabs between its cells, whatever is in them."""
    return "\t".join(text(value, null=null).translate(_LETTERS) for value in values)


def size(count: float) -> str:
    """Say a number of bytes the way people read it."""
    unit = 0
    while count >= _STEP and unit < len(_UNITS) - 1:
        count, unit = count / _STEP, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"
