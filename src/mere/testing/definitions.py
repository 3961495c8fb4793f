"""What every catalog keeps of definitions: schemas, tables, columns, layouts and options."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mere.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidInputError,
    NotFoundError,
)
from mere.model.history import (
    At,
    Change,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    EditFiles,
    RenameTable,
)
from mere.model.layout import Layout, PartitionKey, SortKey
from mere.model.schema import Field
from mere.ports import Catalog
from mere.testing.lakes import (
    Lineup,
    adding,
    append,
    change,
    create,
    evolving,
    file_of,
    new_head,
    numbers_in,
    refused,
    same,
    schema_of,
)

ODD_NAMES = ("a.b", 'say "hi"', "größe 日本", "it's", "semi;colon", "select", "UPPER", "per%cent")


def options_hold_where_they_were_set(catalog: Catalog) -> None:
    """A table's own before the lake's; no snapshot is made."""
    create(catalog, "a")
    create(catalog, "b")
    version = catalog.snapshot().id
    catalog.set_option("target_file_size", "1000")
    catalog.set_option("target_file_size", "2000", table="a")
    catalog.set_option("hive_file_pattern", "false")
    sizes = [catalog.head(name).layout.target_file_bytes for name in "ab"]
    same(sizes, [2000, 1000])
    same(catalog.head("b").layout.hive_folders, expected=False)
    catalog.set_option("target_file_size", "3000", table="a")
    catalog.set_option("target_file_size", None)
    catalog.set_option("hive_file_pattern", None)
    standard = Layout()
    sizes = [catalog.head(name).layout.target_file_bytes for name in "ab"]
    same(sizes, [3000, standard.target_file_bytes])
    same(catalog.head("b").layout.hive_folders, expected=True)
    same(catalog.snapshot().id, version)
    refused(InvalidInputError, partial(catalog.set_option, "version", "2.0"))


def odd_names_are_names(catalog: Catalog) -> None:
    """Dots, quotes, blanks and unicode in names of schemas, tables and columns."""
    for name in ODD_NAMES:
        quoted = '"' + name.replace('"', '""') + '"'
        change(catalog, CreateSchema(name=name))
        schema = schema_of({"id": "int64", name: "varchar"})
        head = create(catalog, f"{quoted}.{quoted}", schema)
        same((head.namespace, head.name, head.schema.names), (name, name, ("id", name)))
        append(catalog, head.full_name, 1)
        same(numbers_in(catalog, catalog.head(f"{quoted}.{quoted}")), [1])
    same(set(catalog.namespaces()), {"main", *ODD_NAMES})
    same(set(catalog.tables()), {(name, name) for name in ODD_NAMES})


def several_tables_change_in_one_snapshot(catalog: Catalog) -> None:
    """Made, filled, renamed and dropped together, or not at all."""
    old = create(catalog, "old")
    one = new_head("one", schema_of({"id": "int64"}), Layout(keys=(PartitionKey(column=1),)))
    two = new_head("two", schema_of({"id": "int64"}))
    version = catalog.snapshot().id
    edits = (
        CreateTable(head=one),
        adding(one, replace(file_of(one, {"id": (5, 5)}), partition=(5,))),
        CreateTable(head=two),
        DropTable(table_id=old.table_id),
        RenameTable(table_id=two.table_id, name="three"),
    )
    made = change(catalog, *edits)
    same((made.snapshot, catalog.snapshot().id), (version + 1, version + 1))
    same(catalog.tables(), (("main", "one"), ("main", "three")))
    head = catalog.head("one")
    same(dict(made.table_ids)[one.table_id], head.table_id)
    (found,) = catalog.files(head).files
    same((found.partition, found.partition_id), ((5,), head.layout.id))
    broken = (adding(head, file_of(head)), CreateTable(head=new_head("one", one.schema)))
    refused(AlreadyExistsError, partial(change, catalog, *broken))
    same((catalog.snapshot().id, catalog.head("one").file_count), (version + 1, 1))


def names_are_taken_and_given_back(catalog: Catalog) -> None:
    """Create, replace, rename, drop; of tables and of schemas."""
    head = create(catalog, "t")
    append(catalog, "t", 1)
    taken = CreateTable(head=new_head("t", schema_of({"x": "int64"})))
    refused(AlreadyExistsError, partial(change, catalog, taken))
    change(catalog, replace(taken, replace=True))
    same((catalog.head("t").schema.names, catalog.head("t").file_count), (("x",), 0))
    same(numbers_in(catalog, catalog.head("t", At(version=2))), [1])
    create(catalog, "u")
    new = catalog.head("t").table_id
    refused(AlreadyExistsError, partial(change, catalog, RenameTable(table_id=new, name="u")))
    change(catalog, RenameTable(table_id=new, name="v"))
    same(catalog.tables(), (("main", "u"), ("main", "v")))
    refused(CommitConflictError, partial(change, catalog, DropTable(table_id=head.table_id)))
    change(catalog, CreateSchema(name="s"))
    refused(AlreadyExistsError, partial(change, catalog, CreateSchema(name="s")))
    create(catalog, "s.t")
    refused(InvalidInputError, partial(change, catalog, DropSchema(name="s")))
    change(catalog, DropTable(table_id=catalog.head("s.t").table_id), DropSchema(name="s"))
    same(catalog.namespaces(), ("main",))
    refused(NotFoundError, partial(change, catalog, DropSchema(name="s")))
    missing = CreateTable(head=new_head("s.t", schema_of({"x": "int64"})))
    refused(NotFoundError, partial(change, catalog, missing))


def columns_and_layouts_evolve(catalog: Catalog) -> None:
    """Add, widen, rename, move, drop, re-add; other partitions and order; old versions stay."""
    lineup = Lineup.of(catalog, 1)
    key, name = lineup.head.schema.fields
    wide = replace(key, type="int64", name="key")
    extra = Field(name="extra", type="int32", default="7", initial_default="7")
    change(catalog, evolving(lineup.head, name, wide, extra))
    head = catalog.head("t")
    same(head.schema.names, ("name", "key", "extra"))
    same(head.schema.field("extra"), replace(extra, id=3))
    change(catalog, evolving(head, *(f for f in head.schema.fields if f.name != "name")))
    head = catalog.head("t")
    again = Field(name="name", type="date")
    layout = Layout(keys=(PartitionKey(column=1),), order=(SortKey(column=1),))
    change(catalog, evolving(head, *head.schema.fields, again, layout=layout))
    head = catalog.head("t")
    same([(f.id, f.name) for f in head.schema.fields], [(1, "key"), (3, "extra"), (4, "name")])
    same((head.layout.keys, head.layout.order), (layout.keys, layout.order))
    change(catalog, evolving(head, *head.schema.fields, layout=Layout()))
    same((catalog.head("t").layout.keys, catalog.head("t").layout.order), ((), ()))
    same(catalog.head("t", At(version=2)).schema, lineup.head.schema)
    version = catalog.snapshot().id
    now = catalog.head("t")
    same(change(catalog, evolving(now, *now.schema.fields)).snapshot, version)
    same(catalog.snapshot().id, version)


def nothing_to_do_makes_no_snapshot(catalog: Catalog) -> None:
    """No edit, or edits without effect."""
    head = create(catalog, "t")
    intent = catalog.announce(head.table_id)
    same(catalog.commit(Change(base=1, edits=())).snapshot, 1)
    same(catalog.commit(Change(base=1, edits=(), intents=(intent,))).snapshot, 1)
    same(change(catalog, adding(head)).snapshot, 1)
    same(change(catalog, RenameTable(table_id=head.table_id, name="t")).snapshot, 1)
    same(catalog.snapshot().id, 1)


def changes_that_cannot_be_meant_are_refused(catalog: Catalog) -> None:
    """Unknown operations, an append that removes, a base that is not there yet."""
    head = create(catalog, "t")
    odd = EditFiles(table_id=head.table_id, operation="shuffle")
    refused(InvalidInputError, partial(change, catalog, odd))
    refused(
        InvalidInputError, partial(change, catalog, replace(odd, operation="append", removes=(1,)))
    )
    refused(InvalidInputError, partial(change, catalog, adding(head, file_of(head)), base=99))
    refused(InvalidInputError, partial(pickle.dumps, catalog))


DEFINITION_CHECKS: tuple[Callable[[Catalog], None], ...] = (
    options_hold_where_they_were_set,
    odd_names_are_names,
    several_tables_change_in_one_snapshot,
    names_are_taken_and_given_back,
    columns_and_layouts_evolve,
    nothing_to_do_makes_no_snapshot,
    changes_that_cannot_be_meant_are_refused,
)
