"""Name new files: by time first, then by the writer that was announced."""

import secrets
import time
from uuid import UUID

_RANDOM_BITS = 62


def uuid7() -> UUID:
    """Return a new UUID of version 7: its text sorts by the time it was made.

    The twelve bits after the milliseconds hold their fraction, so names made by one process sort
    within a millisecond too.
    """
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    fraction = (nanos << 12) // 1_000_000
    low = (0b10 << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
    return UUID(int=(millis << 80) | (7 << 76) | (fraction << 64) | low)


STAGED = ".staged"
"""How files end that get their names later: nobody takes them for data."""


def file_name(intent: str, *, named: bool = True) -> str:
    """Return the name of a new data file; the intent tells whose it is until it is committed.

    One that is not `named` yet gets its name with the commit.
    """
    return f"{uuid7()}-{intent}{'.parquet' if named else STAGED}"


def delete_file_name(intent: str) -> str:
    """Return the name of a new delete file."""
    return f"{uuid7()}-{intent}-delete.parquet"
