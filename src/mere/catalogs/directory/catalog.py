"""Answer the catalog's role for one plain folder, which is one table."""

# A folder answers less than the role asks:
# ruff: noqa: ARG002
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from typing import Any, NoReturn

from mere.catalogs.directory.committing import Swap, steps_of
from mere.catalogs.directory.describing import State, described, require_keys
from mere.catalogs.directory.journal import HIDDEN, journals, listed
from mere.catalogs.directory.looking import Shelf, settled
from mere.catalogs.directory.owners import new_owner
from mere.catalogs.directory.terms import Terms
from mere.errors import (
    CommitConflictError,
    CorruptionError,
    InvalidInputError,
    MereError,
    NoFilesError,
    UnsupportedError,
)
from mere.model.clearing import Cleared, Leftovers, Tag
from mere.model.feed import Feed, Lineage, Trace
from mere.model.files import DataFile, FileSet, StoredFile
from mere.model.history import NEWEST, At, Change, Committed, Head, Mark, Snapshot, View
from mere.model.loading import Loaded
from mere.model.predicate import Expr
from mere.plan.groups import Judge
from mere.plan.prune import prune
from mere.ports import Audit, Store, WriteDeletes
from mere.reading.footers import is_missing

_STATES = 64
_LOOKS = 20
_HINT = "a lake keeps it: lake.adopt(path, name) makes a table of these files without copying them"


def _refuse(what: str) -> NoReturn:
    msg = f"a plain folder has no {what}"
    raise UnsupportedError(msg, hint=_HINT)


