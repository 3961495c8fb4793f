"""Make a change one new snapshot, inside one write transaction."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mere.catalogs import (
    adding,
    arrivals,
    defining,
    evolving,
    loads,
    moving,
    progress,
    restoring,
    settings,
)
from mere.catalogs.dialect import Link, Row
from mere.catalogs.draft import Draft
from mere.catalogs.heads import read_schema
from mere.catalogs.times import as_time, time_text
from mere.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidInputError,
    NotFoundError,
)
from mere.model.history import (
    Change,
    Committed,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    Edit,
    EditFiles,
    Evolve,
    Move,
    Remember,
    RenameTable,
    Restore,
)
from mere.plan.conflict import Kind, Verdict, accepts, judge, kinds_on, parse
from mere.ports import ReplanNeeded, WriteDeletes


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call of commit: the change, the token under which it is found again, and the time.

    `mine` tells apart this call from others with the same token. `full` collects the tables
    whose row groups are to be folded afterwards.
    """

    change: Change
    token: str
    mine: str
    data_path: str
    full: list[int] = field(default_factory=list)
    write_deletes: WriteDeletes | None = None


def commit(link: Link, attempt: Attempt) -> Committed:
    """Write the rows of a change as the next snapshot.

    Raises:
        ReplanNeeded: When others committed what the plan did not see.
        CommitConflictError: When the change can never follow what others committed, one of its
            writers was revoked, or others have run its step.
    """
    change = attempt.change
    found = link.rows("committed", token=attempt.token)
    if found:
        return _known(link, attempt, *found[0])
    _check_intents(link, change.intents)
    progress.check(link, change)
    draft = _draft(link, attempt)
    replayed = _judge(draft, change)
    try:
        for edit in change.edits:
            _apply(draft, edit, change)
    except (AlreadyExistsError, NotFoundError, InvalidInputError) as error:
        if replayed:  # what is refused now was right where it was planned
            raise ReplanNeeded from error
        raise
    progress.put(link, change, draft.snapshot if draft.words else None)
    if not draft.words:
        return Committed(snapshot=change.base, left=tuple(draft.left))
    _require_message(link, change)
    _finish(draft, attempt)
    attempt.full[:] = draft.full
    tables = tuple(draft.tables.items())
    return Committed(
        snapshot=draft.snapshot, replayed=replayed, table_ids=tables, left=tuple(draft.left)
    )


def _known(link: Link, attempt: Attempt, snapshot: int, mine: str | None) -> Committed:
    """Report the snapshot that the token has made, by this very call or by one before."""
    tables: list[tuple[int, int]] = []
    for edit in attempt.change.edits:
        if isinstance(edit, CreateTable):
            head = edit.head
            rows = link.rows("table_named", name=head.name, schema=head.namespace, at=snapshot)
            tables += [(head.table_id, row[0]) for row in rows]
    repeated = mine != attempt.mine
    left = moving.left_of(link, attempt.change)
    return Committed(snapshot=snapshot, repeated=repeated, table_ids=tuple(tables), left=left)


def _check_intents(link: Link, intents: Iterable[str]) -> None:
    for intent in dict.fromkeys(intents):
        if link.rows("intent", intent=intent) != [("open",)]:
            msg = f"the writer {intent} was fenced: a sweep took it for dead and removed its files"
            raise CommitConflictError(msg, hint="nothing changed; write the rows again")


def _require_message(link: Link, change: Change) -> None:
    """Refuse a change that says nothing of itself where the lake demands it.

    What only moves rows between files is no change that anybody could tell.
    """
    silent = not change.message and not all(isinstance(edit, Move) for edit in change.edits)
    if silent and settings.found(link, None).get("require_commit_message") == "true":
        msg = "the option require_commit_message is set, and this change has no message"
        raise InvalidInputError(msg, hint="do it inside lake.transaction(message=…)")


def _draft(link: Link, attempt: Attempt) -> Draft:
    newest, _, schema_version, next_catalog_id, next_file_id = link.rows("newest")[0]
    base = attempt.change.base
    if base > newest:
        msg = f"the change is based on version {base}, the newest is {newest}"
        raise InvalidInputError(msg)
    theirs = link.rows("changes_since", base=base) if base < newest else []
    if len(theirs) < newest - base:  # some expired: what they did cannot be judged any more
        raise ReplanNeeded
    return Draft(
        link=link,
        base=base,
        snapshot=newest + 1,
        schema_version=schema_version,
        next_catalog_id=next_catalog_id,
        next_file_id=next_file_id,
        data_path=attempt.data_path,
        theirs=tuple(deed for _, text in theirs for deed in parse(text)),
        write_deletes=attempt.write_deletes,
    )


def _judge(draft: Draft, change: Change) -> bool:
    """Judge the change table by table; return whether others have committed since its base."""
    if draft.base + 1 == draft.snapshot:
        return False
    _require_as_read(draft, change)
    mine: dict[int, list[Edit]] = {}
    for edit in change.edits:
        table = getattr(edit, "table_id", -1)
        if table >= 0:
            mine.setdefault(table, []).append(edit)
    for table, edits in mine.items():
        row = _living(draft, table, edits)
        verdict = max(
            (_verdict(draft, table, edit) for edit in edits),
            key=_GRAVITY.index,
            default=Verdict.REPLAY,
        )
        if verdict is Verdict.REFUSE and any(
            isinstance(edit, EditFiles | Restore) for edit in edits
        ):
            verdict = Verdict.REPLAN
        if verdict is Verdict.REFUSE:
            msg = f"others changed the definition of table {row[8]}.{row[7]} meanwhile"
            raise CommitConflictError(msg, hint="nothing changed; call again")
        if verdict is not Verdict.REPLAY:
            raise ReplanNeeded
    return True


