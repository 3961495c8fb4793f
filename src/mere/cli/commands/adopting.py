"""`mere adopt`: make existing Parquet a table where it lies."""

import argparse

from mere.cli import arguments
from mere.cli.answer import Answer
from mere.cli.command import Call, Command
from mere.cli.commands.changing import reported
from mere.errors import InvalidInputError


def _adopt_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SRC", help="a folder, a file or a glob, here or at a URL; quote a glob"
    )
    arguments.table(parser)
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--partition-by",
        metavar="KEYS",
        help='the keys of a new table, "day(ts),side"; default: what folders such as day=1/ say',
    )
    group.add_argument("--flat", action="store_true", help="folders mean nothing")
    parser.add_argument(
        "--merge-schema", action="store_true", help="let files bring new and wider columns"
    )
    parser.add_argument("--message", metavar="TEXT", help="what the version says of itself")
    arguments.dry_run(parser)


def _adopt(call: Call) -> Answer:
    keys = call["partition_by"]
    if keys == "":
        msg = "--partition-by names no key"
        raise InvalidInputError(msg, hint="--flat leaves folders out")
    partition_by = None if call["flat"] else arguments.names(keys) if keys else "hive"
    report = call.lake().adopt(
        call["source"],
        call["table"],
        partition_by=partition_by,
        merge_schema=call["merge_schema"],
        message=call["message"],
        dry_run=call["dry_run"],
    )
    return reported(report)


ADOPT = Command(
    name="adopt",
    summary="make existing Parquet a table, or part of one, where it lies",
    arguments=_adopt_arguments,
    run=_adopt,
)
