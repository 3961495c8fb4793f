"""Read and spell the times of a catalog, whichever way its database hands them out."""

from datetime import UTC, datetime, timedelta
from typing import Any

from mere.errors import CorruptionError
from mere.model.values import parse_ns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_text(moment: datetime) -> str:
    """Spell a time as every dialect takes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00")


def as_time(value: Any) -> datetime:
    """Read a time: a text (no zone means UTC), microseconds since 1970, or a datetime.

    Raises:
        CorruptionError: If it is none of them.
    """
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    nanoseconds = parse_ns(value) if isinstance(value, str) else None
    if nanoseconds is None:
        msg = f"the catalog holds {value!r} where a time belongs"
        raise CorruptionError(msg)
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
