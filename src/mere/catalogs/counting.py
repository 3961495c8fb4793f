"""Count what is alive in a table; of a large one, only what changed since it was last counted."""

from dataclasses import dataclass

from mere.catalogs.dialect import Link
from mere.plan.conflict import Kind, kinds_on, parse

_STEADY = frozenset({Kind.APPEND, Kind.MUTATE, Kind.DEFINE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What is alive in a table at a snapshot; `deleted` rows lie in delete files."""

    snapshot: int
    files: int
    records: int
    bytes: int
    deleted: int

    @property
    def rows(self) -> int:
        """Count the living rows."""
        return self.records - self.deleted


def count(link: Link, table: int, at: int, known: Counts | None) -> Counts:
    """Count a table at a snapshot, from what is known of an older one where that is enough.

    Maintenance replaces files without a trace, those of older snapshots too, so after it everything
    is counted again; and what ended can be gone for good when the older snapshot has expired.
    """
    if known is not None and known.snapshot == at:
        return known
    if known is None or known.snapshot > at:
        return _all(link, table, at)
    texts = link.rows("changes_since", base=known.snapshot)
    deeds = {snapshot: parse(text) for snapshot, text in texts}
    every = kinds_on((deed for found in deeds.values() for deed in found), table)
    within = [snapshot for snapshot in deeds if snapshot <= at]
    unbroken = len(within) == at - known.snapshot and link.rows("snapshot", snapshot=known.snapshot)
    if not unbroken or not every <= _STEADY:
        return _all(link, table, at)
    kinds = kinds_on((deed for snapshot in within for deed in deeds[snapshot]), table)
    return _later(link, table, at, known, kinds)


def _all(link: Link, table: int, at: int) -> Counts:
    files, records, size = link.rows("totals", table=table, at=at)[0]
    return Counts(
        snapshot=at,
        files=files,
        records=int(records or 0),
        bytes=int(size or 0),
        deleted=_deleted(link, table, at),
    )


def _deleted(link: Link, table: int, at: int) -> int:
    return int(link.rows("deleted", table=table, at=at)[0][0] or 0)


def _later(link: Link, table: int, at: int, known: Counts, kinds: frozenset[Kind]) -> Counts:
    span = {"table": table, "base": known.snapshot, "at": at}
    came = link.rows("begun_between", **span)[0] if kinds else (0, 0, 0)
    mutated = Kind.MUTATE in kinds
    went = link.rows("ended_between", **span)[0] if mutated else (0, 0, 0)
    files, records, size = (int(a or 0) - int(b or 0) for a, b in zip(came, went, strict=True))
    return Counts(
        snapshot=at,
        files=known.files + files,
        records=known.records + records,
        bytes=known.bytes + size,
        deleted=_deleted(link, table, at) if mutated else known.deleted,
    )
