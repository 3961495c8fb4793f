"""Keep a catalog in a PostgreSQL database.

Writers queue at a lock on `ducklake_snapshot` that lets everyone read on and that other clients
of the format wait for as well. Connections are reused; one that broke is replaced, and a commit
whose answer was lost is settled by its token.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
import pyarrow as pa
from psycopg import sql

from mere import catalogs
from mere.catalogs.dialect import CommitUnsureError, Row, Statements
from mere.catalogs.sql import SqlCatalog, opened
from mere.errors import CatalogError, InvalidInputError, MereError

WAIT_S = 60.0
TYPES = {"BOOL": "BOOLEAN", "UUID": "UUID", "TIME": "TIMESTAMPTZ", "BLOB": "BYTEA"}
INLINED = {
    "boolean": "BOOLEAN",
    "int8": "SMALLINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "INTEGER",
    "uint16": "INTEGER",
    "uint32": "BIGINT",
    "float32": "REAL",
    "float64": "DOUBLE PRECISION",
    "decimal": "NUMERIC",
    "time": "TIME",
    "timetz": "TIMETZ",
    "interval": "INTERVAL",
    "uuid": "UUID",
    "varchar": "BYTEA",
    "json": "BYTEA",
    "blob": "BYTEA",
    "*": "VARCHAR",
}
_SECRET = frozenset({"password", "sslpassword", "passfile", "sslkey"})
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; LOCK TABLE ducklake_snapshot IN SHARE ROW EXCLUSIVE MODE"
)
_MAKE = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(5569069302)"
_AGAIN = frozenset({"40001", "40P01", "23505", "57P01", "57P02"})
_FEW = 20
_BLOCK = 1 << 16
_LINES = "convert_to(string_agg({}, E'\\n' ORDER BY c0), 'UTF8')"
_ARRAYS = frozenset({"archive", "segment_values"})
_MOST_IDLE = 8


def open_catalog(
    url: str,
    *,
    data_path: str | None = None,
    create: bool = True,
    read_only: bool = False,
    schema: str = "public",
    wait_s: float = WAIT_S,
) -> SqlCatalog:
    """Open the lake in a schema of a PostgreSQL database, or make it.

    Raises:
        NotFoundError: If there is no lake and `create` is False.
        InvalidInputError: If a new lake is not told where its data goes.
        CatalogError: If the server cannot be reached.
    """
    dialect = PostgresDialect(url, schema=schema, read_only=read_only, wait_s=wait_s)
    create = create and not read_only
    return opened(
        dialect, data_path=data_path, new_data_path=data_path, create=create, read_only=read_only
    )


class PostgresDialect:
    """A schema of a PostgreSQL database, and the connections to it that are idle."""

    name = "postgres"
    folder = None
    types: Mapping[str, str] = TYPES

    def __init__(self, url: str, *, schema: str, read_only: bool, wait_s: float) -> None:
        """Remember where the database is; nothing is opened yet."""
        self._secret_url = url
        self._schema = schema
        self._read_only = read_only
        self._wait_s = wait_s
        self._url = without_secrets(url)
        self._statements = Statements("postgres", style="%({})s".format, ids="= ANY(:ids)")
        self._idle: list[psycopg.Connection[Row]] = []
        self._owner = os.getpid()
        self._lock = Lock()

    @property
    def url(self) -> str:
        """The URL to connect again, without credentials."""
        return self._url

    @property
    def preparation(self) -> tuple[str, ...]:
        """What a new lake needs before its tables."""
        name = self._schema.replace('"', '""')
        return (f'CREATE SCHEMA IF NOT EXISTS "{name}"',)

    @contextmanager
    def reading(self) -> Iterator["PostgresLink"]:
        """Open a transaction that sees one state and changes nothing."""
        connection = self._begin(_READ)
        try:
            yield PostgresLink(connection, self._statements)
        except psycopg.Error as error:
            connection.close()
            raise self._wrong(error) from error
        except MereError:
            self._undo(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._undo(connection)  # what was read is whole, even when this is not heard

    @contextmanager
    def writing(self) -> Iterator["PostgresLink"]:
        """Open the one transaction that may write now; a clean exit commits."""
        connection = self._begin(_WRITE)
        try:
            yield PostgresLink(connection, self._statements)
            connection.execute("COMMIT")
        except psycopg.Error as error:
            lost = connection.broken or connection.closed
            connection.close()
            if lost or error.sqlstate in _AGAIN:
                raise CommitUnsureError from error
            raise self._wrong(error) from error
        except MereError:
            self._undo(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _begin(self, statement: str) -> psycopg.Connection[Row]:
        """Begin on an idle connection, or on a new one when it broke meanwhile."""
        while (connection := self._take()) is not None:
            try:
                return self._begun(connection, statement)
            except psycopg.OperationalError as error:
                lost = connection.broken or connection.closed
                connection.close()
                if not lost:
                    raise self._wrong(error) from error
        connection = self._connect()
        try:
            return self._begun(connection, statement)
        except psycopg.Error as error:
            connection.close()
            raise self._wrong(error) from error

    def _begun(
        self, connection: psycopg.Connection[Row], statement: str
    ) -> psycopg.Connection[Row]:
        try:
            connection.execute(statement.encode())
        except psycopg.errors.UndefinedTable:  # a lake that is to be made has nothing to lock
            connection.execute(b"ROLLBACK")
            connection.execute(_MAKE.encode())
        return connection

    def _connect(self) -> psycopg.Connection[Row]:
        try:
            connection = psycopg.connect(self._secret_url, autocommit=True)
            path = sql.SQL("SET search_path TO {}").format(sql.Identifier(self._schema))
            connection.execute(path)
            connection.execute(f"SET lock_timeout TO {int(self._wait_s * 1000)}".encode())
        except psycopg.ProgrammingError:
            raise _misspelled() from None  # the driver repeats the URL, password and all
        except psycopg.Error as error:
            raise self._wrong(error) from error
        return connection

    def _take(self) -> psycopg.Connection[Row] | None:
        with self._lock:
            if self._owner != os.getpid():
                self._idle, self._owner = [], os.getpid()  # a fork must not share connections
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: psycopg.Connection[Row]) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE and self._owner == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def _undo(self, connection: psycopg.Connection[Row]) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
        else:
            self._give_back(connection)

    def _wrong(self, error: psycopg.Error) -> CatalogError:
        state = error.sqlstate
        hints = {
            "55P03": f"another writer held the lake for {self._wait_s:g} s",
            "42501": "the user lacks a right on the catalog's tables",
            "25006": "the server, or this connection, is read-only",
            "53300": "the server has no connection left",
        }
        hint = hints.get(state or "")
        if isinstance(error, psycopg.OperationalError) and state is None:
            hint = "the server cannot be reached; check host, port, user and password"
        msg = f"PostgreSQL refused at {self.url}: {str(error).strip()}"
        return CatalogError(f"{msg} ({state or type(error).__name__})", hint=hint)


class PostgresLink:
    """One open transaction on a PostgreSQL connection."""

    __slots__ = ("_connection", "_statements")

    inlined: Mapping[str, str] = INLINED

    def __init__(self, connection: psycopg.Connection[Row], statements: Statements) -> None:
        """Speak through a connection that has begun."""
        self._connection = connection
        self._statements = statements

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """Return what a named query finds."""
        statement, binary = self._statements[name].encode(), name in _ARRAYS
        return self._connection.execute(statement, _bound(values), binary=binary).fetchall()

    def bulk(
        self, name: str, kinds: Mapping[str, pa.DataType], /, **values: Any
    ) -> dict[str, pa.Array]:
        """Return what a named query finds as arrays.

        The server joins many rows of each column into one text of lines, which Arrow parses: no
        row becomes a Python object, nor a message of its own. The first column holds ids.
        """
        names = [f"c{i}" for i in range(len(kinds))]
        texts = [_LINES.format(_spelled(n, k)) for n, k in zip(names, kinds.values(), strict=True)]
        statement = (
            f"SELECT {', '.join(texts)} FROM (SELECT *, (row_number() OVER () - 1) / {_BLOCK} AS block"  # noqa: S608, E501  own statements
            f" FROM ({self._statements[name]}) found({', '.join(names)})) numbered"
            " GROUP BY block ORDER BY block"
        )
        rows = self._connection.execute(statement.encode(), _bound(values), binary=True).fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in kinds)
        pairs = zip(kinds.items(), columns, strict=True)
        return {
            name: catalogs.arrays.column(b"\n".join(blocks), kind, count=None if blocks else 0)
            for (name, kind), blocks in pairs
        }

    def run(self, name: str, /, **values: Any) -> int:
        """Run a named statement and return how many rows it changed."""
        return self._connection.execute(self._statements[name].encode(), _bound(values)).rowcount

    def ask(self, statement: str, /) -> list[Row]:
        """Return what a statement finds."""
        cursor = self._connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows: a few as statements, many as one COPY."""
        if not rows:
            return
        names = [sql.Identifier(name) for name, _ in self._statements.columns(table)]
        columns = sql.SQL(", ").join(names)
        with self._connection.cursor() as cursor:
            if len(rows) > _FEW:
                load = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), columns)
                with cursor.copy(load) as copy:
                    for row in rows:
                        copy.write_row(row)
                return
            marks = sql.SQL(", ").join(sql.Placeholder() * len(names))
            form = sql.SQL("INSERT INTO {} ({}) VALUES ({})")
            cursor.executemany(form.format(sql.Identifier(table), columns, marks), rows)


def _spelled(name: str, kind: pa.DataType) -> str:
    quoted = f"""'"' || replace({name}, '"', '""') || '"'"""
    return f"coalesce({quoted if kind == pa.string() else f'{name}::text'}, '')"


def _bound(values: dict[str, Any]) -> dict[str, Any]:
    if "ids" in values:
        values["ids"] = list(values["ids"])
    return values


def without_secrets(url: str) -> str:
    """Return a PostgreSQL URL without what nobody else may know."""
    if "://" not in url:
        return "postgresql:"
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _misspelled() from None
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    query = urlencode([(k, v) for k, v in parse_qsl(parts.query) if k not in _SECRET])
    netloc = f"{name}@{host}" if name else host
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def _misspelled() -> InvalidInputError:
    msg = "the PostgreSQL URL cannot be understood"
    return InvalidInputError(msg, hint="write postgresql://user@host:5432/database")
