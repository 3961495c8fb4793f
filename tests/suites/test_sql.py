"""DuckDB answers queries over tables that are looked up only when a query names them."""

from dataclasses import replace

import duckdb
import pytest

from mere.errors import InvalidInputError, TableNotFoundError
from mere.model.predicate import bind
from mere.readers import sql
from mere.sqltext import parse
from mere.stores import open_store
from mere.testing.predicates import TRADES, trades
from mere.testing.questions import QUESTIONS
from mere.testing.readers import reading, write_file

NAMES = ('main."odd ""one"', "main.t", "market.trades", '"a.b"."select"')


@pytest.fixture
def lake(tmp_path):
    """Hand out a provider of four tables, and what it was asked for."""
    store = open_store(str(tmp_path / "lake"))
    files = [
        write_file(store, f"{i}.parquet", trades()[i::2], TRADES, group_rows=10) for i in range(2)
    ]
    plain = reading(store, TRADES, files)
    evolved, _ = next(q for q in QUESTIONS if q.name == "an evolved table").pose(
        open_store(str(tmp_path / "other"))
    )
    asked = []

    def provide(name, where=None):
        asked.append((name, where))
        if name == "main.t":
            return evolved
        return replace(plain, where=None if where is None else bind(parse(where), TRADES))

    return provide, asked


def rows(lake, query):
    return sql.relation(query, NAMES, lake[0]).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM market.trades",
        "SELECT count(*) FROM Market.TRADES AS x",
        'SELECT count(*) FROM main."odd ""one"',
        'SELECT count(*) FROM "odd ""one"',
        'SELECT count(*) FROM "a.b"."select" s',
        "WITH trades AS (SELECT * FROM market.trades) SELECT count(*) FROM trades",
    ],
)
def test_tables_go_by_their_names(lake, query):
    assert rows(lake, query) == [(60,)]
    assert len(lake[1]) == 1


def test_tables_that_a_query_does_not_name_are_not_looked_up(lake):
    assert rows(lake, "SELECT 'market.trades'") == [("market.trades",)]
    assert lake[1] == []


def test_several_tables_are_joined(lake):
    query = 'SELECT count(*) FROM market.trades a JOIN t b ON a.id = b."ID" WHERE b.flag'
    found = {row["id"] for row in trades()} & set(range(6))
    assert rows(lake, query) == [(len(found),)]
    assert {name for name, _ in lake[1]} == {"market.trades", "main.t"}


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT id FROM market.trades WHERE id > 50", "id > 50"),
        ("SELECT t.id FROM market.trades t WHERE t.id > 50 ORDER BY t.id", "id > 50"),
        ("FROM market.trades SELECT id WHERE trades.id > 50", "id > 50"),
    ],
)
def test_the_condition_of_a_query_over_one_table_prunes_its_files(lake, query, condition):
    expected = {row["id"] for row in trades() if row["id"] is not None and row["id"] > 50}
    assert {found for (found,) in rows(lake, query)} == expected
    assert lake[1] == [("market.trades", condition)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM market.trades WHERE id > (SELECT 50)",
        "SELECT count(*) FROM market.trades a, market.trades b WHERE a.id = b.id AND a.id > 50",
        "SELECT count(*) FROM market.trades LEFT JOIN (SELECT 1 AS one) ON true WHERE id > 50",
        "SELECT count(*) FROM market.trades WHERE id > 50 UNION ALL SELECT 3 WHERE false",
    ],
)
def test_other_conditions_are_left_to_duckdb(lake, query):
    expected = sum(row["id"] is not None and row["id"] > 50 for row in trades())
    assert rows(lake, query) == [(expected,)]
    assert {where for _, where in lake[1]} == {None}


def test_a_condition_that_only_duckdb_understands_is_left_to_it(lake):
    query = "SELECT count(*) FROM market.trades WHERE list_contains([1, 2, 3], id)"
    assert rows(lake, query) == [(3,)]
    assert rows(lake, "SELECT id + 1 AS b FROM market.trades WHERE b = 3") == [(3,)]


def test_a_pivot_finds_its_table(lake):
    found = rows(lake, "PIVOT market.trades ON ok USING count(*) GROUP BY side")
    assert len(found) == 7


def test_the_answer_outlives_the_call(lake):
    relation = sql.relation("SELECT id FROM market.trades", NAMES, lake[0])
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert relation.filter("id = 7").fetchall() == relation.filter("id = 7").fetchall() == [(7,)]
    assert relation.to_arrow_table().num_rows == len(relation.df()) == relation.pl().height == 60


def test_an_unknown_table_is_named_with_what_there_is(lake):
    with pytest.raises(TableNotFoundError, match="nope") as caught:
        rows(lake, "SELECT * FROM nope")
    assert "market.trades" in str(caught.value.hint)


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT nope FROM market.trades"])
def test_a_query_that_duckdb_does_not_understand_is_refused(lake, query):
    with pytest.raises(InvalidInputError, match=r"understand the query"):
        rows(lake, query)


def test_a_statement_without_rows_is_refused(lake):
    with pytest.raises(InvalidInputError, match="only reads"):
        sql.relation("CREATE TABLE x (a INTEGER)", NAMES, lake[0])


def test_variables_of_python_are_no_tables(lake):
    with pytest.raises(TableNotFoundError):
        rows(lake, "SELECT * FROM tables")
