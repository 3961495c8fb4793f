"""What an operation asks of the catalog does not depend on how much there is in it."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from typing import Any

import pytest

import mere
from mere.catalogs import duckdb, postgres, sqlite
from mere.catalogs.dialect import Statements
from mere.catalogs.opening import OWN
from mere.catalogs.sql import SqlCatalog, opened
from mere.lake import Lake
from mere.model.files import Bounds, RowGroup
from mere.testing.lakes import adding, append, change, create, file_of

COLUMNS = {"id": "int64", "s": "varchar"}


class CountingLink:
    """A link that notes what it is asked."""

    def __init__(self, link: Any, seen: Counter[str]) -> None:
        self._link, self._seen = link, seen

    @property
    def inlined(self):
        return self._link.inlined

    def rows(self, name, /, **values):
        self._seen[name] += 1
        return self._link.rows(name, **values)

    def bulk(self, name, kinds, /, **values):
        self._seen[name] += 1
        return self._link.bulk(name, kinds, **values)

    def run(self, name, /, **values):
        self._seen[name] += 1
        return self._link.run(name, **values)

    def ask(self, sql, /):
        self._seen[" ".join(sql.split()[:4])] += 1
        return self._link.ask(sql)

    def insert(self, table, rows):
        self._seen[f"insert {table}"] += 1
        self._link.insert(table, rows)


class CountingDialect:
    """A dialect whose transactions and statements are counted."""

    def __init__(self, dialect: Any) -> None:
        self._dialect, self.seen = dialect, Counter[str]()

    def __getattr__(self, name):
        return getattr(self._dialect, name)

    @contextmanager
    def reading(self) -> Iterator[CountingLink]:
        self.seen["BEGIN"] += 1
        with self._dialect.reading() as link:
            yield CountingLink(link, self.seen)

    @contextmanager
    def writing(self) -> Iterator[CountingLink]:
        self.seen["BEGIN to write"] += 1
        with self._dialect.writing() as link:
            yield CountingLink(link, self.seen)

    def counted(self, do) -> Counter[str]:
        self.seen.clear()
        do()
        return Counter(self.seen)


def files(head, count):
    """Yield files as an old table has them, each with two row groups."""
    for n in range(count):
        groups = tuple(
            RowGroup(
                ordinal=i,
                rows=5,
                bytes=10,
                raw_bytes=20,
                bounds={1: Bounds(minimum=10 * n + 5 * i, maximum=10 * n + 5 * i + 4, nulls=0)},
            )
            for i in range(2)
        )
        file = file_of(head, rows=10, row_groups=groups)
        bounds = {1: Bounds(minimum=10 * n, maximum=10 * n + 9, nulls=0, values=10)}
        yield replace(file, path=f"main/t/old-{n}.parquet", bounds=bounds)


def build(catalog, size):
    """Make a lake that is so many times as large in every direction."""
    head = create(catalog, "t", COLUMNS)
    for n in range(2 * size):
        create(catalog, f"other{n}", COLUMNS)
        append(catalog, f"other{n}", n)
    change(catalog, adding(catalog.head("t"), *files(head, 130 * size)))
    for n in range(3 * size):
        append(catalog, "t", n)


def steps(catalog, lake, dialect) -> Iterator[tuple[str, Counter[str]]]:
    """Do everything once, and say what each thing asked."""

    def counted(name, do):
        return name, dialect.counted(do)

    table, where = lake.table("t"), "id >= 25 AND id < 58"
    yield counted("connect", lambda: opened(
        dialect, data_path=None, new_data_path=None, create=False))  # fmt: skip
    yield counted("head", lambda: catalog.head("t"))
    yield counted("head again", lambda: catalog.head("t"))
    yield counted("tables", lake.tables)
    yield counted("snapshots", lake.snapshots)
    yield counted("first plan", lambda: table.scan(where))
    yield counted("plan", lambda: table.scan(where))
    yield counted("plan of everything", table.scan)
    yield counted("explain", lambda: table.scan(where).explain())
    yield counted("old plan", lambda: table.scan(where, version=3))
    yield counted("files", table.files)
    yield counted("partitions", table.partitions)
    yield counted("health", table.health)
    yield counted("history", table.history)
    yield counted("feed", lambda: catalog.feed(catalog.head("t"), 0))
    yield counted("append", lambda: table.append([{"id": 1, "s": "a"}]))
    yield counted("overwrite some", lambda: table.overwrite(
        [{"id": 30, "s": "b"}], where="id >= 30 AND id < 50"))  # fmt: skip
    yield counted("overwrite all", lambda: table.overwrite([{"id": 7, "s": "c"}]))
    yield counted("expire", lambda: catalog.expire(older_s=0, keep_last=1, dry_run=False))
    yield counted("vacuum", lambda: lake.vacuum(0))


def dialects(kind, tmp_path, request):
    if kind == "sqlite":
        return sqlite.SqliteDialect(tmp_path / "lake.db", read_only=False, wait_s=60)
    if kind == "duckdb":
        return duckdb.DuckdbDialect(tmp_path / "lake.ducklake", wait_s=60)
    url = request.getfixturevalue("pg_url")
    return postgres.PostgresDialect(url, schema="public", read_only=False, wait_s=60)


def asked(kind, tmp_path, request, size):
    place = tmp_path / str(size)
    place.mkdir()
    dialect = dialects(kind, place, request)
    if size > 1 and kind == "postgres":
        with dialect.writing() as link:
            link.ask("DROP SCHEMA public CASCADE")
            link.ask("CREATE SCHEMA public")
    url = place / "elsewhere.db"
    counting = CountingDialect(dialect)
    root = str(place / "data")
    catalog = opened(counting, data_path=root, new_data_path=root, create=True)
    build(catalog, size)
    catalog.close()
    fresh = SqlCatalog(counting, data_path=catalog.data_path, own=OWN, read_only=False)
    session = mere.connect(url, data_path=root)._session  # noqa: SLF001  a store and a kernel
    lake = Lake(replace(session, catalog=fresh))
    found = dict(steps(fresh, lake, counting))
    fresh.close()
    return found


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgres"])
def test_no_operation_asks_more_of_a_larger_lake(kind, tmp_path, request):
    small, large = (asked(kind, tmp_path, request, size) for size in (1, 5))
    for step, statements in small.items():
        assert large[step] == statements, step


def test_every_statement_has_a_name_of_its_own():
    sources = ("queries.sql", "changes.sql", "clearing.sql", "auditing.sql")
    folder = resources.files("mere.catalogs") / "statements"
    texts = [(folder / source).read_text("utf-8") for source in sources]
    names = Counter(
        name for text in texts for name in re.findall(r"^-- name: *([\w@]+)", text, re.MULTILINE)
    )
    assert len(names) > 100
    assert not [name for name, times in names.items() if times > 1]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite"])
def test_every_statement_is_one_so_that_it_may_stand_inside_another(dialect):
    found = Statements(dialect, style=lambda name: f":{name}", ids="IN (:ids)")
    assert len(found.names) > 100
    texts = {name: re.sub(r"\$\$.*\$\$", "", found[name], flags=re.DOTALL) for name in found.names}
    assert not [name for name, text in texts.items() if ";" in text or not text]
