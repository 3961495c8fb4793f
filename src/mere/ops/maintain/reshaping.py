"""Send all rows of a table through a function, into other partitions or into a new table.

What comes out are new versions of the rows. When every one of them comes back, each keeps its id,
so that `changes` tells of updates; otherwise the old rows are told as deleted, the new as inserted.
"""

import json
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol

import pyarrow as pa

from mere.arrow.inlined import without
from mere.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidInputError,
    NoFilesError,
    SchemaMismatchError,
    TableNotFoundError,
)
from mere.model.files import DataFile, FileSet
from mere.model.history import Change, Committed, CreateTable, Edit, EditFiles, Evolve, Head
from mere.model.layout import MIB
from mere.model.report import Report
from mere.model.schema import Field, Schema, fit, number, with_row_ids
from mere.model.work import Input, Result
from mere.ops import carry, define
from mere.ops.maintain.moving import MoveOptions, discard, newest, require_alone
from mere.ops.maintain.repartitioning import Partitioning
from mere.plan.evolve import require_same_partitions
from mere.plan.mutate import states
from mere.plan.repartition import Estimate, refuse_many, wanted_layout
from mere.ports import Session
from mere.reading.estimating import counted
from mere.reading.whole import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some rows as they come out, the columns before and after, and how much larger rows grow."""

    table: pa.Table
    before: Schema
    after: Schema
    growth: float = 1.0


CHANGED = "allow_row_change=True lets a function leave out rows, or make more"


class Passage(Protocol):
    """What rows go through; `keeps_ids` says that those which come out are the same ones."""

    @property
    def keeps_ids(self) -> bool:
        """Whether rows come out as they went in, one by one."""
        ...

    @property
    def loose(self) -> bool:
        """Whether another number of rows may come out."""
        ...

    def sample(self, rows: Rows) -> Sample:
        """Let some rows through."""
        ...

    def through(self, rows: Rows, target: Schema) -> Any:
        """Let all rows through, to be fed to a runner; the last column is for ids if it is kept."""
        ...


def reshape(
    session: Session, name: str, passage: Passage, *, wanted: Partitioning, options: MoveOptions
) -> Report:
    """Send the rows of a table through a passage; see `Table.repartition`.

    Raises:
        UnknownColumnError: If a key names no column of what comes out.
        InvalidInputError: If something cannot be meant, rows were lost or made on the way, or
            there would be far too many partitions; nothing was committed.
        SchemaMismatchError: If what comes out does not fit the table.
        AlreadyExistsError: If the new table is there already.
    """
    wanted.check()
    if wanted.where is not None:
        msg = "where chooses files that move; with a function, or into a new table, all rows go"
        raise InvalidInputError(msg, hint="filter in the function, with allow_row_change=True")
    memory_bytes = options.share(session)
    require_alone(session)
    started = perf_counter()
    head = session.catalog.head(name)
    _require_free(session, wanted.into)
    work = _Work(session, head, passage, wanted, options, memory_bytes)
    work.look(session.catalog.files(head))
    if options.dry_run:
        return replace(work.forecast(), seconds=perf_counter() - started)
    with carry.announced(session, work.target) as intent:
        work.intent = intent
        try:
            outcome = carry.commit(session, work.change)
        except (CommitConflictError, AlreadyExistsError):  # nothing can have been committed
            work.discard()
            raise
    told = work.report(outcome.committed)
    return replace(told, seconds=perf_counter() - started, retries=outcome.retries)


def _require_free(session: Session, into: str | None) -> None:
    """Demand that there is no table of a name yet.

    Raises:
        AlreadyExistsError: If there is.
    """
    if into is None:
        return
    try:
        there = session.catalog.head(into)
    except TableNotFoundError:
        return
    msg = f"table {there.full_name!r} exists"
    raise AlreadyExistsError(msg, hint="into= makes a new table: choose another name, or drop it")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """Rows that went through: as they lay, and what was written of them."""

    states: frozenset[Any]
    row_ids: frozenset[int]
    count: int
    results: tuple[Result, ...]


@dataclass(slots=True)
class _Work:
    """One reshaping from its first look to its last."""

    session: Session
    head: Head
    passage: Passage
    wanted: Partitioning
    options: MoveOptions
    memory_bytes: int
    intent: str = ""
    create: CreateTable | None = None
    target: Head = field(init=False)
    found: FileSet = field(init=False)
    sample: Sample = field(init=False)
    estimate: Estimate = field(init=False)
    fresh: bool = True
    passes: list[_Pass] = field(default_factory=list)

    def look(self, found: FileSet) -> None:
        """Let a sample through, and say what it will be written as."""
        self.found = found
        rows = self._rows(found)
        if not rows.count:
            msg = f"no matching Parquet files were found under {self.head.full_name}"
            raise NoFilesError(msg)
        self.sample = self.passage.sample(rows)
        self.target = self._target()
        layout, schema = self.target.layout, self.target.schema
        ids = {key.column for key in layout.keys}
        columns = Schema(fields=tuple(one for one in schema if one.id in ids))
        tables = [self.sample.table] if ids else []
        of = rows.count if ids else 0
        self.estimate = counted(tables, columns, layout.keys, of=of)
        refuse_many(self.target, layout, self.estimate)

    def _rows(self, found: FileSet) -> Rows:
        return Rows(store=self.session.store, head=self.head, found=found)

    def _target(self) -> Head:
        """Return the table that rows go to, with its columns and keys."""
        came, known = self.sample.after, self.head.schema
        settled = tuple(_settled(one, self.sample.before, known) for one in came)
        if self.wanted.into is not None:
            columns = Schema(fields=tuple(map(_unnumbered, settled)))
            self.create = define.new_table(
                self.session, self.wanted.into, columns, partition_by=self.wanted.by
            )
            return replace(self.create.head, rows=self.head.rows)
        _require_all(known, came)
        fitted = fit(known, Schema(fields=settled), merge_schema=True).schema
        require_same_partitions(self.head.layout.keys, known, fitted)
        schema = number(fitted, start=self.head.next_column_id)
        grown = replace(self.head, schema=schema)
        return replace(grown, layout=wanted_layout(grown, self.wanted.by))

    def change(self) -> Change:
        """Do what is to be done, and say what to commit; again when others were first."""
        if not self.fresh:
            self._look_again()
        self.fresh = False
        left = self._left()
        if self._rows(left).count or not self.passes:
            self._send(left)
        base = self.head.snapshot if self.create is None else self.session.catalog.snapshot().id
        return Change(
            base=base,
            edits=self._edits(),
            message=self.options.message,
            author=self.options.author,
            extra=None if self.create else json.dumps({"mere": self._counted()}),
            intents=(self.intent,),
        )

    def _look_again(self) -> None:
        """Take the table as it is now; what went through stands if none of it was touched."""
        if self.create is not None:  # the rows of a version stay what they are
            _require_free(self.session, self.wanted.into)
            return
        before, self.head = self.head, newest(self.session, self.head)
        found = self.session.catalog.files(self.head)
        alive, ids = _lying(found, self.head)
        same = before.schema_version == self.head.schema_version
        if same and all(p.states <= alive and p.row_ids <= ids for p in self.passes):
            self.found = found
            return
        self.discard()
        self.passes = []
        self.look(found)

    def _left(self) -> FileSet:
        """Return what has not gone through yet."""
        done = frozenset(state for one in self.passes for state in one.states)
        ids = [row for one in self.passes for row in one.row_ids]
        files = tuple(file for file in self.found.files if not _state(file, self.head) & done)
        return replace(self.found, files=files, inlined=without(self.found.inlined, ids))

    def _send(self, found: FileSet) -> None:
        """Let rows through, and have them written."""
        rows, target = self._rows(found), self.target
        ids = self.keeps_ids and not target.layout.plain
        schema = with_row_ids(target.schema) if ids else target.schema
        layout = replace(
            self.head.layout,
            id=target.layout.id,
            keys=target.layout.keys,
            told=target.layout.told,
            order=target.layout.order,
            target_file_bytes=max(int(self.wanted.target_mb * MIB), 1),
        )
        task = carry.write_task(replace(target, layout=layout), schema, intent=self.intent)
        task = replace(task, memory_bytes=self.memory_bytes)
        results = carry.write_rows(self.session, self.passage.through(rows, schema), task)
        alive, inlined = _lying(found, self.head)
        self.passes.append(_Pass(states=alive, row_ids=inlined, count=rows.count, results=results))
        self._require_count()

    def _require_count(self) -> None:
        """Demand that every row came out, unless others may.

        Raises:
            InvalidInputError: If not; what was written goes again.
        """
        if self.passage.loose or self.rows_in == self.rows_out:
            return
        self.discard()
        msg = f"row count mismatch after repartition: {self.rows_in:,} rows went into the function"
        msg += f", {self.rows_out:,} came out"
        raise InvalidInputError(msg, hint=CHANGED)

    @property
    def keeps_ids(self) -> bool:
        """Whether rows stay what they are."""
        return self.passage.keeps_ids and self.create is None

    @property
    def rows_in(self) -> int:
        """How many rows went through."""
        return sum(one.count for one in self.passes)

    @property
    def rows_out(self) -> int:
        """How many came out."""
        return sum(file.rows for file in self.adds)

    @property
    def adds(self) -> tuple[DataFile, ...]:
        """The new files."""
        return carry.files_of(tuple(result for one in self.passes for result in one.results))

    def _edits(self) -> tuple[Edit, ...]:
        now, target = self.head, self.target
        if self.create is not None:
            new = EditFiles(table_id=target.table_id, operation="append", adds=self.adds)
            return self.create, new
        evolve = Evolve(table_id=now.table_id, schema=target.schema, layout=target.layout)
        changed = (now.schema, now.layout) != (target.schema, target.layout)
        row_ids = self.found.inlined.row_ids if self.found.inlined else ()
        swap = EditFiles(
            table_id=now.table_id,
            operation="overwrite",
            adds=self.adds,
            removes=tuple(file.id for file in self.found.files),
            schema=target.schema,
            ends=row_ids,
        )
        return (evolve, swap) if changed else (swap,)

    def _counted(self) -> dict[str, str | int]:
        """Count rows for the history."""
        return {"table": self.target.table_id, "operation": "repartition", **self._changed()}

    def _changed(self) -> dict[str, int]:
        came, went = self.rows_out, 0 if self.create else self.rows_in
        if self.keeps_ids:
            return {"rows_inserted": 0, "rows_updated": came, "rows_deleted": 0}
        return {"rows_inserted": came, "rows_updated": 0, "rows_deleted": went}

    def discard(self) -> None:
        """Delete what was written and will not be committed."""
        discard(self.session, [result for one in self.passes for result in one.results])

    def forecast(self) -> Report:
        """Say what is to be expected."""
        head, size = self.head, int(self.head.bytes * self.sample.growth)
        files = max(self.estimate.partitions, -(-size // int(self.wanted.target_mb * MIB)), 1)
        new = self.create is not None
        rows = self._rows(self.found).count
        return Report(
            operation="repartition",
            table=self.target.full_name,
            dry_run=True,
            before_file_count=0 if new else head.file_count,
            after_file_count=files,
            before_total_bytes=0 if new else head.bytes,
            after_total_bytes=size,
            compacted_file_count=head.file_count,
            rewritten_bytes=head.bytes,
            rows_before=0 if new else rows,
            rows_after=rows,
            files_added=files,
            files_removed=0 if new else head.file_count,
            partitions=self.estimate.partitions,
        )

    def report(self, committed: Committed) -> Report:
        """Sum up what was done."""
        adds, new, changed = self.adds, self.create is not None, self._changed()
        return replace(
            self.forecast(),
            dry_run=False,
            version=committed.snapshot,
            after_file_count=len(adds),
            after_total_bytes=sum(file.bytes for file in adds),
            encoded_bytes=sum(file.bytes for file in adds),
            compression_codec=self.head.layout.compression,
            rows_before=0 if new else self.rows_in,
            rows_after=self.rows_out,
            rows_inserted=changed["rows_inserted"],
            rows_updated=changed["rows_updated"],
            rows_deleted=changed["rows_deleted"],
            files_added=len(adds),
            partitions=len({(file.partition_id, repr(file.partition)) for file in adds}),
            files=adds,
        )


def _lying(found: FileSet, head: Head) -> tuple[frozenset[Any], frozenset[int]]:
    """Return what tells files, and rows that lie in the catalog, from what they are afterwards."""
    row_ids = found.inlined.row_ids if found.inlined else ()
    return states((Input(file=f) for f in found.files), head.snapshot), frozenset(row_ids)


def _state(file: DataFile, head: Head) -> frozenset[Any]:
    return states([Input(file=file)], head.snapshot)


def _settled(came: Field, before: Schema, known: Schema) -> Field:
    """Return the table's own column for one that came out of the type that it went in with."""
    same = came.name in before and came.name in known
    if same and before.field(came.name).spell() == came.spell():
        return known.field(came.name)
    return came


def _unnumbered(column: Field) -> Field:
    """Forget what a column was in another table."""
    children = tuple(map(_unnumbered, column.children))
    return replace(column, id=0, initial_default=None, children=children)


def _require_all(known: Schema, came: Schema) -> None:
    """Demand that no column of the table is left out.

    Raises:
        SchemaMismatchError: Naming those that are.
    """
    there = {name.casefold() for name in came.names}
    lost = [name for name in known.names if name.casefold() not in there]
    if lost:
        msg = f"the function leaves out: {', '.join(lost)}; it returned: {', '.join(came.names)}"
        hint = "into= makes a new table of what it returns; evolve().drop_column() drops columns"
        raise SchemaMismatchError(msg, hint=hint)
