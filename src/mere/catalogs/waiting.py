"""Wait for a turn: jittered retries until a deadline, fairer than a database's own queue."""

import os
import time
from collections.abc import Iterator

_FIRST = 0.0002
_LONGEST = 0.02


def turns(seconds: float, *, longest: float = _LONGEST) -> Iterator[float]:
    """Yield how long was waited so far, pausing a random and growing while between tries.

    Ends when the time is over; the first turn comes at once.
    """
    started = time.monotonic()
    pause = _FIRST
    while True:
        waited = time.monotonic() - started
        yield waited
        if waited >= seconds:
            return
        time.sleep(pause * (0.25 + 0.75 * _chance()))
        pause = min(pause * 1.5, longest)


def _chance() -> float:
    """Return a random number from 0 to 1."""
    return int.from_bytes(os.urandom(2)) / 0xFFFF
