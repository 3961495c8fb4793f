"""Do random things to one table through DuckDB and through `mere`; both and a model must agree.

After each step every living version is read from both sides, and what changed between versions
is compared with what was done. What one side can do is a function of a few lines: it does it, and
tells the model. To meet what matters often, a step is a change and then what follows it: rows that
lie in the catalog or in files, changed, and then moved.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

import duckdb
import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.stateful.lakes import BothSides, Place

from mere.errors import NoFilesError
from mere.lake import Lake
from mere.table import Table
from mere.testing.models import Column, TableModel, Version

LIMIT = 10
KINDS: dict[str, tuple[str, pa.DataType]] = {
    "int32": ("INTEGER", pa.int32()),
    "int64": ("BIGINT", pa.int64()),
    "float32": ("FLOAT", pa.float32()),
    "float64": ("DOUBLE", pa.float64()),
    "varchar": ("VARCHAR", pa.string()),
    "date": ("DATE", pa.date32()),
    "timestamp": ("TIMESTAMP", pa.timestamp("us")),
    "decimal(9,2)": ("DECIMAL(9,2)", pa.decimal128(9, 2)),
    "boolean": ("BOOLEAN", pa.bool_()),
}
WIDER = {"int32": "int64", "float32": "float64"}
VALUES: dict[str, tuple[Any, ...]] = {
    "int32": (42, 0, -1, None),
    "int64": (42, 0, -1, None),
    "float32": (1.5, float("nan"), -0.0, None),
    "float64": (1.5, float("nan"), -0.0, None),
    "varchar": ("it's", "", None, "größe"),
    "date": (date(2024, 2, 29), None),
    "timestamp": (datetime(2024, 1, 1, 0, 0, 1), None),  # noqa: DTZ001  no zone by type
    "decimal(9,2)": (Decimal("-1.50"), None),
    "boolean": (True, False, None),
}
FIRST = tuple(
    Column(number=number, name=name, type=kind)
    for number, (name, kind) in enumerate(
        {"id": "int64", "n": "int32", "s": "varchar", "d": "date"}.items()
    )
)
NAMES = ("n", "s", "d", "a", "b", "c")
CHOICES: dict[str, Callable[[list[int]], list[int]]] = {  # the first is taken most often
    "every third": lambda keys: keys[1::3],
    "every other": lambda keys: keys[::2],
    "the first": lambda keys: keys[:1],
    "the last": lambda keys: keys[-1:],
    "the older half": lambda keys: keys[: len(keys) // 2],
    "all": lambda keys: keys,
}
MAINTENANCE = {
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
    "flush": "CALL ducklake_flush_inlined_data('lake')",
}

MOVES: dict[str, Callable[[Table], Any]] = {
    "compact": lambda table: table.compact(),
    "cluster": lambda table: table.cluster("s", order="hilbert", full=True),
    "repartition": lambda table: table.repartition("bucket(2, id)"),
    "upkeep": lambda table: kept(table, min_files=2),
    "order": lambda table: kept(table, min_files=2, cluster_by="id"),
}


def kept(table: Table, **rules: Any) -> None:
    """Keep a table in shape by rules; no version goes."""
    lake = Lake(table._session)  # noqa: SLF001  the lake that the table is of
    lake.maintain({"expire": False, "delete_older_than": "1 day", **rules}).require()


REFUSED = (duckdb.TransactionException,)

PAIRS = [
    (place, change, follow)
    for follow in (*MAINTENANCE, *MOVES, "expire", "evolve")
    for change in ("update", "delete", "insert")
    for place in ("catalog", "file")
]
STRIDE = 7  # one that has no factor in common with the number of pairs comes by all of them

sides = st.sampled_from(["mere", "duckdb"])
choices = st.sampled_from(list(CHOICES))


class LakeMachine(RuleBasedStateMachine):
    """One lake, one table, two sides and a model."""

    duck: ClassVar[duckdb.DuckDBPyConnection]
    place: ClassVar[Callable[[], Place]]
    bug: ClassVar[str] = ""
    turn: ClassVar[int] = 0
    """Which pair of a change and what follows it comes first; each step takes another one."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = BothSides(type(self).place(), self.duck, self.bug)
        self.model = TableModel()
        self.steps = 0
        self.next_key = 1
        self.next_column = len(FIRST)
        self.tagged: set[int] = set()
        self.row_ids: dict[int, int] = {}

    def teardown(self) -> None:
        self.sides.close()

    # What happens: first a table whose rows lie in both places, then steps.

    @initialize(side=sides)
    def begin(self, side: str) -> None:
        if side == "mere":
            self.sides.lake.create_table("t", {column.name: column.type for column in FIRST})
        else:
            columns = ", ".join(f"{c.name} {KINDS[c.type][0]}" for c in FIRST)
            self.sides.run(f"CREATE TABLE t ({columns})")
        self.model.create(FIRST, at=1)
        self.insert("file", 12)
        self.insert("catalog", 3)

    @rule(choice=choices, data=st.data())
    def change_and_move(self, choice: str, data: st.DataObject) -> None:
        place, change, follow = PAIRS[(self.turn + self.steps) * STRIDE % len(PAIRS)]
        self.steps += 1
        note(f"{change} in the {place}, then {follow}")
        if change == "insert":
            self.write(place, data)
        else:
            getattr(self, change)(place, choice)
        self.check(data)
        if follow == "expire":
            self.tag(data)
            self.expire(data)
        elif follow == "evolve":
            self.evolve(data)
        else:
            self.maintain(follow)
        self.check(data)

    # What can be done: through DuckDB or here, and then to the model.

    def write(self, place: str, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, LIMIT), label="count")
        if place == "catalog":  # where only DuckDB puts rows
            return self.insert(place, count)
        rows = self.new_rows(count)
        if data.draw(st.booleans(), label="replace all"):
            self.table.overwrite(self.as_arrow(rows))
            return self.model.overwrite(rows, at=self.made())
        self.table.append(self.as_arrow(rows))
        return self.model.insert(rows, at=self.made())

    def tag(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.model.versions)), label="tagged")
        self.sides.lake.tag(f"v{version}", version=version)
        self.tagged = {version}
        for name in self.sides.lake.tags().keys() - {f"v{version}"}:
            self.sides.lake.untag(name)

    def insert(self, place: str, count: int) -> None:
        rows = self.new_rows(count)
        self.sides.run(
            "INSERT INTO t BY NAME SELECT * FROM given",
            limit=LIMIT if place == "catalog" else 0,
            rows=self.as_arrow(rows),
        )
        self.model.insert(rows, at=self.made())

    def delete(self, place: str, choice: str) -> None:
        keys = CHOICES[choice](self.model.keys)
        if keys:
            self.changed(place, f"DELETE FROM t WHERE id IN ({_listed(keys)})")
            self.model.delete(keys, at=self.made())

    def update(self, place: str, choice: str) -> None:
        keys = CHOICES[choice](self.model.keys)
        column = self.model.now.columns[-1]
        value = VALUES[column.type][self.next_key % len(VALUES[column.type])]
        if keys and column.name != "id":
            told = f"SET {column.name} = {_spelled(value)} WHERE id IN ({_listed(keys)})"
            self.changed(place, f"UPDATE t {told}")
            self.model.update(keys, column.name, value, at=self.made())

    def changed(self, place: str, statement: str) -> None:
        self.sides.run(statement, limit=LIMIT * 10 if place == "catalog" else 0)

    def maintain(self, kind: str) -> None:
        if kind in MOVES:
            with suppress(NoFilesError):
                MOVES[kind](self.sides.lake.table("t"))
        else:
            with suppress(*REFUSED):
                self.sides.run(MAINTENANCE[kind], limit=LIMIT)
        self.model.maintain(at=self.sides.lake.version)

    def expire(self, data: st.DataObject) -> None:
        *old, _ = sorted(self.model.versions)
        if data.draw(sides, label="who expires") == "mere":
            keep = data.draw(st.integers(1, 6), label="keep")
            self.sides.lake.expire(0, keep_last=keep)
            gone = set(old[: max(0, len(old) + 1 - keep)]) - self.tagged
        else:
            gone = set(data.draw(st.sets(st.sampled_from(old)), label="expired")) - self.tagged
            if gone:
                versions = _listed(sorted(gone))
                self.sides.run(f"CALL ducklake_expire_snapshots('lake', versions => [{versions}])")
        self.model.expire(gone)
        sweeper = data.draw(st.sampled_from(["mere", "duckdb", "nobody"]), label="who sweeps")
        if sweeper == "mere":
            self.sides.lake.vacuum(0)
            assert self.sides.there() == self.sides.listed()
        elif sweeper == "duckdb":
            self.sides.run("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
            self.sides.run("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")

    def evolve(self, data: st.DataObject) -> None:
        columns = self.model.now.columns
        side = data.draw(sides, label="who evolves")
        free = [name for name in NAMES if name not in {c.name for c in columns}]
        column = data.draw(st.sampled_from(columns[1:]), label="column")
        what: list[Callable[..., None]] = [self.add] if len(columns) < len(NAMES) else []
        what += [self.drop] if len(columns) > 3 else []
        what += [self.rename] if free else []
        what += [self.widen] if column.type in WIDER else []
        data.draw(st.sampled_from(what), label="how")(data, side, column, free)

    def add(self, data: st.DataObject, side: str, _: Column, free: list[str]) -> None:
        kind = data.draw(st.sampled_from(sorted(VALUES)))
        default = VALUES[kind][0] if data.draw(st.booleans(), label="default") else None
        made = Column(number=self.next_column, name=free[0], type=kind, default=default)
        self.next_column += 1
        if side == "mere":
            self.table.evolve().add_column(made.name, kind, default=default).commit()
        else:
            self.alter(f"ADD COLUMN {made.name} {KINDS[kind][0]} DEFAULT {_spelled(default)}")
        self.model.define([*self.model.now.columns, made], at=self.made())

    def drop(self, _: st.DataObject, side: str, column: Column, __: list[str]) -> None:
        if side == "mere":
            self.table.evolve().drop_column(column.name).commit()
        else:
            self.alter(f"DROP COLUMN {column.name}")
        left = [c for c in self.model.now.columns if c != column]
        self.model.define(left, at=self.made())

    def rename(self, _: st.DataObject, side: str, column: Column, free: list[str]) -> None:
        if side == "mere":
            self.table.evolve().rename_column(column.name, free[0]).commit()
        else:
            self.alter(f"RENAME COLUMN {column.name} TO {free[0]}")
        self.model.alter(column.name, partial(replace, name=free[0]), at=self.made())

    def widen(self, _: st.DataObject, side: str, column: Column, __: list[str]) -> None:
        kind = WIDER[column.type]
        if side == "mere":
            self.table.evolve().widen(column.name, kind).commit()
        else:
            self.alter(f"ALTER COLUMN {column.name} SET DATA TYPE {KINDS[kind][0]}")
        self.model.alter(column.name, partial(replace, type=kind), at=self.made())

    def alter(self, how: str) -> None:
        self.sides.run(f"ALTER TABLE t {how}", limit=LIMIT)

    # What must hold: both sides show at every version what the model shows.

    def check(self, data: st.DataObject) -> None:
        versions = sorted(self.model.versions)
        living = self.sides.lake.snapshots()["version"].to_pylist()
        assert [version for version in living if version] == versions
        reader = data.draw(st.sampled_from(["arrow", "arrow", "duckdb", "polars"]), label="reader")
        theirs = self.sides.theirs(versions)
        misread = self.sides.misread()
        for version in versions:
            wanted = self.model.versions[version]
            ours = self.sides.ours(version, reader=reader)
            _compare("ours", version, wanted, ours, typed=reader == "arrow")
            if version not in misread:
                _compare("theirs", version, wanted, theirs[version], typed=True)
        self.check_filter(data, versions)
        self.check_changes()

    def check_filter(self, data: st.DataObject, versions: list[int]) -> None:
        version = data.draw(st.sampled_from(versions), label="filtered version")
        edge = data.draw(st.integers(0, self.next_key), label="edge")
        wanted = self.model.versions[version]
        rows = [list(map(repr, row)) for row in wanted.shown() if row[0] >= edge]
        scan = self.table.scan(f"id >= {edge}", version=version)
        assert (version, rows) == (version, _rows(scan.to_arrow()))
        assert (version, len(rows)) == (version, scan.count())

    def check_changes(self) -> None:
        first, *_ = self.model.contiguous()
        since = first + (first > 1)  # what went at a version is told by the one before it
        if since > self.model.last:
            return
        told = self.table.changes(since).to_pylist()
        found = []
        for row in told:
            at, row_id, kind, *values = row.values()
            assert self.row_ids.setdefault(values[0], row_id) == row_id
            found.append((at, kind, values[0], list(map(repr, values))))
        wanted = [
            (at, kind, key, list(map(repr, row)))
            for at, kind, key, row in self.model.changes(since, self.model.last)
        ]
        assert sorted(found) == sorted(wanted)
        assert len(set(self.row_ids.values())) == len(self.row_ids)

    # What the steps share.

    @property
    def table(self) -> Any:
        return self.sides.lake.table("t")

    def made(self) -> int:
        """Return the version that was just made; it must be exactly one."""
        version = self.sides.lake.version
        assert version == self.model.last + 1
        return version

    def new_rows(self, count: int) -> list[dict[str, Any]]:
        keys = range(self.next_key, self.next_key + count)
        self.next_key += count
        columns = self.model.now.columns[1:]
        return [
            {"id": key} | {c.name: VALUES[c.type][key % len(VALUES[c.type])] for c in columns}
            for key in keys
        ]

    def as_arrow(self, rows: list[dict[str, Any]]) -> pa.Table:
        fields = [pa.field(c.name, KINDS[c.type][1]) for c in self.model.now.columns]
        return pa.Table.from_pylist(rows, pa.schema(fields))


def _compare(whose: str, version: int, wanted: Version, table: pa.Table, *, typed: bool) -> None:
    columns = [c.name for c in wanted.columns]
    assert (whose, version, columns) == (whose, version, table.schema.names)
    if typed:
        kinds = [KINDS[c.type][1] for c in wanted.columns]
        assert (whose, version, kinds) == (whose, version, table.schema.types)
    rows = [list(map(repr, row)) for row in wanted.shown()]
    assert (whose, version, rows) == (whose, version, _rows(table))


def _rows(table: pa.Table) -> list[list[str]]:
    rows = sorted(table.to_pylist(), key=lambda row: row["id"])
    return [list(map(repr, row.values())) for row in rows]


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _spelled(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"'{value}'::DOUBLE"
    return "'" + str(value).replace("'", "''") + "'"
