"""Two writers change one table, in turns and into each other; plain Python says what must be there.

The model is a list of dicts for each version. A writer can be interrupted where it has looked
but not yet committed: the other one then does its work first, or somebody merges files. Calls of
store and catalog fail, before they do anything or after they did. After each step every version is
read again.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.stateful.slips import Slip

import mere
from mere.errors import DuplicateKeyError
from mere.kernels.duckdb import DuckdbKernel
from mere.kernels.pyarrow import PyarrowKernel
from mere.lake import Lake
from mere.model.report import Report
from mere.ports import Kernel
from mere.table import Table
from mere.testing.faults import Fault, Faulty, InjectedError

Row = dict[str, Any]
Rows = list[Row]
COLUMNS = pa.schema([("p", pa.string()), ("k", pa.float64()), ("v", pa.int64())])
KEYS = (None, -0.0, 0.0, float("nan"), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
PARTS = ("a", "b", None)
SETTLED = (0, 0, 0)


@dataclass(frozen=True)
class Verb:
    """Something to do: to a table, and to a list of rows; both say how many rows came of it."""

    name: str
    do: Callable[[Table], Report]
    to: Callable[[Rows], tuple[Rows, tuple[int, int, int]]]


# What plain Python makes of each verb.


def same(one: Any, other: Any) -> bool:
    """Tell whether keys are equal: NULL equals nothing, NaN itself."""
    if one is None or other is None:
        return False
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124  NaN


def inserted(rows: Rows, new: Rows) -> tuple[Rows, tuple[int, int, int]]:
    return [*rows, *new], (len(new), 0, 0)


def deleted(rows: Rows, gone: Callable[[Row], bool | None]) -> tuple[Rows, tuple[int, int, int]]:
    kept = [row for row in rows if gone(row) is not True]
    return kept, (0, 0, len(rows) - len(kept))


def updated(
    rows: Rows, which: Callable[[Row], bool | None], change: Callable[[Row], Row]
) -> tuple[Rows, tuple[int, int, int]]:
    hit = [which(row) is True for row in rows]
    made = [row | change(row) if h else row for row, h in zip(rows, hit, strict=True)]
    return made, (0, sum(hit), 0)


def upserted(rows: Rows, new: Rows) -> tuple[Rows, tuple[int, int, int]]:
    made = [next((r | n for n in new if same(r["k"], n["k"])), r) for r in rows]
    updates = sum(any(same(r["k"], n["k"]) for n in new) for r in rows)
    fresh = [n for n in new if not any(same(r["k"], n["k"]) for r in rows)]
    return [*made, *(dict.fromkeys(COLUMNS.names) | n for n in fresh)], (len(fresh), updates, 0)


def merged(rows: Rows, new: Rows) -> tuple[Rows, tuple[int, int, int]]:
    """Delete where the source has no v, add it up elsewhere, insert those with v, drop p = 'b'."""
    made: Rows = []
    updates = 0
    for row in rows:
        match = next((n for n in new if same(row["k"], n["k"])), None)
        if match is None and row["p"] != "b":
            made.append(row)
        elif match is not None and match["v"] is not None:
            updates += 1
            total = None if row["v"] is None else row["v"] + match["v"]
            made.append(row | {"v": total})
    fresh = [n for n in new if not any(same(r["k"], n["k"]) for r in rows) and n["v"] is not None]
    return [*made, *fresh], (len(fresh), updates, len(rows) - len(made))


# What there is to do.


def arrow(rows: Rows, *names: str) -> pa.Table:
    """Return rows as a table of these columns."""
    return pa.Table.from_pylist(rows, pa.schema([COLUMNS.field(n) for n in names or COLUMNS.names]))


maintenance = st.sampled_from(["merge", "rewrite", "compact"])
new_rows = st.lists(
    st.fixed_dictionaries(
        {
            "p": st.sampled_from(PARTS),
            "k": st.sampled_from(KEYS),
            "v": st.one_of(st.none(), st.integers(-3, 3)),
        }
    ),
    min_size=1,
    max_size=6,
)


def unique(rows: Rows) -> Rows:
    """Keep the first row of each key."""
    kept: Rows = []
    for row in rows:
        if not any(same(row["k"], other["k"]) for other in kept):
            kept.append(row)
    return kept


@st.composite
def verbs(draw: st.DrawFn) -> Verb:
    """Draw something to do."""
    name = draw(st.sampled_from(["append", "delete", "update", "upsert", "narrow", "merge"]))
    new = draw(new_rows)
    number, part = draw(st.integers(-2, 2)), draw(st.sampled_from("ab"))
    if name == "append":
        return Verb(f"append {new}", lambda t: t.append(arrow(new)), lambda r: inserted(r, new))
    if name == "delete":
        where = f"v > {number} OR (p = '{part}' AND k < 3)"

        def goes(row: Row) -> bool | None:
            low = row["k"] is not None and row["k"] < 3
            return (row["v"] is not None and row["v"] > number) or (row["p"] == part and low)

        return Verb(f"delete {where}", lambda t: t.delete(where), lambda r: deleted(r, goes))
    if name == "update":
        sets = {"v": f"coalesce(v, 0) + {number}", "p": f"'{part}'"}
        where = f"v <> {number}"
        return Verb(
            f"update {sets} where {where}",
            lambda t: t.update(sets, where=where),
            lambda r: updated(
                r,
                lambda row: None if row["v"] is None else row["v"] != number,
                lambda row: {"v": row["v"] + number, "p": part},
            ),
        )
    return _merging(name, unique(new))


def _merging(name: str, new: Rows) -> Verb:
    if name == "merge":
        return Verb(f"merge {new}", lambda t: _merge(t, new), lambda r: merged(r, new))
    if name == "narrow":
        some = [{"k": row["k"], "v": row["v"]} for row in new]
        return Verb(
            f"upsert {some}",
            lambda t: t.upsert(arrow(some, "k", "v"), on="k"),
            lambda r: upserted(r, some),
        )
    return Verb(f"upsert {new}", lambda t: t.upsert(arrow(new), on="k"), lambda r: upserted(r, new))


def _merge(table: Table, new: Rows) -> Report:
    return (
        table.merge(arrow(new), on="k")
        .when_matched_delete(when="source.v IS NULL")
        .when_matched_update({"v": "target.v + source.v"})
        .when_not_matched_insert(when="v IS NOT NULL")
        .when_not_matched_by_source_delete(when="p = 'b'")
        .run()
    )


# Who does it.


@dataclass
class Writer:
    """A lake of which the next commit can wait for somebody else, and of which calls can fail."""

    lake: Lake
    kernel: Kernel
    waits_for: Callable[[], None] | None = None
    fault: Fault = field(default_factory=Fault)

    def table(self) -> Table:
        session = self.lake._session  # noqa: SLF001  put together by hand
        catalog: Any = Faulty(session.catalog, self.fault)
        store: Any = Faulty(session.store, self.fault)
        catalog = _Waiting(catalog, self)
        own = replace(session, catalog=catalog, store=store, kernel=self.kernel)
        return Lake(own).table("t")


class _Waiting:
    """A catalog that lets others go first when it is about to commit."""

    def __init__(self, behind: Any, writer: Writer) -> None:
        self._behind = behind
        self._writer = writer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def commit(self, *args: Any) -> Any:
        first, self._writer.waits_for = self._writer.waits_for, None
        if first is not None:
            first()
        return self._behind.commit(*args)


class Writers(RuleBasedStateMachine):
    """One table, two writers and a model."""

    folder: ClassVar[Callable[[], Path]]
    duck: ClassVar[duckdb.DuckDBPyConnection]
    slip: ClassVar[Slip | None] = None
    KERNELS: ClassVar[tuple[Kernel, ...]] = (PyarrowKernel(threads=1), DuckdbKernel())

    def __init__(self) -> None:
        super().__init__()
        self.place = type(self).folder()
        self.lake = mere.connect(self.place / "lake.db")
        self.now: Rows = []
        self.versions: dict[int, Rows] = {}
        kind = type(self).slip
        self.held = None if kind is None else kind(self.lake)
        shown = self.lake if self.held is None else self.held.__enter__()
        self.writers = [Writer(shown, kernel) for kernel in self.KERNELS]

    def teardown(self) -> None:
        if self.held is not None:
            self.held.__exit__(None, None, None)
        self.lake.close()

    @initialize(
        rows=new_rows, more=new_rows, mode=st.sampled_from(["merge-on-read", "copy-on-write"])
    )
    def begin(self, rows: Rows, more: Rows, mode: str) -> None:
        table = self.lake.create_table(
            "t", COLUMNS, partition_by=["p"], properties={"mere_write_mode": mode}
        )
        for new in (rows, more):
            table.append(arrow(new))
            self.now = [*self.now, *new]
            self.versions[self.lake.version] = self.now

    @rule(who=st.integers(0, 1), verb=verbs())
    def alone(self, who: int, verb: Verb) -> None:
        self.done(self.writers[who], verb)
        self.check()

    @rule(who=st.integers(0, 1), verb=verbs(), others=st.lists(verbs(), min_size=1, max_size=2))
    def after_the_other(self, who: int, verb: Verb, others: list[Verb]) -> None:
        writer, other = self.writers[who], self.writers[1 - who]

        def first() -> None:
            for step in others:
                self.done(other, step)

        writer.waits_for = first
        self.done(writer, verb)
        writer.waits_for = None
        self.check()

    @rule(who=st.integers(0, 1), verb=verbs(), how=maintenance)
    def after_maintenance(self, who: int, verb: Verb, how: str) -> None:
        self.writers[who].waits_for = lambda: self.maintained(how)
        self.done(self.writers[who], verb)
        self.writers[who].waits_for = None
        self.check()

    @rule(
        who=st.integers(0, 1),
        verb=verbs(),
        at=st.integers(1, 14),
        when=st.sampled_from(["before", "after"]),
    )
    def with_a_fault(self, who: int, verb: Verb, at: int, when: Any) -> None:
        before = self.lake.version
        writer = self.writers[who]
        writer.fault = Fault(at=at, when=when, act="raise")
        try:
            self.done(writer, verb)
        except (InjectedError, mere.errors.MereError) as error:
            note(f"{verb.name} failed: {error}")
            if self.lake.version != before:
                self.now, _ = verb.to(self.now)
                self.versions[self.lake.version] = self.now
        finally:
            writer.fault = Fault()
        self.check()

    @rule(rows=new_rows)
    def with_a_key_twice(self, rows: Rows) -> None:
        twice = [row for row in rows if row["k"] is not None][:1] * 2
        before = self.lake.version
        if twice:
            try:
                self.writers[0].table().upsert(arrow([*rows, *twice]), on="k")
            except DuplicateKeyError:
                pass
            else:
                raise AssertionError(twice)
        assert self.lake.version == before

    def done(self, writer: Writer, verb: Verb) -> None:
        """Do something, and tell the model, which comes second: others may have gone between."""
        note(verb.name)
        at_first = self.now
        report = verb.do(writer.table())
        before = self.now
        told = (report.rows_inserted, report.rows_updated, report.rows_deleted)
        if told == SETTLED == verb.to(at_first)[1]:
            return  # with nothing to commit, it comes before whoever came between
        self.now, counts = verb.to(self.now)
        assert told == counts, (verb.name, told, counts, before)
        if counts != SETTLED:
            assert report.version == self.lake.version
        self.versions[self.lake.version] = self.now

    def maintained(self, how: str) -> None:
        call = {
            "merge": "CALL ducklake_merge_adjacent_files('lake')",
            "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
        }
        if how == "compact":
            self.lake.table("t").compact()
        else:
            with self.attached() as duck:
                duck.execute(call[how])
        for version in range(max(self.versions) + 1, self.lake.version + 1):
            self.versions[version] = self.now

    @contextmanager
    def attached(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with closing(self.duck.cursor()) as cursor:
            cursor.execute(f"ATTACH 'ducklake:sqlite:{self.place}/lake.db' AS lake")
            cursor.execute("USE lake")
            try:
                yield cursor
            finally:
                cursor.execute("USE memory")
                cursor.execute("DETACH lake")

    def check(self) -> None:
        """Read every version again, as `mere` shows it; the newest also as DuckDB does."""
        table = self.writers[0].lake.table("t")
        for version, rows in self.versions.items():
            assert _spelled(table.scan(version=version).to_arrow()) == _told(rows), version
            assert table.count(version=version) == len(rows)
        with self.attached() as duck:
            theirs = duck.execute("SELECT p, k, v FROM t").to_arrow_table()
        assert _spelled(theirs) == _told(self.now)


def _spelled(table: pa.Table) -> list[str]:
    return _told(table.to_pylist())


def _told(rows: Rows) -> list[str]:
    spelled = (
        {**row, "k": "zero"} if row["k"] == 0 else row for row in rows
    )  # which zero it was is not told apart
    return sorted(repr([row[name] for name in COLUMNS.names]) for row in spelled)
