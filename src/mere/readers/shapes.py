"""Look into the footers of files, many at a time, for how their columns lie."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from mere.model.files import DataFile
from mere.ports import Reading
from mere.readers.ahead import workers
from mere.reading.footers import naming, opened
from mere.reading.forms import Source, parts, sources

_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a file calls its columns, and where those lie that are asked for."""

    names: tuple[str, ...]
    columns: tuple[Source, ...]


def alike(reading: Reading) -> bool:
    """Tell whether all files hold the columns just as the table has them, without a look."""
    shredded = any(leaf.type == "variant" for _, leaf in reading.table.leaves())
    return reading.stable and not shredded and all(file.names is None for file in reading.files)


def shapes(reading: Reading) -> list[tuple[DataFile, Shape]]:
    """Return every file with how its columns lie.

    Raises:
        CorruptionError: If a file is missing or damaged.
    """
    look = partial(_shape, reading)
    if len(reading.files) < _FEW:
        return [(file, look(file)) for file in reading.files]
    with ThreadPoolExecutor(workers(), thread_name_prefix="mere-look") as pool:
        return list(zip(reading.files, pool.map(look, reading.files), strict=True))


def _shape(reading: Reading, file: DataFile) -> Shape:
    with naming(file.path):
        found = parts(opened(reading.store.open(file.path)))
    return Shape(
        names=tuple(part.name for part in found),
        columns=sources(file, found, reading.schema),
    )
