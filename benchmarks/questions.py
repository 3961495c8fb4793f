"""Ask selective questions of a synthetic lake; with few imports, as a user's process has."""

from typing import Any

import mere

PRIME = 1_000_003
STEP = 7919


def predicate(question: str, files: int, turn: int) -> Any:
    """Return a selective predicate, another one each turn.

    It asks for a stretch of the growing column; for one value, or twelve, of the scattered one;
    or for the first of one partition.
    """
    place = (turn * STEP + 104_729) % files
    if question == "clustered":
        return (mere.col("c1") >= place * 1000 + 450) & (mere.col("c1") < place * 1000 + 100_450)
    if question == "scattered":
        return mere.col("c2") == _scattered(place)
    if question == "twelve scattered":
        places = ((place + n * files // 12) % files for n in range(12))
        return mere.col("c2").is_in([_scattered(one) for one in places])
    return (mere.col("c10") == place % 1000) & (mere.col("c1") < files // 10 * 1000)


def _scattered(place: int) -> int:
    """Return a value in the middle of one row group."""
    return place * STEP % PRIME * 1000 + 450


QUESTIONS = ("clustered", "scattered", "twelve scattered", "one partition")
