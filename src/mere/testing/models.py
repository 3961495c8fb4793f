"""Know what a table shows at every version, in plain Python: what real lakes are compared with.

A model is told what was done and at which version; it knows nothing of files, catalogs or
engines. Rows are told apart by the value of their first column, which never changes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["insert", "delete", "update_preimage", "update_postimage"]
Row: TypeAlias = Mapping[int, Any]
"""The values of a row by column number; a column that came later is missing."""
Shown: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its number stays when its name and its type change."""

    number: int
    name: str
    type: str
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The columns, and the rows by the value of the first one."""

    columns: tuple[Column, ...]
    rows: Mapping[Any, Row]

    def shown(self) -> list[Shown]:
        """Return the rows as a reader sees them, by the first column."""
        return [shown(self.rows[key], self.columns) for key in sorted(self.rows)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row version that came or went."""

    kind: Kind
    key: Any
    row: Row


@dataclass(slots=True)
class TableModel:
    """A table at each of its living versions, and how its rows changed at each of them."""

    versions: dict[int, Version] = field(default_factory=dict)
    events: dict[int, tuple[Event, ...]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """Return the newest version."""
        return max(self.versions)

    @property
    def now(self) -> Version:
        """Return the newest state."""
        return self.versions[self.last]

    @property
    def keys(self) -> list[Any]:
        """Return the keys of the newest rows, in order."""
        return sorted(self.now.rows)

    def create(self, columns: Iterable[Column], *, at: int) -> None:
        """Begin without rows."""
        self.versions = {at: Version(columns=tuple(columns), rows={})}

    def insert(self, rows: Iterable[Mapping[str, Any]], *, at: int) -> None:
        """Add rows, given by the names of columns."""
        made = {row[self.now.columns[0].name]: self._stored(row) for row in rows}
        events = (Event(kind="insert", key=key, row=row) for key, row in made.items())
        self._become({**self.now.rows, **made}, events, at)

    def delete(self, keys: Collection[Any], *, at: int) -> None:
        """Take rows away."""
        old = self.now.rows
        events = (Event(kind="delete", key=key, row=old[key]) for key in keys)
        self._become({k: row for k, row in old.items() if k not in keys}, events, at)

    def update(self, keys: Collection[Any], column: str, value: Any, *, at: int) -> None:
        """Give rows another value in one column."""
        columns, old = self.now.columns, self.now.rows
        number = next(c.number for c in columns if c.name == column)
        made = {key: {**filled(old[key], columns), number: value} for key in keys}
        events: list[Event] = []
        for key, row in made.items():
            events.append(Event(kind="update_preimage", key=key, row=old[key]))
            events.append(Event(kind="update_postimage", key=key, row=row))
        self._become({**old, **made}, events, at)

    def overwrite(self, rows: Iterable[Mapping[str, Any]], *, at: int) -> None:
        """Replace all rows."""
        old = self.now.rows
        made = {row[self.now.columns[0].name]: self._stored(row) for row in rows}
        gone = [Event(kind="delete", key=key, row=row) for key, row in old.items()]
        came = [Event(kind="insert", key=key, row=row) for key, row in made.items()]
        self._become(made, [*gone, *came], at)

    def define(self, columns: Iterable[Column], *, at: int) -> None:
        """Change the columns; the rows stay."""
        self.versions[at] = replace(self.now, columns=tuple(columns))

    def alter(self, name: str, change: Callable[[Column], Column], *, at: int) -> None:
        """Change one column."""
        self.define((change(c) if c.name == name else c for c in self.now.columns), at=at)

    def maintain(self, *, at: int) -> None:
        """Make versions up to `at` that show what the newest one shows."""
        now = self.now
        self.versions |= dict.fromkeys(range(self.last + 1, at + 1), now)

    def expire(self, versions: Collection[int]) -> None:
        """Forget versions."""
        self.versions = {n: v for n, v in self.versions.items() if n not in versions}

    def contiguous(self) -> list[int]:
        """Return the newest versions that follow each other without a gap."""
        first = self.last
        while first - 1 in self.versions:
            first -= 1
        return list(range(first, self.last + 1))

    def changes(self, since: int, until: int) -> list[tuple[int, Kind, Any, Shown]]:
        """Return (version, kind, key, row) of all that changed, rows as `until` shows them."""
        columns = self.versions[until].columns
        return [
            (at, event.kind, event.key, shown(event.row, columns))
            for at in range(since, until + 1)
            for event in self.events.get(at, ())
        ]

    def _stored(self, row: Mapping[str, Any]) -> Row:
        return {c.number: row.get(c.name, c.default) for c in self.now.columns}

    def _become(self, rows: Mapping[Any, Row], events: Iterable[Event], at: int) -> None:
        self.versions[at] = replace(self.now, rows=rows)
        self.events[at] = tuple(events)


def filled(row: Row, columns: Sequence[Column]) -> Row:
    """Return a row with what it shows in columns that came after it."""
    return {column.number: row.get(column.number, column.default) for column in columns}


def shown(row: Row, columns: Sequence[Column]) -> Shown:
    """Return the values of a row under some columns."""
    return tuple(filled(row, columns).values())
