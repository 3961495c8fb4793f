"""Say how a table or a lake lies on its storage: figures, what they mean, and what would help."""

from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """How a figure is to be taken."""

    GOOD = "good"
    """There is nothing to do."""
    NOTE = "note"
    """It costs something, and may be meant."""
    ACT = "act"
    """The advice helps, and `maintain` would do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure: what was looked at, in which unit, and the call that would help.

    `read_bytes` and `write_bytes` say what the call would cost, about. `table` is None for what is
    about the lake as a whole.
    """

    check: str
    value: float | None
    unit: str
    verdict: Condition = Condition.GOOD
    advice: str = ""
    read_bytes: int = 0
    write_bytes: int = 0
    table: str | None = None
