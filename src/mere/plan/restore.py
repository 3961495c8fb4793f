"""Say which files end, which come back and which stay when a table becomes what it was."""

from collections.abc import Iterable
from dataclasses import dataclass

from mere.model.files import DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What a restore does to files.

    `ended` go. `back` come back: none of them is listed now. Of `pairs` (then, now), which are
    one file, each must be looked into: it stays as it is when both versions show the same rows.
    """

    ended: tuple[DataFile, ...]
    back: tuple[DataFile, ...]
    pairs: tuple[tuple[DataFile, DataFile], ...]


def plan_restore(then: Iterable[DataFile], now: Iterable[DataFile], *, version: int) -> Files:
    """Compare the files of an older version with those of today, by path."""
    held = {file.path: file for file in now}
    back: list[DataFile] = []
    pairs: list[tuple[DataFile, DataFile]] = []
    for file in then:
        today = held.pop(file.path, None)
        if today is None:
            back.append(file)
        elif not _same(file, today, version):
            pairs.append((file, today))
    return Files(ended=tuple(held.values()), back=tuple(back), pairs=tuple(pairs))


def _same(then: DataFile, now: DataFile, version: int) -> bool:
    """Tell whether the catalog alone says that both versions show the same rows of a file."""
    whole = then.last is None or then.last <= version
    return whole and then.id == now.id and not (then.deleted or now.deleted)


def hides(file: DataFile, *, version: int) -> bool:
    """Tell whether a version may not show all rows of a file."""
    return bool(file.deleted) or (file.last is not None and file.last > version)