def _require_as_read(draft: Draft, change: Change) -> None:
    """Let nothing be committed that stands on rows which are no longer what they were."""
    if any(kinds_on(draft.theirs, table) - {Kind.REWRITE} for table in change.reads):
        raise ReplanNeeded


def _living(draft: Draft, table: int, edits: Iterable[Edit]) -> Row:
    """Return the row of a table; to drop what others dropped is for the verb to judge."""
    try:
        return draft.table(table)
    except CommitConflictError as error:
        if all(isinstance(edit, DropTable) for edit in edits):
            raise ReplanNeeded from error
        raise


_GRAVITY = (Verdict.REPLAY, Verdict.TRIM, Verdict.REPLAN, Verdict.REFUSE)


def _verdict(draft: Draft, table: int, edit: Edit) -> Verdict:
    theirs = kinds_on(draft.theirs, table)
    if isinstance(edit, Remember) or not theirs:  # rows that come with it are judged by themselves
        return Verdict.REPLAY
    if isinstance(edit, Restore):  # it stands on all that the table was: plan again on any change
        return Verdict.REPLAN
    if isinstance(edit, Move):  # its files keep their definition, and are looked at one by one
        return judge(Kind.REWRITE, theirs - {Kind.DEFINE}, shared=False)
    if not isinstance(edit, EditFiles):
        verdict = judge(Kind.DEFINE, theirs)
        looked = isinstance(edit, Evolve) and edit.tightens and theirs & {Kind.APPEND, Kind.MUTATE}
        return Verdict.REPLAN if looked and verdict is Verdict.REPLAY else verdict
    if edit.operation == "append":
        fits = Kind.DEFINE not in theirs or _fits(draft, edit)
        return judge(Kind.APPEND, theirs, fits=fits)
    came = arrivals.may_match(draft, edit)
    return judge(Kind.MUTATE, theirs, shared=_shared(draft, edit), may_match=came)


def _fits(draft: Draft, edit: EditFiles) -> bool:
    if draft.link.rows("checks_since", table=edit.table_id, base=draft.base):
        return False
    now = read_schema(draft.link, edit.table_id, draft.snapshot)
    written = edit.schema or read_schema(draft.link, edit.table_id, draft.base)
    return accepts(now, written)


def _shared(draft: Draft, edit: EditFiles) -> bool:
    """Tell whether a file that is to go has gone, or lost rows, since the base."""
    if not edit.removes:
        return False
    link, table, at = draft.link, edit.table_id, draft.snapshot
    alive = link.rows("files_by_id", table=table, at=at, ids=edit.removes)
    if len(alive) < len(set(edit.removes)):
        return True
    return any(
        row[1] in edit.removes and (row[8] > draft.base or (row[9] or 0) > draft.base)
        for row in link.rows("delete_files", table=table, at=at)
    )


def _apply(draft: Draft, edit: Edit, change: Change) -> None:
    if isinstance(edit, CreateTable):
        defining.create_table(draft, edit, holds_files=_holds_files(change, edit))
    else:
        _APPLY[type(edit)](draft, edit)


_APPLY: dict[type, Callable[[Draft, Any], None]] = {
    CreateSchema: defining.create_schema,
    DropSchema: defining.drop_schema,
    DropTable: defining.drop_table,
    RenameTable: defining.rename_table,
    Evolve: evolving.evolve,
    EditFiles: adding.edit_files,
    Move: moving.move,
    Restore: restoring.restore,
    Remember: loads.remember,
}


def _holds_files(change: Change, edit: CreateTable) -> bool:
    return any(
        isinstance(other, EditFiles) and other.table_id == edit.head.table_id and other.adds
        for other in change.edits
    )


def _finish(draft: Draft, attempt: Attempt) -> None:
    """Write the snapshot itself, its text, and the token."""
    link, change = draft.link, attempt.change
    before = as_time(link.rows("newest")[0][1])
    now = time_text(max(datetime.now(UTC), before))
    row = (
        *(draft.snapshot, now, draft.new_schema_version),
        *(draft.next_catalog_id, draft.next_file_id),
    )
    link.insert("ducklake_snapshot", [row])
    said = (draft.snapshot, draft.text, change.author, change.message, change.extra)
    link.insert("ducklake_snapshot_changes", [said])
    versions = [(draft.snapshot, draft.new_schema_version, table) for table in draft.versioned]
    link.insert("ducklake_schema_versions", versions)
    link.run("commit_token", token=attempt.token, snapshot=draft.snapshot, attempt=attempt.mine)


def check(change: Change) -> None:
    """Refuse a change that cannot be meant, before the catalog is asked.

    Raises:
        InvalidInputError: If an operation is unknown, or an append removes files.
    """
    for edit in change.edits:
        if not isinstance(edit, EditFiles):
            continue
        if edit.operation not in adding.OPERATIONS:
            known = ", ".join(sorted(adding.OPERATIONS))
            msg = f"unknown operation {edit.operation!r}; known: {known}"
            raise InvalidInputError(msg)
        gone = (*edit.removes, *edit.ends, *edit.deletes)
        if edit.operation == "append" and gone:
            count = len(gone)
            msg = f"an append removes nothing, got {count} file(s) or row(s) to remove"
            raise InvalidInputError(msg)