class DirectoryCatalog:
    """What lies in a folder, as a table; safe to share between threads.

    A version is a state of the folder as this object saw it, and numbered by it.
    """

    def __init__(self, store: Store, terms: Terms, *, read_only: bool = False) -> None:
        """Look at nothing yet."""
        self._store = store
        self._terms = terms
        self._read_only = read_only
        self._shelf = Shelf(store)
        self._states: dict[int, State] = {}
        self._schemas: dict[Any, int] = {}
        self._newest = 0
        self._lock = RLock()

    def __repr__(self) -> str:
        """Show where the folder is."""
        return f"DirectoryCatalog({self.url})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        msg = "a catalog cannot be pickled"
        raise InvalidInputError(msg, hint=f"open the folder on the other side, from {self.url!r}")

    @property
    def url(self) -> str:
        """Where the folder is."""
        return self._store.url

    @property
    def data_path(self) -> str:
        """The folder itself."""
        return self._store.url

    @property
    def shares_files(self) -> bool:
        """Say no: a file lies in one folder."""
        return False

    @property
    def keeps_files(self) -> bool:
        """Say no: what is replaced is gone at once."""
        return False

    def _look(self) -> State:
        """Return the folder as it is now; look again when files went while it was looked at."""
        for _ in range(_LOOKS):
            try:
                return self._look_once()
            except CorruptionError as error:
                if not is_missing(error):
                    raise
        return self._look_once()

    def _look_once(self) -> State:
        found = settled(self._store, patience_s=self._terms.patience_s, read_only=self._read_only)
        with self._lock:
            newest = self._states.get(self._newest)
            if newest is not None and newest.holds(found):
                return newest
            state = described(self._store.url, self._shelf.learn(found), self._terms)
            if newest is None:
                require_keys(state.head, self._terms)
            if not state.files:
                state = self._without_files(newest, state)
            self._newest += 1
            kind = (state.head.schema, state.head.layout)
            version = self._schemas.setdefault(kind, len(self._schemas))
            head = replace(state.head, snapshot=self._newest, schema_version=version)
            state = replace(state, head=head)
            self._states[self._newest] = state
            for old in [n for n in self._states if n <= self._newest - _STATES]:
                del self._states[old]
            return state

    def _without_files(self, before: State | None, state: State) -> State:
        """Return an empty folder, as far as anybody knows which columns it has.

        Raises:
            NoFilesError: If nobody does.
        """
        if self._terms.schema is not None:
            return state
        if before is None:
            msg = f"no matching Parquet files were found under {self.url}"
            raise NoFilesError(msg, hint="a new folder is begun with schema=")
        head = replace(state.head, schema=before.head.schema, layout=before.head.layout)
        return replace(state, head=replace(head, next_column_id=before.head.next_column_id))

    def _at(self, at: At) -> State:
        """Return the present, also when it is asked for by the number that it got here."""
        if at == NEWEST:
            return self._look()
        with self._lock:
            state = self._states.get(self._newest)
        if state is None or at != At(version=state.head.snapshot):
            _refuse("older versions")
        return state

    def _state(self, number: int) -> State:
        with self._lock:
            state = self._states.get(number)
        if state is None:
            msg = f"{self.url} was changed {_STATES} times since this was looked at"
            raise CommitConflictError(msg, hint="call again")
        return state

    def snapshot(self, at: At = NEWEST) -> Snapshot:
        """Return the folder's present."""
        return self._at(at).snapshot

    def snapshots(self) -> NoReturn:
        """Refuse: there is only the present."""
        _refuse("history")

    def head(self, name: str, at: At = NEWEST) -> Head:
        """Return the folder as it is now.

        Raises:
            NoFilesError: If it is missing or empty, and nobody said which columns it has.
            UnsupportedError: If another name than its own is asked for.
        """
        if name and name != self.url:
            _refuse(f"table {name!r} beside itself")
        return self._at(at).head

    def earlier(self, head: Head, at: At) -> NoReturn:
        """Refuse: there is only the present."""
        _refuse("older versions")

    def tables(self, at: At = NEWEST) -> tuple[tuple[str, str], ...]:
        """Return the one table."""
        head = self.head("", at)
        return ((head.namespace, head.name),)

    def views(self, at: At = NEWEST) -> tuple[View, ...]:
        """Return nothing."""
        return ()

    def namespaces(self, at: At = NEWEST) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def files(
        self,
        head: Head,
        where: Expr | None = None,
        *,
        bounds: bool | Collection[int] = False,
        groups: bool = False,
    ) -> FileSet:
        """Return the files of a head that can hold a matching row."""
        state = self._state(head.snapshot)
        layouts = {} if head.layout.id is None else {head.layout.id: head.layout}
        pruned = prune(state.files, where, head.schema, layouts)
        left, kept = list(pruned.files), {}
        by_groups = 0
        if where is not None:
            judge = Judge(where, head.schema, layouts)
            unsure = [file for file in left if file.id not in pruned.certain]
            judged = {f.id: judge.kept(f, f.row_groups, total=len(f.row_groups)) for f in unsure}
            none = {id_ for id_, found in judged.items() if not found.groups}
            kept = {i: k for i, k in judged.items() if k.groups and len(k.groups) < k.total}
            by_groups = len(none)
            left = [file for file in left if file.id not in none]
        return FileSet(
            files=tuple(_told(file, bounds=bool(bounds), groups=groups) for file in left),
            total_files=head.file_count,
            total_rows=head.rows,
            total_bytes=head.bytes,
            by_partition=pruned.by_partition,
            by_bounds=pruned.by_bounds,
            by_groups=by_groups,
            certain=pruned.certain,
            kept=kept,
        )

    def lineage(self, head: Head, files: Sequence[DataFile]) -> Lineage:
        """Return the files as they are: no version shows other rows than the present one."""
        return Lineage(
            oldest=head.snapshot,
            traces=tuple(Trace(file=file) for file in files),
            schemas=(head.schema,) * len(files),
        )

    def listed(self, paths: Collection[str]) -> frozenset[str]:
        """Return which of these files lie in the folder."""
        known = {file.path for file in self._look().files}
        return frozenset(path for path in paths if path in known)

    def learn(self, head: Head, files: Sequence[DataFile]) -> None:
        """Do nothing: the footers tell it."""

    def comments(self, head: Head) -> Mapping[int | None, str]:
        """Return nothing."""
        return {}

    def widest(self, head: Head, since: int) -> Head:
        """Return the head: there is only the present."""
        return head

    def feed(self, head: Head, since: int) -> Feed:
        """Refuse: nobody knows what came when."""
        _refuse("history")

    def history(self, head: Head) -> NoReturn:
        """Refuse: nobody knows what came when."""
        _refuse("history")

    def commit(self, change: Change, write_deletes: WriteDeletes | None = None) -> Committed:
        """Swap files by a journal, or raise and change nothing.

        Raises:
            ReplanNeeded: When others changed what the plan did not see: ask and plan again.
            CommitConflictError: When a file is not what it was when this was planned.
            UnsupportedError: When a folder cannot hold what is asked for.
        """
        if change.mark is not None or change.token is not None:
            _refuse("memory of tokens and marks")
        if self._read_only:
            msg = "this folder was opened with read_only=True"
            raise InvalidInputError(msg)
        state = self._state(change.base)
        steps = steps_of(change, state)
        if not steps:
            return Committed(snapshot=change.base)
        swap = Swap(store=self._store, terms=self._terms, change=change, state=state, steps=steps)
        left = swap.make()
        with self._lock:
            return Committed(snapshot=self._newest + 1, left=left)

    def committed(self, token: str) -> NoReturn:
        """Refuse: a folder remembers no tokens."""
        _refuse("memory of tokens")

    def marks(self) -> tuple[Mark, ...]:
        """Refuse: a folder remembers no steps."""
        _refuse("memory of pipelines")

    def loaded(self, head: Head, paths: Collection[str]) -> Mapping[str, Loaded]:
        """Refuse: a folder remembers no sources."""
        _refuse("memory of loads")

    def announce(self, table_id: int) -> str:
        """Return what goes into the names of files that wait: whose they are."""
        return new_owner().spell()

    def take_over(self, intent: str) -> None:
        """Do nothing: the names of files tell whose they are."""

    def withdraw(self, intent: str) -> None:
        """Drop the files that waited for a write that will not be; those of a journal will be."""
        with suppress(MereError, OSError):  # whoever commits next does it
            found = listed(self._store, HIDDEN)
            kept = {file.staged for each in journals(self._store, found) for file in each.comes}
            waiting = [path for path in found if f"-{intent}." in path and path not in kept]
            self._store.delete(waiting)
            self._store.prune([HIDDEN])

    def options(self, *, schema: str | None = None) -> Mapping[str, str]:
        """Return nothing: a folder keeps no settings."""
        return {}

    def set_option(
        self, key: str, value: str | None, *, table: str | None = None, schema: str | None = None
    ) -> None:
        """Refuse: a folder keeps no settings."""
        _refuse("settings")

    def tag(self, name: str, at: At = NEWEST) -> Snapshot:
        """Refuse: there is only the present."""
        _refuse("tags")

    def tags(self) -> tuple[Tag, ...]:
        """Refuse: there is only the present."""
        _refuse("tags")

    def untag(self, name: str) -> bool:
        """Refuse: there is only the present."""
        _refuse("tags")

    def expire(self, *, older_s: float, keep_last: int, dry_run: bool) -> Cleared:
        """Refuse: there is only the present."""
        _refuse("older versions")

    def sweep(
        self,
        found: Sequence[StoredFile],
        **rules: Any,
    ) -> tuple[Cleared, tuple[int, ...]]:
        """Refuse: whoever commits next drops what is nobody's."""
        _refuse("files that no version shows")

    def swept(self, rows: Sequence[int]) -> None:
        """Do nothing: nothing is scheduled."""

    def leftovers(self, head: Head | None, *, grace_s: float) -> Leftovers:
        """Count nothing: what is no longer data is gone."""
        return Leftovers()

    def audit(self) -> Audit:
        """Refuse: there is nothing that files could disagree with."""
        _refuse("catalog to check them against")

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _told(file: DataFile, *, bounds: bool, groups: bool) -> DataFile:
    """Leave out what was not asked for: tasks travel."""
    if bounds and groups:
        return file
    if groups:
        bare = tuple(replace(group, bounds={}) for group in file.row_groups)
        return replace(file, bounds={}, row_groups=bare)
    return replace(file, bounds=file.bounds if bounds else {}, row_groups=())
