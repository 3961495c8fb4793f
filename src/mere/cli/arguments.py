"""The arguments that several commands share, each defined once."""

import argparse

from mere.errors import InvalidInputError


def lake(parser: argparse.ArgumentParser) -> None:
    """Name a lake, and how to reach its catalog and its files."""
    group = parser.add_argument_group("the lake")
    group.add_argument(
        "--lake",
        metavar="URL",
        default=argparse.SUPPRESS,
        help="the catalog: shop.db, postgresql://user@host/db; default: $MERE_LAKE",
    )
    group.add_argument(
        "--data-path",
        metavar="URL",
        default=argparse.SUPPRESS,
        help="where the files lie; needed once, a lake remembers it",
    )
    group.add_argument(
        "--storage-option",
        metavar="KEY=VALUE",
        dest="storage_options",
        action="append",
        type=pair,
        default=argparse.SUPPRESS,
        help="what the store needs: region, endpoint, keys; env:NAME as a value looks NAME up",
    )
    group.add_argument(
        "--catalog-schema",
        metavar="NAME",
        default=argparse.SUPPRESS,
        help="the PostgreSQL schema that holds the catalog; default: public",
    )
    group.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON, for scripts"
    )


def work(parser: argparse.ArgumentParser) -> None:
    """Say where and how files are written and rewritten."""
    group = parser.add_argument_group("where the work is done")
    group.add_argument("--spark", action="store_true", help="on Spark instead of local threads")
    group.add_argument("--workers", metavar="N", type=positive, help="how many local threads")
    group.add_argument("--kernel", choices=("pyarrow", "duckdb"), help="default: pyarrow")


def dry_run(parser: argparse.ArgumentParser) -> None:
    """Let a command only say what it would do."""
    parser.add_argument("--dry-run", action="store_true", help="change nothing, say what would be")


def moment(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Choose a version by its number, a time or a tag."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument("--version", metavar="N", type=int, help="as of this version")
    group.add_argument("--as-of", metavar="TIME", help="as of this time, such as 2026-01-31T12:00")
    group.add_argument("--tag", metavar="NAME", help="as of the version that has this tag")


def table(parser: argparse.ArgumentParser) -> None:
    """Name a table."""
    parser.add_argument("table", metavar="TABLE", help='"table" or "schema.table"')


def positive(text: str) -> int:
    """Read a whole number above 0."""
    number = int(text)
    if number < 1:
        msg = f"must be 1 or more, got {text}"
        raise argparse.ArgumentTypeError(msg)
    return number


def at_least_none(text: str) -> int:
    """Read a whole number, 0 included."""
    number = int(text)
    if number < 0:
        msg = f"must be 0 or more, got {text}"
        raise argparse.ArgumentTypeError(msg)
    return number


def names(text: str) -> list[str]:
    """Read names with commas between them; those inside brackets belong to a transform.

    Raises:
        InvalidInputError: If a name is empty.
    """
    found, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    stripped = [name.strip() for name in found]
    if not all(stripped):
        msg = f"a name is empty in {text!r}"
        raise InvalidInputError(msg, hint="write a,b,c")
    return stripped


def pair(text: str) -> tuple[str, str]:
    """Read KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        msg = f"write KEY=VALUE, got {text.partition('=')[0]!r}"
        raise argparse.ArgumentTypeError(msg)
    return key, value
