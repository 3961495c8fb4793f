"""Make existing Parquet part of a table: files stay where they are, and only footers are read."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter

from mere.arrow.paths import WILD, glob_pattern, is_data, is_table_of_others
from mere.checking import broken_by
from mere.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NoFilesError,
    StorageError,
    TableNotFoundError,
)
from mere.model.adoption import Stranger
from mere.model.files import DataFile, StoredFile
from mere.model.history import Change, CreateTable, Edit, EditFiles, Evolve, Head
from mere.model.names import split_name
from mere.model.report import Report
from mere.model.schema import Schema, fit, number
from mere.ops import carry, define
from mere.plan.adopt import Placing, folder_columns, merged, with_blank
from mere.plan.evolve import require_same_partitions
from mere.ports import Session
from mere.reading.strangers import look_at

_NAMED = 5
_UNKNOWN = datetime.min.replace(tzinfo=UTC)
_NOTHING = "nothing was adopted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How files become part of a table; `keys` are those of a new table."""

    hive: bool = True
    keys: tuple[str, ...] | None = None
    merge_schema: bool = False
    message: str | None = None
    author: str | None = None
    dry_run: bool = False

    @classmethod
    def of(
        cls,
        partition_by: str | Sequence[str] | None,
        *,
        merge_schema: bool = False,
        message: str | None = None,
        author: str | None = None,
        dry_run: bool = False,
    ) -> "Terms":
        """Read what a caller says of partitions: by the folders, by nothing, or by keys.

        Raises:
            InvalidInputError: If it is another word.
        """
        if isinstance(partition_by, str) and partition_by != "hive":
            msg = f"partition_by takes 'hive', None or a list of keys, got {partition_by!r}"
            raise InvalidInputError(msg, hint=f"a single key is written [{partition_by!r}]")
        return cls(
            hive=partition_by is not None,
            keys=None if partition_by in ("hive", None) else tuple(partition_by or ()),
            merge_schema=merge_schema,
            message=message,
            author=author,
            dry_run=dry_run,
        )


def adopt(session: Session, urls: Sequence[str], name: str, *, terms: Terms) -> Report:
    """List existing files in a table; see `Lake.adopt`."""
    started = perf_counter()
    carry.require_writable(session)
    split_name(name)
    found = dict(_found(session, urls))
    _refuse_listed(session, found)
    strangers = tuple(look_at(found.items(), store=session.store, so=_NOTHING))
    plans: list[_Plan] = []

    def plan() -> Change:
        plans.append(_planned(session, name, strangers, terms))
        _refuse_listed(session, found)  # the commit itself looks at what came after the plan's base
        return Change(
            base=plans[-1].base,
            edits=plans[-1].edits,
            message=terms.message or f"adopt {len(strangers)} file(s) from {', '.join(urls)}",
            author=terms.author,
        )

    if terms.dry_run:
        plan()
        return _report(plans[-1], None, started=started)
    outcome = carry.commit(session, plan)
    committed = outcome.committed
    version = None if committed.staged else committed.snapshot
    return replace(_report(plans[-1], version, started=started), retries=outcome.retries)


def _found(session: Session, urls: Iterable[str]) -> Iterator[tuple[StoredFile, str]]:
    """Yield the files that are named, each with what leads to it from the named place.

    Raises:
        NoFilesError: If a place holds none.
        InvalidInputError: If it holds the table of another format.
    """
    seen: set[str] = set()
    for url in urls:
        any_ = False
        for file, below in _at(session, url):
            any_ = True
            path = file.path.removeprefix(session.store.url)
            if path not in seen:
                seen.add(path)
                yield replace(file, path=path), below
        if not any_:
            msg = f"no Parquet file at {url!r}"
            raise NoFilesError(msg)


def _at(session: Session, url: str) -> Iterator[tuple[StoredFile, str]]:
    listed = _listed(session, url)
    if listed:
        start = len(_start(listed, url))
        _refuse_table(url, listed)
        for file in listed:
            if is_data(file.path[start:]):
                yield file, file.path[start:]
        return
    wild = WILD.search(url)
    if wild is not None:
        base = url[: wild.start()].rpartition("/")[0]
        listed = _listed(session, base)
        matches = re.compile(glob_pattern(url)).fullmatch
        start = len(_start(listed, base))
        for file in listed:
            if matches(f"{base}/{file.path[start:]}"):
                yield file, file.path[start:]
        return
    size = _size(session, url)
    if size is not None:
        yield StoredFile(path=url, bytes=size, modified=_UNKNOWN), url.rpartition("/")[2]


