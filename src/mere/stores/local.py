"""Keep bytes in a folder of this machine, flushed to the disk before anyone may count on them."""

from __future__ import annotations

# Paths stay the strings that the catalog and other engines see:
# ruff: noqa: PTH103, PTH108, PTH112, PTH114, PTH116, PTH120, PTH123
import errno
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from mere.errors import AlreadyExistsError, InvalidInputError, StorageError
from mere.model.files import StoredFile
from mere.stores.flushing import claim, create, flush, flush_folder
from mere.stores.paths import (
    LOCAL_SCHEMES,
    checked,
    checked_folder,
    is_absolute,
    local_path,
    place_of,
    scheme_of,
)
from mere.stores.ranges import checked_range
from mere.stores.together import put_each
from mere.stores.walking import drop_empty, files_below, files_of_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mere.model.clearing import Upload

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_BROKEN = frozenset({errno.EIO, errno.EROFS})
_TRIES = 100


def open_local(
    url: str, *, create: bool = True, elsewhere: Callable[[str], Any] | None = None
) -> LocalStore:
    """Open the store of a folder, given as a path or a `file:` URL; nothing is made yet."""
    root = local_path(url)
    return LocalStore(root if root.endswith("/") else f"{root}/", create, elsewhere)


@dataclass(frozen=True, slots=True)
class LocalStore:
    """Files below a folder; a written file and the folders that lead to it survive a power cut.

    A file is written under its final name: no rename, no temporary folder. A killed process may
    leave a partial file, which no catalog lists.
    """

    url: str
    create: bool = True
    elsewhere: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)
    _settled: set[tuple[int, int]] = field(
        default_factory=set, init=False, repr=False, compare=False
    )
    _others: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a name; what is flushed already is only known on this machine."""
        return LocalStore, (self.url, self.create, self.elsewhere)

    @contextmanager
    def writer(self, path: str) -> Iterator[Any]:
        """Open a new file for writing: flushed with its folders on a clean exit, else removed."""
        target = self._below(path)
        with _speaking("write", target):
            self._into_folder(target, claim)
        try:
            with pa.OSFile(target, "wb") as sink:
                yield sink
            with _speaking("flush", target):
                self._settle(target)
        except BaseException as error:
            with suppress(FileNotFoundError):
                os.unlink(target)
            if isinstance(error, OSError) and error.errno in _FULL | _BROKEN:
                raise _translated(verb="write", target=target, error=error) from error
            raise

    def put(self, path: str, data: bytes) -> None:
        """Write a small new file whole."""
        with self.writer(path) as sink:
            sink.write(data)

    def put_all(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write small new files whole: each is flushed, their folders once all are there."""
        paths = put_each(self._create, self.delete, self._vetted(files))
        for folder in dict.fromkeys(os.path.dirname(self.url + path) for path in paths):
            with _speaking("flush", folder):
                self._settle_name(folder)

    def open(self, path: str) -> Any:
        """Open a file for random reads, without going through Python for its bytes."""
        if self._foreign(path):
            return self._other(path).open(path)
        target = self._anywhere(path)
        with _speaking("open", target):
            return pa.OSFile(target, "rb")

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Read one range; what lies behind the end of the file is left out."""
        checked_range(start, length)
        if self._foreign(path):
            result: bytes = self._other(path).read(path, start, length)
            return result
        target = self._anywhere(path)
        with _speaking("read", target), open(target, "rb", buffering=0) as file:
            file.seek(start)
            return _whole(file, os.fstat(file.fileno()).st_size - start, length)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several (offset, length) ranges, each of which lies wholly in the file."""
        if self._foreign(path):
            found: list[bytes] = self._other(path).read_ranges(path, ranges)
            return found
        target = self._anywhere(path)
        result = []
        with _speaking("read", target), open(target, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            for start, length in ranges:
                checked_range(start, length)
                if start + length > size:
                    msg = f"{target} has {size} bytes, but the range ({start}, {length}) was asked"
                    raise StorageError(msg, hint="the file is not the one that was written")
                file.seek(start)
                result.append(_whole(file, size - start, length))
        return result

    def size(self, path: str) -> int:
        """Return the length of a file in bytes."""
        if self._foreign(path):
            return int(self._other(path).size(path))
        target = self._anywhere(path)
        with _speaking("look at", target):
            return os.stat(target).st_size

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        """List the files below a folder, without links and names that no store could write.

        Below an absolute one, links to files and all names are listed: others made them.
        """
        if self._foreign(prefix):
            yield from self._other(prefix).list(prefix)
            return
        if is_absolute(prefix):
            yield from self._list_anywhere(local_path(prefix))
            return
        folder = checked_folder(prefix)
        start = self._below(folder) if folder else self.url
        with _speaking("list", start):
            yield from files_of_store(start, f"{folder}/" if folder else "")

    def _list_anywhere(self, folder: str) -> Iterator[StoredFile]:
        """List a folder of others by absolute names: without links on the way to it."""
        start = os.path.realpath(folder).rstrip("/") + "/"
        root = os.path.realpath(self.url).rstrip("/") + "/"
        shown = self.url + start[len(root) :] if start.startswith(root) else start
        with _speaking("list", start):
            for path, found in files_below(start):
                modified = datetime.fromtimestamp(found.st_mtime, UTC)
                yield StoredFile(path=shown + path, bytes=found.st_size, modified=modified)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are fine."""
        for target in [self._below(path) for path in paths]:
            with _speaking("delete", target), suppress(FileNotFoundError):
                os.unlink(target)

    def move(self, path: str, to: str) -> None:
        """Rename a file; the new name is on the disk before this returns."""
        source, target = self._below(path), self._below(to)
        with _speaking("move", source):
            self._into_folder(target, partial(os.replace, source))
            self._settle(target)

    def prune(self, folders: Iterable[str]) -> None:
        """Drop folders that hold nothing, those in them, and those above them up to the root."""
        for folder in {self._below(checked_folder(folder)) for folder in folders if folder}:
            drop_empty(folder, below=self.url)

    def uploads(self) -> Sequence[Upload]:
        """Return nothing: what is half written here is a file."""
        return ()

    def abort(self, uploads: Iterable[Upload]) -> None:
        """Do nothing: there are none."""

    def resolve(self, path: str) -> str:
        """Return the absolute name under which other engines find the file."""
        if self._foreign(path):
            return str(self._other(path).resolve(path))
        return local_path(path) if is_absolute(path) else self.url + checked(path)

    def options(self, engine: str) -> dict[str, str]:  # noqa: ARG002  the role asks for it
        """Return nothing: every engine reads this machine's files as they are."""
        return {}

    def filesystem(self) -> Any:
        """Return pyarrow's own filesystem of this machine."""
        return fs.LocalFileSystem()

    def _vetted(self, files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        """Refuse names that lead elsewhere; once for each folder, since a new file is no link."""
        folders = set()
        for path, data in files:
            folder = os.path.dirname(checked(path))
            if folder not in folders:
                self._below(path)
                folders.add(folder)
            yield path, data

    def _create(self, path: str, data: bytes) -> None:
        """Write and flush a new file, but not its name."""
        target = self.url + path
        with _speaking("write", target):
            try:
                create(target, data)
            except FileNotFoundError:
                self._into_folder(target, partial(create, data=data))

    def _foreign(self, path: str) -> bool:
        return is_absolute(path) and scheme_of(path) not in LOCAL_SCHEMES

    def _other(self, path: str) -> Any:
        if self.elsewhere is None:
            msg = f"a local store cannot read {scheme_of(path)}:// files"
            raise InvalidInputError(msg, hint="open the store with open_store()")
        root = place_of(path)
        if root not in self._others:
            self._others[root] = self.elsewhere(root)
        return self._others[root]

    def _anywhere(self, path: str) -> str:
        return local_path(path) if is_absolute(path) else self._below(path)

    def _below(self, path: str) -> str:
        target = self.url + checked(path)
        if not _leads_through_link(target, len(self.url)):
            return target
        root, real = os.path.realpath(self.url), os.path.realpath(target)
        if not real.startswith(root.rstrip(os.sep) + os.sep):
            msg = f"path {path!r} leaves the root {self.url} through a link"
            raise InvalidInputError(msg)
        return target

    def _into_folder(self, target: str, do: Callable[[str], object]) -> None:
        """Make a name in a folder, which is made before, again if others drop it as empty."""
        folder = os.path.dirname(target)
        for _ in range(_TRIES):
            self._make_folders(folder)
            try:
                do(target)
            except FileNotFoundError:
                if os.path.isdir(folder):
                    raise
            else:
                return
        do(target)

    def _make_folders(self, folder: str) -> None:
        if os.path.isdir(folder):
            return
        above = _missing_above(self.url)
        if above and not self.create:
            msg = f"the root {self.url} does not exist"
            raise StorageError(msg, hint="open the lake with create=True")
        os.makedirs(folder, exist_ok=True)
        for made in above:
            flush_folder(os.path.dirname(made))

    def _settle(self, target: str) -> None:
        """Flush a file, its name, and the names of the folders that lead to it from the root."""
        flush(target)
        self._settle_name(os.path.dirname(target))

    def _settle_name(self, folder: str) -> None:
        """Flush the names in a folder, and the names of the folders that lead to it.

        Another process may have made a folder and not flushed its name yet, so whoever comes first
        in each process flushes it again; the inode tells a folder that was made anew.
        """
        chain = []
        flush_folder(folder)
        while folder + "/" != self.url:
            found = os.stat(folder)
            if (found.st_dev, found.st_ino) in self._settled:
                break
            chain.append((found.st_dev, found.st_ino))
            folder = os.path.dirname(folder)
            flush_folder(folder)
        self._settled.update(chain)


def _leads_through_link(target: str, below: int) -> bool:
    """Tell whether a part of a path is a link; what lies above the position does not matter."""
    end = target.find("/", below)
    while end >= 0:
        if os.path.islink(target[:end]):
            return True
        end = target.find("/", end + 1)
    return os.path.islink(target)


def _missing_above(url: str) -> list[str]:
    """Return the root and the folders above it that do not exist, the lowest first."""
    missing, folder = [], url.rstrip("/")
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _whole(file: Any, available: int, length: int | None) -> bytes:
    wanted = max(0, available if length is None else min(length, available))
    data: bytes = file.read(wanted)
    while len(data) < wanted:
        more = file.read(wanted - len(data))
        if not more:
            break
        data += more
    return data


@contextmanager
def _speaking(verb: str, target: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        msg = f"cannot {verb} {target}: it exists"
        raise AlreadyExistsError(msg, hint="files are never replaced: take a new name") from error
    except OSError as error:
        raise _translated(verb, target, error) from error


def _translated(verb: str, target: str, error: OSError) -> StorageError:
    hint = None
    if isinstance(error, FileNotFoundError):
        hint = "it was deleted or moved, or the lake's data path points to another place"
    elif isinstance(error, PermissionError):
        hint = "ask for the right to read, or to write, this folder"
    elif error.errno in _FULL:
        hint = "make room, then call again: nothing was changed"
    msg = f"cannot {verb} {target}: {error.strerror or error}"
    return StorageError(msg, hint=hint)
