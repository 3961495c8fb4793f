"""Sifting many files by arrays leaves out no file that holds a match, on all three databases."""

# ruff: noqa: SLF001  below the catalog: its dialect, and what it keeps in memory

import random
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings
from tests.expressions import COLUMNS, DOMAINS, SCHEMA, conditions

from mere.catalogs import duckdb, postgres, sqlite
from mere.catalogs.opening import OWN
from mere.catalogs.sql import SqlCatalog
from mere.catalogs.stats import Planner
from mere.model.files import Bounds, FileSet
from mere.model.history import At
from mere.model.layout import Layout, parse_key
from mere.model.predicate import bind, col, columns, evaluate
from mere.model.transforms import transform
from mere.model.values import compare, is_nan
from mere.testing.lakes import adding, append, change, create, evolving, file_of, replacing

LAYOUTS = {
    "plain": (),
    "identity": ("i8",),
    "two": ("s", "day"),
    "odd": ("f", "raw"),
    "bucket": ("bucket(4, s)", "bucket(3, i)"),
    "calendar": ("year(at)", "month(at)", "month(tz)"),
}
FILES, ROWS = 40, 2
Known: TypeAlias = dict[str, dict[str, list[dict[str, Any]]]]


def bounds_of(found: list[Any], kind: str) -> Bounds:
    present = [value for value in found if value is not None]
    low = high = None
    for value in present:
        if is_nan(value):
            continue
        low = value if low is None or compare(value, low, kind, kind) < 0 else low
        high = value if high is None or compare(value, high, kind, kind) > 0 else high
    return Bounds(
        minimum=low,
        maximum=high,
        nulls=len(found) - len(present),
        values=len(present),
        nan=any(map(is_nan, present)) if kind.startswith("float") else None,
    )


def less(bounds: Bounds, choice: int) -> Bounds | None:
    """Know less than everything of a column, now and then."""
    worse = [None, Bounds(), replace(bounds, maximum=None), replace(bounds, nulls=None, nan=None)]
    return worse[choice] if choice < len(worse) else bounds


class World:
    """A lake whose rows are known, planned by arrays, by partitions first, and one by one."""

    def __init__(
        self, sifting: SqlCatalog, parting: SqlCatalog, plain: SqlCatalog, rows: Known
    ) -> None:
        self.sifting, self.parting, self.plain, self.rows = sifting, parting, plain, rows


