"""Do a probe: look at the rows of files, decide what becomes of each, make new versions.

Conditions and values are computed by whoever calls; so that kernels differ in nothing else.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mere.arrow import conformer, file_schema
from mere.arrow.positions import pack, unpack
from mere.model.files import DataFile, DeleteFile, Deletion
from mere.model.predicate import Expr, columns
from mere.model.schema import Field, Schema
from mere.model.work import Input, Probe, Result
from mere.ports import Store
from mere.reading.copying import Copied
from mere.reading.deleting import Going, folded, write_deletes
from mere.reading.forms import Forms
from mere.reading.pieces import FilePiece, InlinedPiece, OpenFile, Piece, Rows
from mere.reading.source import Known, Source

Numbers = NDArray[np.int64]
Truths: TypeAlias = Callable[[Expr, pa.Table, Schema], pa.ChunkedArray]
Computed: TypeAlias = Callable[[Expr, pa.Table, Field], pa.ChunkedArray]
_Judged: TypeAlias = tuple[Piece, Numbers, Numbers | None]
_Old: TypeAlias = tuple[pa.Table, Numbers, Numbers | None]
_UNIT_ROWS = 1 << 20
_UNIT_BYTES = 64 << 20
_HELD_BYTES = 8 << 20
"""How much of old rows is gathered before new versions are made."""
_NONE = -1


@dataclass(frozen=True)
class Judge:
    """How conditions are decided and values computed."""

    truths: Truths
    computed: Computed


def probe(task: Probe, store: Store, *, judge: Judge, write: Callable[..., Result]) -> Result:
    """Look at every row, write new versions by `write`, and say which rows go."""
    job = _Job(task, store, judge)
    updates = any(clause.kind == "update" for clause in task.clauses)
    if task.write is None or not (updates or task.copies):
        for _ in job.versions(write=False):
            pass
        return job.result(())
    columns_ = file_schema(task.write.schema)
    reader = pa.RecordBatchReader.from_batches(columns_, job.versions(write=True))
    written = write(reader, task=task.write, store=store)
    return job.result(written.files, written)


class _Job:
    """One probe from its first row to its last."""

    def __init__(self, task: Probe, store: Store, judge: Judge) -> None:
        self.task = task
        self.store = store
        self.judge = judge
        self.source = None if task.staged is None else Source(task.staged, store)
        more = () if task.staged is None else task.staged.fields
        self.combined = Schema(fields=(*task.schema.fields, *more))
        self.looked_at = self._looked_at()
        self.forms = Forms()
        self.rows_in = 0
        self.chunks = {given.file.id: given.chunks for given in task.inputs}
        self.counts = dict.fromkeys(("update", "delete"), 0)
        self.gone: dict[int, list[Numbers]] = {}
        self.files: dict[int, DataFile] = {}
        self.row_ids: list[Numbers] = []
        self.matched: list[Numbers] = []
        self.copies: dict[int, Copied] = {}
        self.ids = task.write is not None and len(task.write.schema) > len(task.schema)

    def _looked_at(self) -> Schema:
        """Return the columns by which rows are told apart."""
        asked = [clause.when for clause in self.task.clauses if clause.when is not None]
        names = {name for when in asked for name in columns(when)}
        names |= set(self.task.staged.on) if self.task.staged else set()
        return Schema(fields=tuple(f for f in self.task.schema if f.name in names))

    def versions(self, *, write: bool) -> Iterator[pa.RecordBatch]:
        """Judge all rows; yield the new versions of those that are updated.

        Of a file that is written anew, rows are yielded when all of it has been judged.
        """
        for given in self.task.inputs:
            if given.picked is not None:
                yield from self._pick(given, unpack(given.picked), write=write)
        for unit in self._units():
            matches = self._match(unit)
            judged: list[_Judged] = []
            for piece, match in zip(unit, matches, strict=True):
                chosen = self._judged(piece, match)
                self._note(piece, chosen)
                if write and self.task.copies and isinstance(piece, FilePiece):
                    self._copied(piece.opened).judge(piece.ordinal, chosen, match)
                elif write:
                    judged.append((piece, chosen, match))
            yield from self._updated(judged)
            yield from self._anew(all_but=1)
        yield from self._anew(all_but=0)

    def _copied(self, file: OpenFile) -> Copied:
        return self.copies.setdefault(file.file.id, Copied(file))

    def _anew(self, *, all_but: int) -> Iterator[pa.RecordBatch]:
        """Yield all that is left of files of which rows go; the last ones may not be done yet."""
        while len(self.copies) > all_but:
            copied = self.copies.pop(next(iter(self.copies)))
            if copied.touched:
                for rows, chosen, match in copied.rows(self.task.schema, ids=self.ids):
                    yield from self._in_place(rows, chosen, match)

    def _in_place(
        self, rows: Rows, chosen: Numbers, match: Numbers | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows without those that are deleted, and updated ones where the old ones were."""
        made: list[pa.RecordBatch] = []
        order: list[Numbers] = []
        for number, sets in [(_NONE, {}), *self._updates()]:
            here = np.flatnonzero(chosen == number)
            if not len(here):
                continue
            table = rows.table if len(here) == len(chosen) else rows.table.take(pa.array(here))
            seen = self._beside(table, None if match is None or number == _NONE else match[here])
            origins = rows.origins[here] if number == _NONE else np.zeros(len(here), np.int64)
            made.extend(self._made(sets, seen, rows.row_ids[here], origins))
            order.append(here)
        if len(order) <= 1:
            yield from made
            return
        places = pa.array(np.argsort(np.concatenate(order)))
        yield from pa.Table.from_batches(made).take(places).combine_chunks().to_batches()

    def _updates(self) -> Iterator[tuple[int, dict[str, Expr]]]:
        for number, clause in enumerate(self.task.clauses):
            if clause.kind == "update":
                yield number, dict(clause.sets)

    def _units(self) -> Iterator[list[Piece]]:
        """Yield pieces: each by itself, or many together when keys are to be looked up.

        Those together have the same value in the key column of which all their rows have one, and
        are looked up in the same chunks: there are more of them where each chunk has to be read.
        """
        held: list[Piece] = []
        rows, of = 0, None
        for piece in self._pieces():
            alike = self._known(piece), self._chunks(piece)
            if held and alike != of:
                yield held
                held, rows = [], 0
            of = alike
            held.append(piece)
            rows += len(piece.places)
            if self.source is None or self._is_full(held, rows):
                yield held
                held, rows = [], 0
        if held:
            yield held

    def _is_full(self, held: Sequence[Piece], rows: int) -> bool:
        several = self.task.staged is not None and len(self.task.staged.chunks) > 1
        return rows >= _UNIT_ROWS and not (
            several and sum(piece.rows.nbytes for piece in held) < _UNIT_BYTES
        )

    def _pieces(self) -> Iterator[Piece]:
        for given in self.task.inputs:
            self.files[given.file.id] = given.file
            if given.picked is None:
                yield from self._open(given).pieces(self.looked_at)
        if self.task.inlined is not None:
            yield InlinedPiece(self.task.inlined, self.task.schema)

    def _open(self, given: Input) -> OpenFile:
        task = self.task
        layout = task.write.layout if task.write else None
        return OpenFile(self.store, given, task.snapshot, layout=layout, forms=self.forms)

    def _pick(self, given: Input, places: Numbers, *, write: bool) -> Iterator[pa.RecordBatch]:
        """Delete rows that were chosen already; yield the others if the file is written anew."""
        self.counts["delete"] += len(places)
        self.gone.setdefault(given.file.id, []).append(places)
        if write and self.task.copies:
            self._copied(self._open(given)).pick(places)
            yield from self._anew(all_but=0)

    def _match(self, unit: Sequence[Piece]) -> Sequence[Numbers | None]:
        """Return for each row of each piece the number of its staged row, -1 for none."""
        if self.source is None:
            return [None] * len(unit)
        known = self._known(unit[0])
        names = [name for name, _ in self.source.on if known is None or name != known[0]]
        keys = [[piece.rows.column(name) for name in names] for piece in unit]
        found = self.source.match(keys, known, chunks=self._chunks(unit[0]))
        self.matched.append(np.unique(np.concatenate([match[match >= 0] for match in found])))
        return found

    def _chunks(self, piece: Piece) -> tuple[int, ...] | None:
        """Return the chunks of staged rows that can match the piece's rows; None: any."""
        return self.chunks.get(piece.file.id) if isinstance(piece, FilePiece) else None

    def _known(self, piece: Piece) -> Known | None:
        """Return a key column of which the piece's rows have one value, unless it is all there is.

        The rows that it leaves of the source are few, so they are looked up among these.
        """
        if self.source is None or len(self.source.on) == 1 or not isinstance(piece, FilePiece):
            return None
        kinds = dict(self.source.on)
        for source in piece.opened.sources(self.looked_at):
            name = source.field.name
            if source.value is not None and source.value.type == kinds.get(name):
                return name, source.value
        return None

    def _judged(self, piece: Piece, match: Numbers | None) -> Numbers:
        """Return for each row the number of the clause that decides about it, -1 for none."""
        chosen = np.full(len(piece.places), _NONE, dtype=np.int64)
        for number, clause in enumerate(self.task.clauses):
            asked = chosen == _NONE
            if match is not None:
                asked &= (match >= 0) == clause.matched
            rows = np.flatnonzero(asked)
            if clause.when is not None and len(rows):
                rows = rows[self._holds(clause.when, piece, rows, match)]
            chosen[rows] = number
        return chosen

    def _holds(
        self, when: Expr, piece: Piece, rows: Numbers, match: Numbers | None
    ) -> NDArray[np.bool_]:
        table = piece.rows if len(rows) == len(piece.places) else piece.rows.take(pa.array(rows))
        seen = self._beside(table, None if match is None else match[rows])
        found = self.judge.truths(when, seen, self.combined)
        truths: NDArray[np.bool_] = found.to_numpy()
        return truths

    def _beside(self, table: pa.Table, match: Numbers | None) -> pa.Table:
        """Put the columns of the matching staged rows beside a table."""
        if self.source is None or match is None:
            return table
        return self.source.beside(table, match)

    def _note(self, piece: Piece, chosen: Numbers) -> None:
        """Remember which rows go, and count them."""
        self.rows_in += len(chosen)
        for number, clause in enumerate(self.task.clauses):
            self.counts[clause.kind] += int(np.count_nonzero(chosen == number))
        places = piece.places[chosen >= 0]
        if isinstance(piece, FilePiece):
            self.gone.setdefault(piece.file.id, []).append(places)
        else:
            self.row_ids.append(places)

    def _updated(self, judged: Sequence[_Judged]) -> Iterator[pa.RecordBatch]:
        """Yield new versions, those of many pieces together while they are small."""
        for number, sets in self._updates():
            held: list[_Old] = []
            size = 0
            for old in self._old(judged, number, self._taken(sets)):
                held.append(old)
                size += old[0].nbytes
                if size >= _HELD_BYTES:
                    yield from self._renewed(sets, held)
                    held, size = [], 0
            yield from self._renewed(sets, held)

    def _taken(self, sets: Mapping[str, Expr]) -> Schema:
        """Return the columns that new versions take from the old ones, or are computed by."""
        asked = {name for value in sets.values() for name in columns(value)}
        fields = self.task.schema.fields
        return Schema(fields=tuple(f for f in fields if f.name in asked or f.name not in sets))

    def _old(self, judged: Sequence[_Judged], number: int, schema: Schema) -> Iterator[_Old]:
        for piece, chosen, match in judged:
            rows = np.flatnonzero(chosen == number)
            if len(rows):
                for part, table, row_ids in piece.full(rows, schema):
                    yield table, row_ids, None if match is None else match[part]

    def _renewed(self, sets: Mapping[str, Expr], held: Sequence[_Old]) -> Iterator[pa.RecordBatch]:
        if not held:
            return
        table = pa.concat_tables([old for old, _, _ in held])
        row_ids = np.concatenate([ids for _, ids, _ in held])
        found = [match for _, _, match in held if match is not None]
        seen = self._beside(table, np.concatenate(found) if found else None)
        yield from self._made(sets, seen, row_ids, np.zeros(len(row_ids), np.int64))

    def _made(
        self, sets: Mapping[str, Expr], seen: pa.Table, row_ids: Numbers, origins: Numbers
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows with the columns that are set, each seeing the old row."""
        write = self.task.write
        if write is None:
            return
        made = [
            self.judge.computed(sets[field.name], seen, field)
            if field.name in sets
            else seen.column(field.name)
            for field in self.task.schema
        ]
        hidden = [pa.array(row_ids), pa.array(origins, mask=origins == 0)]
        names = list(write.schema.names)
        table = pa.table([*made, *hidden[: len(names) - len(made)]], names=names)
        fitted = conformer(table.schema, write.schema)
        yield from (fitted(batch) for batch in table.combine_chunks().to_batches())

    def result(self, files: tuple[DataFile, ...], written: Result | None = None) -> Result:
        """Say what was found and done."""
        part: list[tuple[DataFile, Numbers]] = []
        ended: list[int] = []
        for number, parts in self.gone.items():
            places = np.concatenate(parts)
            file = self.files[number]
            if len(places) and (self.task.copies or len(places) == file.rows - file.deleted):
                ended.append(number)
            elif len(places):
                part.append((file, places))
        row_ids = np.concatenate(self.row_ids) if self.row_ids else np.empty(0, np.int64)
        matched = np.concatenate(self.matched) if self.matched else np.empty(0, np.int64)
        return Result(
            files=files,
            rows_in=self.rows_in,
            rows_out=sum(file.rows for file in files),
            encoded_bytes=written.encoded_bytes if written else 0,
            deletions=self._deletions(part),
            ended=tuple(ended),
            row_ids=tuple(row_ids.tolist()),
            matched=pack(matched),
            updated=self.counts["update"],
            deleted=self.counts["delete"],
            number=self.task.number,
        )

    def _deletions(self, part: Sequence[tuple[DataFile, Numbers]]) -> tuple[Deletion, ...]:
        """Say which rows go of files that stay, and write their delete files ahead.

        Those that have to name their snapshot name the next one: should others come first, they
        are written anew.
        """
        write = self.task.write
        if write is None or not self.task.ahead:
            return tuple(_deletion(file, places) for file, places in part)
        going = (self._going(file, np.sort(places)) for file, places in part)
        intent = write.intent
        files = write_deletes(self.store, going, folder=write.folder, intent=intent)
        return tuple(
            _deletion(file, places, ready)
            for (file, places), ready in zip(part, files, strict=True)
        )

    def _going(self, file: DataFile, places: Numbers) -> Going:
        if file.deletes is None and file.last is None:
            return Going(path=file.path, places=places)
        return folded(self.store, file.path, places, self.task.snapshot + 1, file.deletes)


def _deletion(file: DataFile, places: Numbers, ready: DeleteFile | None = None) -> Deletion:
    """Say which rows go; positions are not needed again for a file that is right in any case."""
    right = ready is not None and ready.last is None
    positions = b"" if right else pack(places)
    return replace(Deletion.on(file, len(places), positions=positions), file=ready)
