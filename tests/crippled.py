"""Take one guard out of a catalog or a store, so that a test can show what it is there for."""

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from io import BytesIO
from pathlib import Path
from typing import Any

from mere.catalogs.dialect import Link, Row
from mere.catalogs.sqlite import SqliteDialect, SqliteLink
from mere.stores.local import LocalStore


class Altered:
    """A dialect whose write transactions are handed out altered."""

    def __init__(self, behind: Any, alter: Any) -> None:
        self._behind = behind
        self._alter = alter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        with self._behind.writing() as link:
            yield self._alter(link)


class _Passed:
    """A transaction that passes everything on."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        return self._link.rows(name, **values)

    def run(self, name: str, /, **values: Any) -> int:
        return self._link.run(name, **values)

    def insert(self, table: str, rows: list[Row]) -> None:
        self._link.insert(table, rows)


class WithoutTokens(_Passed):
    """Nobody asks whether a token was used, and none is kept."""

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        return [] if name == "committed" else super().rows(name, **values)

    def run(self, name: str, /, **values: Any) -> int:
        if name == "commit_token":
            values["token"] = secrets.token_hex(8)
        return super().run(name, **values)


class WithoutFence(_Passed):
    """A commit takes every announcement for one that still stands."""

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        return [("open",)] if name == "intent" else super().rows(name, **values)


class Piecemeal(_Passed):
    """Every statement is a transaction of its own."""

    def run(self, name: str, /, **values: Any) -> int:
        changed = super().run(name, **values)
        self._cut()
        return changed

    def insert(self, table: str, rows: list[Row]) -> None:
        super().insert(table, rows)
        self._cut()

    def _cut(self) -> None:
        self._link.ask("COMMIT")
        self._link.ask("BEGIN IMMEDIATE")


class Deferred:
    """A SQLite file whose writers take the lock when they first write, not when they begin."""

    def __init__(self, behind: SqliteDialect) -> None:
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def writing(self) -> AbstractContextManager[SqliteLink]:
        behind: Any = copy(self._behind)  # each thread its own: the guard is taken out of a copy
        immediate = behind._begin  # noqa: SLF001  the guard
        behind._begin = lambda _, read: immediate("BEGIN", read=read)  # noqa: SLF001
        altered: SqliteDialect = behind
        return altered.writing()


class Unflushed:
    """A local store that leaves it to the system when bytes reach the disk."""

    def __init__(self, behind: LocalStore) -> None:
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def writer(self, path: str) -> AbstractContextManager[Any]:
        target = Path(self._behind.url + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("xb")


class WritingLate(Unflushed):
    """A local store that says a file is written, and writes it when it is next asked to."""

    def __init__(self, behind: LocalStore) -> None:
        super().__init__(behind)
        self._waiting: list[tuple[str, bytes]] = []

    @contextmanager
    def writer(self, path: str) -> Iterator[Any]:
        for earlier, data in self._waiting:
            self._behind.put(earlier, data)
        sink = BytesIO()
        yield sink
        self._waiting = [(path, sink.getvalue())]


LINKS = {"tokens": WithoutTokens, "fence": WithoutFence, "whole": Piecemeal}
STORES = {"flushes": Unflushed, "first": WritingLate}
