"""Commands that change a table: delete, update, upsert, deduplicate, restore."""

import argparse
from typing import TYPE_CHECKING

from mere import ingesting, registry
from mere.cli import arguments
from mere.cli.answer import Answer, told
from mere.cli.command import Call, Command
from mere.errors import InvalidInputError

if TYPE_CHECKING:
    from mere import Report


def reported(report: "Report") -> Answer:
    """Show what a verb did, or would do."""
    data = {name: value for name, value in report.items() if name not in ("files", "gone")}
    return told(data, str(report))


def _delete_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "--where", metavar="SQL", required=True, help="which rows: \"day < '2026-01-01'\""
    )
    arguments.dry_run(parser)
    arguments.work(parser)


def _delete(call: Call) -> Answer:
    table = call.lake().table(call["table"])
    return reported(table.delete(call["where"], dry_run=call["dry_run"]))


DELETE = Command(
    name="delete", summary="delete rows of a table", arguments=_delete_arguments, run=_delete
)


def _update_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "--set",
        metavar="COLUMN=SQL",
        dest="assignments",
        action="append",
        required=True,
        help='a column and its new value: "spread=ask - bid", "side=\'ask\'"; may be repeated',
    )
    parser.add_argument("--where", metavar="SQL", help="which rows; default: all")
    arguments.dry_run(parser)
    arguments.work(parser)


def _update(call: Call) -> Answer:
    assigned: dict[str, str] = {}
    for text in call["assignments"]:
        column, equals, value = text.partition("=")
        if not equals or not value.strip():
            msg = f"cannot read --set {text!r}"
            raise InvalidInputError(msg, hint='write --set "column=value", the value in SQL')
        assigned[column.strip()] = value.strip()
    table = call.lake().table(call["table"])
    return reported(table.update(set=assigned, where=call["where"], dry_run=call["dry_run"]))


UPDATE = Command(
    name="update", summary="change rows of a table", arguments=_update_arguments, run=_update
)


def _upsert_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument("src", metavar="SRC", help="the rows: a file, folder or glob")
    parser.add_argument("--on", metavar="A,B", required=True, help="the key")
    parser.add_argument("--update", metavar="A,B", help="which columns; default: all but the key")
    parser.add_argument("--no-insert", action="store_true", help="leave rows with new keys out")
    parser.add_argument(
        "--format", choices=("parquet", "csv", "json"), help="default: told by the names"
    )
    for name, about in (
        ("option", "how CSV is spelled: delimiter=;, header=false, null=NA; may be repeated"),
        ("source-option", "what the storage of SRC needs, as --storage-option; may be repeated"),
    ):
        parser.add_argument(
            f"--{name}", metavar="KEY=VALUE", action="append", type=arguments.pair, help=about
        )
    arguments.dry_run(parser)
    arguments.work(parser)


def _upsert(call: Call) -> Answer:
    table = call.lake().table(call["table"])
    data = ingesting.read_files(
        call["src"],
        registry.schema_of(table.schema),
        format=call["format"],
        options=dict(call["option"] or ()),
        storage_options=dict(call["source_option"] or ()) or None,
    )
    report = table.upsert(
        data,
        on=arguments.names(call["on"]),
        update=arguments.names(call["update"]) if call["update"] else None,
        insert=not call["no_insert"],
        dry_run=call["dry_run"],
    )
    return reported(report)


UPSERT = Command(
    name="upsert",
    summary="update rows by their keys from files, and insert those with new ones",
    arguments=_upsert_arguments,
    run=_upsert,
)


def _deduplicate_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument("--on", metavar="A,B", required=True, help="the key")
    parser.add_argument(
        "--order-by", metavar="A,B", help="what decides which row stays: ts, or 'ts DESC'"
    )
    parser.add_argument(
        "--keep", choices=("first", "last"), default="first", help="default: %(default)s"
    )
    arguments.dry_run(parser)
    arguments.work(parser)


def _deduplicate(call: Call) -> Answer:
    order = call["order_by"]
    report = (
        call.lake()
        .table(call["table"])
        .deduplicate(
            arguments.names(call["on"]),
            order_by=arguments.names(order) if order else None,
            keep=call["keep"],
            dry_run=call["dry_run"],
        )
    )
    return reported(report)


DEDUPLICATE = Command(
    name="deduplicate",
    summary="keep one row of each key, and delete the others",
    arguments=_deduplicate_arguments,
    run=_deduplicate,
)


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.moment(parser, required=True)
    parser.add_argument("--message", metavar="TEXT", help="what the history says of it")
    arguments.dry_run(parser)


def _restore(call: Call) -> Answer:
    table = call.lake().table(call["table"])
    if not call["dry_run"]:
        return reported(table.restore(**call.moment(), message=call["message"]))
    then, now = table.scan(**call.moment()), table.scan()
    data = {
        "operation": "restore",
        "table": table.name,
        "dry_run": True,
        "to_version": then.version,
        "rows_before": now.count(),
        "rows_after": then.count(),
    }
    said = f"would restore {table.name} to version {then.version}: "
    said += f"{data['rows_after']:,} rows instead of {data['rows_before']:,}"
    return told(data, said)


RESTORE = Command(
    name="restore",
    summary="make a table again what it was, as a new version; no file is copied",
    arguments=_restore_arguments,
    run=_restore,
)
