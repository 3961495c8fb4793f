"""Walk through folders of this machine: what lies in them, and which hold nothing."""

# Paths stay the strings that the catalog and other engines see:
# ruff: noqa: PTH106, PTH116, PTH118, PTH120
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from mere.errors import InvalidInputError
from mere.model.files import StoredFile
from mere.stores.paths import checked


def files_of_store(folder: str, prefix: str) -> Iterator[StoredFile]:
    """Yield the files below a folder that a store could have written, without links."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        with suppress(FileNotFoundError, InvalidInputError):
            path = checked(prefix + entry.name)
            if entry.is_dir(follow_symlinks=False):
                yield from files_of_store(entry.path, f"{path}/")
            elif entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                modified = datetime.fromtimestamp(found.st_mtime, UTC)
                yield StoredFile(path=path, bytes=found.st_size, modified=modified)


def files_below(start: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every file below a folder, links to files too; links to folders could go in circles."""
    for folder, _, names in os.walk(start, onerror=_raise_other):
        for name in names:
            path = os.path.join(folder, name).replace(os.sep, "/")
            yield path[len(start) :], os.stat(path)


def _raise_other(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def drop_empty(folder: str, *, below: str) -> None:
    """Drop a folder that holds nothing, those in it, and those above it that are empty then."""
    for inside, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            os.rmdir(inside)
    with suppress(OSError):  # one that holds something
        while (folder := os.path.dirname(folder)).startswith(below):
            os.rmdir(folder)
