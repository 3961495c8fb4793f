"""Find files by paths, folders and globs, on this machine or in a store; links are followed."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from mere.arrow.paths import WILD, glob_pattern
from mere.errors import InvalidInputError, NoFilesError, StorageError
from mere.model.loading import FORMATS, Source, format_of
from mere.ports import Store

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A file as it was found; `inside` is its path below the folder that was asked for."""

    path: str
    inside: str
    bytes: int
    mark: str
    chosen: bool


def find(
    places: Sequence[str],
    open_store: Callable[[str], Store],
    *,
    format: str | None = None,  # noqa: A002  what users call it
    hive: bool = True,
) -> tuple[Store, tuple[Source, ...]]:
    """Return the files that are named, in the order of their paths, and a store that reads them.

    A folder stands for the data files in and below it; names that begin with a dot or an
    underscore are left out. `hive` makes columns of folders such as `day=2026-01-01`.

    Raises:
        NoFilesError: If there is none.
        InvalidInputError: If the format of a file that was named is not known.
    """
    if format not in (None, *FORMATS):
        msg = f"format takes one of {', '.join(FORMATS)}, got {format!r}"
        raise InvalidInputError(msg)
    found: dict[str, Source] = {}
    stores: list[Store] = []
    for place in places:
        store, seen = _seen(place, open_store)
        stores.append(store)
        for file in seen:
            source = _source(file, format, hive=hive)
            if source is not None:
                found[source.path] = source
    if not found:
        msg = f"no data file at {', '.join(map(repr, places))}"
        raise NoFilesError(msg, hint=f"files of {', '.join(FORMATS)} are told by their ending")
    return stores[0], tuple(found[path] for path in sorted(found))


def _seen(place: str, open_store: Callable[[str], Store]) -> tuple[Store, Iterable[_Seen]]:
    if _SCHEME.match(place) is None or place.startswith("file://"):
        path = os.path.abspath(Path(unquote(place.removeprefix("file://"))).expanduser())  # noqa: PTH100  links stay
        return open_store(path.rpartition("/")[0] or "/"), _local(path)
    return _remote(place, open_store)


def _local(path: str) -> Iterator[_Seen]:
    wild = WILD.search(path)
    try:
        if os.path.isfile(path):  # noqa: PTH113  texts all the way: there may be many
            yield _local_file(path, path.rpartition("/")[2], chosen=True)
        elif os.path.isdir(path):  # noqa: PTH112  the same
            for file in _walk(path, set()):
                yield _local_file(file, file[len(path) :].lstrip("/"), chosen=False)
        elif wild is not None:
            base = path[: wild.start()].rpartition("/")[0] or "/"
            matches = re.compile(glob_pattern(path)).fullmatch
            for file in _walk(base, set()):
                if matches(file):
                    yield _local_file(file, file[len(base) :].lstrip("/"), chosen=True)
    except OSError as error:
        msg = f"cannot look at {path}: {error.strerror or error}"
        raise StorageError(msg) from error


def _local_file(path: str, inside: str, *, chosen: bool) -> _Seen:
    about = os.stat(path)  # noqa: PTH116  a text, as it was found
    mark = str(about.st_mtime_ns)
    return _Seen(path=path, inside=inside, bytes=about.st_size, mark=mark, chosen=chosen)


def _walk(folder: str, above: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the files below a folder; a link to a folder that it lies in is not followed."""
    about = os.stat(folder)  # noqa: PTH116  a text, as it was found
    here = (about.st_dev, about.st_ino)
    if here in above:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _walk(entry.path, above | {here})
            elif entry.is_file():
                yield entry.path


def _remote(place: str, open_store: Callable[[str], Store]) -> tuple[Store, list[_Seen]]:
    wild = WILD.search(place)
    if wild is not None:
        store = open_store(place[: wild.start()].rpartition("/")[0] + "/")
        matches = re.compile(glob_pattern(place)).fullmatch
        return store, [seen for seen in _listed(store, chosen=True) if matches(seen.path)]
    store = open_store(place.rstrip("/") + "/")
    seen = list(_listed(store, chosen=False))
    if seen:
        return store, seen
    store = open_store(place.rstrip("/").rpartition("/")[0] + "/")
    name = place.rstrip("/").rpartition("/")[2]
    return store, [file for file in _listed(store, chosen=True) if file.inside == name]


def _listed(store: Store, *, chosen: bool) -> Iterator[_Seen]:
    for file in store.list():
        yield _Seen(
            path=store.resolve(file.path),
            inside=file.path,
            bytes=file.bytes,
            mark=file.etag or file.modified.isoformat(),
            chosen=chosen,
        )


def _source(seen: _Seen, format: str | None, *, hive: bool) -> Source | None:  # noqa: A002  what users call it
    told, packed = format_of(seen.path)
    if not seen.chosen:
        hidden = any(part.startswith((".", "_")) for part in seen.inside.split("/"))
        if hidden or told not in ({None, format} if format else FORMATS):
            return None
    kind = format or told
    if kind is None:
        msg = f"the name of {seen.path!r} does not tell its format"
        raise InvalidInputError(msg, hint=f"format= takes one of {', '.join(FORMATS)}")
    return Source(
        path=seen.path,
        bytes=seen.bytes,
        mark=seen.mark,
        format=kind,
        packed=packed,
        folders=_folders(seen.inside) if hive else (),
    )


def _folders(inside: str) -> tuple[tuple[str, str | None], ...]:
    parts = (part.partition("=") for part in inside.split("/")[:-1])
    named = ((unquote(name), unquote(value)) for name, equals, value in parts if equals and name)
    return tuple((name, None if value == _HIVE_NULL else value) for name, value in named)
