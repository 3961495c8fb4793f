"""Hold the changes of a transaction back, and show them to its own verbs.

A `StagedCatalog` is a catalog pinned to one snapshot that keeps what is committed to it; every
verb works on it unchanged. `finish` turns all of it into one snapshot, or into nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from mere.arrow.inlined import without
from mere.errors import CommitConflictError, InvalidInputError, TableNotFoundError
from mere.model.clearing import Cleared, Leftovers, Tag
from mere.model.feed import Feed, Lineage
from mere.model.files import DataFile, FileSet, StoredFile
from mere.model.history import (
    NEWEST,
    At,
    Change,
    Committed,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    Edit,
    EditFiles,
    Evolve,
    Head,
    Mark,
    RenameTable,
    Restore,
    Snapshot,
    View,
)
from mere.model.loading import Loaded
from mere.model.predicate import Expr
from mere.ops.pending import PendingDeletes, final, redefined
from mere.plan.prune import prune
from mere.ports import Audit, Catalog, ReplanNeeded, WriteDeletes


class StagedCatalog:
    """A catalog at one snapshot, with the changes of an open transaction on top."""

    def __init__(self, catalog: Catalog, *, serializable: bool = False) -> None:
        """Pin the newest snapshot."""
        self._catalog = catalog
        self._base = catalog.snapshot()
        self._edits: list[Edit] = []
        self._intents: list[str] = []
        self._seen: dict[int, Head] = {}
        self._read: set[int] = set()
        self._minds_reads = serializable
        self._heads: dict[int, Head | None] = {}
        self._adds: dict[int, tuple[DataFile, ...]] = {}
        self._removes: dict[int, frozenset[int]] = {}
        self._ends: dict[int, frozenset[int]] = {}
        self._deletes = PendingDeletes()
        self._write_deletes: WriteDeletes | None = None
        self._last_file = 0

    @property
    def url(self) -> str:
        """The catalog's URL, without credentials."""
        return self._catalog.url

    @property
    def data_path(self) -> str:
        """The absolute root of the data."""
        return self._catalog.data_path

    def snapshot(self, at: At = NEWEST) -> Snapshot:
        """Return the pinned snapshot, or an older one that is asked for."""
        return self._base if at == NEWEST else self._catalog.snapshot(at)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the committed snapshots up to the pinned one."""
        return tuple(s for s in self._catalog.snapshots() if s.id <= self._base.id)

    def _pinned(self) -> At:
        return At(version=self._base.id)

    def head(self, name: str, at: At = NEWEST) -> Head:
        """Return a table as this transaction sees it."""
        if at != NEWEST:
            return self._catalog.head(name, at)
        for staged in self._heads.values():
            if staged is not None and staged.is_called(name):
                return staged
        head = self._catalog.head(name, self._pinned())
        if head.table_id in self._heads:
            msg = f"table {name!r} was dropped or renamed in this transaction"
            raise TableNotFoundError(msg)
        return self._seen.setdefault(head.table_id, head)

    @property
    def shares_files(self) -> bool:
        """Whether a file may be listed twice, as the real catalog says."""
        return self._catalog.shares_files

    @property
    def keeps_files(self) -> bool:
        """Whether files stay for a while, as the real catalog says."""
        return self._catalog.keeps_files

    def earlier(self, head: Head, at: At) -> Head:
        """Return the same table as of a committed snapshot.

        Raises:
            InvalidInputError: If the table was made or changed in this transaction.
        """
        if head.table_id in self._heads:
            msg = f"{head.full_name} has changed in this transaction already"
            raise InvalidInputError(msg, hint="restore a table before anything else is done to it")
        return self._catalog.earlier(head, at)

    def tables(self, at: At = NEWEST) -> tuple[tuple[str, str], ...]:
        """Return the tables that this transaction sees."""
        if at != NEWEST:
            return self._catalog.tables(at)
        gone = {(h.namespace, h.name) for i, h in self._seen.items() if i in self._heads}
        staged = {(h.namespace, h.name) for h in self._heads.values() if h is not None}
        return tuple(sorted(set(self._catalog.tables(self._pinned())) - gone | staged))

    def views(self, at: At = NEWEST) -> tuple[View, ...]:
        """Return the views of the real catalog."""
        return self._catalog.views(self._pinned() if at == NEWEST else at)

    def namespaces(self, at: At = NEWEST) -> tuple[str, ...]:
        """Return the schemas that this transaction sees."""
        if at != NEWEST:
            return self._catalog.namespaces(at)
        names = set(self._catalog.namespaces(self._pinned()))
        for edit in self._edits:
            if isinstance(edit, CreateSchema):
                names.add(edit.name)
            elif isinstance(edit, DropSchema):
                names.discard(edit.name)
        return tuple(sorted(names))

    def files(
        self,
        head: Head,
        where: Expr | None = None,
        *,
        bounds: bool | Collection[int] = False,
        groups: bool = False,
    ) -> FileSet:
        """Return the committed files that remain, and those that wait in this transaction."""
        ours = self._adds.get(head.table_id, ())
        gone = self._removes.get(head.table_id, frozenset())
        if head.table_id < 0:
            found = FileSet(files=(), total_files=0, total_rows=0, total_bytes=0)
        else:
            found = self._catalog.files(head, where, bounds=bounds, groups=groups)
            self._note_read(head)
        layouts = {} if head.layout.id is None else {head.layout.id: head.layout}
        waiting = prune(ours, where, head.schema, layouts)
        return replace(
            found,
            files=self._deletes.shown(
                head.table_id, (*(f for f in found.files if f.id not in gone), *waiting.files)
            ),
            total_files=head.file_count,
            total_rows=head.rows,
            total_bytes=head.bytes,
            certain=found.certain | waiting.certain,
            inlined=without(found.inlined, self._ends.get(head.table_id, frozenset())),
        )

    def _note_read(self, head: Head) -> None:
        if self._minds_reads and head.snapshot == self._base.id:
            self._read.add(head.table_id)

    def comments(self, head: Head) -> Mapping[int | None, str]:
        """Return the comments as this transaction sees them."""
        found = dict(self._catalog.comments(head)) if head.table_id >= 0 else {}
        for edit in self._edits:
            if isinstance(edit, Evolve) and edit.table_id == head.table_id:
                found.update((about, text or "") for about, text in edit.comments)
        return {about: text for about, text in found.items() if text}

    def loaded(self, head: Head, paths: Collection[str]) -> Mapping[str, Loaded]:
        """Return what the real catalog knows: nothing is loaded inside a transaction."""
        return self._catalog.loaded(head, paths)

    def learn(self, head: Head, files: Sequence[DataFile]) -> None:
        """Keep nothing: what is staged may never be there, and the next read tells it again."""

    def widest(self, head: Head, since: int) -> Head:
        """Return a head as the real catalog does."""
        return self._catalog.widest(head, since) if head.table_id >= 0 else head

    def feed(self, head: Head, since: int) -> Feed:
        """Return what was committed to a table; this transaction is not history yet."""
        if head.table_id < 0:
            return Feed(since=since, until=head.snapshot)
        self._note_read(head)
        return self._catalog.feed(head, since)

    def listed(self, paths: Collection[str]) -> frozenset[str]:
        """Return which of these files are in the lake already, or wait in this transaction."""
        waiting = {file.path for files in self._adds.values() for file in files}
        return self._catalog.listed(paths) | waiting.intersection(paths)

    def lineage(self, head: Head, files: Sequence[DataFile]) -> Lineage:
        """Refuse: rows that move must not share a version with rows that change."""
        del head, files
        _refuse("files cannot be written anew")

    def history(self, head: Head) -> tuple[Mapping[str, Any], ...]:
        """Return the committed history of a table."""
        return self._catalog.history(head) if head.table_id >= 0 else ()

    def committed(self, token: str) -> int | None:
        """Return the snapshot that a token has made."""
        return self._catalog.committed(token)

    def marks(self) -> tuple[Mark, ...]:
        """Return how far steps have come, as the real catalog says."""
        return self._catalog.marks()

    def announce(self, table_id: int) -> str:
        """Register a writer at the real catalog: a crash must leave its trace there."""
        return self._catalog.announce(table_id)

    def take_over(self, intent: str) -> None:
        """Answer for an announcement of another process at the real catalog."""
        self._catalog.take_over(intent)

    def withdraw(self, intent: str) -> None:
        """Say that a write which was announced will not be committed."""
        self._catalog.withdraw(intent)

    def options(self, *, schema: str | None = None) -> Mapping[str, str]:
        """Return the options of the real catalog."""
        return self._catalog.options(schema=schema)

    def set_option(
        self, key: str, value: str | None, *, table: str | None = None, schema: str | None = None
    ) -> None:
        """Refuse: options are not versioned, so a transaction cannot hold them back."""
        where = f" of {table or schema}" if table or schema else ""
        msg = f"option {key!r}{where} cannot be set to {value!r} inside a transaction"
        raise InvalidInputError(msg, hint="set it on the lake itself")

    def tag(self, name: str, at: At = NEWEST) -> Snapshot:
        """Refuse: a version must be there to be named."""
        _refuse(f"version {self.snapshot(at).id} cannot be tagged {name!r}")

    def tags(self) -> tuple[Tag, ...]:
        """Return the tags of the real catalog."""
        return self._catalog.tags()

    def untag(self, name: str) -> bool:
        """Refuse: tags are not versioned."""
        _refuse(f"tag {name!r} cannot be dropped")

    def expire(self, *, older_s: float, keep_last: int, dry_run: bool) -> Cleared:
        """Refuse: the transaction stands on a version that must not go."""
        del older_s, keep_last, dry_run
        _refuse("versions cannot expire")

    def sweep(self, found: Sequence[StoredFile], **rules: Any) -> tuple[Cleared, tuple[int, ...]]:
        """Refuse: files that wait in the transaction are listed nowhere."""
        del found, rules
        _refuse("files cannot be swept")

    def swept(self, rows: Sequence[int]) -> None:
        """Refuse, as `sweep` does."""
        _refuse(f"{len(rows)} files cannot be swept")

    def leftovers(self, head: Head | None, *, grace_s: float) -> Leftovers:
        """Return what the real catalog counts."""
        return self._catalog.leftovers(head, grace_s=grace_s)

    def audit(self) -> Audit:
        """Refuse: what waits in the transaction is in no catalog yet."""
        _refuse("a lake cannot be checked")

    def close(self) -> None:
        """Leave the real catalog open: the lake owns it."""

    def commit(self, change: Change, write_deletes: WriteDeletes | None = None) -> Committed:
        """Keep the change until the transaction ends, and show it to the verbs that follow."""
        if change.token is not None:
            msg = "a token belongs to a whole commit, not to one verb of a transaction"
            raise InvalidInputError(msg, hint="pass the token to lake.transaction()")
        self._write_deletes = write_deletes or self._write_deletes
        for edit in change.edits:
            self._apply(edit)
        self._intents.extend(change.intents)
        return Committed(snapshot=self._base.id, staged=True)

    def _apply(self, edit: Edit) -> None:
        match edit:
            case CreateTable(head=head):
                if edit.replace:
                    self._heads[self.head(head.full_name).table_id] = None
                self._heads[head.table_id] = head
            case DropTable(table_id=table_id):
                self._heads[table_id] = None
            case RenameTable() | Evolve() | Restore():
                self._heads[edit.table_id] = redefined(self._now(edit.table_id), edit)
            case EditFiles():
                edit = self._edit_files(edit)
        self._edits.append(edit)

    def _now(self, table_id: int) -> Head:
        head = self._heads.get(table_id) or self._seen.get(table_id)
        if head is None:
            msg = f"table {table_id} is not part of this transaction"
            raise InvalidInputError(msg)
        return head

    def _edit_files(self, edit: EditFiles) -> EditFiles:
        """Take files in and out of the overlay; files of this transaction get negative ids."""
        table = edit.table_id
        numbered = tuple(
            replace(file, id=-n, since=self._base.id)
            for n, file in enumerate(edit.adds, start=self._last_file + 1)
        )
        self._last_file += len(numbered)
        known = self._adds.get(table, ())
        gone = frozenset(edit.removes)
        dropped = self._deletes.shown(table, (file for file in known if file.id in gone))
        self._adds[table] = (*(file for file in known if file.id not in gone), *numbered)
        self._removes[table] = self._removes.get(table, frozenset()) | gone
        self._ends[table] = self._ends.get(table, frozenset()) | frozenset(edit.ends)
        now = self._now(table)
        ended = (*self._ended(now, gone), *dropped)
        self._deletes.drop(table, gone)
        self._deletes.add(table, edit.deletes)
        self._heads[table] = replace(
            now,
            rows=now.rows
            + sum(f.rows for f in numbered)
            - sum(f.rows - f.deleted for f in ended)
            - len(edit.ends)
            - sum(d.rows for d in edit.deletes),
            file_count=now.file_count + len(numbered) - len(ended),
            bytes=now.bytes + sum(f.bytes for f in numbered) - sum(f.bytes for f in ended),
        )
        return replace(edit, adds=numbered)

    def _ended(self, now: Head, gone: frozenset[int]) -> tuple[DataFile, ...]:
        if not any(file_id >= 0 for file_id in gone) or now.table_id < 0:
            return ()
        found = (file for file in self._catalog.files(now).files if file.id in gone)
        return self._deletes.shown(now.table_id, found)

    def finish(self, *, message: str | None, author: str | None, token: str | None) -> Committed:
        """Make all that was kept one snapshot.

        Raises:
            CommitConflictError: If others changed what it stands on; nothing changed.
        """
        change = Change(
            base=self._base.id,
            edits=(*(final(edit, self._adds) for edit in self._edits), *self._deletes.edits()),
            message=message,
            author=author,
            token=token,
            intents=tuple(self._intents),
            reads=tuple(sorted(self._read)) if self._edits else (),
        )
        try:
            return self._catalog.commit(change, self._write_deletes)
        except ReplanNeeded as error:
            msg = "others changed a table of this transaction since it began"
            raise CommitConflictError(msg, hint="nothing changed; run it again") from error

    def abandon(self) -> None:
        """Forget everything, and the writers that were announced."""
        for intent in self._intents:
            self._catalog.withdraw(intent)


def _refuse(what: str) -> NoReturn:
    msg = f"{what} inside a transaction"
    raise InvalidInputError(msg, hint="do it on the lake itself")
