"""Check what the catalog says against itself, and tell which files it lists."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from mere.catalogs.dialect import Link, Row
from mere.catalogs.files import chunks
from mere.catalogs.folders import Folders
from mere.catalogs.opening import own_tables
from mere.catalogs.sweeping import LEASE_S, announced_writers, dead_writers, scheduled_files
from mere.catalogs.times import as_time
from mere.catalogs.truths import narrow_totals
from mere.model.diagnosis import Finding, ListedFile, Verdict
from mere.model.files import StoredFile
from mere.plan.clearing import Known, sweep

PAGE = 10_000
_SKEW_S = 5.0
_CHECKS = {
    "check_file_counter": ("counters", "the next file id is {0}, but {1} is in use"),
    "check_catalog_counter": ("counters", "the next id of a definition is {0}, but {1} is in use"),
    "check_row_counter": ("counters", "the next row id is {0}, but rows go up to {1}"),
    "check_versions": ("versions", "lives from version {0} to {1}, which cannot be"),
    "check_delete_files": ("deletes", "{0} delete files are in force; its rows come back"),
    "check_deleted_from": ("deletes", "deletes rows of the file {0}, which is not listed"),
    "check_file_tables": ("tables", "belongs to the table {0}, which does not exist"),
    "check_totals": ("totals", "the totals say {0} rows, the files have {1}"),
    "check_table_names": ("names", "{0} tables have this name"),
    "check_table_schemas": ("names", "is in the schema {0}, which does not exist"),
    "check_column_names": ("names", "{0} columns have one name"),
    "check_partitions": ("partitions", "has {0} partition values, its layout {1} keys"),
}


class Opened(Protocol):
    """Opens transactions that see one state and change nothing."""

    def reading(self) -> AbstractContextManager[Link]:
        """Open one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlAudit:
    """One check of a catalog; every call is a transaction of its own, so that nobody waits."""

    dialect: Opened
    root: str
    own: Collection[str]

    @classmethod
    def of(cls, dialect: Opened, root: str) -> "SqlAudit":
        """Begin to check a catalog; which tables of our own it has is looked up."""
        with dialect.reading() as link:
            return cls(dialect=dialect, root=root, own=own_tables(link))

    def findings(self) -> tuple[Finding, ...]:
        """Check the rows of the catalog against each other."""
        with self.dialect.reading() as link:
            return tuple(_found(link, self.root))

    def files(self, after: int) -> tuple[ListedFile, ...]:
        """Return the next files that any version lists, by id; none when there are no more."""
        with self.dialect.reading() as link:
            rows = link.rows("audited_files", after=after, most=PAGE)
            if not rows:
                return ()
            known: dict[int, str] = {}
            if "mere_footer" in self.own:
                known = dict(link.rows("audited_digests", after=after, last=rows[-1][0]))
            folders = Folders.read(link, self.root)
            doomed = scheduled_files(link, folders)
            names = table_names(link)
        listed = (_listed(row, folders, names) for row in rows)
        return tuple(
            replace(file, digest=known.get(file.id), scheduled=file.path in doomed)
            for file in listed
        )

    def suspects(self) -> frozenset[int]:
        """Return the files whose rows may have the ids of others."""
        with self.dialect.reading() as link:
            return frozenset(row[0] for row in link.rows("overlapping"))

    def still_listed(self, ids: Sequence[int]) -> frozenset[int]:
        """Return which of these files are listed yet: others may have replaced some meanwhile."""
        with self.dialect.reading() as link:
            rows = (link.rows("still_listed", ids=part) for part in chunks(ids))
            return frozenset(row[0] for part in rows for row in part)

    def unlisted(self, found: Iterable[StoredFile]) -> Iterator[Finding]:
        """Yield the files that nobody lists, schedules or is about to commit.

        What was committed since the catalog was asked first is asked for once more.
        """
        with self.dialect.reading() as link:
            folders = Folders.read(link, self.root)
            paths, names = folders.keys(link.rows("listed", first=-1))
        strays = [file for file in found if file.path not in paths and _name(file) not in names]
        if not strays:
            return
        with self.dialect.reading() as link:
            folders = Folders.read(link, self.root)
            paths, names = folders.keys(link.rows("listed", first=-1))
            scheduled = scheduled_files(link, folders)
            writers = announced_writers(link) if "mere_intent" in self.own else ()
            adopted = link.rows("adopted") if "mere_adopted" in self.own else ()
            known = Known(
                listed=paths,
                names=names,
                scheduled=scheduled,
                writers={writer.id: writer for writer in writers},
                adopted=dict.fromkeys(path for path, _ in adopted),
            )
            now = as_time(link.rows("now")[0][0])
        dead = dead_writers(known.writers.values(), now, LEASE_S)
        judged = sweep(strays, known, dead=dead, before=now + timedelta(seconds=_SKEW_S))
        for file in judged.files:
            if file.reason == "crashed":
                detail = "its writer died; vacuum deletes it"
                yield Finding(check="unlisted", verdict=Verdict.NOTE, detail=detail, path=file.path)
            elif file.path not in scheduled:
                yield Finding(
                    check="unlisted",
                    verdict=Verdict.WRONG,
                    detail=f"{file.bytes:,} bytes that no version lists; vacuum deletes it",
                    path=file.path,
                )


def _name(file: StoredFile) -> str:
    return file.path.rpartition("/")[2]


def table_names(link: Link) -> dict[int, str]:
    """Return the newest name of every table, of dropped ones too."""
    rows = link.rows("audited_tables")
    return {table: f"{schema}.{name}" if schema else name for table, schema, name in rows}


def _found(link: Link, root: str) -> Iterator[Finding]:
    names = table_names(link)
    for query, (check, text) in _CHECKS.items():
        for table, file, *numbers in link.rows(query):
            yield Finding(
                check=check,
                verdict=Verdict.WRONG,
                detail=text.format(*numbers),
                table=names.get(table),
                path=None if file is None else _path_of(link, root, file),
                file=file,
            )
    for table, column, said in narrow_totals(link):
        yield Finding(
            check="bounds",
            verdict=Verdict.WRONG,
            detail=f"column {column}: {said}",
            table=names.get(table),
        )
    for table, name in link.rows("audited_inlined"):
        if not link.rows("table_there", name=name):
            yield Finding(
                check="inlined",
                verdict=Verdict.WRONG,
                detail=f"rows lie in the table {name}, which does not exist",
                table=names.get(table),
            )


def _path_of(link: Link, root: str, file: int) -> str | None:
    rows = link.rows("audited_files", after=file - 1, most=1)
    if not rows or rows[0][0] != file:
        return None
    return Folders.read(link, root).place(rows[0][2], rows[0][3], relative=bool(rows[0][4]))[0]


def _listed(row: Row, folders: Folders, names: Mapping[int, str]) -> ListedFile:
    (number, positions, table, path, relative, form, rows, size, footer, key, of_rows) = row
    refused = None
    if key:
        refused = "it is encrypted"
    elif (form or "parquet").lower() != "parquet":
        refused = f"it has the format {form}"
    return ListedFile(
        id=number,
        table=names.get(table, str(table)),
        path=folders.place(table, path, relative=bool(relative))[0],
        bytes=size,
        rows=rows,
        footer_bytes=footer,
        positions=bool(positions),
        of_rows=of_rows,
        refused=refused,
    )
