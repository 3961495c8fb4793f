"""Pose the questions that every reader must answer alike."""

# ruff: noqa: DTZ001  numbers are the data, and timestamps have no zone

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from mere.model.predicate import Expr, bind, col
from mere.model.schema import Schema, number
from mere.ports import Reading, Store
from mere.testing.evolution import columns_before, columns_now, row_before, row_now
from mere.testing.predicates import PREDICATES, TRADES, trades
from mere.testing.readers import (
    Question,
    Rows,
    field,
    matching,
    reading,
    write_deletes,
    write_file,
)

_EARLY, _LATE = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
_NOON = datetime(2024, 2, 29, 12, 0, 0, 123456)
_LEAVES: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False, None),
    "int8": (-128, 127, None, 0),
    "int16": (-(2**15), 2**15 - 1, None),
    "int32": (-(2**31), 2**31 - 1, None, 7),
    "int64": (-(2**63), 2**63 - 1, None),
    "uint8": (0, 255, None),
    "uint16": (0, 2**16 - 1, None),
    "uint32": (0, 2**32 - 1, None),
    "uint64": (0, 2**64 - 1, None),
    "float32": (1.5, math.nan, None, math.inf, -0.0),
    "float64": (1.5, math.nan, None, -math.inf, -0.0, 1e308, 5e-324),
    "decimal(4,2)": (Decimal("99.99"), Decimal("-99.99"), None),
    "decimal(18,3)": (Decimal("123456789012345.678"), None),
    "decimal(38,10)": (Decimal("9999999999999999999999999999.9999999999"), None, Decimal(0)),
    "date": (date(1, 1, 1), date(9999, 12, 31), None, date(2024, 2, 29)),
    "time": (time(0), time(23, 59, 59, 999999), None),
    "timestamp": (_EARLY, _LATE, None, _NOON),
    "timestamp_s": (_EARLY, datetime(9999, 12, 31, 23, 59, 59), None),
    "timestamp_ms": (_EARLY, datetime(9999, 12, 31, 23, 59, 59, 999000), None),
    "timestamp_ns": (-(2**63) + 1, 2**63 - 1, None, 1),
    "timestamptz": (_EARLY.replace(tzinfo=UTC), _LATE.replace(tzinfo=UTC), None),
    "varchar": ("", "a'b\"c\\d%_", None, "grüße 🦆", "x" * 300, "a\x00b"),
    "blob": (b"", b"\x00\xff", None, b"abc"),
    "uuid": (UUID(int=0), UUID(int=2**128 - 1), None),
    "json": ('{"a": [1, null]}', "1", None),
}
_PER_TYPE = 7


def _leaf_rows() -> tuple[Schema, Rows]:
    schema = number(
        Schema(fields=tuple(field(f"c {kind}", kind) for kind in _LEAVES)),
    )
    rows = [
        {f"c {kind}": values[i % len(values)] for kind, values in _LEAVES.items()}
        for i in range(_PER_TYPE)
    ]
    return schema, rows


def _types(store: Store) -> tuple[Reading, Rows]:
    schema, rows = _leaf_rows()
    files = [write_file(store, f"t{i}.parquet", rows[i::2], schema) for i in range(2)]
    return reading(store, schema, files), rows


def _nested_rows() -> tuple[Schema, Rows]:
    point = (field("x", "int32"), field("y z", "varchar"))
    deep = (field("at", "timestamp"), field("points", "list", field("element", "struct", *point)))
    key = field("key", "varchar", nullable=False)
    schema = number(
        Schema(
            fields=(
                field("tags", "list", field("element", "varchar")),
                field("point", "struct", *point),
                field("deep", "struct", *deep),
                field("by name", "map", key, field("value", "decimal(9,2)")),
                field("grid", "list", field("element", "list", field("element", "float64"))),
            )
        )
    )
    one = {"x": 1, "y z": "a"}
    full = {
        "tags": ["a", None, ""],
        "point": one,
        "deep": {"at": _NOON, "points": [one, None, {"x": None, "y z": None}]},
        "by name": [("k", Decimal("1.50")), ("n", None)],
        "grid": [[1.0, math.nan], [], None],
    }
    hollow = {"x": None, "y z": None}
    empty = {
        "tags": [],
        "point": hollow,
        "deep": {"at": None, "points": []},
        "by name": [],
        "grid": [],
    }
    return schema, [full, empty, dict.fromkeys(full), {**full, "point": None, "deep": None}]


