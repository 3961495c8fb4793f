"""Say which files must be read to tell how rows changed, and what may be found in each.

A row version begins with its file, or at the snapshot that the file itself names for the row. It
ends when a delete names its position, or else with its file. Files that come or go in maintenance
begin and end no row; nor does a file that ends and is listed again in one snapshot, but for rows
that only one of its two listings shows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mere.model.feed import Feed, Trace

Span = tuple[int, int]
"""The first and the last snapshot at which something may have happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
    """A file, and when its rows may have come and gone within the range.

    `until` is the snapshot at which all rows went that were left; None: none did by that.
    `before` is the listing of the same file that ended when this one began, `after` the one that
    began when this one ended.
    """

    trace: Trace
    came: Span | None
    went: tuple[Span, ...]
    until: int | None
    before: Trace | None = None
    after: Trace | None = None


def plan_changes(feed: Feed) -> tuple[FileChanges, ...]:
    """Return the files in which a row came or went in the range."""
    ends = {(t.file.path, t.file.until): t for t in feed.traces}
    begins = {(t.file.path, t.file.since): t for t in feed.traces}
    found = (
        replace(
            _judged(feed, trace),
            before=ends.get((trace.file.path, trace.file.since)),
            after=begins.get((trace.file.path, trace.file.until or 0)),
        )
        for trace in feed.traces
    )
    return tuple(file for file in found if file.came or file.went)


def _judged(feed: Feed, trace: Trace) -> FileChanges:
    file = trace.file
    until = None if file.until in feed.quiet else file.until
    if until is not None and until > feed.until:
        until = None
    quiet = file.last is None and file.since in feed.quiet
    came = None if quiet else _within(feed, (file.since, max(file.since, file.last or 0)))
    spans = (_within(feed, span) for span in _deleted(trace, until))
    return FileChanges(
        trace=trace, came=came, went=tuple(span for span in spans if span), until=until
    )


def _deleted(trace: Trace, until: int | None) -> Iterator[Span]:
    for deletes in trace.deletes:
        yield deletes.since, max(deletes.since, deletes.last or 0)
    snapshots = [snapshot for _, snapshot in trace.gone]
    if snapshots:
        yield min(snapshots), max(snapshots)
    if until is not None:
        yield until, until


def _within(feed: Feed, span: Span) -> Span | None:
    first, last = max(span[0], feed.since), min(span[1], feed.until)
    return (first, last) if first <= last else None


def meets(span: Span | None, others: Iterable[Span]) -> bool:
    """Tell whether a span has a snapshot in common with another one."""
    return span is not None and any(span[0] <= last and first <= span[1] for first, last in others)
