"""Row groups that a plan leaves out hold no match, however the catalog keeps them."""

# ruff: noqa: SLF001  below the catalog: how it keeps what it knows

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from tests.expressions import DOMAINS, SCHEMA, conditions
from tests.suites.test_planning import bounds_of, less, rows_for

from mere.catalogs import duckdb as in_duckdb
from mere.catalogs import postgres, recording, sqlite
from mere.catalogs.groups import pack, unpack
from mere.catalogs.loading import Place
from mere.catalogs.memory import Memory
from mere.catalogs.segments import FILES, FRAME, Column, decoded, encode
from mere.model.files import Bounds, RowGroup
from mere.model.layout import Layout, parse_key
from mere.model.predicate import bind, col, columns, evaluate
from mere.model.schema import Field
from mere.model.transforms import transform
from mere.testing.lakes import adding, change, create, evolving, file_of, replacing

GROUPS, ROWS = 4, 2
KINDS = {field.id: field.type for field in SCHEMA.fields}
TABLES = {"plain": (), "split": ("s",)}


def group_of(chance: random.Random, ordinal: int, rows: list[dict[str, Any]]) -> RowGroup:
    known = {
        field.id: less(bounds_of([row[field.name] for row in rows], field.type), choice)
        for field in SCHEMA.fields
        if (choice := chance.randrange(12)) > 0
    }
    bounds = {id_: found for id_, found in known.items() if found is not None}
    return RowGroup(
        ordinal=ordinal, rows=len(rows), bytes=100 + ordinal, raw_bytes=200, bounds=bounds
    )


def fold(catalog: Any, name: str, files: int) -> int:
    """Fold what lies unfolded of a table; return how many segments came of it."""
    table = catalog.head(name).table_id
    with catalog._dialect.reading() as link:
        folded = recording.fold(link, table, files=files)
    with catalog._dialect.writing() as link:
        recording.put(link, folded)
    return len(folded.segments)


def build(catalog: Any) -> dict[str, dict[str, list[list[dict[str, Any]]]]]:
    """Make two tables twice: their row groups lie one by one, or most of them in segments."""
    known: dict[str, Any] = {}
    for name, keys in TABLES.items():
        chance = random.Random(11)  # noqa: S311  the same world every time
        layout = Layout(keys=tuple(parse_key(key, SCHEMA) for key in keys))
        heads = [create(catalog, name + how, SCHEMA, layout) for how in ("", "_folded")]
        known[name] = {}
        for number in range(20):
            shared = {key: rows_for(chance, keys)[0][key] for key in keys}
            drawn = [rows_for(chance, keys) for _ in range(GROUPS)]
            cut = [[row | shared for row in rows] for rows in drawn]
            values = tuple(
                transform(key, KINDS[key.column], shared[name])
                for key, name in zip(layout.keys, keys, strict=True)
            )
            groups = tuple(group_of(chance, i, part) for i, part in enumerate(cut))
            for head in heads:
                file = file_of(head, rows=GROUPS * ROWS, partition=values, row_groups=groups)
                file = replace(file, path=f"{head.folder}{number}.parquet")
                change(catalog, adding(catalog.head(head.name), file))
            known[name][f"{number}.parquet"] = cut
        assert fold(catalog, f"{name}_folded", 3) == 6
    return known


class World:
    """A catalog, and the rows of each row group in it."""

    def __init__(self, catalog: Any) -> None:
        self.catalog, self.rows = catalog, build(catalog)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(sqlite.open_catalog(tmp_path_factory.mktemp("groups") / "lake.db"))


def answer(catalog: Any, table: str, where: Any) -> dict[str, dict[int, bool]]:
    """Return the row groups that stay, by file, and whether every row of each matches."""
    found = catalog.files(catalog.head(table), where)
    lost = found.total_files - len(found.files)
    assert found.by_partition + found.by_bounds + found.by_groups == lost
    every = range(GROUPS)
    stay = {}
    for file in found.files:
        kept, sure = found.kept.get(file.id), file.id in found.certain
        groups = dict.fromkeys(every, sure)
        if kept is not None:
            groups = {g.ordinal: g.ordinal in kept.certain for g in kept.groups}
        stay[file.path.rpartition("/")[2]] = groups
    return stay


