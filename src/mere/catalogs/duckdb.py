"""Keep a catalog in a DuckDB file.

One process at a time can have such a file open for writing, so each operation opens it, does its
work and closes it again; others wait their turn.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow as pa

from mere.catalogs.dialect import CommitUnsureError, Row, Statements
from mere.catalogs.sql import SqlCatalog, opened
from mere.catalogs.waiting import turns
from mere.errors import CatalogError, NotFoundError

MAGIC, MAGIC_PLACE = b"DUCK", 8
WAIT_S = 30.0
TYPES = {"BOOL": "BOOLEAN", "UUID": "UUID", "TIME": "TIMESTAMP WITH TIME ZONE", "BLOB": "BLOB"}
_ARROW = {"BIGINT": pa.int64(), "BOOL": pa.bool_(), "BLOB": pa.binary()}
_TAKEN = (duckdb.OperationalError, duckdb.BinderException)
_AGAIN = (duckdb.TransactionException, duckdb.ConstraintException)
_LONGEST_PAUSE_S = 0.1
_MAKING_S = 2.0
_FEW = 2


def open_catalog(
    url: str | os.PathLike[str],
    *,
    data_path: str | None = None,
    create: bool = True,
    read_only: bool = False,
    schema: str = "public",
    wait_s: float = WAIT_S,
) -> SqlCatalog:
    """Open the lake in a DuckDB file, or make it; `schema` is for other databases.

    Raises:
        NotFoundError: If there is no lake and `create` is False.
        CatalogError: If the file cannot be read, or others have it for `wait_s` seconds.
    """
    del schema
    path = Path(url).expanduser().absolute()
    create = create and not read_only
    if not path.exists() and not create:
        msg = f"no lake at {str(path)!r}"
        raise NotFoundError(msg, hint="create=True makes it")
    dialect = DuckdbDialect(path, wait_s=wait_s)
    root = data_path or f"{path.as_posix()}.files/"
    return opened(
        dialect, data_path=data_path, new_data_path=root, create=create, read_only=read_only
    )


class DuckdbDialect:
    """A DuckDB file, opened for the length of one transaction."""

    name = "duckdb"
    types: Mapping[str, str] = TYPES
    preparation: tuple[str, ...] = ()

    def __init__(self, path: Path, *, wait_s: float) -> None:
        """Remember where the file is; nothing is opened yet."""
        self._path = path
        self._wait_s = wait_s
        self._writer = Lock()
        self._statements = Statements(
            "duckdb", style="${}".format, ids="IN (SELECT unnest(CAST(:ids AS BIGINT[])))"
        )

    @property
    def url(self) -> str:
        """The URL to connect again."""
        return f"duckdb://{quote(self._path.as_posix())}"

    @property
    def folder(self) -> str | None:
        """The folder of the file."""
        return self._path.parent.as_posix()

    @contextmanager
    def reading(self) -> Iterator["DuckdbLink"]:
        """Open a transaction that sees one state and changes nothing."""
        if not self._path.exists():
            msg = f"no lake at {str(self._path)!r}"
            raise NotFoundError(msg)
        connection = self._connect(read_only=True)
        try:
            connection.execute("BEGIN TRANSACTION READ ONLY")
            yield DuckdbLink(connection, self._statements)
        except duckdb.Error as error:
            raise self._wrong(error) from error
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator["DuckdbLink"]:
        """Open the one transaction that may write now; a clean exit commits."""
        with self._writer:
            connection = self._connect(read_only=False)
            try:
                connection.execute("BEGIN TRANSACTION")
                yield DuckdbLink(connection, self._statements)
                connection.execute("COMMIT")
            except _AGAIN as error:
                raise CommitUnsureError from error
            except duckdb.Error as error:
                raise self._wrong(error) from error
            finally:
                connection.close()

    def close(self) -> None:
        """Do nothing: no connection outlives its transaction."""

    def _connect(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        """Open the file, trying again while others have it."""
        self._check()
        error: duckdb.Error | None = None
        for _ in turns(self._wait_s, longest=_LONGEST_PAUSE_S):
            try:
                return duckdb.connect(str(self._path), read_only=read_only)
            except _TAKEN as failure:
                error = failure
            except duckdb.Error as failure:
                raise self._wrong(failure) from failure
        msg = f"the catalog {str(self._path)!r} was not free for {self._wait_s:g} s: {error}"
        hint = "one process at a time can have a DuckDB file open; SQLite and PostgreSQL share"
        raise CatalogError(msg, hint=hint) from error

    def _check(self) -> None:
        """Tell at once what no waiting would mend."""
        if not self._path.parent.is_dir():
            msg = f"the folder of the catalog {str(self._path)!r} does not exist"
            raise CatalogError(msg)
        if not self._path.exists():
            return
        if not os.access(self._path, os.R_OK):
            msg = f"the catalog {str(self._path)!r} may not be read"
            raise CatalogError(msg)
        if self._start()[MAGIC_PLACE:] != MAGIC:
            msg = f"{str(self._path)!r} is no DuckDB database"
            raise CatalogError(msg)

    def _start(self) -> bytes:
        """Read the first bytes; an empty file may be one that another process is making."""
        for _ in turns(min(_MAKING_S, self._wait_s)):
            with suppress(FileNotFoundError), self._path.open("rb") as file:  # or makes anew
                start = file.read(MAGIC_PLACE + len(MAGIC))
                if start:
                    return start
        msg = f"the catalog {str(self._path)!r} is an empty file"
        raise CatalogError(msg, hint="whoever was to make it died; delete it, and call again")

    def _wrong(self, error: duckdb.Error) -> CatalogError:
        msg = f"DuckDB refused the catalog {str(self._path)!r}: {error}"
        return CatalogError(msg)


class DuckdbLink:
    """One open transaction on a DuckDB file."""

    __slots__ = ("_connection", "_statements")

    inlined: Mapping[str, str] = {}

    def __init__(self, connection: duckdb.DuckDBPyConnection, statements: Statements) -> None:
        """Speak through a connection that has begun."""
        self._connection = connection
        self._statements = statements

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """Return what a named query finds."""
        return self._connection.execute(self._statements[name], _bound(values)).fetchall()

    def bulk(
        self, name: str, kinds: Mapping[str, pa.DataType], /, **values: Any
    ) -> dict[str, pa.Array]:
        """Return what a named query finds as arrays."""
        found = self._connection.sql(self._statements[name], params=_bound(values)).to_arrow_table()
        columns = zip(kinds.items(), found.columns, strict=True)
        return {name: column.combine_chunks().cast(kind) for (name, kind), column in columns}

    def run(self, name: str, /, **values: Any) -> int:
        """Run a named statement and return how many rows it changed."""
        found = self._connection.execute(self._statements[name], _bound(values)).fetchone()
        return int(found[0]) if found else 0

    def ask(self, sql: str, /) -> list[Row]:
        """Return what a statement finds."""
        return self._connection.execute(sql).fetchall()

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows: a few as statements, many as one Arrow table."""
        if not rows:
            return
        columns = self._statements.columns(table)
        names = ", ".join(f'"{name}"' for name, _ in columns)
        if len(rows) <= _FEW:
            marks = ", ".join("?" * len(columns))
            sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608  own names
            self._connection.executemany(sql, [list(row) for row in rows])
            return
        arrays = [
            pa.array(values, _ARROW.get(kind, pa.string()))
            for (_, kind), values in zip(columns, zip(*rows, strict=True), strict=True)
        ]
        self._connection.register("mere_rows", pa.table(arrays, names=[n for n, _ in columns]))
        sql = f"INSERT INTO {table} ({names}) SELECT * FROM mere_rows"  # noqa: S608  own names
        self._connection.execute(sql)
        self._connection.unregister("mere_rows")


def _bound(values: dict[str, Any]) -> dict[str, Any]:
    if "ids" in values:
        values["ids"] = list(values["ids"])
    return values
