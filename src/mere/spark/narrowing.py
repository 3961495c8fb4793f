"""Let Spark's own filters leave out files: while it plans, it asks, and the catalog answers.

Nothing that is answered here decides about rows. A filter that is not understood keeps all files,
and so does a catalog that cannot be reached.
"""

import json
import logging
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from mere.errors import MereError
from mere.model.expr import Expr, col, conjunction, disjunction, lit
from mere.model.files import DataFile
from mere.model.predicate import bind
from mere.model.schema import Schema

Narrow: TypeAlias = Callable[[str], str]
"""Takes filters as JSON; answers the places of the files that can match, or `*` for all."""

ALL = "*"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Columns whose values Spark holds just as the table means them.
PLAIN = frozenset(
    {"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float64"}
    | {"date", "varchar", "timestamp", "timestamp_s", "timestamp_ms", "timestamptz"}
)


def answering(spark: SparkSession, narrow: Narrow) -> Any:
    """Return an object that Spark's planner can ask."""
    start: Any = ensure_callback_server_started
    start(spark.sparkContext._gateway)  # noqa: SLF001  as foreachBatch does
    return _Answering(narrow)


class _Answering:
    """A `java.util.function.Function`; it answers in whatever thread Spark plans in."""

    def __init__(self, narrow: Narrow) -> None:
        self._narrow = narrow

    def apply(self, asked: str) -> str:
        """Answer, and never let Spark's planning fail."""
        try:
            return self._narrow(asked)
        except Exception:
            logging.getLogger(__name__).warning("no files were left out", exc_info=True)
            return ALL

    class Java:
        """What py4j must know."""

        implements = ("java.util.function.Function",)


def narrowing(
    find: Callable[[Expr], Collection[int]],
    files: Sequence[DataFile],
    columns: Schema,
    named: Callable[[str], str | None],
) -> Narrow:
    """Return what answers for these files.

    `find` tells the ids of the files that can match, `named` the table's column that Spark knows
    by a name.
    """
    places = {file.id: place for place, file in enumerate(files)}

    def narrow(asked: str) -> str:
        found = (_bound(item, columns, named) for item in json.loads(asked))
        wishes = [expr for expr in found if expr is not None]
        if not wishes:
            return ALL
        kept = sorted(places[number] for number in find(conjunction(wishes)) if number in places)
        return ",".join(map(str, kept))

    return narrow


def _bound(item: Any, columns: Schema, named: Callable[[str], str | None]) -> Expr | None:
    try:
        return bind(_read(item, columns, named), columns)
    except (MereError, ValueError, OverflowError, KeyError):  # more than we understand
        return None


def _read(item: Any, columns: Schema, named: Callable[[str], str | None]) -> Expr:
    """Read one node.

    Raises:
        KeyError: If something has no meaning here, or not surely the same.
    """
    if "column" in item:
        name = named(item["column"])
        kind = columns.field(name).type if name is not None else ""
        if name is None or not (kind in PLAIN or kind.startswith("decimal(")):
            raise KeyError(item["column"])
        return col(name)
    if "type" in item:
        kind = item["type"].partition("(")[0]
        return lit(_VALUES[kind](item["value"]))
    args = [_read(arg, columns, named) for arg in item["args"]]
    return _CALLS[item["op"]](args)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _date(text: str) -> date:
    return _EPOCH.date() + timedelta(days=int(text))


def _moment(text: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(text))


def _clock(text: str) -> datetime:
    return _moment(text).replace(tzinfo=None)


_VALUES: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "double": float,
    "decimal": Decimal,
    "string": str,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _clock,
}
_CALLS: dict[str, Callable[[list[Expr]], Expr]] = {
    "and": conjunction,
    "or": disjunction,
    "not": lambda args: ~args[0],
    "eq": lambda args: args[0] == args[1],
    "same": lambda args: (args[0] == args[1]) & args[0].is_not_null(),
    "gt": lambda args: args[0] > args[1],
    "ge": lambda args: args[0] >= args[1],
    "lt": lambda args: args[0] < args[1],
    "le": lambda args: args[0] <= args[1],
    "is_null": lambda args: args[0].is_null(),
    "is_not_null": lambda args: args[0].is_not_null(),
    "in": lambda args: args[0].is_in(args[1:]),
    "starts_with": lambda args: args[0].starts_with(args[1]),
}
