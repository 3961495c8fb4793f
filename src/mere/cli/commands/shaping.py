"""Commands that keep a table in shape: compact, cluster, repartition."""

import argparse
from typing import Any

from mere.cli import arguments
from mere.cli.answer import Answer
from mere.cli.command import Call, Command
from mere.cli.commands.changing import reported


def _sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target-mb", metavar="N", type=float, default=128.0)
    parser.add_argument("--where", metavar="SQL", help="only files that can hold a matching row")
    help_ = "how much is held in memory at a time"
    parser.add_argument("--memory-mb", metavar="N", type=arguments.positive, help=help_)
    parser.add_argument("--message", metavar="TEXT", help="what the history says of it")
    arguments.dry_run(parser)
    arguments.work(parser)


def _options(call: Call, *more: str) -> dict[str, Any]:
    """Return the options that all of these commands have, and some more."""
    names = ("target_mb", "where", "memory_mb", "message", "dry_run", *more)
    return {name: call[name] for name in names}


def _compact_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument("--target-rows", metavar="N", type=int, help="how many rows a file has")
    parser.add_argument("--min-files", metavar="N", type=int, default=2)
    parser.add_argument("--max-file-mb", metavar="N", type=float, help="only files below this")
    _sizes(parser)


def _compact(call: Call) -> Answer:
    options = _options(call, "target_rows", "min_files", "max_file_mb")
    return reported(call.lake().table(call["table"]).compact(**options))


COMPACT = Command(
    name="compact",
    summary="merge small files into few; no version shows other rows",
    arguments=_compact_arguments,
    run=_compact,
)


def _cluster_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument("--by", metavar="COLUMNS", required=True, help="the columns: product_id,ts")
    parser.add_argument("--order", choices=("linear", "zorder", "hilbert"), default="linear")
    parser.add_argument(
        "--full", action="store_true", help="also order anew what is in order already"
    )
    _sizes(parser)


def _cluster(call: Call) -> Answer:
    by, options = arguments.names(call["by"]), _options(call, "order", "full")
    return reported(call.lake().table(call["table"]).cluster(by, **options))


CLUSTER = Command(
    name="cluster",
    summary="order rows within and across files, so that filters leave out most files",
    arguments=_cluster_arguments,
    run=_cluster,
)


def _repartition_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "--by", metavar="KEYS", required=True, help="the keys: region,month(ts); '' for none"
    )
    parser.add_argument("--into", metavar="NEW", help="a new table that takes the rows")
    _sizes(parser)


def _repartition(call: Call) -> Answer:
    by = arguments.names(call["by"]) if call["by"].strip() else []
    return reported(call.lake().table(call["table"]).repartition(by, **_options(call, "into")))


REPARTITION = Command(
    name="repartition",
    summary="bring the rows of a table into other partitions, in one commit",
    arguments=_repartition_arguments,
    run=_repartition,
)
