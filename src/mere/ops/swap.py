"""Put new files in the place of others: what is to be committed, and what it came to."""

import json
from dataclasses import dataclass

from mere.model.files import DataFile
from mere.model.history import Committed, Edit, EditFiles, Evolve, Head
from mere.model.report import Report
from mere.model.schema import Schema
from mere.plan.evolve import evolved
from mere.plan.overwrite import Replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Which files come and go on a head."""

    now: Head
    operation: str
    adds: tuple[DataFile, ...] = ()
    gone: Replaced
    schema: Schema | None = None

    def definition(self, *, new_from: int) -> tuple[Edit, ...]:
        """Return what changes of the table's columns, of which new ones are numbered from there."""
        now, written = self.now, self.schema or self.now.schema
        schema = evolved(now, written, new_from=new_from)
        if schema == now.schema:
            return ()
        return (Evolve(table_id=now.table_id, schema=schema, layout=now.layout),)

    def edits(self) -> tuple[EditFiles, ...]:
        """Return which files and rows come and go."""
        gone = self.gone
        found: tuple[EditFiles, ...] = ()
        if gone.deletions or gone.copies:
            found = (self._taken_out(),)
        if self.adds or gone.files or gone.row_ids:
            found += (self._edit_files(),)
        return found

    def counted(self) -> str | None:
        """Count rows for the history, where files do not tell."""
        if not (self.gone.deletions or self.gone.copies):
            return None
        counts = {
            "table": self.now.table_id,
            "operation": self.operation,
            "rows_inserted": sum(file.rows for file in self.adds),
            "rows_updated": 0,
            "rows_deleted": self.gone.rows,
        }
        return json.dumps({"mere": counts})

    def _edit_files(self) -> EditFiles:
        return EditFiles(
            table_id=self.now.table_id,
            operation=self.operation,
            adds=self.adds,
            removes=tuple(file.id for file in self.gone.files),
            schema=self.schema,
            ends=self.gone.row_ids,
        )

    def _taken_out(self) -> EditFiles:
        """Take rows out of files that hold others, too; those come back, where files are copied."""
        return EditFiles(
            table_id=self.now.table_id,
            operation="mutate",
            adds=self.gone.copies,
            schema=self.gone.schema,
            deletes=self.gone.deletions,
        )

    def report(self, committed: Committed) -> Report:
        """Sum up what was done."""
        now, gone = self.now, self.gone
        rows = sum(file.rows for file in self.adds)
        new = (*self.adds, *gone.copies)
        return Report(
            operation=self.operation,
            table=now.full_name,
            version=None if committed.staged else committed.snapshot,
            before_file_count=now.file_count,
            after_file_count=now.file_count + len(new) - len(gone.files),
            before_total_bytes=now.bytes,
            after_total_bytes=now.bytes + sum(f.bytes for f in new) - gone.bytes,
            compression_codec=now.layout.compression,
            rows_before=now.rows,
            rows_after=now.rows + rows - gone.rows,
            rows_inserted=rows,
            rows_deleted=gone.rows,
            files_added=len(new),
            files_removed=len(gone.files),
            files=new,
            plan=gone.plan,
        )