def _listed(session: Session, url: str) -> list[StoredFile]:
    return sorted(session.store.list(url), key=lambda file: file.path)


def _start(listed: Sequence[StoredFile], url: str) -> str:
    """Return how a place is spelled in front of its files: links on the way may be gone."""
    plain = f"{url.rstrip('/')}/"
    if all(file.path.startswith(plain) for file in listed):
        return plain
    return f"{os.path.realpath(url)}/" if "://" not in url else plain


def _size(session: Session, url: str) -> int | None:
    try:
        return session.store.size(url)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError) or "NotFound" in repr(error.__cause__):
            return None
        raise


def _refuse_table(url: str, listed: Iterable[StoredFile]) -> None:
    for file in listed:
        what = is_table_of_others(file.path)
        if what:
            msg = f"{url!r} is a {what} table: its own log says which files count, and which rows"
            raise InvalidInputError(msg, hint="read it with a reader of that format, and append")


def _refuse_listed(session: Session, found: Iterable[StoredFile]) -> None:
    taken = sorted(session.catalog.listed([file.path for file in found]))
    if taken:
        more = f", and {len(taken) - _NAMED} more" if len(taken) > _NAMED else ""
        msg = f"in the lake already: {', '.join(taken[:_NAMED])}{more}"
        raise AlreadyExistsError(
            msg, hint=f"{_NOTHING}; a file is listed once, and not while a version still shows it"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The table as it was, and what is to become of it."""

    base: int
    head: Head
    edits: tuple[Edit, ...]
    adds: tuple[DataFile, ...]


def _planned(session: Session, name: str, strangers: Sequence[Stranger], terms: Terms) -> _Plan:
    edits: tuple[Edit, ...]
    folders = folder_columns(strangers) if terms.hive else ()
    try:
        head = session.catalog.head(name)
    except TableNotFoundError:
        columns = merged(strangers, folders)
        made = _new_table(session, name, columns, strangers, terms)
        head, schema, edits = made.head, made.head.schema, (made,)
    else:
        known = {field.name.casefold(): field for field in head.schema.fields}
        columns = merged(strangers, [known.get(f.name.casefold(), f) for f in folders])
        schema = _accepted(head, columns, terms)
        changed = Evolve(table_id=head.table_id, schema=schema, layout=head.layout)
        edits = () if schema == head.schema else (changed,)
    checks = broken_by(head.checks, schema)
    placing = Placing(schema=schema, hive=terms.hive, checks=checks)
    adds = tuple(placing.placed(stranger) for stranger in strangers)
    edit = EditFiles(table_id=head.table_id, operation="append", adds=adds, schema=schema)
    return _Plan(base=head.snapshot, head=head, edits=(*edits, edit), adds=adds)


def _new_table(
    session: Session, name: str, columns: Schema, strangers: Sequence[Stranger], terms: Terms
) -> CreateTable:
    columns = with_blank(columns, strangers)
    keys = terms.keys
    if keys is None:
        names = {name: None for stranger in strangers for name in stranger.folders}
        folded = {field.name.casefold(): field.name for field in columns.fields}
        found = dict.fromkeys(folded[name.casefold()] for name in names) if terms.hive else {}
        keys = tuple(found)
    return define.new_table(session, name, columns, partition_by=keys)


def _accepted(head: Head, columns: Schema, terms: Terms) -> Schema:
    """Return the schema that a table has with the files."""
    if terms.keys is not None:
        msg = f"table {head.full_name!r} exists with a layout of its own"
        raise InvalidInputError(msg, hint="leave partition_by out to adopt into it")
    fitted = fit(head.schema, columns, merge_schema=terms.merge_schema)
    require_same_partitions(head.layout.keys, head.schema, fitted.schema)
    return number(fitted.schema, start=head.next_column_id)


def _report(plan: _Plan, version: int | None, *, started: float) -> Report:
    head, adds = plan.head, plan.adds
    rows = sum(file.rows for file in adds)
    return Report(
        operation="adopt",
        table=head.full_name,
        version=version,
        dry_run=version is None,
        before_file_count=head.file_count,
        after_file_count=head.file_count + len(adds),
        before_total_bytes=head.bytes,
        after_total_bytes=head.bytes + sum(file.bytes for file in adds),
        compression_codec=None,
        rows_before=head.rows,
        rows_after=head.rows + rows,
        rows_inserted=rows,
        files_added=len(adds),
        files=adds,
        seconds=perf_counter() - started,
    )