def _nested(store: Store) -> tuple[Reading, Rows]:
    schema, rows = _nested_rows()
    files = [write_file(store, "n.parquet", rows, schema, group_rows=2)]
    return reading(store, schema, files), rows


def _projected(store: Store) -> tuple[Reading, Rows]:
    schema, rows = _nested_rows()
    files = [write_file(store, "n.parquet", rows, schema)]
    names = ("grid", "point")
    chosen = [{name: row[name] for name in names} for row in rows]
    return reading(store, schema, files, schema=schema.select(names)), chosen


def _no_files(store: Store) -> tuple[Reading, Rows]:
    schema, _ = _leaf_rows()
    return reading(store, schema, []), []


def _no_rows(store: Store) -> tuple[Reading, Rows]:
    schema, _ = _leaf_rows()
    return reading(store, schema, [write_file(store, "none.parquet", [], schema)]), []


def filtered(where: Expr) -> Callable[[Store], tuple[Reading, Rows]]:
    """Ask for the rows that match, out of two files of several row groups each."""

    def pose(store: Store) -> tuple[Reading, Rows]:
        bound, rows = bind(where, TRADES), trades()
        half = len(rows) // 2
        files = [
            write_file(store, "a.parquet", rows[:half], TRADES, group_rows=10, id=1),
            write_file(store, "b.parquet", rows[half:], TRADES, group_rows=10, id=2),
        ]
        return reading(store, TRADES, files, where=bound), matching(rows, bound)

    return pose


def _filtered_by_unasked(store: Store) -> tuple[Reading, Rows]:
    asked, rows = filtered((col("id") > 5) & (col("side") == "ask"))(store)
    names = ("at", "price")
    chosen = [{name: row[name] for name in names} for row in rows]
    return replace(asked, schema=TRADES.select(names)), chosen


def _certain(store: Store) -> tuple[Reading, Rows]:
    asked, _ = filtered(col("id") >= 30)(store)
    rows = [r for r in trades()[:30] if r["id"] is not None and r["id"] >= 30]
    plain = replace(asked, files=asked.files[:1], certain=frozenset({2}))
    return plain, rows


def _odd_names(store: Store) -> tuple[Reading, Rows]:
    schema = number(
        Schema(
            fields=(
                field("a.b", "int32"),
                field("a", "struct", field("b", "int32"), field("c", "int32")),
                field("q\"u'o", "varchar"),
                field("füß 🦆", "int32"),
                field("select", "int32"),
                field("filename", "varchar"),
                field("file_row_number", "int32"),
            )
        )
    )
    rows = [
        {
            "a.b": i,
            "a": {"b": -i, "c": 0},
            "q\"u'o": "x",
            "füß 🦆": i,
            "select": i,
            "filename": "f",
            "file_row_number": i * 10,
        }
        for i in range(4)
    ]
    files = [write_file(store, "odd.parquet", rows, schema)]
    where = bind(Expr("column", ("füß 🦆",)) > 1, schema)
    return reading(store, schema, files, where=where), rows[2:]


_FOLDERS = ("d=a%2Fb/", "q'uote\"s/", "g[l]o*b?/", "ünï 🦆 space/", "p%41/", "h#a&s=h/")


def _odd_paths(store: Store) -> tuple[Reading, Rows]:
    schema, rows = TRADES, trades(6)
    files = [
        write_file(store, f"{folder}f.parquet", [row], schema)
        for folder, row in zip(_FOLDERS, rows, strict=True)
    ]
    for folder in ("globb/", "gloob?/"):  # names that the glob would match as well
        write_file(store, f"{folder.replace('?', 'x')}f.parquet", rows, schema)
    return reading(store, schema, files), rows


