"""Show a store to pyarrow's datasets as a file system that only reads."""

from typing import Any

from pyarrow import fs

from mere.errors import InvalidInputError, StorageError, UnsupportedError


def as_filesystem(store: Any, scheme: str) -> fs.PyFileSystem:
    """Return a pyarrow filesystem on which `store.resolve(path)` opens without its scheme.

    It pickles as the store does: without secrets.
    """
    return fs.PyFileSystem(StoreReader(store, scheme))


class StoreReader(fs.FileSystemHandler):  # type: ignore[misc]  # the only way into pyarrow
    """Answer pyarrow's questions about files by asking a store."""

    def __init__(self, store: Any, scheme: str) -> None:
        """Take the store, and the scheme that pyarrow leaves out of paths."""
        self.store = store
        self.scheme = scheme

    def __eq__(self, other: object) -> bool:
        """Say whether both read the same root."""
        return isinstance(other, StoreReader) and self.store.url == other.store.url

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self.store.url)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the store travels."""
        return StoreReader, (self.store, self.scheme)

    def get_type_name(self) -> str:
        """Name the scheme."""
        return f"mere+{self.scheme}"

    def normalize_path(self, path: str) -> str:
        """Leave the path as it is."""
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        """Tell of each path whether it is a file, and how large."""
        return [self._look(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """List the files below a folder of the root."""
        root = self.store.url.partition("://")[2]
        folder = selector.base_dir.rstrip("/") + "/"
        if not folder.startswith(root):
            msg = f"{selector.base_dir!r} does not lie below {self.store.url}"
            raise InvalidInputError(msg)
        found = self.store.list(folder.removeprefix(root))
        return [
            fs.FileInfo(root + file.path, fs.FileType.File, size=file.bytes, mtime=file.modified)
            for file in found
        ]

    def open_input_file(self, path: str) -> Any:
        """Open a file for random reads."""
        return self.store.open(self._url(path))

    def open_input_stream(self, path: str) -> Any:
        """Open a file for reading from its start."""
        return self.store.open(self._url(path))

    def create_dir(self, path: str, recursive: bool) -> None:  # noqa: FBT001  pyarrow's order
        """Do nothing: folders come with their files."""

    def delete_dir(self, path: str) -> None:
        """Refuse."""
        raise _read_only(path)

    # The signature is pyarrow's:
    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Refuse."""
        raise _read_only(path)

    def delete_root_dir_contents(self) -> None:
        """Refuse."""
        raise _read_only(self.store.url)

    def delete_file(self, path: str) -> None:
        """Refuse."""
        raise _read_only(path)

    def move(self, src: str, dest: str) -> None:  # noqa: ARG002  pyarrow's signature
        """Refuse."""
        raise _read_only(src)

    def copy_file(self, src: str, dest: str) -> None:  # noqa: ARG002  pyarrow's signature
        """Refuse."""
        raise _read_only(src)

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002  as above
        """Refuse."""
        raise _read_only(path)

    def open_append_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002  as above
        """Refuse."""
        raise _read_only(path)

    def _url(self, path: str) -> str:
        return f"{self.scheme}://{path}"

    def _look(self, path: str) -> fs.FileInfo:
        try:
            return fs.FileInfo(path, fs.FileType.File, size=self.store.size(self._url(path)))
        except StorageError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            return fs.FileInfo(path, fs.FileType.NotFound)


def _read_only(path: str) -> UnsupportedError:
    msg = f"this file system only reads; {path!r} stays as it is"
    return UnsupportedError(msg, hint="files change through the verbs of a table")
