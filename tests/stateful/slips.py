"""Slips that one could make when rows are changed: the stateful test has to find each.

A slip is entered with a lake and hands out the lake to work on; what it changes is put back after.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from mere.lake import Lake
from mere.model.files import FileSet
from mere.model.history import Change, Head
from mere.ops.mutate import changing
from mere.ops.mutate.keys import Narrowing
from mere.reading import deleting, keys

Slip: TypeAlias = Callable[[Lake], AbstractContextManager[Lake]]


@contextmanager
def _swapped(owner: Any, name: str, value: Any) -> Iterator[Any]:
    was = getattr(owner, name)
    setattr(owner, name, value(was))
    try:
        yield
    finally:
        setattr(owner, name, was)


class _Behind:
    """A catalog that passes everything on, but for what a slip does to it."""

    def __init__(self, behind: Any) -> None:
        self.behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class _Hasty(_Behind):
    """Commits on top of whatever is newest, without asking what came between."""

    def commit(self, change: Change, *more: Any) -> Any:
        now = self.behind.snapshot().id
        return self.behind.commit(replace(change, base=now), *more)


class _Uncounted(_Behind):
    """Takes every file that may match for one of which every row does."""

    def files(self, head: Head, *args: Any, **more: Any) -> FileSet:
        found: FileSet = self.behind.files(head, *args, **more)
        return replace(found, certain=frozenset(file.id for file in found.files))


def _of_catalog(kind: type[_Behind]) -> Slip:
    @contextmanager
    def slip(lake: Lake) -> Iterator[Lake]:
        session = lake._session  # noqa: SLF001  put together by hand
        yield Lake(replace(session, catalog=cast("Any", kind(session.catalog))))

    return slip


def _of_code(owner: Any, name: str, value: Callable[[Any], Any]) -> Slip:
    @contextmanager
    def slip(lake: Lake) -> Iterator[Lake]:
        with _swapped(owner, name, value):
            yield lake

    return slip


def _null_matches(was: Any) -> Any:
    def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
        return was(column).fill_null(99.0)

    return comparable


def _zeros_differ(_: Any) -> Any:
    return lambda column: column


def _only_new(was: Any) -> Any:
    return lambda store, path, places, snapshot, _: was(store, path, places, snapshot, None)


def _loses_the_largest(was: Any) -> Any:
    def keep(self: Narrowing, head: Head, files: Any) -> Any:
        return was(self, head, files)[:-1] if len(files) > 1 else was(self, head, files)

    return keep


def _rows_off_by_one(was: Any) -> Any:
    def match(self: keys.Keys, columns: Any) -> Any:
        found = was(self, columns)
        return np.where(found > 0, found - 1, found)

    return match


SLIPS: Mapping[str, Slip] = {
    "what came between is not asked for": _of_catalog(_Hasty),
    "files that may match are deleted as a whole": _of_catalog(_Uncounted),
    "what was seen before others committed still stands": _of_code(
        changing._Done,  # noqa: SLF001  a guard that is taken out
        "stands",
        lambda _: lambda *_: True,
    ),
    "NULL matches NULL": _of_code(keys, "comparable", _null_matches),
    "the two zeros and NaN are bits": _of_code(keys, "comparable", _zeros_differ),
    "older deletes are lost when new ones join": _of_code(deleting, "folded", _only_new),
    "a file that holds a key is left out": _of_code(Narrowing, "keep", _loses_the_largest),
    "a row is updated from its neighbour in the source": _of_code(
        keys.Keys, "match", _rows_off_by_one
    ),
}