def _evolved(
    where: Expr | None = None, names: tuple[str, ...] | None = None
) -> Callable[[Store], tuple[Reading, Rows]]:
    def pose(store: Store) -> tuple[Reading, Rows]:
        old, new = columns_before(), columns_now()
        late = [{**row_now(i), "dropped": "d", "flag": None, "tags": ["t"]} for i in range(6, 9)]
        files = [
            write_file(store, "old.parquet", [row_before(i) for i in range(6)], old, group_rows=2),
            write_file(store, "new.parquet", late, new),
        ]
        rows: Rows = [*(row_now(i) for i in range(6)), *late]
        bound = None if where is None else bind(where, new)
        chosen = rows if bound is None else matching(rows, bound)
        schema = new if names is None else new.select(names)
        picked = [{name: row[name] for name in schema.names} for row in chosen]
        return reading(store, new, files, schema=schema, where=bound), picked

    return pose


def _simple(kind: str = "int64") -> Schema:
    return Schema(fields=(field("id", kind, id=1), field("name", "varchar", id=2)))


def _simple_rows(count: int) -> list[dict[str, Any]]:
    return [{"id": i, "name": f"n{i}"} for i in range(count)]


def _without_ids(store: Store) -> tuple[Reading, Rows]:
    rows = _simple_rows(5)
    files = [
        write_file(store, "plain.parquet", rows[:2], _simple("int32"), ids=False),
        write_file(store, "ids.parquet", rows[2:], _simple()),
    ]
    return reading(store, _simple(), files), rows


def _taken_back(store: Store) -> tuple[Reading, Rows]:
    """A column was dropped, and another of the same name and type was added."""
    again = Schema(fields=(field("id", "int64", id=1), field("name", "varchar", id=9)))
    rows = _simple_rows(3)
    files = [write_file(store, "old.parquet", rows, _simple())]
    return reading(store, again, files), [{"id": row["id"], "name": None} for row in rows]


def _only_added(store: Store) -> tuple[Reading, Rows]:
    """Every column asked for is younger than the file."""
    added = field("late", "int32", id=7, initial_default="3")
    table = Schema(fields=(*_simple().fields, added))
    files = [write_file(store, "old.parquet", _simple_rows(3), _simple())]
    asked = reading(store, table, files, schema=table.select(("late",)))
    return asked, [{"late": 3}] * 3


