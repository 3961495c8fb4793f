"""Kernels and runners agree on how tables are kept in shape: files, rows, order, and the report."""

import math
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mere
from mere.errors import (
    InvalidInputError,
    NoFilesError,
    UnknownColumnError,
    UnsupportedError,
)
from mere.reading.curves import Fences, bits_for, places
from mere.reading.sorting import sorted_batches
from mere.testing.everything import every_row, everything, known, table_of

COLUMNS = {"i": "int64", "s": "varchar", "f": "float64", "d": "date", "n": "decimal(9,2)"}
VERBS = {
    "compact": lambda table: table.compact(target_mb=0.05),
    "linear": lambda table: table.cluster(["s", "i"], target_mb=0.02, memory_mb=1),
    "zorder": lambda table: table.cluster(["f", "s", "d"], order="zorder", target_mb=0.02),
    "hilbert": lambda table: table.cluster(["i", "n"], order="hilbert", target_mb=0.02),
    "repartition": lambda table: table.repartition(["month(d)", "bucket(2, s)"]),
}
UNEQUAL = {
    "seconds",
    "files",
    "gone",
    "version",
    "planned_groups",
    "encoded_bytes",
    "overlap_after",
}


def rows_of(number, count=400):
    random = np.random.default_rng(number)
    numbers = random.integers(0, 300, count)
    floats = random.normal(size=count)
    floats[::31] = math.nan
    return pa.table(
        {
            "i": numbers,
            "s": [None if n % 17 == 0 else f"name {n % 97}" for n in numbers.tolist()],
            "f": floats,
            "d": [date(2026, 1, 1) + timedelta(days=n % 60) for n in numbers.tolist()],
            "n": [None if n % 5 == 0 else Decimal(n).scaleb(-2) for n in numbers.tolist()],
        }
    )


def scattered(lake, files=6):
    """Make a table of many files, written alike whatever the kernel, with some deleted rows."""
    lake = lake.on(workers=1, kernel="pyarrow")
    table = lake.create_table("t", COLUMNS)
    for number in range(files):
        table.append(rows_of(number))
    table.delete("i = 7")
    table.update({"s": "'new'"}, where="i = 8")
    return table


def told(report):
    facts = {k: v for k, v in report.items() if k not in UNEQUAL and "bytes" not in k}
    return facts | {"overlap": None if report.overlap_after is None else 1}


def shaped(lake, verb):
    """Return what a verb reports, and the rows file by file, in their order."""
    report = VERBS[verb](lake.table("t"))
    paths = sorted(file.path for file in report.files)
    found = []
    for path in paths:
        with lake._session.store.open(path) as source:  # noqa: SLF001  the bytes themselves
            read = pa.parquet.read_table(source)
        names = [*COLUMNS, "_ducklake_internal_row_id", "_ducklake_internal_snapshot_id"]
        found.append(str(read.select(names).to_pylist()))
    return told(report), found


@pytest.fixture(params=["duckdb", "spark", "duckdb on spark"])
def other(request):
    """Hand out a function that does the work of a lake elsewhere."""
    kernel = "duckdb" if "duckdb" in request.param else "pyarrow"
    if "spark" not in request.param:
        return lambda lake: lake.on(workers=2, kernel=kernel)
    spark = request.getfixturevalue("spark")
    return lambda lake: lake.on(spark, kernel=kernel)


@pytest.mark.parametrize("verb", VERBS)
def test_kernels_and_runners_write_the_same_rows_in_the_same_order(other, verb, tmp_path):
    found = []
    for name in ("one", "other"):
        with mere.connect(str(tmp_path / f"{name}.db")) as lake:
            scattered(lake)
            found.append(shaped(lake if name == "one" else other(lake), verb))
    assert found[0] == found[1]
    assert found[0][1]


def shows(table, last):
    rows = [known(table.scan(version=v).to_arrow().to_pylist()) for v in range(1, last + 1)]
    return [Counter(map(str, found)) for found in rows], Counter(
        map(str, table.changes(1, last).to_pylist())
    )


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_no_version_notices_that_rows_were_brought_into_shape(kernel, tmp_path):
    with mere.connect(str(tmp_path / "x.db"), kernel=kernel) as lake:
        table = scattered(lake, files=3)
        last = lake.version
        before = shows(table, last)
        for verb in VERBS.values():
            verb(table)
            assert shows(table, last) == before
        assert not table.changes(last + 1).num_rows
        assert lake.doctor().healthy
        lake.expire(0)
        count = table.count()
        table.append(rows_of(9, 5))
        table.compact()
        assert table.count() == count + 5
        assert not any(file["deletes"] for file in table.files().to_pylist())


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_linear_order_is_total_within_and_across_files_with_nulls_last(kernel, tmp_path):
    with mere.connect(str(tmp_path / "x.db"), kernel=kernel) as lake:
        table = scattered(lake)
        report = table.cluster(["s", "i"], target_mb=0.01)
        assert report.files_added > 2
        keys = [(r["s"] is None, r["s"] or "", r["i"]) for r in table.scan().to_arrow().to_pylist()]
        assert keys == sorted(keys)
        assert (report.overlap_after or 0) < (report.overlap_before or 0)
        assert report.zorder_columns == ("s", "i")


