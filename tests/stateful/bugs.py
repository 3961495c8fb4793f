"""Plant one bug into what a catalog tells its readers: the stateful test has to find each.

Every bug is one that a reader of the format may well have: it forgets one of the places where
rows, deletes or the snapshots of either are kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from mere.model.feed import Feed
from mere.model.files import FileSet
from mere.model.history import At, Head
from mere.ports import Catalog, Session


class Planted:
    """A catalog that passes everything on, but for what a bug does to it."""

    def __init__(self, behind: Catalog) -> None:
        self.behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class OfFiles(Planted):
    """Something of each file, or of the rows beside them, is forgotten."""

    def __init__(self, behind: Catalog, forget: Callable[[FileSet], FileSet]) -> None:
        super().__init__(behind)
        self.forget = forget

    def files(self, head: Head, *args: Any, **more: Any) -> FileSet:
        return self.forget(self.behind.files(head, *args, **more))


class Endless(Planted):
    """A file that ended is still there."""

    def files(self, head: Head, *args: Any, **more: Any) -> FileSet:
        found = self.behind.files(head, *args, **more)
        known = {file.id: file for file in found.files}
        for snapshot in self.behind.snapshots():
            if snapshot.id < head.snapshot and self._has(head, snapshot.id):
                then = self.behind.files(self.behind.head(head.full_name, At(version=snapshot.id)))
                known |= {file.id: file for file in then.files if file.id not in known}
        return replace(found, files=tuple(known.values()))

    def _has(self, head: Head, version: int) -> bool:
        return (head.namespace, head.name) in self.behind.tables(At(version=version))


class OfFeed(Planted):
    """Something of the history is forgotten."""

    def __init__(self, behind: Catalog, forget: Callable[[Feed], Feed]) -> None:
        super().__init__(behind)
        self.forget = forget

    def feed(self, head: Head, since: int) -> Feed:
        return self.forget(self.behind.feed(head, since))


class OfColumns(Planted):
    """What rows show in a column that came after them is forgotten."""

    def head(self, *args: Any) -> Head:
        head = self.behind.head(*args)
        fields = tuple(replace(field, initial_default=None) for field in head.schema.fields)
        return replace(head, schema=replace(head.schema, fields=fields))


def _each(found: FileSet, **changed: Any) -> FileSet:
    return replace(found, files=tuple(replace(file, **changed) for file in found.files))


def _without_ends_of_deletes(found: FileSet) -> FileSet:
    files = (
        replace(file, deletes=file.deletes and replace(file.deletes, last=None))
        for file in found.files
    )
    return replace(found, files=tuple(files))


def _without_inlined_deletes(feed: Feed) -> Feed:
    return replace(feed, traces=tuple(replace(trace, gone=()) for trace in feed.traces))


def _of_files(forget: Callable[[FileSet], FileSet]) -> Callable[[Catalog], Planted]:
    return lambda behind: OfFiles(behind, forget)


def _of_feed(forget: Callable[[Feed], Feed]) -> Callable[[Catalog], Planted]:
    return lambda behind: OfFeed(behind, forget)


BUGS: Mapping[str, Callable[[Catalog], Planted]] = {
    "inlined deletes are ignored": _of_files(lambda found: _each(found, gone=())),
    "inlined rows are ignored": _of_files(lambda found: replace(found, inlined=None)),
    "delete files are ignored": _of_files(lambda found: _each(found, deletes=None)),
    "partial_max of a file is ignored": _of_files(lambda found: _each(found, last=None)),
    "partial_max of deletes is ignored": _of_files(_without_ends_of_deletes),
    "the end of a file is ignored": Endless,
    "the default of old rows is ignored": OfColumns,
    "maintenance is told as change": _of_feed(lambda feed: replace(feed, quiet=frozenset())),
    "inlined deletes are not told": _of_feed(_without_inlined_deletes),
}


def planted(session: Session, bug: str) -> Session:
    """Return a session with a bug in it."""
    catalog = cast("Catalog", BUGS[bug](session.catalog))
    return replace(session, catalog=catalog)
