"""Decide which files of others are to be loaded, in which commits, and by which tasks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mere.errors import InvalidInputError
from mere.model.loading import Loaded, Source
from mere.model.schema import Schema, fit

CHANGED = ("report", "error", "load")
TASK_BYTES = 64 << 20
MOST_FILES = 10_000
"""The most files of one commit: what is remembered of them is written under the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """Files by what is to become of them."""

    load: tuple[Source, ...] = ()
    changed: tuple[Source, ...] = ()
    skipped: int = 0


def triage(found: Sequence[Source], known: Mapping[str, Loaded], *, changed: str) -> Triage:
    """Tell apart the files that are new, loaded already, or changed since they were.

    `changed` says what becomes of the last: `"report"` leaves them, `"load"` loads them again.

    Raises:
        InvalidInputError: If some have changed, and `changed` is `"error"` or unknown.
    """
    if changed not in CHANGED:
        msg = f"changed takes one of {', '.join(CHANGED)}, got {changed!r}"
        raise InvalidInputError(msg)
    new = [source for source in found if source.path not in known]
    other = [
        replace(source, known=known[source.path].load)
        for source in found
        if source.path in known and not known[source.path].is_now(source)
    ]
    skipped = len(found) - len(new) - len(other)
    if other and changed == "error":
        msg = f"{len(other)} file(s) have changed since they were loaded, such as {other[0].path!r}"
        hint = 'changed="load" adds their rows again, changed="report" leaves them'
        raise InvalidInputError(msg, hint=hint)
    if changed == "load":
        load = tuple(sorted((*new, *other), key=lambda source: source.path))
        return Triage(load=load, skipped=skipped)
    return Triage(load=tuple(new), changed=tuple(other), skipped=skipped)


def joined(one: Schema, other: Schema, *, guessed: bool) -> Schema:
    """Return columns that hold the rows of both; types that were guessed from text give way.

    Raises:
        SchemaMismatchError: If no type holds both, for some column.
    """
    if guessed:
        one, other = _floating(one, other), _floating(other, one)
    return fit(one, other, merge_schema=True).schema


def _floating(schema: Schema, other: Schema) -> Schema:
    """Take whole numbers for what they are where the other file has fractions."""
    fields = (
        replace(field, type="float64")
        if field.type == "int64" and _type_in(other, field.name) == "float64"
        else field
        for field in schema
    )
    return Schema(fields=tuple(fields))


def _type_in(schema: Schema, name: str) -> str | None:
    found = schema.find(name)
    return None if found is None else found.type


def pack(sources: Iterable[Source], *, most_bytes: int) -> tuple[tuple[Source, ...], ...]:
    """Cut files into runs of at most so many bytes, in their order; a larger one stands alone.

    Neighbours often belong to one partition: kept together, they make few files.
    """
    runs: list[list[Source]] = []
    held = 0
    for source in sources:
        if not runs or held + source.bytes > most_bytes or len(runs[-1]) >= MOST_FILES:
            runs.append([])
            held = 0
        runs[-1].append(source)
        held += source.bytes
    return tuple(tuple(run) for run in runs)