_DEFAULTS: dict[str, tuple[str, Any]] = {
    "blob": ("\\xAA\\x00b", b"\xaa\x00b"),
    "boolean": ("true", True),
    "int64": ("-5", -5),
    "uint64": ("18446744073709551615", 2**64 - 1),
    "date": ("2020-01-02", date(2020, 1, 2)),
    "timestamp": ("2020-01-02 03:04:05.5", datetime(2020, 1, 2, 3, 4, 5, 500000)),
    "timestamptz": ("2020-01-02 03:04:05+00", datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
    "timestamp_ns": ("2020-01-01 00:00:00.000000001", 1_577_836_800_000_000_001),
    "timestamp_s": ("2020-01-02 03:04:05", datetime(2020, 1, 2, 3, 4, 5)),
    "float32": ("nan", math.nan),
    "float64": ("1e+300", 1e300),
    "decimal(5,2)": ("1.50", Decimal("1.50")),
    "uuid": ("00000000-0000-0000-0000-000000000001", UUID(int=1)),
    "varchar": ("it's", "it's"),
    "time": ("01:02:03", time(1, 2, 3)),
    "json": ('{"a":1}', '{"a":1}'),
}
"""Defaults of columns that are younger than a file, as the catalog spells them."""


def _defaults(store: Store) -> tuple[Reading, Rows]:
    added = [
        field(f"d {kind}", kind, id=100 + i, initial_default=text)
        for i, (kind, (text, _)) in enumerate(_DEFAULTS.items())
    ]
    table = Schema(fields=(*_simple().fields, *added))
    rows = _simple_rows(2)
    new = {f"d {kind}": value for kind, (_, value) in _DEFAULTS.items()}
    files = [
        write_file(store, "old.parquet", rows, _simple()),
        write_file(store, "new.parquet", [{**row, **new} for row in rows], table),
    ]
    return reading(store, table, files), [{**row, **new} for row in rows] * 2


def _deleted(
    snapshot: int | None, *, where: Expr | None = None, ids: bool = True
) -> Callable[[Store], tuple[Reading, Rows]]:
    """Rows went at snapshots 3, 4 and 5; the other file is whole."""
    gone = {0: 3, 7: 3, 12: 4, 19: 5}

    def pose(store: Store) -> tuple[Reading, Rows]:
        rows = _simple_rows(30)
        last = max(gone.values()) if ids else None
        deletes = write_deletes(store, "gone.parquet", gone, ids=ids, since=3, last=last)
        files = [
            write_file(
                store, "a.parquet", rows[:20], _simple(), group_rows=6, deletes=deletes, since=1
            ),
            write_file(store, "b.parquet", rows[20:], _simple(), since=2),
        ]
        bound = None if where is None else bind(where, _simple())
        seen = {p for p, at in gone.items() if not ids or snapshot is None or at <= snapshot}
        alive = [row for i, row in enumerate(rows) if i not in seen]
        asked = reading(store, _simple(), files, snapshot=snapshot, where=bound)
        return asked, alive if bound is None else matching(alive, bound)

    return pose


def _merged(snapshot: int) -> Callable[[Store], tuple[Reading, Rows]]:
    """One file holds rows of snapshots 1 to 5, some deleted, and says which came when."""

    def pose(store: Store) -> tuple[Reading, Rows]:
        extra = (
            field("_ducklake_internal_row_id", "int64", id=2147483540),
            field("_ducklake_internal_snapshot_id", "int64", id=2147483539),
        )
        table = _simple()
        inside = Schema(fields=(*table.fields, *extra))
        rows = _simple_rows(20)
        came = [1 + i % 5 for i in range(20)]
        stored = [
            {**row, extra[0].name: 100 + i, extra[1].name: came[i]} for i, row in enumerate(rows)
        ]
        gone = {1: 2, 10: 4, 13: 5}
        deletes = write_deletes(store, "gone.parquet", gone, since=2, last=5)
        file = write_file(
            store, "m.parquet", stored, inside, group_rows=7, since=1, last=5, deletes=deletes
        )
        seen = [
            row
            for i, row in enumerate(rows)
            if came[i] <= snapshot and not (i in gone and gone[i] <= snapshot)
        ]
        return reading(store, table, [file], snapshot=snapshot), seen

    return pose


_ALL = ("title", "ID", "point", "dots", "tags")
QUESTIONS: tuple[Question, ...] = tuple(
    Question(name=name, pose=pose)
    for name, pose in {
        "every type": _types,
        "nested types": _nested,
        "columns in another order": _projected,
        "no files": _no_files,
        "no rows": _no_rows,
        **{f"where {name}": filtered(where) for name, where in PREDICATES.items()},
        "where of columns not asked for": _filtered_by_unasked,
        "where all rows are certain": _certain,
        "odd names": _odd_names,
        "odd paths": _odd_paths,
        "an evolved table": _evolved(),
        "an evolved table, some columns": _evolved(names=("swapped", "ID", "flag")),
        "an evolved table, nested columns": _evolved(names=_ALL),
        "an evolved table, widened filter": _evolved(col("day") > datetime(2024, 1, 4, 1)),
        "an evolved table, unsigned filter": _evolved(col("count") > 2**31),
        "an evolved table, default filter": _evolved(col("flag") & (col("ID") > 1)),
        "an evolved table, missing filter": _evolved(col("dropped").is_null()),
        "an evolved table, renamed filter": _evolved(col("swapped") < -1),
        "an evolved table, part filter": _evolved(col("point").field("z") == 5),
        "files without ids": _without_ids,
        "a name taken again": _taken_back,
        "only added columns": _only_added,
        "every default": _defaults,
        "deleted rows": _deleted(None),
        "deleted rows, plain": _deleted(9, ids=False),
        "deleted rows, some later": _deleted(4),
        "deleted rows, where": _deleted(4, where=col("id") < 14),
        "merged rows, early": _merged(2),
        "merged rows, between": _merged(4),
        "merged rows, all": _merged(5),
    }.items()
)
