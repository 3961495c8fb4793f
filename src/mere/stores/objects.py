"""Keep bytes in object storage: S3 and what speaks like it, Google Cloud Storage, Azure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import obstore
import pyarrow as pa
from obstore import exceptions

from mere.errors import EngineMissingError, InvalidInputError, StorageError, UnsupportedError
from mere.model.clearing import Upload
from mere.model.files import StoredFile
from mere.stores.arrowfs import as_filesystem
from mere.stores.clients import SCHEMES, Cloud, connect, translated
from mere.stores.engines import engine_options
from mere.stores.options import AZURE, GCS, S3, Options, raise_shown, redacted
from mere.stores.paths import (
    LONGEST_PATH,
    checked,
    checked_folder,
    is_absolute,
    place_of,
    scheme_of,
    split_url,
)
from mere.stores.ranges import TAIL, RangeFile, checked_range, fetch_ranges
from mere.stores.sinks import ObjectSink
from mere.stores.together import put_each
from mere.stores.uploads import abort, filesystem, unfinished

_VOCABULARIES = {"s3": S3, "gs": GCS, "az": AZURE}
_SPELLED = {"s3a": "s3", "gcs": "gs", "azure": "az"}


def open_objects(
    url: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    elsewhere: Callable[[str], Any] | None = None,
) -> "ObjectStore":
    """Open the store of a bucket, or of a prefix in it; no request is made yet.

    Raises:
        InvalidInputError: If the URL holds credentials, or an option is not known.
    """
    scheme, authority, path = split_url(url)
    cloud = SCHEMES[scheme]
    prefix = checked_folder(path.strip("/"))
    if not authority:
        msg = f"the URL {url!r} names no bucket"
        raise InvalidInputError(msg)
    if "@" in authority and cloud != "az":
        msg = f"the URL of bucket {authority.rpartition('@')[2]!r} carries credentials"
        raise InvalidInputError(msg, hint="give them as storage_options")
    vocabulary = _VOCABULARIES[cloud]
    given = vocabulary.canonical(storage_options or {})
    if "@" in urlsplit(given.get("endpoint", "")).netloc:
        msg = "the endpoint carries credentials"
        raise InvalidInputError(msg, hint="give them as storage_options of their own")
    root = f"{_SPELLED.get(scheme, scheme)}://{authority}/"
    return ObjectStore(
        f"{root}{prefix}/" if prefix else root, Options(vocabulary, given), elsewhere
    )


def revive(
    url: str,
    given: Mapping[str, str],
    left_behind: frozenset[str],
    elsewhere: Callable[[str], Any] | None,
) -> "ObjectStore":
    """Open a store that came from another process without its secrets."""
    vocabulary = _VOCABULARIES[SCHEMES[scheme_of(url)]]
    return ObjectStore(url, Options(vocabulary, given, left_behind), elsewhere)


def adopt_client(
    client: Any, url: str, *, elsewhere: Callable[[str], Any] | None = None
) -> "ObjectStore":
    """Open a store over a client that exists already, rooted where the client is."""
    vocabulary = _VOCABULARIES[SCHEMES.get(scheme_of(url), "s3")]
    return ObjectStore(f"{url.rstrip('/')}/", Options(vocabulary, {}), elsewhere, client)


@dataclass(frozen=True)
class ObjectStore:
    """Objects below a prefix of a bucket; an object appears whole or not at all.

    A pickle carries the URL, the plain options and `env:NAME` references. Secrets stay: on the
    other side the standard variables of that machine's environment take their place.
    """

    url: str
    given: Options = field(compare=False)
    elsewhere: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)
    made: Any = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without secrets.

        Raises:
            InvalidInputError: If the client was made by the caller: only the caller can make it.
        """
        if self.made is not None:
            msg = f"the store of {self.url} was given as an object and cannot travel"
            raise InvalidInputError(msg, hint="open it by its URL with storage_options")
        return revive, (self.url, *self.given.travelling(), self.elsewhere)

    @contextmanager
    def writer(self, path: str) -> Iterator[Any]:
        """Open a new object for writing: it appears on a clean exit, else nothing does."""
        key = self._key(path)
        sink = ObjectSink(self.client, key, self._speaking)
        try:
            yield sink
            sink.finish()
        except BaseException as error:
            sink.abort(error)
            raise

    def put(self, path: str, data: bytes) -> None:
        """Write a small new object in one request."""
        key = self._key(path)
        with self._speaking("write", key):
            obstore.put(self.client, key, data, mode="create", use_multipart=False)

    def put_all(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write small new objects, each in one request, several at a time."""
        put_each(self.put, self.delete, files)

    def open(self, path: str) -> Any:
        """Open an object for random reads; its last 64 KiB come with the first request."""
        store, key = self._place(path)
        if store is not self:
            return store.open(key)
        with self._speaking("open", key):
            size, tail = self._tail(key)
        return pa.PythonFile(RangeFile(size, tail, lambda *span: self._fetch(key, *span)), mode="r")

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Read one range; what lies behind the end of the object is left out."""
        checked_range(start, length)
        store, key = self._place(path)
        if store is not self:
            result: bytes = store.read(key, start, length)
            return result
        if length == 0:
            return b""
        with self._speaking("read", key):
            try:
                if length is None:
                    return bytes(
                        obstore.get(self.client, key, options={"range": {"offset": start}}).bytes()
                    )
                return bytes(obstore.get_range(self.client, key, start=start, length=length))
            except exceptions.GenericError:
                if start < int(obstore.head(self.client, key)["size"]):
                    raise
                return b""

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several (offset, length) ranges side by side, near ones in one request."""
        store, key = self._place(path)
        if store is not self:
            found: list[bytes] = store.read_ranges(key, ranges)
            return found
        return fetch_ranges(self.url + key, ranges, lambda *span: self._fetch(key, *span))

    def size(self, path: str) -> int:
        """Return the length of an object in bytes."""
        store, key = self._place(path)
        if store is not self:
            return int(store.size(key))
        with self._speaking("look at", key):
            return int(obstore.head(self.client, key)["size"])

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        """List all objects below a prefix that ends at a slash."""
        store, folder, shown = self._folder(prefix)
        if store is not self:
            yield from store.list(prefix)
            return
        with self._speaking("list", folder):
            for page in obstore.list(self.client, folder or None, chunk_size=1000):
                for found in page:
                    yield StoredFile(
                        path=shown + found["path"],
                        bytes=found["size"],
                        modified=found["last_modified"],
                        etag=found["e_tag"],
                    )

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects, many per request; those that are gone already are fine."""
        keys = [self._key(path) for path in paths]
        if not keys:
            return
        with self._speaking("delete", f"{len(keys)} objects"):
            try:
                obstore.delete(self.client, keys)
            except FileNotFoundError:
                self._delete_each(keys)

    def move(self, path: str, to: str) -> None:
        """Have the storage copy an object, then delete the old name: there is no other way."""
        source, target = self._key(path), self._key(to)
        with self._speaking("move", source):
            obstore.copy(self.client, source, target)
        self.delete((path,))

    def prune(self, folders: Iterable[str]) -> None:
        """Do nothing: there are no folders."""

    def uploads(self) -> Sequence[Upload]:
        """List the uploads in parts below the root that were begun and not finished.

        Raises:
            UnsupportedError: If the storage has such uploads, but nothing here can list them.
            EngineMissingError: If s3fs is not installed, which can.
        """
        if self.cloud == "az" or scheme_of(self.url) not in SCHEMES:  # they end by themselves
            return ()
        if self.cloud == "gs" or self.made is not None:
            msg = f"unfinished uploads below {self.url} cannot be listed from here"
            raise UnsupportedError(msg, hint="let a lifecycle rule of the bucket abort them")
        with self._speaking("list the uploads below", ""):
            return unfinished(self._s3, self.url)

    def abort(self, uploads: Iterable[Upload]) -> None:
        """Abort uploads; those that are over already are fine."""
        with self._speaking("abort the uploads below", ""):
            abort(self._s3, self.url, uploads)

    def resolve(self, path: str) -> str:
        """Return the URL under which other engines find the object."""
        return path if is_absolute(path) else self.url + checked(path)

    def options(self, engine: str) -> dict[str, str]:
        """Return what an engine needs to read the objects; this holds secrets."""
        _, authority, _ = split_url(self.url)
        found = self.given.effective()
        if urlsplit(found.get("endpoint", "")).scheme == "http":
            found = {"allow_http": "true"} | found
        bucket, _, host = authority.partition("@")
        if host:
            found = {"account_name": host.partition(".")[0]} | found
        return engine_options(engine, cloud=self.cloud, bucket=bucket, options=found)

    def filesystem(self) -> Any:
        """Return a pyarrow filesystem that reads the objects through this store."""
        return as_filesystem(self, scheme_of(self.url))

    @property
    def cloud(self) -> Cloud:
        """Say which kind of storage this is."""
        return SCHEMES.get(scheme_of(self.url), "s3")

    @cached_property
    def client(self) -> Any:
        """Return the connection pool of this store, made when first used."""
        if self.made is not None:
            return self.made
        with self._speaking("reach", ""):
            return connect(self.url, self.given)

    @cached_property
    def _s3(self) -> Any:
        """Return the client for the requests that obstore does not know."""
        return filesystem(self.given.effective())

    @cached_property
    def _others(self) -> dict[str, Any]:
        return {}

    @contextmanager
    def _speaking(self, verb: str, key: str) -> Iterator[None]:
        """Translate what the storage says into errors of this library, without secrets."""
        try:
            yield
        except (EngineMissingError, StorageError, InvalidInputError):
            raise
        except (exceptions.BaseError, OSError, ValueError) as error:
            failure = error
        else:
            return
        cause = redacted(failure, self.given.scrub)
        raise_shown(translated(verb, self.url + key, failure, cause), cause)

    def _key(self, path: str) -> str:
        longest = LONGEST_PATH - len(self.url)
        if len(checked(path).encode()) > longest:
            msg = f"path {path[:200]!r} is too long; below {self.url} {longest} bytes are possible"
            raise InvalidInputError(msg)
        return path

    def _folder(self, prefix: str) -> tuple[Any, str, str]:
        """Return the store that holds a folder, its name there, and what goes before names."""
        if not is_absolute(prefix):
            return self, checked_folder(prefix), ""
        whole = f"{prefix.rstrip('/')}/"
        if whole.startswith(self.url):
            return self, checked_folder(whole.removeprefix(self.url)), self.url
        return self._place(whole)[0], "", ""

    def _place(self, path: str) -> tuple[Any, str]:
        """Return the store that holds a path, and the path's name there."""
        if not is_absolute(path):
            return self, self._key(path)
        scheme = scheme_of(path)
        if path.startswith(self.url):
            return self, self._key(path.removeprefix(self.url))
        root = place_of(path)
        if root in self._others:
            return self._others[root], path
        if SCHEMES.get(scheme) == self.cloud and self.made is None:
            split_url(path)  # refuses credentials
            self._others[root] = ObjectStore(root, self.given, self.elsewhere)
        elif self.elsewhere is not None:
            self._others[root] = self.elsewhere(root)
        else:
            msg = f"the store of {self.url} cannot read {scheme or 'local'} files"
            raise InvalidInputError(msg, hint="open the store with open_store()")
        return self._others[root], path

    def _tail(self, key: str) -> tuple[int, Any]:
        if self.cloud != "az":  # Azure knows no ranges that count from the end
            try:
                found = obstore.get(self.client, key, options={"range": {"suffix": TAIL}})
                return int(found.meta["size"]), found.bytes()
            except exceptions.GenericError:  # an empty object has no last bytes
                pass
        size = int(obstore.head(self.client, key)["size"])
        start = max(0, size - TAIL)
        return size, obstore.get_range(self.client, key, start=start, end=size) if size else b""

    def _fetch(self, key: str, start: int, length: int) -> Any:
        with self._speaking("read", key):
            return obstore.get_range(self.client, key, start=start, length=length)

    def _delete_each(self, keys: Iterable[str]) -> None:
        for key in keys:
            try:
                obstore.delete(self.client, key)
            except FileNotFoundError:
                continue
