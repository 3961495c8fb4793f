"""Make a table again what it was at an older version, by listing its files once more."""

import json
import shutil
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from mere.arrow.inlined import unpack
from mere.arrow.names import file_name
from mere.arrow.positions import pack
from mere.errors import InvalidInputError
from mere.model.files import DataFile, DeleteFile, Fold, InlinedRows, hive_folder
from mere.model.history import At, Change, Head, Restore, Returned
from mere.model.report import Report
from mere.model.schema import Schema
from mere.ops import carry
from mere.plan.restore import hides, plan_restore
from mere.ports import Session
from mere.reading.deleting import write_folds
from mere.reading.hidden import hidden

_BEFORE_ALL = 0
"""The snapshot that deletes of a file that comes back name: no row of the file was there then, so
no client that tells how rows changed says that they went now."""


def restore(
    session: Session, name: str, at: At, *, message: str | None, author: str | None
) -> Report:
    """List again what a version showed; see `Table.restore`."""
    started = perf_counter()
    carry.require_writable(session)
    if at == At():
        msg = "say what to restore: version=, as_of= or tag="
        raise InvalidInputError(msg, hint="table.history() lists the versions of a table")
    plans: list[_Plan] = []
    with carry.announced(session, session.catalog.head(name)) as intent:

        def plan() -> Change:
            now = session.catalog.head(name)
            then = session.catalog.earlier(now, at)
            plans.append(_planned(session, now, then, intent))
            return Change(
                base=now.snapshot,
                edits=(plans[-1].edit,),
                message=message or f"restore version {then.snapshot}",
                author=author,
                extra=json.dumps({"mere": plans[-1].counted()}),
                intents=(intent,),
            )

        outcome = carry.commit(session, plan)
    report = plans[-1].report()
    version = None if outcome.committed.staged else outcome.committed.snapshot
    seconds = perf_counter() - started
    return replace(report, version=version, retries=outcome.retries, seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is asked for, and how many rows come and go."""

    now: Head
    edit: Restore
    removes: tuple[DataFile, ...]
    inserted: int
    deleted: int
    copied: int = 0

    def counted(self) -> dict[str, object]:
        """Return what the history cannot tell by itself."""
        return {
            "operation": "restore",
            "table": self.now.table_id,
            "rows_inserted": self.inserted,
            "rows_updated": 0,
            "rows_deleted": self.deleted,
        }

    def report(self) -> Report:
        """Return what the verb says of itself, but for when and how long."""
        now, then, back = self.now, self.edit.head, self.edit.returns
        return Report(
            operation="restore",
            table=now.full_name,
            before_file_count=now.file_count,
            after_file_count=now.file_count + len(back) - len(self.removes),
            before_total_bytes=now.bytes,
            after_total_bytes=now.bytes
            + sum(r.file.bytes for r in back)
            - sum(f.bytes for f in self.removes),
            rows_before=now.rows,
            rows_after=now.rows + self.inserted - self.deleted,
            rows_inserted=self.inserted,
            rows_deleted=self.deleted,
            files_added=len(back),
            files_removed=len(self.removes),
            copied_bytes=self.copied,
            compression_codec=then.layout.compression,
        )


def _planned(session: Session, now: Head, then: Head, intent: str) -> _Plan:
    version = then.snapshot
    old, new = session.catalog.files(then), session.catalog.files(now)
    files = plan_restore(old.files, new.files, version=version)
    writer = _Writer(session=session, folder=now.folder, intent=intent)
    removes = list(files.ended)
    inserted, deleted = 0, sum(file.rows - file.deleted for file in files.ended)
    returns: list[Returned] = []
    stays: list[tuple[int, int]] = []
    for file in files.back:
        gone = writer.hidden(file, version) if hides(file, version=version) else ()
        returns.append(writer.returned(file, gone))
        inserted += file.rows - len(gone)
    for file, today in files.pairs:
        before, after = writer.hidden(file, version), writer.hidden(today, now.snapshot)
        if before.tolist() == after.tolist():
            stays.append((file.id, today.id))
            continue
        removes.append(today)
        returns.append(writer.returned(file, before))
        both = len(set(before.tolist()) & set(after.tolist()))
        inserted, deleted = inserted + len(after) - both, deleted + len(before) - both
    came, went = _inlined(old.inlined, new.inlined, then.schema, now.schema)
    edit = Restore(
        table_id=now.table_id,
        head=then,
        removes=tuple(file.id for file in removes),
        returns=tuple(returns),
        stays=tuple(stays),
    )
    return _Plan(
        now=now,
        edit=edit,
        removes=tuple(removes),
        inserted=inserted + came,
        deleted=deleted + went,
        copied=sum(r.file.bytes for r in returns if r.path is not None),
    )


def _inlined(
    old: InlinedRows | None, new: InlinedRows | None, then: Schema, now: Schema
) -> tuple[int, int]:
    """Count the rows without a file that come and go."""
    before, after = _versions(old, then), _versions(new, now)
    return len(before - after), len(after - before)


def _versions(rows: InlinedRows | None, schema: Schema) -> set[tuple[int, int]]:
    table = unpack(rows, schema)
    return set(zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    """Looks into files, and writes the small ones that a restore needs."""

    session: Session
    folder: str
    intent: str

    def hidden(self, file: DataFile, version: int) -> Any:
        """Return the positions of the rows that a version does not show."""
        return hidden(self.session.store, file, version)

    def returned(self, file: DataFile, gone: Any) -> Returned:
        """Bring a file back without the rows at some positions."""
        path = None if self.session.catalog.shares_files else self._copy(file)
        deletes = self._deletes(file, gone) if len(gone) else None
        return Returned(file=file, deletes=deletes, path=path)

    def _deletes(self, file: DataFile, gone: Any) -> DeleteFile:
        fold = Fold(path=file.path, folder=self.folder, positions=pack(gone), snapshot=_BEFORE_ALL)
        (written,) = write_folds(self.session.store, [fold], self.intent)
        return written

    def _copy(self, file: DataFile) -> str:
        """Copy a file's bytes, where a second row for it would not be safe from other clients."""
        store = self.session.store
        folder = file.path.rpartition("/")[0] + "/"
        below = folder if folder.startswith(self.folder) else self.folder + hive_folder(file)
        path = below + file_name(self.intent)
        with store.open(file.path) as source, store.writer(path) as target:
            shutil.copyfileobj(source, target, 1 << 22)
        return path
