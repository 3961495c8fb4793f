"""Say how rows are changed: which files are looked at, by which tasks, and what columns become."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from mere.errors import InvalidInputError
from mere.model.expr import Expr
from mere.model.files import DataFile, FileSet, InlinedRows
from mere.model.history import Head
from mere.model.literals import place
from mere.model.predicate import bind_value
from mere.model.promotion import carries, decimal_parts, widens
from mere.model.schema import Field, Schema, with_origins, with_row_ids
from mere.model.values import FLOATS, INTEGERS
from mere.model.work import Clause, Input, Probe, Staged, Write
from mere.plan.chunks import Meeting

TASK_BYTES = 256 << 20
MOST_TASKS = 16
MOST_BYTES = 1 << 30
"""Of a large table each task gets as much, however many that makes."""
FEW_FILES = 8
"""So many small files are looked at by one task: it writes their delete files side by side."""
APART_BYTES = 1 << 20
"""Partitions that are at least as large are dealt to several tasks."""
_ARITHMETIC = frozenset({"add", "sub", "mul", "div", "mod", "neg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """Rows that were chosen already: packed positions by file, and ids of rows without a file."""

    positions: Mapping[int, bytes]
    row_ids: frozenset[int] = frozenset()

    def lies_in(self, found: FileSet) -> bool:
        """Tell whether all of these rows lie where they were found, in what is found now."""
        inlined = found.inlined.row_ids if found.inlined else ()
        files = {file.id for file in found.files}
        return self.positions.keys() <= files and self.row_ids <= set(inlined)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """What a verb asks of one head: no row outside of `where` can be meant by the clauses.

    With `picked`, exactly these rows are meant. With `meeting`, the chunks of staged rows that a
    file can hold keys of are known.
    """

    clauses: tuple[Clause, ...]
    where: Expr | None = None
    staged: Staged | None = None
    picked: Picked | None = None
    meeting: Meeting | None = None

    @property
    def deletes_all(self) -> bool:
        """Tell whether every row that matches `where` is deleted, whatever else it holds."""
        first = self.clauses[0] if self.clauses else None
        chosen = self.staged is not None or self.picked is not None
        return not chosen and first is not None and first.kind == "delete"

    @property
    def updates(self) -> bool:
        """Tell whether rows may get new versions."""
        return any(clause.kind == "update" for clause in self.clauses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """Files that go as they are, and those of which the rows must be looked at."""

    whole: tuple[DataFile, ...]
    inputs: tuple[Input, ...]
    inlined: InlinedRows | None


def plan_mutation(found: FileSet, mutation: Mutation) -> Looking:
    """Choose the files to look at; a file whose every row is deleted is not opened."""
    if mutation.picked is not None:
        return _picked(found, mutation.picked)
    sure = found.certain if mutation.deletes_all else frozenset()
    whole = tuple(file for file in found.files if file.id in sure and file.last is None)
    gone = {file.id for file in whole}
    files = [file for file in found.files if file.id not in gone]
    inputs = tuple(_input(file, found, mutation.meeting) for file in files)
    return Looking(whole=whole, inputs=inputs, inlined=found.inlined)


def _picked(found: FileSet, picked: Picked) -> Looking:
    """Look only into files of which rows were chosen; the rows without one are told by ids."""
    inputs = tuple(
        Input(file=replace(file, bounds={}, row_groups=()), picked=picked.positions[file.id])
        for file in found.files
        if file.id in picked.positions
    )
    inlined = found.inlined if picked.row_ids else None
    return Looking(whole=(), inputs=inputs, inlined=inlined)


def _input(file: DataFile, found: FileSet, meeting: Meeting | None) -> Input:
    some = found.kept.get(file.id)
    groups = None if some is None else tuple(group.ordinal for group in some.groups)
    chunks = None if meeting is None else meeting.chunks(file)
    return Input(file=replace(file, bounds={}, row_groups=()), groups=groups, chunks=chunks)


def deal(inputs: Sequence[Input], *, together: bool) -> tuple[tuple[Input, ...], ...]:
    """Deal files to tasks; `together` keeps those of a partition in one, so new files are few."""
    total = sum(given.file.bytes for given in inputs)
    share = max(TASK_BYTES if together else TASK_BYTES // 16, min(total // MOST_TASKS, MOST_BYTES))
    apart = max(APART_BYTES, total // MOST_TASKS)
    most = len(inputs) if together else max(FEW_FILES, len(inputs) // MOST_TASKS)
    dealt: list[tuple[Input, ...]] = []
    held: list[Input] = []
    size = 0
    for given in sorted(inputs, key=_partition) if together else inputs:
        parts = size >= apart and together and _partition(given) != _partition(held[-1])
        if held and (size >= share or len(held) >= most or parts):
            dealt.append(tuple(held))
            held, size = [], 0
        held.append(given)
        size += given.file.bytes
    return (*dealt, tuple(held)) if held else tuple(dealt)


def _partition(given: Input) -> tuple[str, ...]:
    return (str(given.file.partition_id), *map(repr, given.file.partition))


def probes(
    head: Head,
    mutation: Mutation,
    looking: Looking,
    *,
    write: Write | None,
    ahead: bool,
    first: int,
) -> tuple[Probe, ...]:
    """Make the tasks, numbered from `first` on; rows without a file are one of their own.

    `write` has the table's own columns. Files that no snapshot has seen yet, whose rows have no
    ids, are written anew where rows change, since nothing has to be told of that later.
    """
    copies = head.layout.copy_on_write
    writes = copies or mutation.updates
    fresh = [given for given in looking.inputs if writes and _is_fresh(given.file)]
    known = [given for given in looking.inputs if not (writes and _is_fresh(given.file))]
    if mutation.meeting is not None:  # files that are looked up in the same chunks share a task
        known.sort(key=lambda given: given.chunks or ())
    bare = Probe(
        schema=head.schema,
        snapshot=head.snapshot,
        clauses=mutation.clauses,
        staged=mutation.staged,
        ahead=ahead,
    )
    anew = replace(bare, write=write, copies=True)
    columns = with_origins(head.schema) if copies else with_row_ids(head.schema)
    kept = write if head.layout.plain else write and replace(write, schema=columns)
    usual = replace(bare, write=kept, copies=copies)
    tasks = [
        _given(replace(usual, write=kept and replace(kept, folder=head.folder + room)), dealt)
        for room, inside in _rooms(head, known).items()
        for dealt in deal(inside, together=writes)
    ]
    tasks += [_given(anew, dealt) for dealt in deal(fresh, together=True)]
    if looking.inlined is not None:
        tasks.append(replace(usual, inlined=looking.inlined))
    return tuple(replace(task, number=n) for n, task in enumerate(tasks, start=first))


def _rooms(head: Head, inputs: Sequence[Input]) -> Mapping[str, Sequence[Input]]:
    """Keep files of a plain folder apart by the folders that they lie in, where these tell nothing.

    A room is a folder below that of the table, ending in a slash; nothing for that one itself.
    """
    if not head.layout.plain or head.layout.keys:
        return {"": inputs}
    rooms: dict[str, list[Input]] = {}
    for given in inputs:
        path = given.file.path
        rooms.setdefault(path[: path.rfind("/") + 1], []).append(given)
    return rooms


def _given(task: Probe, inputs: tuple[Input, ...]) -> Probe:
    """Give a task its files, and of the staged rows the chunks that these can hold keys of."""
    staged = task.staged
    if staged is not None and all(given.chunks is not None for given in inputs):
        staged = staged.only({number for given in inputs for number in given.chunks or ()})
    return replace(task, inputs=inputs, staged=staged)


def _is_fresh(file: DataFile) -> bool:
    return file.id < 0 and not file.has_row_ids


def assignments(
    sets: Mapping[str, Expr], schema: Schema, combined: Schema
) -> tuple[tuple[str, Expr], ...]:
    """Tie the new values of columns to what they may look at, and check that types fit.

    Raises:
        UnknownColumnError: If a column does not exist.
        InvalidInputError: If a value can never be one of its column, or a column is set twice.
    """
    found: dict[str, Expr] = {}
    for name, expr in sets.items():
        field = schema.field(name)
        if field.name in found:
            msg = f"column {field.name!r} is set twice"
            raise InvalidInputError(msg)
        spelled = _floating(expr) if field.type in FLOATS else expr
        found[field.name] = _assigned(field, bind_value(spelled, combined))
    return tuple(found.items())


def _floating(expr: Expr) -> Expr:
    """Read numbers such as 1.1, which SQL takes for decimals, as floats: so does their column."""
    if expr.op == "literal" and isinstance(expr.args[0], Decimal):
        return Expr("literal", (float(expr.args[0]),), "float64")
    if expr.op not in _ARITHMETIC:
        return expr
    return Expr(expr.op, tuple(_floating(arg) for arg in expr.args), expr.kind)


def _assigned(field: Field, expr: Expr) -> Expr:
    """Give a value the type of its column, or refuse."""
    if expr.op == "literal":
        return _literal(field, expr)
    kind = expr.kind
    if kind in (None, field.type) or kind in _nested(field):
        return expr
    exact = _is_exact(kind) and (_is_exact(field.type) or field.type in FLOATS)
    if exact or widens(kind or "", field.type) or carries(kind or "", field.type):
        return expr
    if kind == "float64" and field.type == "float32" and expr.op != "column":
        return Expr("cast", (expr,), "float32")  # arithmetic is done in double precision
    msg = f"column {field.name!r} is {field.spell()}, {expr} is {kind}"
    raise InvalidInputError(msg, hint=f"cast it: CAST({expr} AS {field.type})")


def _is_exact(kind: str | None) -> bool:
    """Tell whether values are whole numbers or decimals: each is checked when it is written."""
    return kind in INTEGERS or kind == "int128" or decimal_parts(kind or "") is not None


def _nested(field: Field) -> frozenset[str]:
    return frozenset({field.type}) if field.children else frozenset()


def _literal(field: Field, expr: Expr) -> Expr:
    value = expr.args[0]
    if value is None:
        if not field.nullable:
            msg = f"column {field.name!r} is NOT NULL"
            raise InvalidInputError(msg, hint="set it to a value")
        return Expr("literal", (None,), field.type)
    found = place(field.type, value, value_kind=expr.kind, name=field.name)
    if not found.exact:
        msg = f"column {field.name!r} is {field.spell()}, it cannot hold {value!r}"
        raise InvalidInputError(msg)
    return Expr("literal", (found.floor,), field.type)


State: TypeAlias = tuple[int, int, int, bytes | None, int | None]


def states(inputs: Iterable[Input], snapshot: int) -> frozenset[State]:
    """Return what tells files, and the rows that are meant, from what they are afterwards.

    A file may be listed when others have changed it since the snapshot. What the snapshot saw of
    it is then true of no other: the same file and delete file show later ones other rows.
    """
    return frozenset(
        (
            file.id,
            file.deletes.id if file.deletes else 0,
            len(file.gone),
            given.picked,
            snapshot if file.goes_beyond(snapshot) else None,
        )
        for given in inputs
        for file in (given.file,)
    )