def matching(expr: Any, rows: list[dict[str, Any]]) -> list[bool]:
    names = tuple(columns(expr))
    return [evaluate(expr, {n: row[n] for n in names}) is True for row in rows]


@settings(max_examples=100, deadline=None)
@given(expr=conditions())
def test_no_row_group_that_holds_a_match_is_left_out(world, expr):
    catalog, known = world.catalog, world.rows
    where = bind(expr, SCHEMA)
    for name in TABLES:
        plain, sifted = (answer(catalog, name + how, where) for how in ("", "_folded"))
        for file, groups in sifted.items():  # arrays may see more than one look at each
            assert groups.keys() <= plain[file].keys()
            assert groups == {ordinal: plain[file][ordinal] for ordinal in groups}
        for file, cut in known[name].items():
            for ordinal, rows in enumerate(cut):
                hits = matching(where, rows)
                for answered in (plain, sifted):
                    if any(hits):
                        assert ordinal in answered[file]
                    if answered.get(file, {}).get(ordinal):
                        assert all(hits)


def test_both_ways_of_keeping_row_groups_give_back_what_went_in(world):
    catalog, known = world.catalog, world.rows
    for name in TABLES:
        one, other = (
            {
                f.path.rpartition("/")[2]: f.row_groups
                for f in catalog.files(catalog.head(t), bounds=True, groups=True).files
            }
            for t in (name, f"{name}_folded")
        )
        assert one == other
        assert {len(groups) for groups in one.values()} == {GROUPS}
        chance = random.Random(11)  # noqa: S311  as it was built
        assert one.keys() == known[name].keys()
        assert chance.random() < 1


@pytest.mark.parametrize("kind", [*KINDS.values(), "json", "int128", "interval"])
def test_bounds_keep_their_type_in_a_segment(kind):
    texts = DOMAINS["varchar"] if kind == "json" else DOMAINS.get(kind, [None])
    groups = tuple(
        RowGroup(ordinal=i, rows=2, bytes=3, raw_bytes=4, bounds={7: bounds_of([value], kind)})
        for i, value in enumerate(texts)
    )
    again = unpack(pack(groups, {7: kind}), {7: kind})
    values = {column: data for column, _, data in encode([(1, again)], {7: kind})}
    found = Column(kind=kind, stored=kind, arrays=decoded(values[7])).bounds()
    assert found == [group.bounds[7] for group in again]
    assert [type(b.minimum) for b in found] == [type(g.bounds[7].minimum) for g in again]
    assert decoded(values[FRAME]).column("ordinal").to_pylist() == list(range(len(groups)))


