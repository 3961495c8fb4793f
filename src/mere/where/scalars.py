"""Read one Arrow value as a literal, losing none of it."""

from datetime import UTC
from typing import Any

import pyarrow as pa

from mere.errors import InvalidInputError
from mere.model.expr import Expr, lit
from mere.model.values import ns_datetime

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


def from_scalar(scalar: Any) -> Expr:
    """Return a pyarrow scalar as a literal.

    Raises:
        InvalidInputError: If no column can hold such a value.
    """
    kind = scalar.type
    if not scalar.is_valid:
        return lit(None)
    if pa.types.is_timestamp(kind):
        return from_moment(scalar.value, kind.unit, zoned=kind.tz is not None)
    if pa.types.is_nested(kind):
        msg = f"a value of type {kind} cannot be compared"
        raise InvalidInputError(msg)
    return lit(scalar.as_py())


def from_moment(count: int, unit: str, *, zoned: bool) -> Expr:
    """Return a count of s, ms, us or ns since 1970 as a literal."""
    nanoseconds = count * _NANOSECONDS[unit]
    if nanoseconds % 1000 and not zoned:
        return Expr("literal", (nanoseconds,), "timestamp_ns")
    if nanoseconds % 1000:
        msg = f"a moment with a zone goes down to microseconds, got {nanoseconds} ns"
        raise InvalidInputError(msg)
    moment = ns_datetime(nanoseconds)
    return lit(moment.replace(tzinfo=UTC) if zoned else moment)
