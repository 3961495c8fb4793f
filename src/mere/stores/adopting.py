"""Take a filesystem that somebody has for what it is: often there is a better way to its files."""

from collections.abc import Callable
from typing import Any

from fsspec.implementations.dirfs import DirFileSystem
from pyarrow import fs

from mere.errors import InvalidInputError, UnsupportedError
from mere.stores.fsspec import adopt_fsspec
from mere.stores.local import open_local
from mere.stores.objects import open_objects

_S3_WORDS = frozenset({"key", "secret", "token", "endpoint_url", "client_kwargs"})
_CLIENT_WORDS = frozenset({"endpoint_url", "region_name"})


def adopt(filesystem: Any, root: str, *, elsewhere: Callable[[str], Any]) -> Any:
    """Open the store of a folder in a filesystem of fsspec or of pyarrow.

    Files on S3 are reached with the same keys by the store that can tell whether a name is taken.

    Raises:
        InvalidInputError: If it is neither.
        UnsupportedError: If it is one of pyarrow that does not say where its files are.
    """
    if isinstance(filesystem, fs.FileSystem):
        return _adopt_arrow(filesystem, root, elsewhere)
    if not hasattr(filesystem, "storage_options"):
        msg = f"filesystem takes one of fsspec or pyarrow, got {type(filesystem).__name__}"
        raise InvalidInputError(msg)
    while isinstance(filesystem, DirFileSystem):
        root = f"{filesystem.path}{filesystem.fs.sep}{root.strip('/')}"
        filesystem = filesystem.fs
    words = _s3_words(filesystem)
    if words is None:
        return adopt_fsspec(filesystem, root, elsewhere=elsewhere)
    return _open_s3(root, words, elsewhere)


def _adopt_arrow(filesystem: Any, root: str, elsewhere: Callable[[str], Any]) -> Any:
    while isinstance(filesystem, fs.SubTreeFileSystem):
        root = f"{filesystem.base_path.rstrip('/')}/{root.strip('/')}"
        filesystem = filesystem.base_fs
    if isinstance(filesystem, fs.LocalFileSystem):
        return open_local(root, elsewhere=elsewhere)
    if isinstance(filesystem, fs.PyFileSystem) and isinstance(filesystem.handler, fs.FSSpecHandler):
        return adopt(filesystem.handler.fs, root, elsewhere=elsewhere)
    if filesystem.type_name == "s3":
        (given,) = filesystem.__reduce__()[1]
        found = {
            "key": given.get("access_key"),
            "secret": given.get("secret_key"),
            "token": given.get("session_token"),
            "region_name": given.get("region"),
        }
        if given.get("endpoint_override"):
            found["endpoint_url"] = f"{given.get('scheme', 'https')}://{given['endpoint_override']}"
        return _open_s3(root, {k: v for k, v in found.items() if v}, elsewhere)
    msg = f"a {filesystem.type_name} filesystem of pyarrow does not say where its files are"
    raise UnsupportedError(msg, hint="give a URL and storage_options, or a filesystem of fsspec")


def _s3_words(filesystem: Any) -> dict[str, str] | None:
    """Return what reaches the same files on S3; None when that cannot be told for certain."""
    given = {k: v for k, v in filesystem.storage_options.items() if v is not None}
    client = given.get("client_kwargs", {})
    protocol = type(filesystem).protocol
    names = {protocol} if isinstance(protocol, str) else set(protocol)
    plain = given.keys() <= _S3_WORDS and client.keys() <= _CLIENT_WORDS
    if "s3" not in names or not plain or not {"key", "secret"} <= given.keys():
        return None
    words: dict[str, str] = {k: v for k, v in given.items() if k != "client_kwargs"} | client
    return words


def _open_s3(root: str, words: dict[str, str], elsewhere: Callable[[str], Any]) -> Any:
    path = root.partition("://")[2] if "://" in root else root
    if words.get("endpoint_url", "").startswith("http://"):
        words = words | {"allow_http": "true"}
    return open_objects(f"s3://{path.strip('/')}", storage_options=words, elsewhere=elsewhere)
