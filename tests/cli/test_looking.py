"""The commands that look at a lake show what the library knows."""

import pytest

pytestmark = pytest.mark.usefixtures("lake")


def test_tables_lists_one_name_a_line(lake, mere_):
    lake.create_schema("market")
    lake.create_table("market.quotes", {"a": "int64"})
    assert mere_("tables").out == "main.trades\nmarket.quotes\n"
    assert mere_("tables", "market", "--json").json == ["market.quotes"]


def test_show_describes_a_table_and_its_first_rows(lake, mere_):
    lake.table("trades").evolve().comment("all\ttrades").commit()
    shown = mere_("show", "trades", "--limit", 1, "--where", "id > 4", "--columns", "ts,id")
    assert shown.code == 0
    assert ["comment", "all\\ttrades"] in shown.lines
    assert ["rows", "12"] in shown.lines
    assert ["partition_by", "side"] in shown.lines
    assert ["sort_by", "ts DESC"] in shown.lines
    assert ["side", "string", "true", ""] in shown.lines
    columns, row = shown.lines[-2:]
    assert columns == ["ts", "id"]
    assert int(row[1]) > 4


def test_show_for_scripts_is_one_document(lake, mere_):
    lake.table("trades").append([{"id": None, "side": "bid", "ts": None}])
    found = mere_("show", "trades", "--json", "--where", "id IS NULL").json
    assert found["rows"] == 13
    assert found["files"] == 3
    assert found["partition_by"] == ["side"]
    assert found["preview"] == [{"id": None, "side": "bid", "ts": None}]


def test_show_looks_back_in_time(lake, mere_):
    version = lake.version
    lake.table("trades").append([{"id": 99}])
    lake.tag("before", version=version)
    for asked in (("--version", version), ("--tag", "before")):
        shown = mere_("show", "trades", "--json", *asked).json
        assert (shown["version"], shown["rows"]) == (version, 12)


@pytest.mark.parametrize(
    ("asked", "columns", "count"),
    [("files", "path", 2), ("partitions", "partition", 2), ("row-groups", "path", 2)],
)
def test_show_lists_what_a_table_is_made_of(mere_, asked, columns, count):
    shown = mere_("show", "trades", f"--{asked}")
    assert shown.lines[0][0] == columns
    assert len(shown.lines) == count + 1
    assert len(mere_("show", "trades", f"--{asked}", "--json").json) == count


def test_a_listing_takes_no_condition(mere_):
    shown = mere_("show", "trades", "--files", "--where", "id = 1")
    assert shown.code == 2
    assert "newest version as a whole" in shown.err


def test_sql_answers_lines_with_tabs_and_says_null(mere_):
    shown = mere_("sql", "SELECT max(id) AS top, NULL AS gap, 'a\tb' AS text FROM trades")
    assert shown.out == "top\tgap\ttext\n11\tNULL\ta\\tb\n"


def test_sql_answers_scripts_with_values_that_json_has(mere_):
    query = """
        SELECT 1 AS a, 2 AS a, 1.5::DOUBLE AS f, 'nan'::DOUBLE AS n, 1.10::DECIMAL(9, 2) AS d,
            DATE '2026-01-02' AS day, '\\x00\\xff'::BLOB AS raw, [1, NULL] AS list,
            {'x': DATE '2026-01-02'} AS struct, MAP {'k': 1} AS map, NULL AS nothing,
            TIMESTAMP_NS '2026-01-02 03:04:05.123456789' AS ns, TIMESTAMP '9999-12-31' AS far
    """
    (row,) = mere_("sql", query, "--json").json
    assert row == {
        "a": 1,
        "a_2": 2,
        "f": 1.5,
        "n": "nan",
        "d": "1.10",
        "day": "2026-01-02",
        "raw": "00ff",
        "list": [1, None],
        "struct": {"x": "2026-01-02"},
        "map": {"k": 1},
        "nothing": None,
        "ns": "2026-01-02 03:04:05.123456789",
        "far": "9999-12-31 00:00:00.000000",
    }


def test_sql_without_rows_is_an_empty_list(mere_):
    assert mere_("sql", "SELECT * FROM trades WHERE id < 0", "--json").json == []
    assert mere_("sql", "SELECT id FROM trades WHERE id < 0").out == "id\n"


def test_sql_looks_back_in_time(lake, mere_):
    version = lake.version
    lake.table("trades").append([{"id": 99}])
    query = "SELECT count(*) AS n FROM trades"
    assert mere_("sql", query, "--json").json == [{"n": 13}]
    assert mere_("sql", query, "--json", "--version", version).json == [{"n": 12}]


def test_a_query_that_is_not_understood_is_a_wrong_call(mere_):
    shown = mere_("sql", "SELECT FROM WHERE")
    assert shown.code == 2
    assert shown.err.startswith("mere: cannot understand the query")


def test_history_is_of_the_lake_or_of_one_table(lake, mere_):
    lake.create_table("other", {"a": "int64"})
    assert [row["version"] for row in mere_("history", "--json").json] == [0, 1, 2, 3]
    rows = mere_("history", "trades", "--json").json
    assert [(row["operation"], row["message"]) for row in rows] == [
        ("create", None),
        ("append", "a dozen"),
    ]
