"""Commands that look: tables, show, sql, history."""

import argparse
from typing import TYPE_CHECKING, Any

from mere.cli import arguments
from mere.cli.answer import Answer, Facts, Part, Rows, listed, told
from mere.cli.cells import records
from mere.cli.command import Call, Command
from mere.errors import InvalidInputError
from mere.registry import load

if TYPE_CHECKING:
    from mere import Scan, Table

_LISTS = ("files", "partitions", "row_groups")
_PREVIEW = 10
_ON_TERMINAL = 200


def _tables_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("schema", nargs="?", metavar="SCHEMA", help="only the tables of this one")


def _tables(call: Call) -> Answer:
    found = call.lake().tables(call["schema"])
    return Answer(data=found, parts=tuple(found))


TABLES = Command(name="tables", summary="list the tables", arguments=_tables_arguments, run=_tables)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.moment(parser)
    parser.add_argument("--where", metavar="SQL", help="show rows that match: \"side = 'ask'\"")
    parser.add_argument("--columns", metavar="A,B", help="show these columns, in this order")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=arguments.at_least_none,
        default=_PREVIEW,
        help=f"how many rows to show; default: {_PREVIEW}",
    )
    group = parser.add_mutually_exclusive_group()
    for name in _LISTS:
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest="list",
            action="store_const",
            const=name,
            help=f"list the {name.replace('_', ' ')} instead",
        )


def _show(call: Call) -> Answer:
    table = call.lake().table(call["table"])
    if call["list"]:
        return _listing(call, table)
    scan = table.scan(**call.moment())
    facts, columns = _facts(table, scan), _columns(table, scan)
    data: dict[str, Any] = {**facts, "columns": columns.to_pylist()}
    parts: tuple[Part, ...] = (Facts(data=facts), Rows(data=columns, title="columns"))
    if call["limit"]:
        names = arguments.names(call["columns"]) if call["columns"] else None
        some = table.scan(call["where"], names, limit=call["limit"], version=scan.version)
        rows = Rows(data=some.to_arrow(), title="rows", null="NULL")
        data, parts = {**data, "preview": records(rows.data)}, (*parts, rows)
    return told(data, *parts)


def _listing(call: Call, table: "Table") -> Answer:
    if call["where"] or call["columns"] or any(call.moment().values()):
        msg = f"--{call['list'].replace('_', '-')} lists the newest version as a whole"
        raise InvalidInputError(msg, hint="leave out --where, --columns, --version and the like")
    found = getattr(table, call["list"])()
    return listed(Rows(data=found))


def _facts(table: "Table", scan: "Scan") -> dict[str, Any]:
    """Return what is worth knowing of a table; what is said of it is what is said now."""
    found = scan.explain()
    return {
        "table": table.name,
        "version": scan.version,
        "comment": table.comment,
        "rows": scan.count(),
        "files": found.files_total,
        "bytes": found.bytes_total,
        "partition_by": list(table.partition_by),
        "sort_by": list(table.sort_by),
        "checks": table.checks,
        "options": table.options,
    }


def _columns(table: "Table", scan: "Scan") -> Any:
    comments = table.column_comments
    fields = list(scan.schema)
    return load("pyarrow:table")(
        {
            "column": [field.name for field in fields],
            "type": [str(field.type) for field in fields],
            "null": [field.nullable for field in fields],
            "comment": [comments.get(field.name) for field in fields],
        }
    )


SHOW = Command(
    name="show",
    summary="describe a table and show its first rows, or list its files",
    arguments=_show_arguments,
    run=_show,
)


def _sql_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help='such as "SELECT count(*) FROM trades"')
    arguments.moment(parser)


def _sql(call: Call) -> Answer:
    relation = call.lake().sql(call["query"], **call.moment())
    stream = load("pyarrow:RecordBatchReader").from_stream(relation)
    return listed(Rows(data=stream, most=_ON_TERMINAL, null="NULL"))


SQL = Command(
    name="sql",
    summary="ask DuckDB over all tables of one version",
    arguments=_sql_arguments,
    run=_sql,
)


def _history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", nargs="?", metavar="TABLE", help="only what changed this table")


def _history(call: Call) -> Answer:
    lake = call.lake()
    name = call["table"]
    return listed(Rows(data=lake.table(name).history() if name else lake.snapshots()))


HISTORY = Command(
    name="history",
    summary="list the versions of the lake, or of one table",
    arguments=_history_arguments,
    run=_history,
)
