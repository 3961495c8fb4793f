"""What every catalog keeps, as checks that run against a fresh, empty lake.

```python
@pytest.mark.parametrize("check", CATALOG_CHECKS, ids=lambda check: check.__name__)
def test_my_catalog(check):
    check(my_empty_catalog())
```
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from mere.errors import (
    CommitConflictError,
    InvalidInputError,
    SnapshotNotFoundError,
    TableNotFoundError,
)
from mere.model.clearing import Leftovers
from mere.model.files import Bounds, RowGroup
from mere.model.history import (
    At,
    Committed,
    CreateTable,
    Mark,
    RenameTable,
)
from mere.model.layout import Layout, PartitionKey, SortKey
from mere.model.predicate import Expr, bind, col
from mere.model.schema import Field, Schema, number
from mere.ports import Catalog
from mere.testing.definitions import DEFINITION_CHECKS
from mere.testing.lakes import (
    Lineup,
    adding,
    append,
    change,
    create,
    file_of,
    new_head,
    numbers_in,
    refused,
    replacing,
    same,
    schema_of,
)
from mere.testing.loads import LOAD_CHECKS

NAN = float("nan")
VALUES: dict[str, tuple[Any, Any]] = {
    "boolean": (False, True),
    "int8": (-128, 127),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint64": (0, (1 << 64) - 1),
    "float32": (-0.5, 1.5),
    "float64": (-1e-07, 1.7976931348623157e308),
    "decimal(18,3)": (Decimal("-1.500"), Decimal("123456789012345.678")),
    "decimal(38,10)": (Decimal("0E-10"), Decimal("1234567890123456789012345678.0123456789")),
    "date": (date(1, 1, 1), date(9999, 12, 31)),
    "time": (time(0, 0), time(23, 59, 59, 999999)),
    "timestamp": (datetime(1, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 400000)),  # noqa: DTZ001  no zone by type
    "timestamp_s": (datetime(1970, 1, 1), datetime(2024, 2, 29, 1, 2, 3)),  # noqa: DTZ001  no zone by type
    "timestamptz": (
        datetime(1969, 7, 20, tzinfo=UTC),
        datetime(2024, 1, 1, 0, 0, 0, 7, tzinfo=UTC),
    ),
    "timestamp_ns": (0, 1_700_000_000_123_456_789),
    "varchar": ("", 'naïve, "quoted", it\'s\nlong'),
    "json": ('"a"', '{"k": [1]}'),
    "blob": (b"\x00", b"\xff\xfe"),
    "uuid": (UUID(int=0), UUID(int=(1 << 128) - 1)),
}


def a_new_lake_holds_one_schema_and_nothing_else(catalog: Catalog) -> None:
    """Version 0, the schema main, no table."""
    same(catalog.snapshot().id, 0)
    same(len(catalog.snapshots()), 1)
    same(catalog.namespaces(), ("main",))
    same(catalog.tables(), ())
    same(catalog.data_path.endswith("/"), expected=True)


def a_table_comes_back_as_it_was_defined(catalog: Catalog) -> None:
    """Columns with ids, nested ones, defaults, NOT NULL, partitions, order, options."""
    fields = (
        Field(name="id", type="int64", nullable=False),
        Field(name="price", type="decimal(18,3)", default="1.500"),
        Field(
            name="tree",
            type="struct",
            children=(
                Field(name="leaf 1", type="varchar"),
                Field(
                    name="list", type="list", children=(Field(name="element", type="timestamptz"),)
                ),
            ),
        ),
        Field(
            name="pairs",
            type="map",
            children=(Field(name="key", type="varchar"), Field(name="value", type="blob")),
        ),
    )
    schema = number(Schema(fields=fields))
    layout = Layout(
        keys=(PartitionKey(column=1, transform="bucket", buckets=8), PartitionKey(column=2)),
        order=(SortKey(column=2, descending=True, nulls_first=True), SortKey(column=1)),
        options=(("parquet_compression", "snappy"), ("target_file_size", "1000000")),
    )
    head = create(catalog, "t", schema, layout)
    price = replace(schema.fields[1], initial_default="1.500")
    same(head.schema, Schema(fields=(schema.fields[0], price, *schema.fields[2:])))
    same((head.layout.keys, head.layout.order), (layout.keys, layout.order))
    same((head.layout.compression, head.layout.target_file_bytes), ("snappy", 1_000_000))
    same((head.namespace, head.name, head.rows, head.file_count), ("main", "t", 0, 0))
    same(head.folder.startswith("main/") and head.folder.endswith("/"), expected=True)
    same(head.next_column_id, 1 + max(field.id for field, _ in schema.walk()))


def every_value_comes_back_as_it_was(catalog: Catalog) -> None:
    """Bounds and partition values of every type, at their extremes."""
    schema = schema_of({f"c{n}": kind for n, kind in enumerate(VALUES)})
    keys = tuple(PartitionKey(column=field.id) for field in schema.fields)
    head = create(catalog, "t", schema, Layout(keys=keys))
    bounds = {f"c{n}": ends for n, ends in enumerate(VALUES.values())}
    for end in (0, 1):
        partition = tuple(ends[end] for ends in VALUES.values())
        change(catalog, adding(head, file_of(head, bounds, partition=partition)))
    first, second = catalog.files(catalog.head("t"), bounds=True).files
    same(first.partition, tuple(low for low, _ in VALUES.values()))
    same(second.partition, tuple(high for _, high in VALUES.values()))
    for field, (low, high) in zip(schema.fields, VALUES.values(), strict=True):
        known = first.bounds[field.id]
        same((field.type, known.minimum, known.maximum), (field.type, low, high))
        same((known.nulls, known.values, known.bytes), (0, 10, 80))
        same(type(known.minimum), type(low))


def what_is_not_known_stays_not_known(catalog: Catalog) -> None:
    """NaN, negative zero, all NULL, cut texts and missing statistics."""
    head = create(catalog, "t", {"x": "float64", "s": "varchar", "n": "int32", "gone": "date"})
    bounds = {
        1: Bounds(minimum=-0.0, maximum=2.5, nulls=1, values=9, nan=True),
        2: Bounds(minimum="a" * 400, maximum="z" * 400, nulls=0, values=10),
        3: Bounds(nulls=10, values=0),
    }
    change(catalog, adding(head, replace(file_of(head), bounds=bounds)))
    (found,) = catalog.files(catalog.head("t"), bounds=True).files
    same(str(found.bounds[1].minimum), "-0.0")
    same((found.bounds[1].nan, found.bounds[1].maximum), (True, 2.5))
    text = found.bounds[2]
    same(text.exact, expected=False)
    low, high = str(text.minimum), str(text.maximum)
    same(low <= "a" * 400 and high >= "z" * 400, expected=True)
    same((found.bounds[3].minimum, found.bounds[3].nulls, found.bounds[3].values), (None, 10, 0))
    same(4 in found.bounds and found.bounds[4].minimum is not None, expected=False)


def a_file_is_found_by_what_it_can_hold(catalog: Catalog) -> None:
    """Pruned by bounds and by partition, and certain when every row matches."""
    layout = Layout(keys=(PartitionKey(column=2),))
    head = create(catalog, "t", {"id": "int64", "day": "date"}, layout)
    days = [date(2024, 1, 1) + timedelta(days=n) for n in range(4)]
    files = [
        file_of(head, {"id": (n * 10, n * 10 + 9)}, partition=(days[n % 4],)) for n in range(8)
    ]
    change(catalog, adding(head, *files, file_of(head)))
    head = catalog.head("t")

    def asked(where: Expr) -> tuple[int, int, int, int]:
        found = catalog.files(head, bind(where, head.schema))
        same((found.total_files, found.total_rows, found.total_bytes), (9, 90, 9000))
        return len(found.files), found.by_partition, found.by_bounds, len(found.certain)

    same(asked((col("id") >= 35) & (col("id") < 50)), (3, 0, 6, 1))
    same(asked(col("day") == days[1]), (3, 6, 0, 2))
    same(asked((col("day") == days[1]) & (col("id") > 40)), (2, 6, 1, 1))
    same(asked(col("id") > 1000), (1, 0, 8, 0))
    same(len(catalog.files(head).certain), 9)


def every_version_shows_what_it_showed(catalog: Catalog) -> None:
    """Heads by version and by time, before and after files went."""
    lineup = Lineup.of(catalog, 1, 2)
    append(catalog, "t", 3)
    head = catalog.head("t")
    change(catalog, replacing(head, lineup.ids(), file_of(head, {"id": (9, 9)})))
    seen = {v: numbers_in(catalog, catalog.head("t", At(version=v))) for v in range(1, 5)}
    same(seen, {1: [], 2: [1, 2], 3: [1, 2, 3], 4: [3, 9]})
    counts = [catalog.head("t", At(version=v)).file_count for v in range(1, 5)]
    same(counts, [0, 2, 3, 2])
    for snapshot in catalog.snapshots():
        same(catalog.snapshot(At(as_of=snapshot.at)).at, snapshot.at)
        if snapshot.id:
            before = catalog.snapshot(At(as_of=snapshot.at - timedelta(microseconds=1)))
            same(before.id < snapshot.id, expected=True)
    last = catalog.snapshots()[-1]
    naive = last.at.replace(tzinfo=None)
    same(catalog.head("t", At(as_of=naive + timedelta(days=1))).snapshot, last.id)


def what_is_missing_is_named(catalog: Catalog) -> None:
    """Unknown tables and versions; the message says what there is."""
    create(catalog, "trades")
    error = refused(TableNotFoundError, partial(catalog.head, "trade"))
    same("main.trades" in str(error), expected=True)
    refused(TableNotFoundError, partial(catalog.head, "trades", At(version=0)))
    refused(TableNotFoundError, partial(catalog.head, "other.trades"))
    refused(SnapshotNotFoundError, partial(catalog.snapshot, At(version=99)))
    old = datetime(1999, 1, 1, tzinfo=UTC)
    refused(SnapshotNotFoundError, partial(catalog.snapshot, At(as_of=old)))


def history_tells_what_was_done(catalog: Catalog) -> None:
    """One entry per snapshot of the table, with rows and files; other tables do not show."""
    lineup = Lineup.of(catalog, 1, 2)
    create(catalog, "other")
    append(catalog, "other", 7)
    replace_all = replacing(lineup.head, lineup.ids(), file_of(lineup.head))
    change(catalog, replace_all, message="again", author="me")
    change(catalog, RenameTable(table_id=lineup.head.table_id, name="u"))
    told = catalog.history(catalog.head("u"))
    same([row["operation"] for row in told], ["create", "append", "overwrite", "rename"])
    same([row["version"] for row in told], [1, 2, 5, 6])
    counts = ("rows_inserted", "rows_deleted", "files_added", "files_removed")
    same([told[2][name] for name in counts], [10, 20, 1, 2])
    same((told[2]["message"], told[2]["author"]), ("again", "me"))
    same(told[0]["at"].tzinfo is not None, expected=True)


def a_token_commits_once(catalog: Catalog) -> None:
    """The same token returns the snapshot that it made, tables included."""
    head = new_head("t", schema_of({"id": "int64"}))
    first = change(catalog, CreateTable(head=head), token="job-1")
    again = change(catalog, CreateTable(head=head), token="job-1")
    same((again.snapshot, again.repeated, first.repeated), (first.snapshot, True, False))
    same(again.table_ids, first.table_ids)
    same((catalog.committed("job-1"), catalog.committed("job-2")), (first.snapshot, None))
    append(catalog, "t", 1, token="job-2")
    same(append(catalog, "t", 1, token="job-2").repeated, expected=True)
    same(numbers_in(catalog, catalog.head("t")), [1])


def a_mark_goes_with_its_commit(catalog: Catalog) -> None:
    """How far a step has come is told by the very commit that holds its work, once."""
    create(catalog, "t")
    same(catalog.marks(), ())
    first = Mark(step="s", run=1, reached=1)
    wrote = append(catalog, "t", 1, token="s/1", mark=first).snapshot
    same(catalog.marks(), (replace(first, wrote=wrote),))
    same(append(catalog, "t", 1, token="s/1", mark=first).repeated, expected=True)
    ahead = Mark(step="s", run=3, since=1, reached=wrote)
    for mark in (ahead, replace(ahead, run=1)):
        refused(CommitConflictError, partial(append, catalog, "t", 2, mark=mark))
    append(catalog, "t", 2, mark=replace(ahead, run=2))
    same(numbers_in(catalog, catalog.head("t")), [1, 2])
    other = Mark(step="other", run=1, reached=0)
    append(catalog, "t", 3, mark=other)
    same([mark.step for mark in catalog.marks()], ["other", "s"])


def a_mark_without_work_makes_no_version(catalog: Catalog) -> None:
    """A step that found nothing to write says so; the same said twice is said once."""
    before = create(catalog, "t").snapshot
    mark = Mark(step="s", run=1, reached=before)
    for _ in range(2):
        same(change(catalog, mark=mark), Committed(snapshot=before))
        same((catalog.snapshot().id, catalog.marks()), (before, (mark,)))
    refused(CommitConflictError, partial(change, catalog, mark=replace(mark, reached=0)))
    refused(CommitConflictError, partial(append, catalog, "t", 1, mark=mark))
    same(numbers_in(catalog, catalog.head("t")), [])


def a_writer_is_announced_and_fenced(catalog: Catalog) -> None:
    """A commit needs the announcements that it names; without one, nothing changes."""
    head = create(catalog, "t")
    first = catalog.announce(head.table_id)
    same(len(first) >= 12 and first.isalnum(), expected=True)
    append(catalog, "t", 1, intents=(first,))
    catalog.withdraw(catalog.announce(head.table_id))
    append(catalog, "t", 2, intents=(catalog.announce(head.table_id),))
    catalog.close()
    for gone in (first, "0" * 16):
        refused(CommitConflictError, partial(append, catalog, "t", 3, intents=(gone,)))
    same(numbers_in(catalog, catalog.head("t")), [1, 2])
    again = catalog.announce(head.table_id)
    same(again in (first, "0" * 16), expected=False)
    refused(InvalidInputError, partial(append, catalog, "t", 4, intents=(again,), base=10**6))
    append(catalog, "t", 4, intents=(again, again))
    same(numbers_in(catalog, catalog.head("t")), [1, 2, 4])


def a_writer_is_answered_for_elsewhere(catalog: Catalog) -> None:
    """What one process announces, another may commit or withdraw; no row of it is left behind."""
    head = create(catalog, "t")
    for end in (partial(append, catalog, "t", 1), None):
        intent = catalog.announce(head.table_id)
        catalog.withdraw(intent)  # the process that announced is out of the game
        catalog.take_over(intent)
        if end is None:
            catalog.withdraw(intent)
        else:
            end(intents=(intent,))
        catalog.close()
        refused(CommitConflictError, partial(append, catalog, "t", 3, intents=(intent,)))
    same(numbers_in(catalog, catalog.head("t")), [1])


def row_groups_come_back(catalog: Catalog) -> None:
    """What the writer knew of each row group; nothing for files of others."""
    head = create(catalog, "t", {"id": "int64", "at": "timestamptz", "s": "varchar"})
    bounds = {
        1: Bounds(minimum=1, maximum=2, nulls=0, values=5, bytes=40),
        2: Bounds(
            minimum=datetime(2024, 1, 1, tzinfo=UTC), maximum=datetime(2024, 1, 2, tzinfo=UTC)
        ),
        3: Bounds(nulls=5, values=0),
    }
    groups = (
        RowGroup(ordinal=0, rows=5, bytes=100, raw_bytes=200, bounds=bounds),
        RowGroup(ordinal=1, rows=5, bytes=101, raw_bytes=201),
    )
    change(catalog, adding(head, file_of(head, row_groups=groups), file_of(head)))
    known, unknown = catalog.files(catalog.head("t"), bounds=True, groups=True).files
    same((known.row_groups, unknown.row_groups), (groups, ()))
    same(catalog.files(catalog.head("t")).files[0].row_groups, ())


def what_lies_beside_the_newest_version_is_counted(catalog: Catalog) -> None:
    """Files of older versions, then files of none that wait; each table has its own."""
    first, *_ = Lineup.of(catalog, 1, 2, 3).ids()
    other = Lineup.of(catalog, 4, name="other").head
    change(catalog, replacing(catalog.head("t"), [first]))
    count = partial(catalog.leftovers, grace_s=0)
    same([count(catalog.head("t")), count(None)], [Leftovers(old_files=1, old_bytes=1000)] * 2)
    catalog.expire(older_s=0, keep_last=1, dry_run=False)
    same([count(catalog.head("t")), count(None)], [Leftovers(scheduled=1, ripe=1)] * 2)
    same(catalog.leftovers(None, grace_s=3600), Leftovers(scheduled=1))
    same(count(catalog.head(other.full_name)), Leftovers())


def threads_share_a_catalog(catalog: Catalog) -> None:
    """Appends from many threads all land, once; versions have no gap."""
    create(catalog, "t")

    def work(worker: int) -> None:
        for n in range(4):
            append(catalog, "t", worker * 100 + n)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    expected = sorted(worker * 100 + n for worker in range(4) for n in range(4))
    same(numbers_in(catalog, catalog.head("t")), expected)
    same([snapshot.id for snapshot in catalog.snapshots()], list(range(18)))


def a_closed_catalog_opens_itself_again(catalog: Catalog) -> None:
    """Closing lets go of connections and caches, no more."""
    create(catalog, "t")
    catalog.close()
    append(catalog, "t", 1)
    catalog.close()
    same(numbers_in(catalog, catalog.head("t")), [1])


CATALOG_CHECKS: tuple[Callable[[Catalog], None], ...] = (
    *DEFINITION_CHECKS,
    *LOAD_CHECKS,
    a_new_lake_holds_one_schema_and_nothing_else,
    a_table_comes_back_as_it_was_defined,
    every_value_comes_back_as_it_was,
    what_is_not_known_stays_not_known,
    a_file_is_found_by_what_it_can_hold,
    every_version_shows_what_it_showed,
    what_is_missing_is_named,
    history_tells_what_was_done,
    a_token_commits_once,
    a_mark_goes_with_its_commit,
    a_mark_without_work_makes_no_version,
    a_writer_is_announced_and_fenced,
    a_writer_is_answered_for_elsewhere,
    row_groups_come_back,
    what_lies_beside_the_newest_version_is_counted,
    threads_share_a_catalog,
    a_closed_catalog_opens_itself_again,
)
