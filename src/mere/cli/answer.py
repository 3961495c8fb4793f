"""What a command has to say: one value for scripts, and what people are shown of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """An Arrow table, or a stream of batches, with how it is shown.

    On a terminal `most` rows are shown. `null` is how a missing value looks.
    """

    data: Any
    title: str | None = None
    most: int | None = None
    null: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names with one value each; those without a value are left out for people."""

    data: Mapping[str, Any]


Part: TypeAlias = Rows | Facts | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command found or did.

    `data` is what `--json` prints: a mapping, a sequence, or rows. `parts` is what people see,
    in order. `code` is the exit code.
    """

    data: Any
    parts: tuple[Part, ...]
    code: int = 0


def listed(rows: Rows) -> Answer:
    """Answer with rows, for scripts and for people alike."""
    return Answer(data=rows, parts=(rows,))


def told(data: Mapping[str, Any], *parts: Part) -> Answer:
    """Answer scripts with a mapping, and people with what is given."""
    return Answer(data=data, parts=parts)
