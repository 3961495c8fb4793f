"""Describe a table to which every kind of change has happened, and its rows before and after."""

# ruff: noqa: DTZ001  numbers are the data, and timestamps have no zone

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from mere.model.schema import Field, Schema, number
from mere.testing.readers import field


def _renamed(named: Field, name: str, **more: Any) -> Field:
    return replace(named, name=name, **more)


def columns_before() -> Schema:
    """Return the columns that the old files were written with."""
    point = (field("x", "int32"), field("gone", "varchar"), field("y", "float32"))
    return number(
        Schema(
            fields=(
                field("id", "int32"),
                field("name", "varchar"),
                field("dropped", "int64"),
                field("amount", "decimal(8,2)"),
                field("point", "struct", *point),
                field("points", "list", field("element", "struct", *point)),
                field("day", "date"),
                field("count", "uint32"),
                field("swapped", "int32"),
                field("with", "int32"),
            )
        )
    )


def columns_now() -> Schema:
    """Return the columns that the table has: renamed, widened, dropped, added and added again."""
    f = {found.name: found for found in columns_before()}
    x, _, y = f["point"].children
    added = field("z", "int64", id=90, initial_default="5")
    parts = (_renamed(y, "why", type="float64"), added, _renamed(x, "x", type="int64"))
    element = f["points"].children[0]
    inner = element.children
    inner_now = (_renamed(inner[2], "y"), _renamed(inner[0], "ex"))
    return Schema(
        fields=(
            _renamed(f["name"], "title"),
            _renamed(f["id"], "ID", type="int64"),
            _renamed(f["amount"], "amount", type="decimal(20,4)"),
            field("dropped", "varchar", id=91),
            _renamed(f["point"], "point", children=parts),
            _renamed(f["points"], "dots", children=(replace(element, children=inner_now),)),
            _renamed(f["day"], "day", type="timestamp"),
            _renamed(f["count"], "count", type="int64"),
            _renamed(f["swapped"], "with"),
            _renamed(f["with"], "swapped"),
            field("flag", "boolean", id=92, initial_default="true"),
            field("price", "decimal(5,2)", id=93, initial_default="1.50"),
            field("since", "timestamp", id=94, initial_default="2024-02-29 12:00:00.5"),
            field("word", "varchar", id=95, initial_default="it's"),
            field("tags", "list", field("element", "varchar", id=97), id=96),
        )
    )


def row_before(i: int) -> dict[str, Any]:
    """Return a row as the old files hold it."""
    point = {"x": i, "gone": "g", "y": i / 2}
    return {
        "id": i,
        "name": f"n{i}",
        "dropped": i,
        "amount": Decimal(i).scaleb(-2),
        "point": point if i % 3 else None,
        "points": [point, None] if i % 2 else None,
        "day": date(2024, 1, 1 + i),
        "count": 2**32 - 1 - i,
        "swapped": i,
        "with": -i,
    }


def row_now(i: int) -> dict[str, Any]:
    """Return the same row as the table shows it now."""
    return {
        "title": f"n{i}",
        "ID": i,
        "amount": Decimal(i).scaleb(-2),
        "dropped": None,
        "point": {"why": i / 2, "z": 5, "x": i} if i % 3 else None,
        "dots": [{"y": i / 2, "ex": i}, None] if i % 2 else None,
        "day": datetime(2024, 1, 1 + i),
        "count": 2**32 - 1 - i,
        "with": i,
        "swapped": -i,
        "flag": True,
        "price": Decimal("1.50"),
        "since": datetime(2024, 2, 29, 12, 0, 0, 500000),
        "word": "it's",
        "tags": None,
    }
