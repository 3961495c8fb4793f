"""Make names that nobody else has."""

import os
import time
from uuid import UUID


def uuid7() -> str:
    """Return a UUID that begins with the time, so that later ones sort behind earlier ones."""
    stamp = time.time_ns() // 1_000_000
    noise = int.from_bytes(os.urandom(10)) >> 6
    number = stamp << 80 | 0x7 << 76 | (noise >> 62) << 64 | 0b10 << 62 | noise & (1 << 62) - 1
    return str(UUID(int=number))


def short_name() -> str:
    """Return sixteen random hexadecimal digits."""
    return os.urandom(8).hex()
