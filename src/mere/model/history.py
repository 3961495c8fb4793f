"""Name the versions of a lake, where a verb starts, and what it asks the catalog to change."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from mere.errors import InvalidInputError
from mere.model.expr import Expr
from mere.model.files import DataFile, DeleteFile, Deletion
from mere.model.layout import Layout
from mere.model.loading import Source
from mere.model.names import join_name, split_name
from mere.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Which snapshot is meant: by version, by time, by tag, or (all None) the newest."""

    version: int | None = None
    as_of: datetime | None = None
    tag: str | None = None

    def __post_init__(self) -> None:
        """Refuse two ways of naming one snapshot."""
        given = [n for n in ("version", "as_of", "tag") if getattr(self, n) is not None]
        if len(given) > 1:
            msg = f"give one of version, as_of and tag, got {' and '.join(given)}"
            raise InvalidInputError(msg)


NEWEST = At()


def at(
    version: int | None = None, as_of: datetime | str | None = None, tag: str | None = None
) -> At:
    """Name a snapshot by what a user gives; a time without a zone is UTC, text is ISO 8601.

    Raises:
        InvalidInputError: If more than one is given, or the text is no time.
    """
    if isinstance(as_of, str):
        try:
            as_of = datetime.fromisoformat(as_of)
        except ValueError as error:
            msg = f"as_of takes a time such as '2026-11-18 20:00:00+00:00', got {as_of!r}"
            raise InvalidInputError(msg) from error
    if as_of is not None and as_of.tzinfo is None:
        as_of = as_of.replace(tzinfo=UTC)
    return At(version=version, as_of=as_of, tag=tag)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One committed version of the lake; `changes` is the catalog's own text."""

    id: int
    at: datetime
    schema_version: int
    changes: str = ""
    author: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A table as of one snapshot: all that a verb needs to start. It never refreshes.

    `folder` is the table's folder relative to the lake's root, ending in a slash. `rows`,
    `file_count` and `bytes` count what is alive. A new column's id is `next_column_id` or more.
    `stable` says that no column was ever added, dropped or changed: all files look the same.
    `checks` are (name, SQL text) that every row must satisfy.
    """

    snapshot: int
    schema_version: int
    table_id: int
    uuid: str
    namespace: str
    name: str
    folder: str
    schema: Schema
    layout: Layout = field(default_factory=Layout)
    rows: int = 0
    file_count: int = 0
    bytes: int = 0
    next_column_id: int = 1
    stable: bool = False
    checks: tuple[tuple[str, str], ...] = ()

    @property
    def full_name(self) -> str:
        """Spell the table as `schema.table`; one that is in no schema has its name alone."""
        return join_name(self.namespace, self.name) if self.namespace else self.name

    def is_called(self, name: str) -> bool:
        """Tell whether a user who says `name` means this table."""
        if not self.namespace or name == self.full_name:
            return name == self.full_name
        return split_name(name) == (self.namespace, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A query that a client of the format keeps in the catalog; `columns` rename what it returns.

    In its text, `{DUCKLAKE_CATALOG}` stands for the lake itself.
    """

    namespace: str
    name: str
    sql: str
    dialect: str = "duckdb"
    columns: str = ""

    @property
    def full_name(self) -> str:
        """Spell the view as `schema.view`."""
        return join_name(self.namespace, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema:
    """A schema comes into being."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema:
    """A schema without tables goes."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """A table comes into being; `head` says how, with a negative id until it is committed."""

    head: Head
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    """A table goes; its files stay for older snapshots."""

    table_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    """A table takes another name in the same schema."""

    table_id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolve:
    """A table gets another schema or layout; fields with id 0 are new.

    `comments` change, by column id, None being the table itself; `checks` are all that hold from
    now on, None leaves them. `tightens` says that rows were looked at, so none may have come since.
    """

    table_id: int
    schema: Schema
    layout: Layout
    comments: tuple[tuple[int | None, str | None], ...] = ()
    checks: tuple[tuple[str, str], ...] | None = None
    tightens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EditFiles:
    """Files come and go; `operation` is append, overwrite, rewrite or mutate.

    `removes` are ids of files that end. A file that is added lies already where its path says;
    `schema` is the one that it was written with. `ends` are ids of rows that lie in the catalog
    itself, and end there. `deletes` are rows of files that stay. `sought` is the bound predicate
    outside of which no row was meant: what others bring that cannot match changes nothing about it.
    """

    table_id: int
    operation: str
    adds: tuple[DataFile, ...] = ()
    removes: tuple[int, ...] = ()
    schema: Schema | None = None
    ends: tuple[int, ...] = ()
    deletes: tuple[Deletion, ...] = ()
    sought: Expr | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Rows that moved from some files to others, and are what they were at every version.

    `removes` are the files as they were seen: the id, that of its delete file, and how many deletes
    lay in the catalog. `adds` say since when they count, and until when rows came; `schema` is the
    one that they were written with, `mark` what for.
    """

    removes: tuple[tuple[int, int, int], ...]
    adds: tuple[DataFile, ...]
    schema: Schema
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Rows move between files; what others touched meanwhile stays, or if `whole` all does."""

    table_id: int
    moves: tuple[Moved, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A file of an older version that comes back, without what the version did not show of it.

    `path` is that of a copy, None when the file itself is listed again.
    """

    file: DataFile
    deletes: DeleteFile | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """A table becomes what it was at a version: rows, columns, layout, comments and checks.

    `removes` are ids of files that end; all others stay, and `returns` come back. `head` is the
    table as of the version. `stays` pairs ids that files had then with those that they have now.
    Rows that lie in the catalog itself are left to the catalog.
    """

    table_id: int
    head: Head
    removes: tuple[int, ...] = ()
    returns: tuple[Returned, ...] = ()
    stays: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """Files of others whose rows come into a table with this very commit.

    `load` names the load, to tell it from all others; nothing is committed when another one
    brought a file in meanwhile. It stands behind the edit that adds the rows.
    """

    table_id: int
    load: str
    sources: tuple[Source, ...] = ()


Edit: TypeAlias = (
    CreateSchema
    | DropSchema
    | CreateTable
    | DropTable
    | RenameTable
    | Evolve
    | EditFiles
    | Move
    | Restore
    | Remember
)


FROM_THE_BEGINNING = -1
"""The version before all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a step has come: its `run`-th commit, and the version up to which it has read.

    What that commit read came after the version `since`, and wrote the version `wrote`; None when
    there was nothing to write.
    """

    step: str
    run: int
    since: int = FROM_THE_BEGINNING
    reached: int
    wrote: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one commit asks for, on the snapshot that it was planned on.

    The same `token` twice makes one snapshot. `intents` are what its files were announced under:
    when one was revoked meanwhile, nothing is committed. `mark` says how far the step has come
    whose work this is: with the commit or not at all, and only as the next one of its step. When
    rows of a table among the `reads` have changed since the base, nothing is committed.
    """

    base: int
    edits: tuple[Edit, ...]
    message: str | None = None
    author: str | None = None
    extra: str | None = None
    token: str | None = None
    intents: tuple[str, ...] = ()
    mark: Mark | None = None
    reads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The snapshot that a change became; `replayed` when others committed in between.

    `repeated` says that the token had been committed before and nothing was done now.
    `staged` says that the change waits in an open transaction. `table_ids` maps the negative ids
    of created tables to the ones that they got. `left` are the places, among all moves of the
    change, of those that were not made, because others had touched their files.
    """

    snapshot: int
    staged: bool = False
    replayed: bool = False
    repeated: bool = False
    table_ids: tuple[tuple[int, int], ...] = ()
    left: tuple[int, ...] = ()
