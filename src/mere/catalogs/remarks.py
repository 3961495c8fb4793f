"""Keep what is said of a table beside its columns: comments, and checks on its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mere.catalogs.opening import own_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mere.catalogs.dialect import Link
    from mere.catalogs.draft import Draft
    from mere.model.history import Evolve, Head


def comments_of(link: Link, table: int, at: int) -> Mapping[int | None, str]:
    """Return the comments by column id; None is the table's own."""
    rows = link.rows("comments", table=table, at=at)
    return {column: text for column, text in rows if text}


def checks_of(link: Link, table: int, at: int) -> tuple[tuple[str, str], ...]:
    """Return the checks of a table as (name, SQL text), sorted."""
    return tuple((row[0], row[1]) for row in link.rows("checks", table=table, at=at))


def checked(link: Link, head: Head, own: Collection[str]) -> Head:
    """Return a head with its checks, of which a lake that others made has none."""
    if "mere_check" not in own and "mere_check" not in own_tables(link):
        return head
    return replace(head, checks=checks_of(link, head.table_id, head.snapshot))


def evolve(draft: Draft, table: int, edit: Evolve) -> bool:
    """Write the comments and checks that change; return whether any does."""
    known = comments_of(draft.link, table, draft.snapshot)
    changed = [(about, text) for about, text in edit.comments if known.get(about) != text]
    for about, text in changed:
        _comment(draft, table, about, text)
    held = checks_of(draft.link, table, draft.snapshot)
    wanted = held if edit.checks is None else edit.checks
    if set(wanted) == set(held):
        return bool(changed)
    for name, text in set(held) - set(wanted):
        draft.link.run("end_check", table=table, name=name, text=text, at=draft.snapshot)
    begun = [(table, draft.snapshot, None, *pair) for pair in sorted(set(wanted) - set(held))]
    draft.link.insert("mere_check", begun)
    return True


def _comment(draft: Draft, table: int, about: int | None, text: str | None) -> None:
    at, link = draft.snapshot, draft.link
    if about is None:
        link.run("end_comment", table=table, at=at)
        link.insert("ducklake_tag", [(table, at, None, "comment", text)])
    else:
        link.run("end_column_comment", table=table, column=about, at=at)
        link.insert("ducklake_column_tag", [(table, about, at, None, "comment", text)])