@pytest.mark.parametrize("order", ["zorder", "hilbert"])
def test_a_curve_lets_filters_on_any_of_its_columns_leave_out_files(order, tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = lake.create_table("t", {"x": "int64", "y": "varchar"})
        random = np.random.default_rng(3)
        for _ in range(4):
            y = [f"user-{n:05}" for n in random.integers(0, 10_000, 4000).tolist()]
            table.append(pa.table({"x": random.integers(0, 10_000, 4000), "y": y}))
        size = table.partitions()["bytes"].to_pylist()[0] / (1 << 20)
        report = table.cluster(["x", "y"], order=order, target_mb=size / 16)
        assert report.files_added >= 16
        assert (report.overlap_after or 99) < 0.5 * report.files_added
        for where in ("x BETWEEN 100 AND 300", "y BETWEEN 'user-00100' AND 'user-00300'"):
            assert len(table.scan(where=where).files()) <= report.files_added * 0.5, where


def test_what_is_in_order_is_left_alone_until_all_is_asked_for(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = scattered(lake)
        first = table.cluster("i")
        assert (first.files_added, table.cluster("i").files_added) == (1, 0)
        assert table.cluster("i").version == first.version
        table.append(rows_of(20))
        again = table.cluster("i")
        assert (again.compacted_file_count, len(table.files())) == (1, 2)
        assert table.cluster("i", full=True).compacted_file_count == 2
        assert table.cluster(["i", "s"], dry_run=True).compacted_file_count == 1
        assert table.cluster("i", order="zorder").compacted_file_count == 1


def test_partitions_are_ordered_one_by_one_and_the_others_are_left_alone(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = lake.create_table("t", COLUMNS, partition_by=["month(d)"])
        for number in range(3):
            table.append(rows_of(number))
        report = table.cluster("i", where="d < DATE '2026-02-01'")
        assert (report.compacted_file_count, report.files_added) == (3, 1)
        by_month = Counter(str(row["partition"]) for row in table.files().to_pylist())
        assert sorted(by_month.values()) == [1, 3, 3]


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_every_type_survives_being_merged_and_sorted(kernel, tmp_path):
    schema, rows = everything(), every_row()
    with mere.connect(str(tmp_path / "x.db"), kernel=kernel) as lake:
        data = table_of(rows, schema)
        table = lake.create_table("t", data.schema)
        table.append(data)
        table.append(data)
        expected = Counter(map(str, known(table.scan().to_arrow().to_pylist())))
        assert table.compact().files_added == 1
        assert Counter(map(str, known(table.scan().to_arrow().to_pylist()))) == expected
        leaves = [f.name for f in schema if not f.children and f.type not in UNORDERED]
        for name in leaves:
            for order in ("linear", "hilbert"):
                table.cluster(name, order=order)
        assert Counter(map(str, known(table.scan().to_arrow().to_pylist()))) == expected


UNORDERED = {"interval", "variant", "geometry"}
values = st.none() | st.integers(-5, 5)
names = st.none() | st.sampled_from(["", "a", "ab", "b"])


@given(
    rows=st.lists(st.tuples(values, names), max_size=60),
    cut=st.integers(1, 9),
    memory=st.sampled_from([1, 2000, 1 << 20]),
)
@settings(max_examples=40)
def test_a_sort_that_spills_is_the_stable_one(rows, cut, memory):
    schema = pa.schema({"a": pa.int64(), "b": pa.string(), "n": pa.int64()})
    whole = pa.table(
        [[a for a, _ in rows], [b for _, b in rows], list(range(len(rows)))], schema=schema
    )
    batches = whole.to_batches(max_chunksize=cut)
    found = list(sorted_batches(iter(batches), schema, ["a", "b"], memory_bytes=memory))
    numbers = [n for batch in found for n in batch["n"].to_pylist()]
    order = [(a is None, a or 0, b is None, b or "") for a, b in rows]
    assert numbers == sorted(range(len(rows)), key=lambda n: order[n])


@pytest.mark.parametrize(("columns", "bits"), [(2, 4), (3, 3)])
def test_a_hilbert_curve_goes_through_all_places_one_step_at_a_time(columns, bits):
    grid = np.array(np.meshgrid(*[np.arange(1 << bits)] * columns)).reshape(columns, -1)
    for curve in ("zorder", "hilbert"):
        assert len(set(places(curve, list(grid), bits).tolist())) == grid.shape[1]
    walk = grid[:, np.argsort(places("hilbert", list(grid), bits))]
    assert np.abs(np.diff(walk, axis=1)).sum(axis=0).tolist() == [1] * (grid.shape[1] - 1)


@given(st.lists(st.none() | st.floats(width=64), min_size=1, max_size=80))
def test_ranks_keep_the_order_of_values_with_nan_and_null_last(found):
    column = pa.chunked_array([pa.array(found, pa.float64())])
    ranks = Fences.of(column, bits_for(2)).ranks(column).tolist()
    odd = [v is not None and math.isnan(v) for v in found]
    order = [(v is None, nan, 0.0 if nan else v or 0.0) for v, nan in zip(found, odd, strict=True)]
    pairs = sorted(zip(order, ranks, strict=True))
    assert all(one[1] <= other[1] for one, other in pairwise(pairs))


@pytest.mark.parametrize(
    ("call", "kind", "match"),
    [
        (lambda t: t.cluster("nope"), UnknownColumnError, "the table has: i, s, f, d, n"),
        (lambda t: t.cluster([]), InvalidInputError, "name columns"),
        (lambda t: t.cluster(["i", "I"]), InvalidInputError, "each once"),
        (lambda t: t.cluster("i", order="random"), InvalidInputError, "unknown order"),
        (lambda t: t.cluster("i", target_mb=0), ValueError, "target_mb must be greater than 0"),
        (lambda t: t.cluster("i", memory_mb=0), InvalidInputError, "memory_mb"),
        (lambda t: t.cluster("i", where="i > 1000000"), FileNotFoundError, "no matching Parquet"),
        (lambda t: t.compact(where="nope = 1"), UnknownColumnError, "nope"),
        (lambda t: t.compact(where="i > 1000000"), NoFilesError, "no matching Parquet"),
        (lambda t: t.compact(mode="fast"), InvalidInputError, "unknown mode"),
        (lambda t: t.compact(mode="copy"), UnsupportedError, "copy"),
        (lambda t: t.repartition("nope"), UnknownColumnError, "the table has"),
        (lambda t: t.repartition("hour(d)"), InvalidInputError, "hour"),
        (lambda t: t.repartition(["i", "i"]), InvalidInputError, "twice"),
        (lambda t: t.repartition("i", target_mb=-1), ValueError, "target_mb"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_done(call, kind, match, tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = scattered(lake, files=1)
        version = lake.version
        there = sorted(path.name for path in tmp_path.rglob("*.parquet"))
        with pytest.raises(kind, match=match):
            call(table)
        assert lake.version == version
        assert sorted(path.name for path in tmp_path.rglob("*.parquet")) == there


def test_an_empty_table_has_nothing_to_bring_into_shape(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = lake.create_table("t", COLUMNS)
        for call in (table.compact, lambda: table.cluster("i"), lambda: table.repartition("i")):
            with pytest.raises(NoFilesError):
                call()


def test_rows_are_not_moved_inside_a_transaction(tmp_path):
    with mere.connect(str(tmp_path / "x.db")) as lake:
        scattered(lake, files=2)
        for call in ("compact", "cluster", "repartition"):
            with lake.transaction() as both, pytest.raises(InvalidInputError, match="transaction"):
                getattr(both.table("t"), call)(*(["i"] if call != "compact" else []))


def test_far_too_many_partitions_are_refused_with_advice(tmp_path, monkeypatch):
    monkeypatch.setattr("mere.plan.repartition.MOST_PARTITIONS", 100)
    with mere.connect(str(tmp_path / "x.db")) as lake:
        table = scattered(lake)
        for dry_run in (True, False):
            with pytest.raises(InvalidInputError, match=r"about \d+ partitions") as error:
                table.repartition("i", dry_run=dry_run)
        assert "bucket(16, id)" in str(error.value.hint)
        assert table.partition_by == ()
        assert table.repartition("bucket(9, i)", dry_run=True).partitions == 9


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
def test_repartitioned_rows_lie_where_their_values_say(kernel, tmp_path):
    with mere.connect(str(tmp_path / "x.db"), kernel=kernel) as lake:
        table = scattered(lake)
        rows = Counter(map(str, table.scan().to_arrow().to_pylist()))
        would = table.repartition(["month(d)", "s"], dry_run=True)
        report = table.repartition(["month(d)", "s"])
        assert would.partitions == report.partitions == len(table.partitions())
        assert report.files_added == would.files_added
        assert Counter(map(str, table.scan().to_arrow().to_pylist())) == rows
        assert len(table.scan(where="s = 'name 3' AND d < DATE '2026-02-01'").files()) == 1
        assert table.repartition(["month(d)", "s"]).files_added == 0
        assert table.partition_by == ("month(d)", "s")
        assert table.repartition(["month(d)"]).files_added == 3
        table.append(rows_of(30))
        assert table.repartition([]).files_added == 1
        assert table.partition_by == ()
