"""Decide what a change does about what others committed meanwhile; a pure table.

| mine, theirs | append | rewrite (same rows) | mutate | define |
|---|---|---|---|---|
| append | replay | replay | replay | replay if the rows still fit, else replan |
| rewrite | replay | trim if a file is shared | trim if a file is shared | replan |
| mutate | replan if a new file may match | replan if a file is shared | replan if either | replan |
| define | replay | replay | replay | refuse |

A dropped table refuses everything, and what is not known counts as a definition: the side on
which nothing is lost. A different table never conflicts.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from mere.model.promotion import widens
from mere.model.schema import Field, Schema


class Kind(StrEnum):
    """What a commit did to a table, as far as others care."""

    APPEND = "append"
    REWRITE = "rewrite"
    MUTATE = "mutate"
    DEFINE = "define"
    DROP = "drop"


class Verdict(StrEnum):
    """What becomes of my change."""

    REPLAY = "replay"
    TRIM = "trim"
    REPLAN = "replan"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One entry of a commit's text: a kind, and the table it names by id (None: none, or all)."""

    kind: Kind
    word: str
    table_id: int | None = None
    name: str | None = None

    def touches(self, table_id: int) -> bool:
        """Tell whether the table may have changed: an unknown deed may be about any."""
        return self.table_id == table_id or (self.table_id is None and self.name is None)


_KINDS = {
    "inserted_into_table": Kind.APPEND,
    "inlined_insert": Kind.APPEND,
    "deleted_from_table": Kind.MUTATE,
    "inlined_delete": Kind.MUTATE,
    "merge_adjacent": Kind.REWRITE,
    "rewrite_delete": Kind.REWRITE,
    "compacted_table": Kind.REWRITE,
    "inline_flush": Kind.REWRITE,
    "flushed_inlined": Kind.REWRITE,
    "altered_table": Kind.DEFINE,
    "dropped_table": Kind.DROP,
}
_NAMING = frozenset(
    {
        *("created_schema", "created_table", "created_view"),
        *("created_scalar_macro", "created_table_macro"),
    }
)
_OTHER = frozenset(
    {
        *("dropped_schema", "dropped_view", "altered_view"),
        *("dropped_scalar_macro", "dropped_table_macro"),
    }
)
_ENTRY = re.compile(r'\s*(\w+):((?:"(?:[^"]|"")*"|[^",])*)\s*(?:,|$)')


def parse(text: str | None) -> tuple[Deed, ...]:
    """Read the text of a commit; what cannot be read is one unknown deed."""
    deeds: list[Deed] = []
    place, text = 0, text or ""
    while place < len(text):
        match = _ENTRY.match(text, place)
        if match is None:
            deeds.append(Deed(kind=Kind.DEFINE, word=text[place:]))
            break
        deeds.append(_deed(match[1], match[2].strip()))
        place = match.end()
    return tuple(deeds)


def _deed(word: str, rest: str) -> Deed:
    if word in _NAMING or word in _OTHER:
        return Deed(kind=Kind.DEFINE, word=word, name=rest)
    if word not in _KINDS or not rest.isdecimal():
        return Deed(kind=Kind.DEFINE, word=word)
    return Deed(kind=_KINDS[word], word=word, table_id=int(rest))


def kinds_on(deeds: Iterable[Deed], table_id: int) -> frozenset[Kind]:
    """Return what deeds did to one table."""
    return frozenset(deed.kind for deed in deeds if deed.touches(table_id))


_TABLE: dict[tuple[Kind, Kind], Verdict] = {
    (Kind.APPEND, Kind.DEFINE): Verdict.REPLAN,
    (Kind.REWRITE, Kind.REWRITE): Verdict.TRIM,
    (Kind.REWRITE, Kind.MUTATE): Verdict.TRIM,
    (Kind.REWRITE, Kind.DEFINE): Verdict.REPLAN,
    (Kind.MUTATE, Kind.APPEND): Verdict.REPLAN,
    (Kind.MUTATE, Kind.REWRITE): Verdict.REPLAN,
    (Kind.MUTATE, Kind.MUTATE): Verdict.REPLAN,
    (Kind.MUTATE, Kind.DEFINE): Verdict.REPLAN,
    (Kind.DEFINE, Kind.DEFINE): Verdict.REFUSE,
}
_GRAVITY = (Verdict.REPLAY, Verdict.TRIM, Verdict.REPLAN, Verdict.REFUSE)


def judge(
    mine: Kind,
    theirs: Iterable[Kind],
    *,
    fits: bool = False,
    shared: bool = True,
    may_match: bool = True,
) -> Verdict:
    """Decide about one table: the gravest verdict of all that others did to it.

    Args:
        mine: What my change does to the table.
        theirs: What others did to it since my base.
        fits: Whether my rows fit the table's newest definition.
        shared: Whether a file that I replace was replaced or changed by them.
        may_match: Whether a file of theirs may hold rows that I looked for.
    """
    verdicts = [_one(mine, kind, fits, shared, may_match) for kind in theirs]
    return max(verdicts, key=_GRAVITY.index, default=Verdict.REPLAY)


def _one(mine: Kind, theirs: Kind, fits: bool, shared: bool, may_match: bool) -> Verdict:  # noqa: FBT001  facts
    if theirs is Kind.DROP:
        return Verdict.REFUSE
    mine = Kind.DEFINE if mine is Kind.DROP else mine
    verdict = _TABLE.get((mine, theirs), Verdict.REPLAY)
    reasons = {
        (Kind.APPEND, Kind.DEFINE): not fits,
        (Kind.REWRITE, Kind.REWRITE): shared,
        (Kind.REWRITE, Kind.MUTATE): shared,
        (Kind.MUTATE, Kind.APPEND): may_match,
        (Kind.MUTATE, Kind.REWRITE): shared,
        (Kind.MUTATE, Kind.MUTATE): shared or may_match,
    }
    return verdict if reasons.get((mine, theirs), True) else Verdict.REPLAY


def accepts(now: Schema, written: Schema) -> bool:
    """Tell whether rows written under an older definition fit the newest one as they are.

    Columns are the same when their ids are. Every written column must live and hold the written
    type; a column that came since must be able to do without a value.
    """
    return _accept(now.fields, written.fields)


def _accept(now: tuple[Field, ...], written: tuple[Field, ...]) -> bool:
    ours = {field.id: field for field in written}
    for field in now:
        found = ours.pop(field.id, None)
        if found is None and not field.nullable and field.initial_default is None:
            return False
        if found is not None and not _accept_field(field, found):
            return False
    return not ours


def _accept_field(now: Field, written: Field) -> bool:
    if written.nullable and not now.nullable:
        return False
    if now.children or written.children:
        return now.type == written.type and _accept(now.children, written.children)
    return now.type == written.type or widens(written.type, now.type)