def rows_for(chance: random.Random, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Draw the rows of one file; a partitioned file holds one value of what it is split by."""

    def value(kind: str) -> Any:
        return chance.choice([None, *DOMAINS[kind]])

    rows = [{name: value(kind) for name, kind in COLUMNS.items()} for _ in range(ROWS)]
    split = {parse_key(key, SCHEMA).column for key in keys}
    shared = {f.name: rows[0][f.name] for f in SCHEMA.fields if f.id in split}
    return [row | shared for row in rows]


def build(catalog: SqlCatalog) -> Known:
    known: Known = {}
    chance = random.Random(7)  # noqa: S311  the same world every time
    for name, keys in LAYOUTS.items():
        layout = Layout(keys=tuple(parse_key(key, SCHEMA) for key in keys))
        head = create(catalog, name, SCHEMA, layout)
        kinds = {field.id: (field.name, field.type) for field in SCHEMA.fields}
        known[name] = {}
        files = []
        for _ in range(FILES):
            rows = rows_for(chance, keys)
            values = tuple(
                transform(key, kinds[key.column][1], rows[0][kinds[key.column][0]])
                for key in layout.keys
            )
            bounds = {
                field.id: less(bounds_of([r[field.name] for r in rows], field.type), choice)
                for field in SCHEMA.fields
                if (choice := chance.randrange(12)) > 0
            }
            file = file_of(head, rows=ROWS, partition=values)
            file = replace(file, bounds={k: b for k, b in bounds.items() if b is not None})
            files.append(file)
            known[name][file.path] = rows
        change(catalog, adding(head, *files[: FILES // 2]))
        change(catalog, adding(head, *files[FILES // 2 :]))
        gone = catalog.files(catalog.head(name)).files[3]
        change(catalog, replacing(catalog.head(name), [gone.id]))
        del known[name][gone.path]
    return known


def world_over(dialect, data_path) -> World:
    sifting, parting, plain = (
        SqlCatalog(dialect, data_path=data_path, own=OWN, read_only=False, planner=planner)
        for planner in (
            Planner(few=0, some=0, enough=0),
            Planner(few=0, some=1 << 40, enough=1 << 40),
            Planner(few=1 << 40),
        )
    )
    return World(sifting, parting, plain, build(sifting))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    opened = sqlite.open_catalog(tmp_path_factory.mktemp("planning") / "lake.db")
    return world_over(opened._dialect, opened.data_path)


def ask(world: World, name: str, expr: Any, at: At = At()) -> None:  # noqa: B008  frozen
    """Plan in every way, and compare with each other and with the rows."""
    head = world.sifting.head(name, at)
    where = bind(expr, head.schema)
    plain = world.plain.files(head, where)
    for catalog in (world.plain, world.parting):
        assert catalog.head(name, at) == head
    for catalog in (world.sifting, world.parting):
        compare_plans(world, name, where, catalog.files(head, where), plain)


def compare_plans(world: World, name: str, where: Any, sifted: FileSet, plain: FileSet) -> None:
    """Hold a plan that was sifted to one that looked at every file, and to the rows."""
    names = tuple(columns(where))
    matching = {
        path
        for path, rows in world.rows[name].items()
        if any(evaluate(where, {n: row[n] for n in names}) is True for row in rows)
    }
    paths = {file.path for file in sifted.files}
    assert matching <= paths
    ids = {file.id for file in sifted.files}
    assert ids <= {file.id for file in plain.files}
    assert sifted.certain == plain.certain & ids
    lost = sifted.total_files - len(sifted.files)
    assert sifted.by_partition + sifted.by_bounds == lost
    assert sifted.total_files == plain.total_files == len(world.rows[name])


NAN = float("nan")


@settings(max_examples=150)
@example(expr=col("f") > 1.6)  # NaN is above every maximum
@example(expr=col("f32") >= 1e30)
@example(expr=col("f") == NAN)
@example(expr=(col("f") > 1.6) | (col("f") < -1e300))
@example(expr=col("s").is_null() | (col("i8") > 100))
@given(expr=conditions())
def test_sifting_loses_no_file_that_holds_a_match(world, expr):
    for name in LAYOUTS:
        ask(world, name, expr)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_every_database_hands_out_the_same_arrays(kind, tmp_path, request, world):
    if kind == "duckdb":
        opened = duckdb.open_catalog(tmp_path / "lake.ducklake")
    else:
        opened = postgres.open_catalog(request.getfixturevalue("pg_url"), data_path=str(tmp_path))
    other = world_over(opened._dialect, opened.data_path)
    for name in LAYOUTS:
        one, two = (w.sifting.head(name) for w in (world, other))
        for column, kind_ in COLUMNS.items():
            for value in DOMAINS[kind_]:
                where = bind((col(column) >= value) & (col("i8") < 3), one.schema)
                found = [
                    [file.id for file in w.sifting.files(head, where).files]
                    for w, head in ((world, one), (other, two))
                ]
                assert found[0] == found[1]
            break
    opened.close()


def test_sifting_is_worth_it_exactly_where_bounds_decide(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    create(catalog, "t")
    append(catalog, "t", *range(1000))
    head = catalog.head("t")
    for low, high in ((0, 0), (500, 503), (999, 2000), (-5, -1)):
        found = catalog.files(head, bind(col("id").between(low, high), head.schema))
        expected = len(range(max(low, 0), min(high, 999) + 1))
        assert len(found.files) == len(found.certain) == expected
        assert found.by_bounds == 1000 - expected


def test_what_was_loaded_follows_appends_and_removals_of_others(tmp_path):
    ours, theirs = (sqlite.open_catalog(tmp_path / "lake.db") for _ in range(2))
    create(ours, "t")
    create(ours, "other")
    append(ours, "t", *range(300))

    def found(at: At = At()) -> list[int]:  # noqa: B008  frozen
        head = ours.head("t", at)
        where = bind(col("id").is_in([5, 250, 1000, 1001]), head.schema)
        files = ours.files(head, where, bounds=True)
        assert files.total_files == head.file_count
        return [int(file.bounds[1].minimum or 0) for file in files.files]

    assert found() == [5, 250]
    append(theirs, "other", *range(200))
    append(theirs, "t", 1000)
    assert (found(), ours.head("t").file_count) == ([5, 250, 1000], 301)
    head = theirs.head("t")
    gone = [file.id for file in theirs.files(head, bind(col("id") < 200, head.schema)).files]
    change(theirs, replacing(head, gone, file_of(head, {"id": (1001, 1001)})))
    assert (found(), ours.head("t").file_count) == ([250, 1000, 1001], 102)
    assert found(At(version=3)) == [5, 250]
    assert ours.head("t", At(version=3)).file_count == 300


def test_a_column_that_changed_its_type_is_judged_one_by_one(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    narrow = 0.10000000149011612  # what single precision makes of 0.1
    head = create(catalog, "t", {"x": "float32"})
    files = [file_of(head, {"x": (narrow, narrow)}) for _ in range(200)]
    change(catalog, adding(head, *files))
    change(catalog, evolving(head, replace(head.schema.fields[0], type="float64")))
    head = catalog.head("t")
    where = bind(col("x") == narrow, head.schema)
    assert len(catalog.files(head, where).files) == 200


def test_memory_stays_within_its_budget(tmp_path):
    opened = sqlite.open_catalog(tmp_path / "lake.db")
    planner = Planner(few=0, some=0, enough=0, budget_bytes=20_000)
    catalog = SqlCatalog(
        opened._dialect, data_path=opened.data_path, own=OWN, read_only=False, planner=planner
    )
    names = [f"c{n}" for n in range(8)]
    head = create(catalog, "t", dict.fromkeys(names, "int64"))
    files = [file_of(head, dict.fromkeys(names, (n, n))) for n in range(300)]
    change(catalog, adding(head, *files))
    head = catalog.head("t")
    for name in names * 2:
        assert len(catalog.files(head, bind(col(name) == 7, head.schema)).files) == 1
        assert planner._memory is not None
        kept = [part for part in planner._memory._parts.values() if "low" in part.arrays]
        assert sum(part.bytes for part in kept) <= 20_000
