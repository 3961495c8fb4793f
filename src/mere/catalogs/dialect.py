"""Say what a database must offer so that a catalog can live in it.

A dialect connects, begins, commits and translates errors; it knows nothing of tables or files.
Statements are named and live in `statements/`: they are written once with `:name` parameters,
and a name that ends in `@duckdb` or the like replaces the general one in that dialect.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pkgutil import get_data
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = tuple[Any, ...]

_SOURCES = ("queries.sql", "changes.sql", "clearing.sql", "auditing.sql")

_NAMED = re.compile(r"^-- name: *([\w@]+) *$", re.MULTILINE)
_REMARK = re.compile(r";\n[^;]*\Z")  # behind a statement: it is about the next one
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_IDS = re.compile(r"IN \(:ids\)")
_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\n\);", re.DOTALL)


class Link(Protocol):
    """One open transaction."""

    @property
    def inlined(self) -> Mapping[str, str]:
        """The types that inlined rows have in this database, `*` for all others; empty: native."""
        ...

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """Return what a named query finds."""
        ...

    def bulk(self, name: str, kinds: Mapping[str, Any], /, **values: Any) -> dict[str, Any]:
        """Return what a named query finds as Arrow arrays of the given types, by column."""
        ...

    def run(self, name: str, /, **values: Any) -> int:
        """Run a named statement and return how many rows it changed."""
        ...

    def ask(self, sql: str, /) -> list[Row]:
        """Return what a statement finds that cannot be named, as its tables' names vary."""
        ...

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows, each with a value for every column in the order of the definition."""
        ...


class Dialect(Protocol):
    """One kind of database, and where it is."""

    @property
    def name(self) -> str:
        """The dialect's short name."""
        ...

    @property
    def url(self) -> str:
        """The URL to connect again, without credentials."""
        ...

    @property
    def types(self) -> Mapping[str, str]:
        """The names of the types that differ: BOOL, UUID, TIME, BLOB."""
        ...

    @property
    def folder(self) -> str | None:
        """The folder of the catalog file, None for a server."""
        ...

    @property
    def preparation(self) -> Sequence[str]:
        """The statements that a new lake needs before its tables."""
        ...

    def reading(self) -> AbstractContextManager[Link]:
        """Open a transaction that sees one state and changes nothing."""
        ...

    def writing(self) -> AbstractContextManager[Link]:
        """Open the one transaction that may write now; a clean exit commits.

        Raises:
            CommitUnsureError: When the end of the transaction was not heard: ask by token.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class CommitUnsureError(Exception):
    """The connection broke while committing; whether it did is to be asked by the token."""


class Statements:
    """The named statements of one dialect, with its own parameter style."""

    __slots__ = ("_dialect", "_ids", "_style", "_texts")

    def __init__(self, dialect: str, *, style: Callable[[str], str], ids: str) -> None:
        """Spell statements for a dialect; `ids` is how it spells membership in a list."""
        self._dialect = dialect
        self._style = style
        self._ids = ids
        self._texts: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """Return a statement by its name."""
        text = self._texts.get(name)
        if text is None:
            found = _IDS.sub(self._ids, self._found(name))
            text = self._texts[name] = _PARAMETER.sub(lambda m: self._style(m[1]), found)
        return text

    def _found(self, name: str) -> str:
        for source in _SOURCES:
            texts = _statements(source)
            text = texts.get(f"{name}@{self._dialect}", texts.get(name))
            if text is not None:
                return text
        raise KeyError(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all statements."""
        every = [name.partition("@") for source in _SOURCES for name in _statements(source)]
        return tuple(dict.fromkeys(n for n, _, only in every if only in ("", self._dialect)))

    def columns(self, table: str) -> tuple[tuple[str, str], ...]:
        """Return (name, type) of each column of a table, as its definition orders them."""
        return _tables()[table]


@cache
def _statements(source: str) -> Mapping[str, str]:
    return dict(_named(_read(source)))


@cache
def _tables() -> Mapping[str, tuple[tuple[str, str], ...]]:
    bodies = (
        pair for source in ("schema.sql", "own.sql") for pair in _TABLE.findall(_read(source))
    )
    return {table: _columns(body) for table, body in bodies}


def _read(name: str) -> str:
    found = get_data("mere.catalogs", f"statements/{name}")
    if found is None:
        msg = f"statements/{name} did not come with the package"
        raise ImportError(msg)
    return found.decode()


def _named(text: str) -> list[tuple[str, str]]:
    parts = _NAMED.split(text)
    return [
        (n, _REMARK.sub("", sql).strip()) for n, sql in zip(parts[1::2], parts[2::2], strict=True)
    ]


def _columns(body: str) -> tuple[tuple[str, str], ...]:
    lines = (line.strip().rstrip(",") for line in body.splitlines())
    pairs = (line.split(maxsplit=2) for line in lines if line and not line.startswith("PRIMARY"))
    return tuple((pair[0], pair[1].strip("{}")) for pair in pairs)


def guards(dialect: str) -> Sequence[str]:
    """Return the statements that guard files which are listed twice; none where nothing can."""
    return [sql for _, sql in _named(_read(f"guards.{dialect}.sql"))]


def definitions(source: str, types: Mapping[str, str]) -> Iterable[str]:
    """Return the statements of a definition file with this dialect's types."""
    text = re.sub(r"\{(\w+)\}", lambda m: types[m[1]], _read(source))
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    return [sql.strip() for sql in "\n".join(lines).split(";") if sql.strip()]
