"""Turn a change into a swap of files, hold it against what others did meanwhile, and make it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

from mere.arrow.names import uuid7
from mere.arrow.paths import is_data
from mere.catalogs.directory.describing import State
from mere.catalogs.directory.journal import (
    HIDDEN,
    Coming,
    Journal,
    finish,
    folder_of,
    listed,
    load,
    read_if_there,
)
from mere.catalogs.directory.keeping import keep
from mere.catalogs.directory.locking import locked
from mere.catalogs.directory.terms import Terms
from mere.catalogs.directory.tidying import tidied
from mere.errors import (
    CommitConflictError,
    InvalidInputError,
    MereError,
    StorageError,
    UnsupportedError,
)
from mere.model.files import DataFile, StoredFile
from mere.model.history import Change, EditFiles, Evolve, Move
from mere.model.layout import refuse_transforms
from mere.model.mapping import folder_values
from mere.model.values import partition_value
from mere.ports import ReplanNeeded, Store
from mere.reading.footers import is_missing

_PREFIXES = {"compact": "compact", "cluster": "optimized"}
_UUID = 36
_HINT = "nothing changed; call again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Files that go and come together; one that `may_stay` is left out when others were first.

    `adds` are pairs of a file and the folder that it gets into, ending in a slash.
    """

    removes: tuple[int, ...]
    adds: tuple[tuple[DataFile, str], ...]
    may_stay: bool = False
    is_move: bool = False


def steps_of(change: Change, state: State) -> tuple[Step, ...]:
    """Return what a change asks for.

    Raises:
        UnsupportedError: If it asks for what a folder cannot hold.
    """
    steps: list[Step] = []
    for edit in change.edits:
        if isinstance(edit, EditFiles) and not (edit.deletes or edit.ends):
            adds = tuple((file, _home(file, state)) for file in edit.adds)
            steps.append(Step(removes=edit.removes, adds=adds))
        elif isinstance(edit, Move):
            steps += _moves(edit, state)
        elif isinstance(edit, Evolve) and not (edit.comments or edit.checks):
            refuse_transforms(edit.layout.keys)
        else:
            _refuse(f"what {type(edit).__name__} asks for")
    _require_plain(file for step in steps for file, _ in step.adds)
    if change.edits and not steps:
        _refuse("a definition beside its files")
    return tuple(steps)


def _require_plain(files: Iterable[DataFile]) -> None:
    """Demand that files hold what others understand: a verb that gives rows ids is not for folders.

    Raises:
        UnsupportedError: If one holds more.
    """
    if any(file.has_row_ids or file.deletes for file in files):
        _refuse("ids of rows")


def _refuse(what: str) -> NoReturn:
    msg = f"a plain folder cannot keep {what}"
    hint = "a lake can: lake.adopt(path, name) makes a table of these files"
    raise UnsupportedError(msg, hint=hint)


def _dropped(file: DataFile) -> str:
    return f"{file.path} was taken for nobody's and dropped before the commit"


def _moves(edit: Move, state: State) -> Iterator[Step]:
    paths = {file.id: file.path for file in state.files}
    for moved in edit.moves:
        ids = tuple(seen[0] for seen in moved.removes)
        if edit.whole:
            adds = [(file, _home(file, state)) for file in moved.adds]
        else:
            home = folder_of(paths.get(ids[0], "")) if ids else ""
            adds = [(file, home) for file in moved.adds]
        yield Step(removes=ids, adds=tuple(adds), may_stay=not edit.whole, is_move=True)


def _home(file: DataFile, state: State) -> str:
    """Return the folder of a new file: the one of its partition, as it is spelled already."""
    wanted = folder_of(file.path.removeprefix(HIDDEN))
    known = state.homes.get(file.partition) if file.partition_id is not None else None
    return wanted if known is None else known


