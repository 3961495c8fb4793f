"""Keep a catalog in a SQLite file.

The journal is a rollback journal, as other clients of the format use it; a file that someone
set to WAL stays so. No connection stays open between operations, and nothing waits inside
SQLite: a busy file is tried again with jitter, which is fairer than its own busy handler.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from mere import catalogs
from mere.catalogs.dialect import CommitUnsureError, Row, Statements
from mere.catalogs.sql import SqlCatalog, opened
from mere.catalogs.waiting import turns
from mere.errors import CatalogError, NotFoundError

MAGIC = b"SQLite format 3\x00"
WAIT_S = 60.0
TYPES = {"BOOL": "BIGINT", "UUID": "VARCHAR", "TIME": "VARCHAR", "BLOB": "BLOB"}
INLINED = {
    **dict.fromkeys(("boolean", "int8", "int16", "int32", "int64"), "BIGINT"),
    **dict.fromkeys(("uint8", "uint16", "uint32"), "BIGINT"),
    "blob": "BLOB",
    "*": "VARCHAR",
}
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_TORN = sqlite3.SQLITE_READONLY_ROLLBACK
_CERTAIN = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_NOMEM})


def open_catalog(
    url: str | os.PathLike[str],
    *,
    data_path: str | None = None,
    create: bool = True,
    read_only: bool = False,
    schema: str = "public",
    wait_s: float = WAIT_S,
) -> SqlCatalog:
    """Open the lake in a SQLite file, or make it; `schema` is for other databases.

    Raises:
        NotFoundError: If there is no lake and `create` is False.
        CatalogError: If the file cannot be read, or stays busy for `wait_s` seconds.
    """
    del schema
    path = Path(url).expanduser().absolute()
    create = create and not read_only
    if not path.exists() and not create:
        msg = f"no lake at {str(path)!r}"
        raise NotFoundError(msg, hint="create=True makes it")
    dialect = SqliteDialect(path, read_only=read_only, wait_s=wait_s)
    root = data_path or f"{path.as_posix()}.files/"
    return opened(
        dialect, data_path=data_path, new_data_path=root, create=create, read_only=read_only
    )


class SqliteDialect:
    """A SQLite file; connections live as long as one transaction."""

    name = "sqlite"
    types: Mapping[str, str] = TYPES
    preparation: tuple[str, ...] = ()

    def __init__(self, path: Path, *, read_only: bool, wait_s: float) -> None:
        """Remember where the file is; nothing is opened yet."""
        self._path = path
        self._read_only = read_only
        self._wait_s = wait_s
        self._statements = Statements("sqlite", style=":{}".format, ids=_IDS)

    @property
    def url(self) -> str:
        """The URL to connect again."""
        return f"sqlite://{quote(self._path.as_posix())}"

    @property
    def folder(self) -> str | None:
        """The folder of the file."""
        return self._path.parent.as_posix()

    @contextmanager
    def reading(self) -> Iterator["SqliteLink"]:
        """Open a transaction that sees one state and changes nothing."""
        connection = self._begin("BEGIN", read=True)
        with closing(connection), self._translated():
            yield SqliteLink(connection, self._statements)

    @contextmanager
    def writing(self) -> Iterator["SqliteLink"]:
        """Open the one transaction that may write now; a clean exit commits."""
        connection = self._begin("BEGIN IMMEDIATE", read=False)
        with closing(connection), self._translated():
            yield SqliteLink(connection, self._statements)
            self._commit(connection)

    def close(self) -> None:
        """Do nothing: no connection outlives its transaction."""

    def _begin(self, begin: str, *, read: bool) -> sqlite3.Connection:
        """Connect and begin, trying again while others hold the file."""
        error: sqlite3.Error | None = None
        for _ in turns(self._wait_s):
            connection = self._connect()
            try:
                if not read:
                    _prepare(connection)
                connection.execute(begin)
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except sqlite3.Error as failure:
                connection.close()
                error = failure
                if _code(failure) == _TORN:
                    self._mend(failure)
                elif _code(failure) & 0xFF not in _BUSY:
                    raise self._wrong(failure) from failure
            else:
                return connection
        msg = f"the catalog {self._path.name!r} stayed busy for {self._wait_s:g} s"
        raise CatalogError(msg, hint="another process holds a transaction open") from error

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self._read_only else "rw"
        if mode == "rw" and not self._path.exists():
            mode = "rwc"
        where = f"file:{quote(self._path.as_posix())}?mode={mode}"
        try:
            return sqlite3.connect(
                where, uri=True, timeout=0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._wrong(error) from error

    def _mend(self, error: sqlite3.Error) -> None:
        """Roll back what a crashed writer left, which a reader may not do itself."""
        if not os.access(self._path, os.W_OK):
            msg = f"the catalog {self._path.name!r} holds a commit that a crash cut off"
            raise CatalogError(msg, hint="open it once with the right to write") from error
        where = f"file:{quote(self._path.as_posix())}?mode=rw"
        with closing(sqlite3.connect(where, uri=True, timeout=0)) as connection:
            try:
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except sqlite3.Error as failure:
                if _code(failure) & 0xFF not in _BUSY:
                    raise self._wrong(failure) from failure

    def _commit(self, connection: sqlite3.Connection) -> None:
        """Commit, waiting until those who read have finished."""
        error: sqlite3.Error | None = None
        for _ in turns(self._wait_s):
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as failure:
                error = failure
                code = _code(failure) & 0xFF
                if code not in _BUSY | _CERTAIN:
                    raise CommitUnsureError from failure
                if code in _CERTAIN:
                    raise
            else:
                return
        msg = f"readers held the catalog {self._path.name!r} for {self._wait_s:g} s"
        raise CatalogError(msg, hint="another process holds a transaction open") from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._wrong(error) from error

    def _wrong(self, error: sqlite3.Error) -> CatalogError:
        hints = {
            sqlite3.SQLITE_FULL: "the disk is full; nothing was changed",
            sqlite3.SQLITE_READONLY: "the file or its folder cannot be written",
            sqlite3.SQLITE_CANTOPEN: "the folder does not exist, or may not be entered",
            sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
            sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
        }
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        msg = f"SQLite refused the catalog {str(self._path)!r}: {error} ({name})"
        return CatalogError(msg, hint=hints.get(_code(error) & 0xFF))


_LINES = "CAST(group_concat({}, char(10)) AS BLOB)"
_QUOTED = """ifnull('"' || replace(c{0}, '"', '""') || '"', '')"""
_IDS = "IN (SELECT value FROM json_each(:ids))"


class SqliteLink:
    """One open transaction on a SQLite file."""

    __slots__ = ("_connection", "_statements")

    inlined: Mapping[str, str] = INLINED

    def __init__(self, connection: sqlite3.Connection, statements: Statements) -> None:
        """Speak through a connection that has begun."""
        self._connection = connection
        self._statements = statements

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """Return what a named query finds."""
        return self._connection.execute(self._statements[name], _bound(values)).fetchall()

    def bulk(
        self, name: str, kinds: Mapping[str, pa.DataType], /, **values: Any
    ) -> dict[str, pa.Array]:
        """Return what a named query finds as arrays.

        SQLite joins each column into one text of lines, which Arrow parses: no row becomes a
        Python object. The first column holds ids, each once. Binary stands for texts that hold no
        quote and no end of a line.
        """
        texts = [_LINES.format(_spelled(i, kind)) for i, kind in enumerate(kinds.values())]
        count, first, last, *columns = self._told(
            name, ["count(*)", "min(c0)", "max(c0)", *texts[1:]], len(kinds), values
        )
        if count and last - first + 1 == count:  # ids without gaps need no text
            ids = pa.arange(first, last + 1)
        else:
            (lines,) = self._told(name, texts[:1], len(kinds), values)
            ids = catalogs.arrays.column(lines, pa.int64(), count=count)
        (id_name, _), *others = kinds.items()
        pairs = zip(others, columns, strict=True)
        found = {
            name: catalogs.arrays.column(text, kind, count=count) for (name, kind), text in pairs
        }
        return {id_name: ids, **found}

    def _told(self, name: str, what: Sequence[str], width: int, values: dict[str, Any]) -> Row:
        """Return aggregates over what a named query finds, by the names c0, c1 and so on."""
        names = ", ".join(f"c{i}" for i in range(width))
        found = f"WITH found({names}) AS ({self._statements[name]})"
        sql = f"{found} SELECT {', '.join(what)} FROM found"  # noqa: S608  own statements
        row: Row = self._connection.execute(sql, _bound(values)).fetchone()
        return row

    def run(self, name: str, /, **values: Any) -> int:
        """Run a named statement and return how many rows it changed."""
        return self._connection.execute(self._statements[name], _bound(values)).rowcount

    def ask(self, sql: str, /) -> list[Row]:
        """Return what a statement finds."""
        return self._connection.execute(sql).fetchall()

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows, each with a value for every column in the order of the definition."""
        names = [name for name, _ in self._statements.columns(table)]
        marks = ", ".join("?" * len(names))
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608  own names
        self._connection.executemany(sql, rows)


def _spelled(column: int, kind: pa.DataType) -> str:
    return _QUOTED.format(column) if kind == pa.string() else f"ifnull(c{column}, '')"


def _bound(values: dict[str, Any]) -> dict[str, Any]:
    return values | {"ids": json.dumps(list(values["ids"]))} if "ids" in values else values


def _prepare(connection: sqlite3.Connection) -> None:
    """Choose a journal that every client of the format can live with, and full durability."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":  # a journal that keeps its size costs no change to the folder or the inode
        connection.execute("PRAGMA journal_mode = PERSIST")
        connection.execute("PRAGMA journal_size_limit = 1048576")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_spill = OFF")  # spilling needs the file for itself too early


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0)
