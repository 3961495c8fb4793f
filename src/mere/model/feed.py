"""Carry what the catalog knows of how a table changed, before any file is opened."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mere.model.files import DataFile, DeleteFile, InlinedRows
from mere.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One data file, and all that ever took rows out of it.

    `deletes` are its delete files, the ended ones too; `gone` are pairs of a position and the
    snapshot that deleted it, which lie in the catalog itself.
    """

    file: DataFile
    deletes: tuple[DeleteFile, ...] = ()
    gone: tuple[tuple[int, int], ...] = ()

    @property
    def bytes(self) -> int:
        """How large the file is."""
        return self.file.bytes

    @property
    def seen(self) -> tuple[int, int, int]:
        """What tells the file apart from what it is after others changed it."""
        file = self.file
        return (file.id, file.deletes.id if file.deletes else 0, len(file.gone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What touched a table from snapshot `since` to snapshot `until`, both included.

    At a `quiet` snapshot files came and went, but no row did. `inlined` are rows without a file
    that came or went in the range.
    """

    since: int
    until: int
    traces: tuple[Trace, ...] = ()
    quiet: frozenset[int] = frozenset()
    inlined: InlinedRows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What must be known of living files to write their rows anew, unnoticed by any version.

    `oldest` is the oldest version that is kept. `schemas` has, at the place of each trace, the
    columns by which clients of the format take the file to be written. `marks` say, by id, what
    a file was made for when it was written anew. Files that are listed twice are left out.
    """

    oldest: int
    traces: tuple[Trace, ...]
    schemas: tuple[Schema, ...]
    marks: Mapping[int, str] = field(default_factory=dict)
