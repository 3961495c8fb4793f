"""Look at the columns of many files side by side, and at what their folders name."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from mere.arrow import from_arrow
from mere.errors import MereError
from mere.loading.opening import named, shown
from mere.model.loading import Form, Source
from mere.model.schema import Field, Schema
from mere.model.values import from_text
from mere.ports import Store

_AT_ONCE = 16
_MOMENTS = {"timestamp_s", "timestamp_ms", "timestamp_ns"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The columns of a file, `empty` being those without any value, or the problem with it."""

    source: Source
    schema: Schema
    empty: tuple[str, ...] = ()
    problem: MereError | None = None


def look(
    sources: Sequence[Source], store: Store, form: Form, known: Schema | None = None
) -> list[Look]:
    """Return the columns of each file; the types of `known` columns are not guessed."""
    one = partial(_look, store=store, form=form, known=known)
    with ThreadPoolExecutor(min(_AT_ONCE, max(len(sources), 1))) as pool:
        return list(pool.map(one, sources))


def _look(source: Source, *, store: Store, form: Form, known: Schema | None) -> Look:
    try:
        columns = shown(source, store, form)
        with named(source):
            found = from_arrow(columns, untyped=None)
            names = from_arrow(columns).names
    except MereError as error:
        return Look(source=source, schema=Schema(fields=()), problem=error)
    if source.format != "parquet":
        found = Schema(fields=tuple(_said(field, known) for field in found))
    empty = tuple(name for name in names if name not in found)
    return Look(source=source, schema=found, empty=empty)


def _said(field: Field, known: Schema | None) -> Field:
    """Return a column of text as the table has it, or as a table would."""
    there = None if known is None else known.find(field.name)
    return replace(field, type=there.type, children=there.children) if there else _usual(field)


def _usual(field: Field) -> Field:
    kind = "timestamp" if field.type in _MOMENTS else field.type
    return replace(field, type=kind, children=tuple(map(_usual, field.children)))


def folder_columns(sources: Iterable[Source]) -> Schema:
    """Return the columns that folders name: whole numbers, days, or else texts."""
    values: dict[str, list[str]] = {}
    for source in sources:
        for name, value in source.folders:
            values.setdefault(name, []).extend([] if value is None else [value])
    return Schema(fields=tuple(Field(name=n, type=_type(found)) for n, found in values.items()))


def _type(texts: Sequence[str]) -> str:
    for kind in ("int64", "date"):
        found = [from_text(kind, text) for text in texts]
        if found and all(str(v) == text for v, text in zip(found, texts, strict=True)):
            return kind
    return "varchar"
