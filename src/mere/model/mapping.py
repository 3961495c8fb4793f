"""Say by which names the columns of a file are found that carries no ids of this table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_NULLS = frozenset({NULL_FOLDER.casefold(), "null"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a column, or a part of one, is called in a file; `id` is the field that it fills.

    `hive` says that the file does not hold it, but the folders that it lies in: `day=2026-01-01/`.
    The elements of a list, the keys and values of a map are found by their place, whatever they
    are called.
    """

    name: str
    id: int
    hive: bool = False
    children: tuple["Named", ...] = ()


Mapping: TypeAlias = tuple[Named, ...]
"""The columns of a file. A field that none of them names is not in the file."""

MapRow: TypeAlias = tuple[int, str, int, int | None, bool]
"""One line of a mapping as the catalog keeps it: number, name, field id, parent's number, hive."""


def folder_values(path: str) -> dict[str, str | None]:
    """Return what the folders of a path say of the rows below them, by folded name; None is NULL.

    The text `NULL` in any case means NULL too: so other clients of the format read it.
    """
    return {name.casefold(): value for name, value in folder_names(path).items()}


def folder_names(path: str) -> dict[str, str | None]:
    """Return the same by the names as they are spelled."""
    found: dict[str, str | None] = {}
    for segment in path.split("/")[:-1]:
        name, equals, value = segment.partition("=")
        if equals and name:
            text = unquote(value)
            found[unquote(name)] = None if text.casefold() in _NULLS else text
    return found


def flat(mapping: Mapping) -> Iterator[MapRow]:
    """Lay a mapping out as lines, parents before their parts, numbered from 0."""
    numbers = iter(range(1 << 31))
    return (row for named in mapping for row in _flat(named, None, numbers))


def _flat(named: Named, parent: int | None, numbers: Iterator[int]) -> Iterator[MapRow]:
    number = next(numbers)
    yield number, named.name, named.id, parent, named.hive
    for child in named.children:
        yield from _flat(child, number, numbers)


def built(rows: Iterable[MapRow]) -> Mapping:
    """Build a mapping from its lines, in any order."""
    below: dict[int | None, list[MapRow]] = {}
    for row in sorted(rows, key=lambda row: row[0]):
        below.setdefault(row[3], []).append(row)
    return _built(below, None)


def _built(below: dict[int | None, list[MapRow]], parent: int | None) -> Mapping:
    return tuple(
        Named(name=name, id=field, hive=hive, children=_built(below, number))
        for number, name, field, _, hive in below.get(parent, ())
    )