def test_a_widened_column_keeps_its_bounds_and_text_does_not_become_a_number(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    for name in ("t", "t_folded"):
        head = create(catalog, name, {"n": "int32", "s": "varchar"})
        groups = tuple(
            RowGroup(
                ordinal=i, rows=5, bytes=1, raw_bytes=1,
                bounds={1: Bounds(minimum=10 * i, maximum=10 * i + 5, nulls=0, values=5)},
            )
            for i in range(2)
        )  # fmt: skip
        change(catalog, adding(head, file_of(head, row_groups=groups)))
        if name == "t_folded":
            assert fold(catalog, name, 1) == 1
        head = catalog.head(name)
        wider = Field(name="n", type="int64", id=1)
        change(catalog, evolving(head, wider, head.schema.fields[1]))
        head = catalog.head(name)
        found = catalog.files(head, bind(col("n") > 7, head.schema))
        (kept,) = found.kept.values()
        assert [g.ordinal for g in kept.groups] == [1]
        assert kept.certain == {1}


def catalogs(kind, tmp_path, request):
    if kind == "sqlite":
        return sqlite.open_catalog(tmp_path / "lake.db")
    if kind == "duckdb":
        return in_duckdb.open_catalog(tmp_path / "lake.ducklake")
    return postgres.open_catalog(
        request.getfixturevalue("pg_url"), data_path=str(tmp_path / "files")
    )


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_commits_fold_what_lies_one_by_one_and_expiry_takes_it_away(kind, tmp_path, request):
    catalog = catalogs(kind, tmp_path, request)
    head = create(catalog, "t", {"n": "int64", "s": "varchar"})

    def files(first, count):
        for number in range(first, first + count):
            groups = tuple(
                RowGroup(
                    ordinal=i, rows=5, bytes=50, raw_bytes=60,
                    bounds={1: Bounds(minimum=20 * number + 10 * i,
                                      maximum=20 * number + 10 * i + 9, nulls=0, values=5)},
                )
                for i in range(2)
            )  # fmt: skip
            yield replace(file_of(head, row_groups=groups), path=f"main/t/{number}.parquet")

    def rows_in(table):
        with catalog._dialect.reading() as link:
            return link.ask(f"SELECT count(*) FROM {table}")[0][0]

    change(catalog, adding(head, *files(0, FILES - 1)))
    assert (rows_in("mere_row_group"), rows_in("mere_segment")) == (FILES - 1, 0)
    change(catalog, adding(catalog.head("t"), *files(FILES - 1, 3)))
    assert (rows_in("mere_row_group"), rows_in("mere_segment")) == (2, 2)
    for number in (0, 700, FILES + 1):
        head = catalog.head("t")
        found = catalog.files(head, bind(col("n") == 20 * number + 12, head.schema))
        (kept,) = found.kept.values()
        assert ([g.ordinal for g in kept.groups], kept.total) == ([1], 2)
    gone = [file.id for file in catalog.files(catalog.head("t")).files]
    change(catalog, replacing(catalog.head("t"), gone))
    catalog.expire(older_s=0, keep_last=1, dry_run=False)
    assert (rows_in("mere_row_group"), rows_in("mere_segment")) == (0, 0)
    catalog.close()


def test_row_groups_that_do_not_add_up_to_their_file_are_not_believed(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    for name in ("t", "t_folded"):
        head = create(catalog, name, {"n": "int64"})
        wrong = RowGroup(
            ordinal=0, rows=3, bytes=1, raw_bytes=1,
            bounds={1: Bounds(minimum=1, maximum=2, nulls=0, values=3)},
        )  # fmt: skip
        change(catalog, adding(head, file_of(head, rows=10, row_groups=(wrong,))))
        if name == "t_folded":
            assert fold(catalog, name, 1) == 1
        head = catalog.head(name)
        found = catalog.files(head, bind(col("n") == 7, head.schema))
        assert (len(found.files), found.kept) == (1, {})


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_the_archive_says_what_the_rows_say(kind, tmp_path, request):
    catalog = catalogs(kind, tmp_path, request)
    chance = random.Random(5)  # noqa: S311  the same files every time
    head = create(catalog, "t", SCHEMA, Layout(keys=(parse_key("s", SCHEMA),)))
    create(catalog, "other", {"n": "int64"})

    def add(count):
        for _ in range(count):
            rows = rows_for(chance, ("s",))
            bounds = {f.id: bounds_of([r[f.name] for r in rows], f.type) for f in SCHEMA.fields}
            file = file_of(head, rows=len(rows), partition=(rows[0]["s"],))
            change(catalog, adding(catalog.head("t"), replace(file, bounds=bounds)))
            change(catalog, adding(catalog.head("other"), file_of(catalog.head("other"))))

    def compare(ranges):
        with catalog._dialect.reading() as link:
            assert len(link.rows("archive", table=head.table_id, item="nothing")) == ranges
            end = link.rows("newest")[0][4]
            place = Place(link=link, table=head.table_id, first=0, end=end)
            for field in SCHEMA.fields:
                one, other = (
                    Memory(1 << 30).bounds(place, field.id, field.type, counts=True, shelved=yes)
                    for yes in (True, False)
                )
                for name in ("ids", "low", "high", "nan", "nulls", "values"):
                    assert getattr(one, name) == getattr(other, name), (field, name)
            texts = [
                Memory(1 << 30).partitions(place, 0, shelved=yes).to_pylist()
                for yes in (True, False)
            ]
            assert texts[0] == texts[1]

    compare(0)
    for ranges in (1, 2):
        add(5)
        fold(catalog, "t", 4)
        compare(ranges)
        add(2)
        fold(catalog, "t", 4)
        compare(ranges)
    gone = [file.id for file in catalog.files(catalog.head("t")).files][:3]
    change(catalog, replacing(catalog.head("t"), gone))
    catalog.expire(older_s=0, keep_last=1, dry_run=False)
    compare(2)
    catalog.close()
