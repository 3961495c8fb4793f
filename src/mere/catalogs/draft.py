"""Hold the one snapshot that is being made inside a write transaction."""

from dataclasses import dataclass, field

from mere.catalogs.dialect import Link, Row
from mere.errors import CommitConflictError
from mere.plan.conflict import Deed
from mere.ports import WriteDeletes

_ORDER = (
    "dropped_schema",
    "dropped_table",
    "created_schema",
    "created_table",
    "inserted_into_table",
    "deleted_from_table",
    "inlined_insert",
    "inlined_delete",
    "altered_table",
    "merge_adjacent",
    "inline_flush",
)


@dataclass(slots=True, kw_only=True)
class Draft:
    """The counters, the ids given out, and the text of the snapshot that is being made.

    Lookups are made at `snapshot`, the new id: so they see what this commit has done already.
    `full` are tables of which enough row groups lie unfolded to fold them, once it is made. `moves`
    counts the moves of rows that were looked at, `left` are the places of those not made.
    """

    link: Link
    base: int
    snapshot: int
    schema_version: int
    next_catalog_id: int
    next_file_id: int
    data_path: str
    theirs: tuple[Deed, ...] = ()
    write_deletes: WriteDeletes | None = None
    tables: dict[int, int] = field(default_factory=dict)
    files: dict[int, int] = field(default_factory=dict)
    partitions: dict[int, int | None] = field(default_factory=dict)
    restored: set[int] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    versioned: list[int] = field(default_factory=list)
    full: list[int] = field(default_factory=list)
    moves: int = 0
    left: list[int] = field(default_factory=list)
    defines: bool = False

    def catalog_id(self) -> int:
        """Give out the next id of a schema, table, partition or sort order."""
        self.next_catalog_id += 1
        return self.next_catalog_id - 1

    def file_id(self) -> int:
        """Give out the next id of a data or delete file."""
        self.next_file_id += 1
        return self.next_file_id - 1

    def say(self, word: str, what: str) -> None:
        """Add an entry to the text of the commit."""
        entry = f"{word}:{what}"
        if entry not in self.words:
            self.words.append(entry)

    def define(self, table: int | None = None) -> None:
        """Note that a definition changes, and of which table the columns or names do."""
        self.defines = True
        if table is not None and table not in self.versioned:
            self.versioned.append(table)

    def table(self, table: int) -> Row:
        """Return the row of a living table.

        Raises:
            CommitConflictError: If others dropped it.
        """
        number = self.tables.get(table, table)
        rows = self.link.rows("table_by_id", table=number, at=self.snapshot)
        if not rows:
            msg = f"the table with id {table} was dropped meanwhile"
            raise CommitConflictError(msg, hint="nothing changed; look the table up again")
        return rows[0]

    @property
    def text(self) -> str:
        """The text of the commit, in the order that readers of the format know."""
        return ",".join(sorted(self.words, key=lambda w: _ORDER.index(w.partition(":")[0])))

    @property
    def new_schema_version(self) -> int:
        """The schema version after this commit."""
        return self.schema_version + self.defines


def quoted(*parts: str) -> str:
    """Spell names as the text of a commit does: always quoted."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
