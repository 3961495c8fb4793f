"""What every catalog keeps about files of others that were loaded into a table."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mere.errors import CommitConflictError
from mere.model.history import CreateTable, DropTable, Remember
from mere.model.loading import Source
from mere.ports import Catalog
from mere.testing.lakes import (
    PLAIN,
    adding,
    change,
    create,
    file_of,
    new_head,
    refused,
    same,
    schema_of,
)

ONE = Source(path="/in/a b.csv", bytes=7, mark="1", format="csv")
TWO = Source(path="s3://raw/Ä'.json", bytes=8, mark='"etag"', format="json")


def a_load_is_remembered_with_its_rows(catalog: Catalog) -> None:
    """What is known afterwards: bytes, mark, load and snapshot, of what was asked for."""
    head = create(catalog, "t")
    same(dict(catalog.loaded(head, [ONE.path])), {})
    done = change(catalog, adding(head, file_of(head)), _load(head.table_id, "x", ONE, TWO))
    found = catalog.loaded(head, [ONE.path, TWO.path, "/in/other"])
    same(sorted(found), sorted([ONE.path, TWO.path]))
    known = found[TWO.path]
    same((known.bytes, known.mark, known.load), (8, '"etag"', "x"))
    same(known.snapshot, done.snapshot)
    same([known.is_now(TWO), known.is_now(replace(TWO, mark="2"))], [True, False])
    same(dict(catalog.loaded(head, [])), {})


def a_file_is_loaded_by_one_of_two(catalog: Catalog) -> None:
    """The second load is refused as a whole, and so is one that did not see the newest state."""
    head = create(catalog, "t")
    change(catalog, adding(head, file_of(head)), _load(head.table_id, "x", ONE))
    late = (adding(head, file_of(head)), _load(head.table_id, "y", TWO, ONE))
    refused(CommitConflictError, partial(change, catalog, *late, base=head.snapshot))
    same(catalog.head("t").rows, 10)
    again = replace(ONE, mark="2", known="x")
    change(catalog, adding(head, file_of(head)), _load(head.table_id, "z", again))
    same(catalog.loaded(head, [ONE.path])[ONE.path].load, "z")
    stale = (adding(head, file_of(head)), _load(head.table_id, "w", again))
    refused(CommitConflictError, partial(change, catalog, *stale))
    same(catalog.head("t").rows, 20)


def a_load_makes_its_table(catalog: Catalog) -> None:
    """The table that comes with its first rows remembers them; one that is made anew does not."""
    head = new_head("t", schema_of(PLAIN))
    change(
        catalog, CreateTable(head=head), adding(head, file_of(head)), _load(head.table_id, "x", ONE)
    )
    now = catalog.head("t")
    same(list(catalog.loaded(now, [ONE.path])), [ONE.path])
    change(catalog, DropTable(table_id=now.table_id))
    same(dict(catalog.loaded(create(catalog, "t"), [ONE.path])), {})


def files_without_rows_are_remembered_too(catalog: Catalog) -> None:
    """No version is made for them, and they are not looked at again."""
    head = create(catalog, "t")
    change(catalog, _load(head.table_id, "x", ONE))
    same(catalog.snapshot().id, head.snapshot)
    same(list(catalog.loaded(head, [ONE.path])), [ONE.path])


def _load(table: int, name: str, *sources: Source) -> Remember:
    return Remember(table_id=table, load=name, sources=sources)


LOAD_CHECKS: tuple[Callable[[Catalog], None], ...] = (
    a_load_is_remembered_with_its_rows,
    a_file_is_loaded_by_one_of_two,
    a_load_makes_its_table,
    files_without_rows_are_remembered_too,
)
