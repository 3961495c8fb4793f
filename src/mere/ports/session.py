"""What verbs and readers are handed: the four roles of a lake, and what to read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mere.model.files import DataFile, InlinedRows, Kept
from mere.model.layout import Layout
from mere.model.predicate import Expr
from mere.model.schema import Schema
from mere.ports.catalog import Catalog
from mere.ports.store import Store
from mere.ports.work import Kernel, Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The four roles of one lake; `staged` says that a transaction is open on it."""

    catalog: Catalog
    store: Store
    kernel: Kernel
    runner: Runner
    read_only: bool = False
    staged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader is asked for: files of one pinned head, columns, and which rows.

    `schema` holds the columns to return, in order, with their field ids; `table` all columns of
    the head, which the predicate may name. Rows that do not match `where` must not come out.
    `certain` files need no filtering; `kept` says of which files only some row groups need to be
    read. Rows deleted after `snapshot`, or added after it to a file
    that was merged from several snapshots, are told apart by it. `stable` says that no column
    was renamed, dropped, retyped or added since the oldest file, so no footer needs to be asked.
    `inlined` are rows that lie in no file; unless they are exact, `where` must be asked of them.
    """

    table: Schema
    schema: Schema
    layout: Layout
    files: tuple[DataFile, ...]
    store: Store
    where: Expr | None = None
    limit: int | None = None
    certain: frozenset[int] = field(default=frozenset())
    kept: Mapping[int, Kept] = field(default_factory=dict)
    snapshot: int | None = None
    stable: bool = False
    inlined: InlinedRows | None = None
