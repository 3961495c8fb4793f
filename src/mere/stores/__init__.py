"""Bytes by path below a lake's root: this machine, S3, Google Cloud Storage, Azure, any fsspec.

A store knows nothing of tables. It promises that a file appears whole and durable or not at all,
that nothing is written outside the root, and that secrets stay in the process that holds them.

Options are given by name (`region`, `endpoint`, `access_key_id`, also with the prefixes that
each cloud's own tools use). A value `env:NAME` is looked up in the environment when it is needed,
on the machine that needs it. Secrets that are given as they are do not travel to other processes:
there, the standard variables of the environment (`AWS_ACCESS_KEY_ID`, …) take their place.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mere.errors import EngineMissingError, InvalidInputError
from mere.ports import Store
from mere.stores.local import open_local
from mere.stores.paths import LOCAL_SCHEMES, scheme_of

__all__ = ["from_filesystem", "from_fsspec", "from_obstore", "open_store"]

_OBJECTS = frozenset({"s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss"})


def open_store(
    url: str, *, storage_options: Mapping[str, str] | None = None, create: bool = True
) -> Store:
    """Open the store of a root, told by its scheme; nothing is made and no request is sent yet.

    Args:
        url: A folder, or `s3://bucket/prefix`, `gs://…`, `az://…`, `abfss://…`, or any URL that
            fsspec knows.
        storage_options: Where and who: endpoint, region, credentials; see the module.
        create: Make a local root that is missing, with the first file that is written.

    Raises:
        InvalidInputError: If the URL holds secrets or is not understood, or an option is unknown.
        EngineMissingError: If the scheme needs a package that is not installed.
    """
    scheme = scheme_of(url)
    if "://" in url and ("::" in url or not scheme):
        msg = "the URL of the data is chained or not understood"
        raise InvalidInputError(msg, hint="make an fsspec filesystem and pass it to from_fsspec()")
    if scheme in LOCAL_SCHEMES:
        if storage_options:
            msg = f"local folders take no storage options, got: {', '.join(storage_options)}"
            raise InvalidInputError(msg)
        return open_local(url, create=create, elsewhere=open_store)
    if scheme in _OBJECTS:
        objects: Store = _module("objects").open_objects(
            url, storage_options=storage_options, elsewhere=open_store
        )
        return objects
    store: Store = _module("fsspec").open_fsspec(
        url, storage_options=storage_options, elsewhere=open_store
    )
    return store


def from_fsspec(filesystem: Any, root: str) -> Store:
    """Open the store of a folder in an fsspec filesystem that exists already."""
    store: Store = _module("fsspec").adopt_fsspec(filesystem, root, elsewhere=open_store)
    return store


def from_filesystem(filesystem: Any, root: str) -> Store:
    """Open the store of a folder in a filesystem of fsspec or of pyarrow.

    Raises:
        InvalidInputError: If it is neither.
        UnsupportedError: If it is one of pyarrow that does not say where its files are.
    """
    store: Store = _module("adopting").adopt(filesystem, root, elsewhere=open_store)
    return store


def from_obstore(client: Any, url: str) -> Store:
    """Open a store over an obstore client that exists already, rooted where the client is.

    Such a store stays in its process: it refuses to be pickled.
    """
    store: Store = _module("objects").adopt_client(client, url, elsewhere=open_store)
    return store


def _module(name: str) -> Any:
    """Import an adapter when it is first needed: a local lake needs none of their libraries."""
    try:
        return import_module(f"mere.stores.{name}")
    except ModuleNotFoundError as error:
        msg = f"this storage is reached through {error.name}, which is not installed"
        raise EngineMissingError(msg, hint=f"pip install {error.name}") from error
