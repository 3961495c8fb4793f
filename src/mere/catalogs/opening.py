"""Make a lake, or check that what is there is one that this version can handle."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from mere.catalogs.dialect import CommitUnsureError, Dialect, Link, definitions, guards
from mere.catalogs.times import time_text
from mere.errors import CatalogError, InvalidInputError, NotFoundError, UnsupportedError

VERSION = "1.0"
OWN = frozenset(
    {
        *("mere_check", "mere_commit", "mere_footer", "mere_intent", "mere_ref"),
        *("mere_adopted", "mere_archive", "mere_loaded", "mere_moved", "mere_row_group"),
        "mere_segment",
        "mere_counted",
        *("mere_shared", "mere_step"),
    }
)
TRIES = 10
_NOTHING = ""
T = TypeVar("T")


def open_lake(
    dialect: Dialect, *, data_path: str | None, new_data_path: str | None, create: bool
) -> tuple[str, frozenset[str]]:
    """Return the root of a lake's data and the tables of our own in it; make it when missing.

    Of two that make it at once, one does and the other opens what it made.

    Raises:
        NotFoundError: If there is no lake and `create` is False.
        InvalidInputError: If the lake keeps its data elsewhere than `data_path`.
        UnsupportedError: If the lake needs what this version cannot do.
    """
    if data_path is not None:
        check_data_path(data_path)
    try:
        with dialect.reading() as link:
            found = own_tables(link)
            options = _options(link) if "ducklake_metadata" in found else None
    except NotFoundError:
        if not create:
            raise
        options, found = None, frozenset()
    if options is None:
        if not create:
            msg = f"the database {dialect.url} holds no lake"
            raise NotFoundError(msg, hint="create=True makes one in it")
        if new_data_path is None:
            msg = f"a new lake at {dialect.url} must be told where its data goes"
            raise InvalidInputError(msg, hint="pass data_path: a folder, or s3://bucket/prefix/")
        check_data_path(new_data_path)
        made = new_data_path
        options = written(dialect, lambda link: _make(link, dialect, made))
        found = OWN
    root = _check(options, dialect)
    if data_path is not None and not _same(_normal(data_path), root):
        msg = f"the lake {dialect.url} keeps its data in {root!r}, not in {data_path!r}"
        raise InvalidInputError(msg, hint="leave data_path out: a lake remembers it")
    return root, found & OWN


def written(dialect: Dialect, do: Callable[[Link], T]) -> T:
    """Do something in a write transaction, and again when the end of it was not heard.

    What is done must be the same when done twice.
    """
    cause: BaseException | None = None
    for _ in range(TRIES):
        try:
            with dialect.writing() as link:
                return do(link)
        except CommitUnsureError as error:
            cause = error.__cause__
    msg = f"{dialect.url} broke off {TRIES} times while committing"
    raise CatalogError(msg, hint="look whether the database is well; then call again") from cause


def own_tables(link: Link) -> frozenset[str]:
    """Return which of the tables that tell what there is exist."""
    return frozenset(row[0] for row in link.rows("own_tables"))


def make_own(link: Link, dialect: Dialect) -> None:
    """Make the tables and indexes beyond the format that are missing."""
    for statement in definitions("own.sql", dialect.types):
        link.ask(statement)
    for statement in definitions(f"indexes.{dialect.name}.sql", dialect.types):
        link.ask(statement)
    for statement in guards(dialect.name):
        link.ask(statement)


def _options(link: Link) -> dict[str, str]:
    return {key: value for key, value, scope, _ in link.rows("options") if scope is None}


def _make(link: Link, dialect: Dialect, data_path: str) -> dict[str, str]:
    """Write the first snapshot, unless somebody did so meanwhile."""
    if "ducklake_metadata" in own_tables(link):
        return _options(link)
    for statement in (*dialect.preparation, *definitions("schema.sql", dialect.types)):
        link.ask(statement)
    make_own(link, dialect)
    said = {
        "version": VERSION,
        "created_by": "mere",
        "data_path": _normal(data_path),
        "encrypted": "false",
    }
    link.insert("ducklake_metadata", [(key, value, None, None) for key, value in said.items()])
    link.insert("ducklake_schema", [(0, str(uuid4()), 0, None, "main", "main/", True)])
    link.insert("ducklake_snapshot", [(0, time_text(datetime.now(UTC)), 0, 1, 0)])
    text = 'created_schema:"main"'
    link.insert("ducklake_snapshot_changes", [(0, text, None, None, None)])
    return said


def _check(options: Mapping[str, str], dialect: Dialect) -> str:
    """Refuse what this version cannot handle; return the absolute root of the data."""
    version = options.get("version")
    if version != VERSION:
        msg = f"the lake {dialect.url} has the format version {version!r}, not {VERSION!r}"
        hint = "DuckDB's ATTACH … (AUTOMATIC_MIGRATION) brings an older lake to 1.0"
        raise UnsupportedError(msg, hint=hint)
    if options.get("encrypted", "false").lower() == "true":
        msg = f"the files of the lake {dialect.url} are encrypted, which this version cannot read"
        raise UnsupportedError(msg)
    stored = options.get("data_path", _NOTHING)
    if not stored:
        msg = f"the lake {dialect.url} does not say where its data lies"
        raise CatalogError(msg, hint="the row data_path of ducklake_metadata is missing")
    return _absolute(stored, dialect.folder)


def _absolute(stored: str, folder: str | None) -> str:
    """Resolve a relative root as the format's reference does, else beside the catalog file."""
    if "://" in stored or Path(stored).is_absolute():
        return _normal(stored)
    beside = Path(folder or ".") / stored
    return _normal(str(beside if beside.is_dir() and not Path(stored).is_dir() else stored))


def _normal(data_path: str) -> str:
    text = data_path.removeprefix("file://")
    if "://" not in text:
        text = Path(text).absolute().as_posix()
    return text.rstrip("/") + "/"


def _same(one: str, other: str) -> bool:
    """Tell whether two roots are one place, however they are spelled."""
    if "://" in one or "://" in other:
        return one == other
    return Path(one).resolve() == Path(other).resolve()


def check_data_path(data_path: str) -> None:
    """Refuse a root that carries a secret: the catalog would keep it.

    Raises:
        InvalidInputError: If it does, or is empty.
    """
    parts = urlsplit(data_path) if "://" in data_path else None
    if not data_path.strip():
        msg = "data_path is empty"
        raise InvalidInputError(msg)
    if parts is not None and ("@" in parts.netloc or parts.query):
        msg = "data_path must not carry credentials: the catalog would keep them"
        hint = "pass them as storage_options, or by the environment"
        raise InvalidInputError(msg, hint=hint)
