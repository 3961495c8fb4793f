"""Where are the bytes? The role of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from mere.model.clearing import Upload
    from mere.model.files import StoredFile


class Store(Protocol):
    """Bytes by path below the lake's root; visibility is the catalog's business, not its own.

    Paths are relative with forward slashes. `open`, `read`, `read_ranges`, `size` and `resolve`
    also take the absolute URL of a file that lies elsewhere, and `list` that of a folder; nothing
    is ever written or deleted outside the root. A pickled store carries no secret.
    """

    @property
    def url(self) -> str:
        """The absolute root, ending in a slash, without credentials."""
        ...

    def writer(self, path: str) -> AbstractContextManager[Any]:
        """Open a new file for writing: durable and whole on a clean exit, else nothing."""
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write a small new file whole."""
        ...

    def put_all(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write small new files whole, side by side: all are durable when it returns.

        Each is taken when there is room for it. On an error, what was written is deleted again.
        """
        ...

    def open(self, path: str) -> Any:
        """Open a file for random reads, as pyarrow takes it."""
        ...

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Read one range."""
        ...

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several (offset, length) ranges in as few requests as is wise."""
        ...

    def size(self, path: str) -> int:
        """Return the length of a file in bytes."""
        ...

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        """List all files below the prefix, recursively; below an absolute one by absolute names."""
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are fine."""
        ...

    def move(self, path: str, to: str) -> None:
        """Give a whole file a new name, at which nothing lies that anybody wants to keep.

        It is there whole under one name or the other at any time, or for a while under both.

        Raises:
            StorageError: If there is no such file, with the storage's word for that as its cause.
        """
        ...

    def prune(self, folders: Iterable[str]) -> None:
        """Drop folders, those in them and above them, that hold nothing; many storages have none.

        Whoever is about to write into one makes it again.
        """
        ...

    def uploads(self) -> Sequence[Upload]:
        """List the uploads in parts below the root that were begun and not finished.

        Raises:
            UnsupportedError: If the storage has such uploads, but nothing here can list them.
            EngineMissingError: If a package is missing that can.
        """
        ...

    def abort(self, uploads: Iterable[Upload]) -> None:
        """Abort uploads; those that are over already are fine."""
        ...

    def resolve(self, path: str) -> str:
        """Return the absolute name under which other engines find the file."""
        ...

    def options(self, engine: str) -> dict[str, str]:
        """Return what an engine needs to read the files: endpoint, region, credentials."""
        ...

    def filesystem(self) -> Any:
        """Return a pyarrow filesystem that reads the files."""
        ...
