"""`mere ingest`: load files of others, each once."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from mere.cli import arguments
from mere.cli.answer import Answer, Part, Rows
from mere.cli.command import Call, Command
from mere.registry import load

if TYPE_CHECKING:
    from mere.model.loading import Ingested

_MEGABYTES = 1024


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("src", metavar="SRC", help="a folder, file or glob: in/, 's3://raw/*.csv'")
    arguments.table(parser)
    parser.add_argument(
        "--format", choices=("parquet", "csv", "json"), help="default: told by the names"
    )
    parser.add_argument(
        "--column",
        metavar="NAME=TYPE",
        dest="columns",
        action="append",
        type=arguments.pair,
        help="a column of a table that is made; may be repeated; default: those of the files",
    )
    parser.add_argument(
        "--partition-by", metavar="A,B", help='how a table that is made is split: "day(ts)"'
    )
    _rules(parser)
    for name, about in (
        ("option", "how CSV is spelled: delimiter=;, header=false, null=NA; may be repeated"),
        ("source-option", "what the storage of SRC needs, as --storage-option; may be repeated"),
    ):
        parser.add_argument(
            f"--{name}", metavar="KEY=VALUE", action="append", type=arguments.pair, help=about
        )
    parser.add_argument("--message", metavar="TEXT", help="what the history says of it")
    arguments.dry_run(parser)
    arguments.work(parser)


def _rules(parser: argparse.ArgumentParser) -> None:
    """Say what becomes of columns and files that are not as they should be."""
    parser.add_argument("--merge-schema", action="store_true", help="add columns, widen types")
    parser.add_argument("--no-hive", action="store_true", help="take no columns from folder names")
    parser.add_argument(
        "--changed",
        choices=("report", "load", "error"),
        default="report",
        help="what becomes of files that changed since they were loaded; default: report",
    )
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what a file that cannot be loaded does; default: stop",
    )
    parser.add_argument(
        "--batch-mb",
        metavar="N",
        type=arguments.positive,
        default=_MEGABYTES,
        help=f"how many megabytes of files make one commit; default: {_MEGABYTES}",
    )


def _ingest(call: Call) -> Answer:
    keys = call["partition_by"]
    done = call.lake().ingest(
        call["src"],
        call["table"],
        format=call["format"],
        schema=dict(call["columns"]) if call["columns"] else None,
        partition_by=arguments.names(keys) if keys else (),
        merge_schema=call["merge_schema"],
        hive=not call["no_hive"],
        changed=call["changed"],
        on_error=call["on_error"],
        batch_mb=call["batch_mb"],
        options=dict(call["option"] or ()),
        storage_options=dict(call["source_option"] or ()) or None,
        message=call["message"],
        progress=partial(_tell, call),
        dry_run=call["dry_run"],
    )
    parts: tuple[Part, ...] = (str(done),)
    if done.dry_run and done.sources:
        parts = (Rows(data=load("pyarrow:table")({"source": list(done.sources)})), *parts)
    return Answer(data=done.as_dict(), parts=parts, code=1 if done.failed else 0)


def _tell(call: Call, done: "Ingested", left: int) -> None:
    at = f"version {done.versions[-1]}" if done.versions else "no rows yet"
    call.say(f"{at}: {len(done.sources):,} files, {done.rows:,} rows; {left:,} files left")


INGEST = Command(
    name="ingest",
    summary="load files of Parquet, CSV or JSON into a table, each file once",
    arguments=_arguments,
    run=_ingest,
)
