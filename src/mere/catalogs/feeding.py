"""Collect what touched a table in a range of snapshots."""

from mere.arrow.inlined import pack
from mere.catalogs import inlined_places, inlined_rows
from mere.catalogs.files import Reading
from mere.model.feed import Feed, Trace
from mere.model.files import DeleteFile, InlinedRows
from mere.plan.conflict import Kind, kinds_on, parse


def feed_of(reading: Reading, since: int) -> Feed:
    """Return what touched the table from a snapshot up to the head, both included."""
    head, link = reading.head, reading.link
    where = inlined_places.places(link, head.table_id)
    gone: dict[int, list[tuple[int, int]]] = {}
    for file, position, snapshot in inlined_places.deletes(link, where, head.snapshot):
        gone.setdefault(file, []).append((position, snapshot))
    deletes: dict[int, list[DeleteFile]] = {}
    for number, found in reading.deletes_ever():
        deletes.setdefault(number, []).append(found)
    return Feed(
        since=since,
        until=head.snapshot,
        traces=tuple(
            Trace(file=f, deletes=tuple(deletes.get(f.id, ())), gone=tuple(gone.get(f.id, ())))
            for f in reading.touched(since)
        ),
        quiet=_quiet(reading, since),
        inlined=_inlined(reading, where, since),
    )


def _quiet(reading: Reading, since: int) -> frozenset[int]:
    """Return the snapshots in which files of the table came and went, but no rows did."""
    head = reading.head
    texts = reading.link.rows("changes_within", since=since, at=head.snapshot)
    kinds = {snapshot: kinds_on(parse(text), head.table_id) for snapshot, text in texts}
    return frozenset(snapshot for snapshot, found in kinds.items() if found == {Kind.REWRITE})


def _inlined(reading: Reading, where: inlined_places.Places, since: int) -> InlinedRows | None:
    until = reading.head.snapshot
    came = f"begin_snapshot >= {since} AND begin_snapshot <= {until}"
    went = f"end_snapshot >= {since} AND end_snapshot <= {until}"
    found = inlined_rows.read(reading.link, where, reading.head, f"({came} OR {went})")
    return None if found is None else pack(found)
