"""Views that DuckDB made: listed, read at any version, and left alone by every commit."""

import pytest

import mere
from mere.errors import AlreadyExistsError, TableNotFoundError, UnsupportedError

MADE = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT range, 'a' FROM range(10)",
    "CREATE SCHEMA s2",
    "CREATE TABLE s2.u AS SELECT 5 AS k",
    "CREATE VIEW v AS SELECT i AS x FROM t WHERE i > 3",
    'CREATE VIEW v2(a, "b b") AS SELECT x, k FROM v, s2.u',
    "CREATE VIEW s2.w AS SELECT * FROM lake.main.v2",
    "CREATE VIEW s2.w2 AS SELECT * FROM u",
    "CREATE OR REPLACE VIEW v AS SELECT i AS x FROM t WHERE i > 7",
    "COMMENT ON VIEW v IS 'few'",
)
READ = ("FROM v", "FROM v2", "FROM s2.w", "FROM s2.w2", "SELECT max(a) FROM V2, s2.w2 WHERE a > k")


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path):
    """Return (URL for mere, name for DuckDB) of a place for a lake on each catalog."""
    if request.param == "sqlite":
        return str(tmp_path / "x.db"), f"sqlite:{tmp_path / 'x.db'}"
    if request.param == "duckdb":
        return str(tmp_path / "x.ducklake"), str(tmp_path / "x.ducklake")
    url = request.getfixturevalue("pg_url")
    return url, f"postgres:{url}"


@pytest.fixture
def ask(place, oracle, tmp_path):
    """Hand out a function that runs statements in DuckDB and returns the rows of each."""

    def run(*statements):
        with oracle(place[1], data_path=f"{tmp_path}/files/", data_inlining_row_limit=0) as duck:
            return [duck.execute(statement).fetchall() for statement in statements]

    return run


def test_views_are_read_like_tables_also_at_older_versions(place, ask):
    ask(*MADE)
    with mere.connect(place[0]) as lake:
        found = [lake.sql(query).fetchall() for query in READ]
        lake.close()
        assert found == ask(*READ)
        assert lake.sql("FROM v ORDER BY x", version=5).fetchall() == [(n,) for n in range(4, 10)]
        lake.tag("before")
        lake.table("t").append([{"i": 100, "s": "z"}])
        assert lake.sql("SELECT count(*) FROM s2.w").fetchall() == [(3,)]
        assert lake.sql("SELECT count(*) FROM s2.w", tag="before").fetchall() == [(2,)]
        with pytest.raises(TableNotFoundError, match="v2"):
            lake.sql("FROM v2", version=5)


def test_views_are_listed_apart_from_tables(place, ask):
    ask(*MADE)
    with mere.connect(place[0]) as lake:
        assert lake.tables() == ["main.t", "s2.u"]
        assert list(lake.views()) == ["main.v", "main.v2", "s2.w", "s2.w2"]
        assert list(lake.views("s2")) == ["s2.w", "s2.w2"]
        assert "i > 7" in lake.views()["main.v"]
        with pytest.raises(TableNotFoundError, match="'v' is a view"):
            lake.table("v")
        with pytest.raises(AlreadyExistsError, match="is a view"):
            lake.create_table("v", {"i": "int64"})


def test_no_commit_breaks_a_view(place, ask):
    ask(*MADE)
    with mere.connect(place[0]) as lake:
        table = lake.table("t")
        table.append([{"i": 9, "s": "b"}])
        table.evolve().add_column("z", "int64", default=1).comment("seen").commit()
        table.restore(version=2)
        with lake.transaction() as tx:
            tx.create_table("other", {"i": "int64"})
            tx.table("t").append([{"i": 8, "s": "c"}])
            assert tx.sql("SELECT count(*) FROM v").fetchall() == [(3,)]
        lake.create_schema("more")
        lake.expire(0)
        lake.vacuum(0)
        found = [lake.sql(query).fetchall() for query in READ]
        lake.close()
        assert list(map(sorted, found)) == list(map(sorted, ask(*READ)))


def test_a_view_that_needs_what_only_duckdb_keeps_is_refused_by_name(place, ask):
    ask(
        *MADE,
        "CREATE MACRO twice(a) AS a * 2",
        "CREATE VIEW macros AS SELECT twice(i) AS d FROM t",
        "CREATE VIEW past AS SELECT i FROM t AT (VERSION => 2)",
    )
    with mere.connect(place[0]) as lake:
        for name in ("macros", "past"):
            with pytest.raises(UnsupportedError, match=f"the view main.{name} cannot be read"):
                lake.sql(f"FROM {name}")
        assert lake.sql("SELECT count(*) FROM v").fetchall() == [(2,)]