def operation_of(change: Change) -> str:
    """Return the verb that a change comes from."""
    if change.extra:
        return str(json.loads(change.extra)["mere"]["operation"])
    edits = (edit.operation for edit in change.edits if isinstance(edit, EditFiles))
    return next(edits, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A change on its way into a folder; `left` come back as the places of moves not made."""

    store: Store
    terms: Terms
    change: Change
    state: State
    steps: tuple[Step, ...]

    def make(self) -> tuple[int, ...]:
        """Make the change; return the places of moves that were left out.

        Raises:
            ReplanNeeded: If others were first, and it must be planned again.
            CommitConflictError: If a file is not what it was when this was planned.
        """
        adds = [file for step in self.steps for file in step.adds]
        self._require_visible(adds)
        if not any(step.removes for step in self.steps) and not self._minds_others:
            if len(adds) == 1:
                self._publish(*adds[0])
                return ()
            if not adds:
                return ()
        with locked(self.store, patience_s=self.terms.patience_s) as holding:
            found = tidied(self.store)
            made, left = self._standing(found)
            if made:
                self._commit(holding, made, found)
        return left

    def _require_visible(self, adds: Iterable[tuple[DataFile, str]]) -> None:
        for file, home in adds:
            path = self._name(file, home)
            if not is_data(path):
                msg = f"{path} would be hidden: readers leave out names that begin with '.' or '_'"
                raise InvalidInputError(msg, hint="partition by columns of other names")
            self._require_told(file, path)

    def _require_told(self, file: DataFile, path: str) -> None:
        """Demand that folders tell the values of columns that lie in no file, as they are."""
        evolved = [edit.layout for edit in self.change.edits if isinstance(edit, Evolve)]
        layout = (self.state.head.layout, *evolved)[-1]
        columns = {field.id: field for field in self.state.head.schema}
        texts = folder_values(path)
        for key, value in zip(layout.keys, file.partition, strict=False):
            if key.column in layout.told:
                column = columns[key.column]
                text = texts.get(column.name.casefold())
                if value != (None if text is None else partition_value(column.type, text)):
                    msg = f"the name of a folder cannot tell the value {value!r} of {column.name!r}"
                    hint = "the files of this folder do not hold the column: repartition it first"
                    raise InvalidInputError(msg, hint=hint)

    @property
    def _minds_others(self) -> bool:
        """Tell whether rows that others brought meanwhile could make this another change."""
        return any(
            isinstance(edit, EditFiles) and edit.operation == "mutate" for edit in self.change.edits
        )

    def _publish(self, file: DataFile, home: str) -> None:
        """Let one new file appear, which needs neither lock nor journal."""
        name = self._name(file, home)
        try:
            self.store.move(file.path, name)
        except (MereError, OSError) as error:
            if name in listed(self.store):
                return
            if is_missing(error):
                raise CommitConflictError(_dropped(file), hint=_HINT) from error
            raise
        with suppress(MereError, OSError):  # empty folders hurt nobody
            self.store.prune([folder_of(file.path)])

    def _standing(self, found: Mapping[str, StoredFile]) -> tuple[list[Step], tuple[int, ...]]:
        """Return the steps that can be made on what lies there now."""
        self._require_unchanged(found)
        if self._minds_others and self._is_news(found):
            raise ReplanNeeded
        made: list[Step] = []
        left: list[int] = []
        moves = 0
        for step in self.steps:
            there = all(self._was(id_).path in found for id_ in step.removes)
            if not there and not step.may_stay:
                raise ReplanNeeded
            if there:
                made.append(step)
            else:
                left.append(moves)
            moves += step.is_move
        return made, tuple(left)

    def _was(self, id_: int) -> StoredFile:
        return self.state.stored[id_]

    def _require_unchanged(self, found: Mapping[str, StoredFile]) -> None:
        for step in self.steps:
            for was in map(self._was, step.removes):
                now = found.get(was.path)
                if now is not None and now != was:
                    msg = f"{was.path} was written anew by somebody else since this was planned"
                    raise CommitConflictError(msg, hint=_HINT)
            for file, _ in step.adds:
                waits = found.get(file.path)
                if waits is None or waits.bytes != file.bytes:
                    raise CommitConflictError(_dropped(file), hint=_HINT)

    def _is_news(self, found: Mapping[str, StoredFile]) -> bool:
        from_plan = {file.path for file in self.state.stored.values()}
        return any(path not in from_plan for path in found if is_data(path))

    def _commit(self, holding: str, made: list[Step], found: Mapping[str, StoredFile]) -> None:
        comes = tuple(
            Coming(staged=file.path, path=self._name(file, home), bytes=file.bytes)
            for step in made
            for file, home in step.adds
        )
        goes = tuple(self._was(id_) for step in made for id_ in step.removes)
        if self.terms.backup is not None:
            keep(self.store, [file.path for file in goes], self.terms.backup)
        journal = Journal(id=holding, comes=comes, goes=goes)
        self._decide(journal)
        try:
            finish(self.store, journal, found)
        except (MereError, OSError) as error:
            msg = f"the change is committed, but not all of it is done: {error}"
            hint = "do not repeat it: whoever opens the folder next brings it to its end"
            raise StorageError(msg, hint=hint) from error

    def _decide(self, journal: Journal) -> None:
        """Write the journal: from here on the change is committed."""
        try:
            self.store.put(journal.path, journal.dump())
        except (MereError, OSError) as error:
            if not self._is_decided(journal, error):
                raise

    def _is_decided(self, journal: Journal, error: BaseException) -> bool:
        """Tell whether a journal was written, though nobody said so."""
        try:
            data = read_if_there(self.store, journal.path)
        except (MereError, OSError):
            msg = f"nobody knows whether the change was committed: {error}"
            hint = "look at the folder before you repeat it"
            raise StorageError(msg, hint=hint) from error
        found = load(data) if data is not None else None
        if found is not None and found.void:
            msg = "others took this process for dead, and the lock from it"
            raise CommitConflictError(msg, hint=_HINT) from error
        return found == journal

    def _name(self, file: DataFile, home: str) -> str:
        """Name a new file by what was done and when it was begun."""
        begun = file.path.rpartition("/")[2][:_UUID]
        with suppress(ValueError):
            begun = str(UUID(begun))
        prefix = self.terms.prefix or _PREFIXES.get(operation_of(self.change), "part")
        return f"{home}{prefix}-{begun or uuid7()}.parquet"
