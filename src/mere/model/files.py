"""Describe immutable Parquet files: what lies in them, without opening them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from mere.errors import InvalidInputError
from mere.model.mapping import Mapping as Names

Value: TypeAlias = Any
"""A typed Python value: bool, int, float, str, bytes, Decimal, date, time, datetime or UUID.

A `timestamp_ns` is an int of nanoseconds since 1970; a `timestamptz` is an aware datetime in UTC.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One object of a listing; `path` is relative to the store's root.

    `etag` changes with the content, on storage that has such a thing.
    """

    path: str
    bytes: int
    modified: datetime
    etag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is known of the values of one leaf column in one file or row group.

    None means "not known". `minimum` and `maximum` leave NaN out and hold for every non-NULL
    value; `exact` says that both occur. `values` counts the non-NULL ones.
    """

    minimum: Value | None = None
    maximum: Value | None = None
    nulls: int | None = None
    values: int | None = None
    nan: bool | None = None
    bytes: int | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """One row group of a file; `bytes` are compressed, `raw_bytes` are not."""

    ordinal: int
    rows: int
    bytes: int
    raw_bytes: int
    bounds: Mapping[int, Bounds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Positions of one data file whose rows are gone."""

    path: str
    bytes: int
    rows: int
    id: int = 0
    footer_bytes: int | None = None
    since: int = 0
    last: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One immutable Parquet file of a table.

    `path` is relative to the lake's root, or absolute for files adopted from elsewhere. `bounds`
    are keyed by the field id of the leaf. `partition` holds one typed value per key of the layout
    with id `partition_id` (the transform's result, None for NULL). `since` is the snapshot that
    added the file, `row_id_start` the id of its first row; both come from the catalog. `gone` are
    positions of deleted rows that no delete file lists, but the catalog itself. `more_deletes` are
    delete files that another client left alive beside `deletes`, and may repeat it. `digest` is
    that of the footer, told by whoever writes the file. `names` tell where the columns of an
    adopted file are, which has no ids of this table. `has_row_ids` says of a new file that its rows
    carry the ids that they had before.
    """

    path: str
    bytes: int
    rows: int
    footer_bytes: int | None = None
    id: int = 0
    since: int = 0
    until: int | None = None
    row_id_start: int | None = None
    partition_id: int | None = None
    partition: tuple[Value | None, ...] = ()
    bounds: Mapping[int, Bounds] = field(default_factory=dict)
    row_groups: tuple[RowGroup, ...] = ()
    deletes: DeleteFile | None = None
    more_deletes: tuple[DeleteFile, ...] = ()
    digest: str | None = None
    mapping_id: int | None = None
    names: Names | None = None
    last: int | None = None
    gone: tuple[int, ...] = ()
    has_row_ids: bool = False

    def __post_init__(self) -> None:
        """Refuse a file that cannot be one."""
        if not self.path or self.bytes < 0 or self.rows < 0:
            msg = f"not a data file: path {self.path!r}, {self.bytes} bytes, {self.rows} rows"
            raise InvalidInputError(msg)

    def __hash__(self) -> int:
        """Hash by what names the file; bounds are mappings and take no part."""
        return hash((self.id, self.path))

    @property
    def deleted(self) -> int:
        """Count the rows that are deleted; too many when there are `more_deletes`."""
        return len(self.gone) + sum(deletes.rows for deletes in self.every_delete)

    @property
    def every_delete(self) -> tuple[DeleteFile, ...]:
        """Return all delete files."""
        return () if self.deletes is None else (self.deletes, *self.more_deletes)

    def goes_beyond(self, snapshot: int) -> bool:
        """Tell whether rows of it came or went later: it was listed after others had committed."""
        lasts = (self.last, *(deletes.last for deletes in self.every_delete))
        return any(last is not None and last > snapshot for last in lasts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Rows of one data file that go: how many, and where they lie.

    `positions` are packed by `mere.arrow.positions`. `file` is a delete file that lies ready. It
    may name no snapshots, and needs no positions beside it: right only for the first deletes of an
    ordinary file. Or it names all of them: right only for the commit that makes the `last`.
    `seen` is the id of the delete file that the plan saw, 0 for none, and `gone` how many deletes
    it saw in the catalog itself: when one of them has changed, others deleted too.
    """

    file_id: int
    rows: int
    positions: bytes = field(default=b"", repr=False)
    file: DeleteFile | None = None
    seen: int = 0
    gone: int = 0

    @classmethod
    def on(cls, file: DataFile, rows: int, **more: Any) -> "Deletion":
        """Delete rows of a file as it is seen now."""
        seen = file.deletes.id if file.deletes else 0
        return cls(file_id=file.id, rows=rows, seen=seen, gone=len(file.gone), **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A delete file to be written for its final snapshot: what was deleted before, and what is now.

    It is about the data file at `path` and goes into `folder`, the table's; `deletes` is the
    delete file that it takes the place of.
    """

    path: str
    folder: str
    positions: bytes = field(repr=False)
    snapshot: int
    deletes: DeleteFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinedRows:
    """Rows of a table that lie in the catalog itself, as other clients put small changes there.

    `data` is an Arrow stream, which `mere.arrow.inlined` reads: the id of each row, the snapshots
    that it came and went with, and the columns of the head. `row_ids` repeats the ids, in order.
    `exact` says that each row was found to match the predicate.
    """

    data: bytes = field(repr=False)
    row_ids: tuple[int, ...]
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The row groups of one file that can hold a matching row, out of `total`, in order.

    `certain` are the ordinals of those of which every row matches. None has bounds with it.
    """

    total: int
    groups: tuple[RowGroup, ...]
    certain: frozenset[int] = field(default=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSet:
    """The files that survived pruning, and what was pruned by what.

    `total_files`, `total_rows` and `total_bytes` count the head before pruning. `certain` are the
    ids of files of which every row matches the predicate. `kept` says, by id, of which files
    only some row groups need to be read, as far as the catalog knows them; `by_groups` counts the
    files of which none does. `inlined` are rows without a file.
    """

    files: tuple[DataFile, ...]
    total_files: int
    total_rows: int
    total_bytes: int
    by_partition: int = 0
    by_bounds: int = 0
    by_groups: int = 0
    certain: frozenset[int] = field(default=frozenset())
    kept: Mapping[int, Kept] = field(default_factory=dict)
    inlined: InlinedRows | None = None


def hive_folder(file: DataFile) -> str:
    """Return the folders that tell values of an adopted file: a copy needs them, too."""
    if not any(named.hive for named in file.names or ()):
        return ""
    return "".join(f"{part}/" for part in file.path.split("/")[:-1] if "=" in part)


NO_BOUNDS: Mapping[int, Bounds] = MappingProxyType({})
"""What is known of a file without statistics."""
