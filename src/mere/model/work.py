"""Say what one worker is to do, what a verb plans, and what came of it."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mere.model.expr import Expr
from mere.model.feed import Trace
from mere.model.files import DataFile, Deletion, InlinedRows
from mere.model.layout import Layout, PartitionKey, SortKey
from mere.model.loading import Form, Source
from mere.model.report import Report
from mere.model.schema import Field, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Write rows that come in as files below `folder`.

    `schema` is the table's, with field ids: incoming columns are matched by name, cast when that
    loses nothing, filled with their default when missing. `intent` goes into the file names.
    `checks` are (name, SQL text) that every row must satisfy. Every row must match `only`, too.
    With `memory_bytes`, the kernel holds no more than about so many, whatever its own settings say.
    """

    schema: Schema
    layout: Layout
    folder: str
    intent: str
    checks: tuple[tuple[str, str], ...] = ()
    only: Expr | None = None
    max_open_files: int = 64
    memory_bytes: int | None = None

    @property
    def stored(self) -> Schema:
        """The columns that the files hold."""
        told = self.layout.told
        if not told:
            return self.schema
        return Schema(fields=tuple(field for field in self.schema if field.id not in told))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """What becomes of a row: `update` sets columns, `delete` takes it away.

    It is about rows that have a match among the staged ones, or (`matched` False) about those that
    have none; where nothing is staged, every row has one. `when` is a bound condition, or None;
    `sets` are pairs of a column's name and the bound expression of its new value.
    """

    kind: str
    matched: bool = True
    when: Expr | None = None
    sets: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """Rows that were staged to be matched by the key columns `on`, in the table's types.

    Few lie in `data`, an Arrow stream; many in `chunks` of files, no key in two of them, ordered by
    the keys in the partitions `parted`. Rows are numbered in that order: those of each chunk from
    one of the `starts` up to the next. A task may be given some chunks only, the others empty.
    Expressions find their columns as `source.name`.
    """

    schema: Schema
    on: tuple[str, ...]
    data: bytes = field(default=b"", repr=False)
    chunks: tuple[tuple[DataFile, ...], ...] = ()
    starts: tuple[int, ...] = ()
    parted: tuple[PartitionKey, ...] = ()

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """The files that are read."""
        return tuple(file for chunk in self.chunks for file in chunk)

    def only(self, numbers: Collection[int]) -> "Staged":
        """Return the same rows without those of all but some chunks."""
        wanted = frozenset(numbers)
        some = (chunk if n in wanted else () for n, chunk in enumerate(self.chunks))
        return replace(self, chunks=tuple(some))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns as expressions name them."""
        return tuple(_source(column) for column in self.schema)


def _source(column: Field) -> Field:
    return Field(
        name=f"source.{column.name}",
        type=column.type,
        id=-column.id,
        children=column.children,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A file to look at; `groups` are the row groups that matter, None for all.

    `picked` are the packed positions of the rows that are meant, where somebody knows them already:
    then nothing need be read to find them. `chunks` are the numbers of the chunks of staged rows
    that can match one of its rows, None for all.
    """

    file: DataFile
    groups: tuple[int, ...] | None = None
    picked: bytes | None = field(default=None, repr=False)
    chunks: tuple[int, ...] | None = None

    @property
    def bytes(self) -> int:
        """How large the file is."""
        return self.file.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Find the rows that clauses are about; the first clause that holds decides what becomes.

    New versions go where `write` says, with the ids that their rows have; None: nothing is written
    at all. Its `schema` ends in the column of row ids. With `ahead`, first deletes of ordinary
    files are written too. With `copies`, files of which rows go are written anew, in their order,
    and end; rows that were not touched keep what the columns behind those of the table say of them,
    as far as the schema has these. Rows are those that `snapshot` sees. The result repeats the
    `number`.
    """

    schema: Schema
    snapshot: int
    clauses: tuple[Clause, ...]
    inputs: tuple[Input, ...] = ()
    inlined: InlinedRows | None = None
    staged: Staged | None = None
    write: Write | None = None
    ahead: bool = False
    copies: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Write staged rows that have no match, as the first clause says that holds for each.

    `matched` are the packed numbers of those that have one. `schema` are the columns of the table.
    Without `write` rows are only counted. The result repeats the `number`.
    """

    staged: Staged
    schema: Schema
    clauses: tuple[Clause, ...]
    matched: bytes = field(default=b"", repr=False)
    write: Write | None = None
    number: int = 0

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """The files that are read."""
        return self.staged.inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Sift:
    """Find the rows of which another one has the same key; all but one of each key are found.

    Keys are the columns `on`, of which NULL equals NULL. In the order of the columns `order`, and
    then of row ids, the first row of each key stays, or the `last`. Rows come from files and from
    the catalog, or are `sifted`: what tasks before this one have left of theirs. With `write`,
    what this one leaves is written there, in `buckets`: rows with equal keys meet in one of them.
    """

    schema: Schema
    snapshot: int
    on: tuple[str, ...]
    order: tuple[SortKey, ...] = ()
    last: bool = False
    inputs: tuple[Input, ...] = ()
    inlined: InlinedRows | None = None
    sifted: tuple[DataFile, ...] = ()
    write: Write | None = None
    buckets: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Read files of others, and write their rows as `write` says; `number` tells apart tasks."""

    inputs: tuple[Source, ...]
    form: Form
    write: Write
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """By which columns rows are ordered, NULLs last: one after the other, or along a curve.

    `curve` is linear, zorder or hilbert; the others go through the ranks of the values, so that all
    columns count alike. `columns` are field ids. `sample` is an Arrow stream of some of their
    values, by which tasks that must agree tell ranks; without one a task samples its inputs.
    """

    columns: tuple[int, ...]
    curve: str = "linear"
    sample: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Where rows are cut into ranges of their order, counted from 0.

    `rows` is an Arrow stream of what rows are ordered by, one row for each cut, in order. A row
    that equals a cut lies behind it, unless `behind` says of the cut that it lies behind the row.
    """

    rows: bytes = field(repr=False)
    behind: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Write the rows of files anew, each with its id and the snapshot that it came with.

    Rows that went by the version `oldest` are left out; those that went later come along, with a
    delete file that says when. `write` says where to, its schema ends in the columns for ids and
    snapshots; rows stay in the partition of their files, unless they `spread` over those of its
    layout. They keep their order, unless there is a `sorting`. A new file is begun after
    `rows_per_file` rows. The codec is that of the files if `keep_codec`. No more than about
    `memory_bytes` are held at a time. The result repeats the `number`.

    With `cuts`, rows are not ordered but dealt out: a file holds those of one range, which stands
    as its partition. Another task orders the rows of a range, from the files of all such tasks.
    """

    inputs: tuple[Trace, ...]
    write: Write
    oldest: int
    sorting: Sorting | None = None
    spread: bool = False
    rows_per_file: int | None = None
    keep_codec: bool = True
    memory_bytes: int = 256 << 20
    number: int = 0
    cuts: Cuts | None = None


Task: TypeAlias = Write | Staged | Probe | Insert | Sift | Load | Rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Disjoint tasks on one head, and what is to be expected of them.

    `schemas` are, task by task, the columns that are written; `mark` says what for.
    """

    tasks: tuple[Rewrite, ...]
    report: Report
    schemas: tuple[Schema, ...] = ()
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a task wrote, and how many rows went in and out.

    Of a probe: `deletions` of files that stay, `ended` files of which every row goes, `row_ids` of
    inlined rows that go, packed numbers of the staged rows that have a `match`, and how many rows
    were `updated` and `deleted`. Of what was only looked at: the `problem` with it. Of a
    rewrite: how many rows were `dropped` that no version that is kept shows, and the `codec` that
    files were compressed with.
    """

    files: tuple[DataFile, ...] = ()
    rows_in: int = 0
    rows_out: int = 0
    bytes_read: int = 0
    encoded_bytes: int = 0
    copied_bytes: int = 0
    deletions: tuple[Deletion, ...] = ()
    ended: tuple[int, ...] = ()
    row_ids: tuple[int, ...] = ()
    matched: bytes = field(default=b"", repr=False)
    updated: int = 0
    deleted: int = 0
    number: int = 0
    problem: str | None = None
    dropped: int = 0
    codec: str = ""
