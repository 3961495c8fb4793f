"""Keep bytes in any fsspec filesystem: the rarer ones, and those that a user already has."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import fsspec
import pyarrow as pa
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from mere.errors import (
    AlreadyExistsError,
    EngineMissingError,
    InvalidInputError,
    MereError,
    StorageError,
)
from mere.model.clearing import Upload
from mere.model.files import StoredFile
from mere.stores.arrowfs import as_filesystem
from mere.stores.engines import ENGINES, engine_options
from mere.stores.kwargs import harmless, resolved, secrets_in
from mere.stores.local import open_local
from mere.stores.options import S3, Options, raise_shown, redacted, scrubbed
from mere.stores.paths import checked, checked_folder, is_absolute, place_of, scheme_of, split_url
from mere.stores.ranges import TAIL, WORKERS, RangeFile, checked_range, fetch_ranges
from mere.stores.together import put_each
from mere.stores.uploads import abort, unfinished

_S3_NAMES = {"key", "secret", "token", "anon", "endpoint_url", "region_name"}
_TIMES = ("LastModified", "last_modified", "modified", "mtime", "updated", "created")


def open_fsspec(
    url: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    elsewhere: Callable[[str], Any] | None = None,
) -> "FsspecStore":
    """Open the store of a URL that fsspec knows; no request is made yet.

    A user name and a password in the URL become options; the URL is kept without them.

    Raises:
        InvalidInputError: If fsspec knows no such scheme, or the URL is not a plain one.
        EngineMissingError: If the package behind the scheme is not installed.
    """
    parts = urlsplit(url)
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    split_url(f"{bare}?{parts.query}#{parts.fragment}")
    clean = f"{bare.rstrip('/')}/"
    try:
        kind = fsspec.get_filesystem_class(parts.scheme)
    except ValueError as error:
        msg = f"no storage is known for {parts.scheme}:// URLs"
        raise InvalidInputError(
            msg, hint="local paths, s3, gs, az, abfss, or any fsspec"
        ) from error
    except ImportError as error:
        msg = f"the package behind {parts.scheme}:// is not installed"
        raise EngineMissingError(msg, hint=str(error)) from error
    given = {**kind._get_kwargs_from_urls(url), **(storage_options or {})}  # noqa: SLF001  fsspec's own spelling
    return FsspecStore(clean, kind, given, frozenset(), elsewhere)


def adopt_fsspec(
    filesystem: Any, root: str, *, elsewhere: Callable[[str], Any] | None = None
) -> Any:
    """Open the store of a folder in a filesystem that exists already.

    A local filesystem becomes the local store, which also flushes.
    """
    while isinstance(filesystem, DirFileSystem):
        root = f"{filesystem.path}{filesystem.fs.sep}{root.strip('/')}"
        filesystem = filesystem.fs
    if isinstance(filesystem, LocalFileSystem):
        return open_local(filesystem._strip_protocol(root), elsewhere=elsewhere)  # noqa: SLF001  fsspec's own spelling
    kind = type(filesystem)
    base = kind._strip_protocol(root)  # noqa: SLF001  fsspec's own spelling
    protocol = kind.protocol if isinstance(kind.protocol, str) else kind.protocol[0]
    path = base.lstrip("/") if protocol == "memory" else base
    given = dict(filesystem.storage_options)
    given |= {f"argument {n + 1}": value for n, value in enumerate(filesystem.storage_args)}
    return FsspecStore(
        f"{protocol}://{path}".rstrip("/") + "/", kind, given, frozenset(), elsewhere, filesystem
    )


def revive(
    url: str,
    kind: type,
    given: Mapping[str, Any],
    left_behind: frozenset[str],
    elsewhere: Callable[[str], Any] | None,
) -> "FsspecStore":
    """Open a store that came from another process without its secrets."""
    return FsspecStore(url, kind, given, left_behind, elsewhere)


@dataclass(frozen=True)
class FsspecStore:
    """Files below a folder of an fsspec filesystem; a file is sent when it is whole.

    Filesystems differ in what a broken write leaves behind, so a file is written on this machine
    first. A pickle carries the URL, harmless options and `env:NAME` references, nothing else.
    """

    url: str
    kind: Any
    given: Mapping[str, Any] = field(repr=False, compare=False)
    left_behind: frozenset[str] = frozenset()
    elsewhere: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)
    made: Any = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without secrets."""
        kept = harmless(self.given)
        left = self.left_behind | (self.given.keys() - kept.keys())
        return revive, (self.url, self.kind, kept, left, self.elsewhere)

    @contextmanager
    def writer(self, path: str) -> Iterator[Any]:
        """Open a new file for writing: it appears on a clean exit, else nothing does."""
        target = self._below(path)
        self._refuse_existing(target)
        with tempfile.TemporaryDirectory(prefix="mere-") as folder:
            whole = f"{folder}/whole"
            with pa.OSFile(whole, "wb") as sink:
                yield sink
            self._send(target, lambda: self.fs.put_file(whole, target))

    def put(self, path: str, data: bytes) -> None:
        """Write a small new file whole."""
        target = self._below(path)
        self._refuse_existing(target)
        self._send(target, lambda: self.fs.pipe_file(target, data))

    def put_all(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write small new files whole, several at a time where the filesystem can."""
        put_each(self.put, self.delete, files, writers=WORKERS if self.fs.async_impl else 1)

    def open(self, path: str) -> Any:
        """Open a file for random reads."""
        store, target = self._place(path)
        if store is not self:
            return store.open(target)
        size = self._size(target)
        start = max(0, size - TAIL)
        tail = self._fetch(target, start, size - start) if size else b""
        file = RangeFile(size, tail, lambda *span: self._fetch(target, *span))
        return pa.PythonFile(file, mode="r")

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Read one range; what lies behind the end of the file is left out."""
        checked_range(start, length)
        store, target = self._place(path)
        if store is not self:
            result: bytes = store.read(target, start, length)
            return result
        if start == 0 and length is None:
            with self._speaking("read", target):
                return bytes(self.fs.cat_file(target))
        rest = self._size(target) - start
        wanted = max(0, rest if length is None else min(length, rest))
        return bytes(self._fetch(target, start, wanted)) if wanted else b""

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several (offset, length) ranges, near ones in one request."""
        store, target = self._place(path)
        if store is not self:
            found: list[bytes] = store.read_ranges(target, ranges)
            return found
        workers = WORKERS if self.fs.async_impl else 1
        return fetch_ranges(path, ranges, lambda *span: self._fetch(target, *span), workers=workers)

    def size(self, path: str) -> int:
        """Return the length of a file in bytes."""
        store, target = self._place(path)
        return int(store.size(target)) if store is not self else self._size(target)

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        """List all files below a folder."""
        store, start, shown = self._start(prefix)
        if store is not self:
            yield from store.list(prefix)
            return
        with self._speaking("list", start):
            self.fs.invalidate_cache(start)
            try:
                found = self.fs.find(start, detail=True)
            except FileNotFoundError:
                return
            for target, about in found.items():
                if target.startswith(f"{start}/"):
                    path = shown + target[len(start) + 1 :]
                    modified, etag = self._modified(target, about), _etag(about)
                    size = about["size"] or 0
                    yield StoredFile(path=path, bytes=size, modified=modified, etag=etag)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are fine."""
        targets = [self._below(path) for path in paths]
        if targets and self.fs.async_impl:
            with ThreadPoolExecutor(WORKERS) as pool:
                tuple(pool.map(self._delete, targets))
            return
        for target in targets:
            self._delete(target)

    def move(self, path: str, to: str) -> None:
        """Copy a file where it lies, then delete the old name."""
        source, target = self._below(path), self._below(to)
        with self._speaking("move", source):
            self.fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self.fs.cp_file(source, target)
        self._delete(source)

    def prune(self, folders: Iterable[str]) -> None:
        """Do nothing: whether there are folders differs, and empty ones hurt nobody."""

    def uploads(self) -> Sequence[Upload]:
        """List the uploads in parts that were begun and not finished; known for S3 only."""
        if scheme_of(self.url) not in {"s3", "s3a"}:
            return ()
        with self._speaking("list the uploads below", ""):
            return unfinished(self.fs, self.url)

    def abort(self, uploads: Iterable[Upload]) -> None:
        """Abort uploads; those that are over already are fine."""
        with self._speaking("abort the uploads below", ""):
            abort(self.fs, self.url, uploads)

    def resolve(self, path: str) -> str:
        """Return the URL under which others that speak fsspec find the file."""
        return path if is_absolute(path) else self.url + checked(path)

    def options(self, engine: str) -> dict[str, str]:
        """Return what an engine needs to read the files; known for S3 only, and holds secrets."""
        if engine not in ENGINES:
            msg = f"unknown engine {engine!r}; known are: {', '.join(ENGINES)}"
            raise InvalidInputError(msg)
        if scheme_of(self.url) not in {"s3", "s3a"}:
            return {}
        given = resolved(self.given)
        words = {**given, **given.get("client_kwargs", {})}
        if words.pop("anon", False):
            words["skip_signature"] = "true"
        ours = {name: words[name] for name in words if name in _S3_NAMES | {"skip_signature"}}
        found = Options(S3, S3.canonical({k: v for k, v in ours.items() if v is not None}))
        bucket = urlsplit(self.url).netloc
        return engine_options(engine, cloud="s3", bucket=bucket, options=found.effective())

    def filesystem(self) -> Any:
        """Return a pyarrow filesystem that reads the files through this store."""
        return as_filesystem(self, scheme_of(self.url))

    @cached_property
    def fs(self) -> Any:
        """Return the filesystem, made when first used."""
        if self.made is not None:
            return self.made
        with self._speaking("open", ""):
            return self.kind(**resolved(self.given))

    @cached_property
    def _others(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _folder(self) -> str:
        base: str = self.kind._strip_protocol(self.url)  # noqa: SLF001  fsspec's own spelling
        return base.rstrip("/")

    def _below(self, path: str) -> str:
        return f"{self._folder}/{checked(path)}"

    def _start(self, prefix: str) -> tuple[Any, str, str]:
        """Return the store that holds a folder, its name there, and what goes before its files."""
        folder = prefix.rstrip("/")
        if not is_absolute(prefix):
            below = checked_folder(prefix)
            return self, self._below(below) if below else self._folder, f"{below}/" if below else ""
        if f"{folder}/" == self.url:
            return self, self._folder, self.url
        return *self._place(folder), f"{folder}/"

    def _place(self, path: str) -> tuple[Any, str]:
        """Return the store that holds a path, and the path's name there."""
        if not is_absolute(path):
            return self, self._below(path)
        if path.startswith(self.url):
            return self, self._below(path.removeprefix(self.url))
        if scheme_of(path) == scheme_of(self.url) and self._reaches(path):
            return self, self.kind._strip_protocol(path)  # noqa: SLF001  fsspec's own spelling
        if self.elsewhere is None:
            msg = f"the store of {self.url} cannot read {scheme_of(path) or 'local'} files"
            raise InvalidInputError(msg, hint="open the store with open_store()")
        root = place_of(path)
        if root not in self._others:
            self._others[root] = self.elsewhere(root)
        return self._others[root], path

    def _reaches(self, path: str) -> bool:
        where = self.kind._get_kwargs_from_urls  # noqa: SLF001  fsspec's own spelling
        return bool(where(path) == where(self.url))

    def _size(self, target: str) -> int:
        with self._speaking("look at", target):
            return int(self.fs.info(target)["size"])

    def _fetch(self, target: str, start: int, length: int) -> Any:
        with self._speaking("read", target):
            return self.fs.cat_file(target, start=start, end=start + length)

    def _refuse_existing(self, target: str) -> None:
        with self._speaking("write", target):
            folder = target.rpartition("/")[0]
            self.fs.invalidate_cache(folder)
            if self.fs.exists(target):
                msg = f"cannot write {target}: it exists"
                raise AlreadyExistsError(msg, hint="files are never replaced: take a new name")
            self.fs.makedirs(folder, exist_ok=True)

    def _send(self, target: str, send: Callable[[], Any]) -> None:
        try:
            with self._speaking("write", target):
                send()
        except BaseException as error:
            try:
                with suppress(FileNotFoundError):
                    self.fs.rm_file(target)
            except Exception as second:  # noqa: BLE001  any filesystem, any error; the first counts
                error.add_note(f"a partial {target} may stay behind: {type(second).__name__}")
            raise

    def _delete(self, target: str) -> None:
        with self._speaking("delete", target), suppress(FileNotFoundError):
            self.fs.rm_file(target)

    def _modified(self, target: str, about: Mapping[str, Any]) -> datetime:
        found = next((about[name] for name in _TIMES if about.get(name) is not None), None)
        if found is None:
            with suppress(NotImplementedError):
                found = self.fs.modified(target)
        if isinstance(found, str):
            found = datetime.fromisoformat(found)
        if isinstance(found, int | float):
            found = datetime.fromtimestamp(found, UTC)
        if found is None:  # an age nobody knows counts as new, so that nobody deletes for it
            return datetime.now(UTC)
        moment: datetime = found
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)

    @contextmanager
    def _speaking(self, verb: str, target: str) -> Iterator[None]:
        try:
            yield
        except MereError:
            raise
        except Exception as error:  # noqa: BLE001  every filesystem brings errors of its own
            failure = error
        else:
            return
        cause = redacted(failure, lambda text: scrubbed(text, secrets_in(self.given)))
        raise_shown(self._translated(verb, target, cause), cause)

    def _translated(self, verb: str, target: str, cause: BaseException) -> StorageError:
        hint = "call again, or look at the cause"
        if isinstance(cause, FileNotFoundError):
            hint = "it was deleted, or the lake's data path is another one"
        elif self.left_behind:
            names = ", ".join(sorted(self.left_behind))
            hint = f"these options stayed where they were given: {names}; give them as 'env:NAME'"
        elif isinstance(cause, PermissionError):
            hint = "check the credentials of the filesystem"
        return StorageError(f"cannot {verb} {target or self.url}: {cause}", hint=hint)


def _etag(about: Mapping[str, Any]) -> str | None:
    found = about.get("ETag") or about.get("etag")
    return None if found is None else str(found)
