"""Existing Parquet becomes a table: DuckDB and every reader see the same, and all verbs go on."""

import datetime as dt
import shutil
from contextlib import suppress
from decimal import Decimal

import pyarrow as pa
import pytest
from tests import adopted
from tests.adopted import written

import mere
from mere.errors import (
    AlreadyExistsError,
    CorruptionError,
    InvalidInputError,
    NoFilesError,
    SchemaMismatchError,
    UnsupportedError,
)
from mere.reading import strangers

DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")


@pytest.fixture
def lake(tmp_path):
    return mere.connect(tmp_path / "lake.db", data_path=tmp_path / "data")


@pytest.fixture
def ask(tmp_path, oracle):
    """Ask DuckDB, in a connection of its own for each question."""

    def asked(*queries, **options):
        connection = oracle(f"sqlite:{tmp_path / 'lake.db'}", **options)
        try:
            for query in queries:
                answer = connection.sql(query)
            return answer.to_arrow_table() if answer is not None else pa.table({})
        finally:
            connection.close()

    return asked


def moment(month, day, hour=0):
    return dt.datetime(2026, month, day, hour)  # noqa: DTZ001  a column without zone


def some(kind):
    """Return 1, 2 and NULL in a type."""
    values = [Decimal(1), Decimal(2), None] if pa.types.is_decimal(kind) else [1, 2, None]
    return pa.array(values, kind)


def sales(folder, days=DAYS):
    """Write files in the layout of Hive, the days in folders alone, some columns in some files."""
    for number, day in enumerate(days):
        first = 10 * number
        columns = {
            "id": pa.array(range(first, first + 4), pa.int32() if number else pa.int64()),
            "price": [first + 0.5, None, first + 1.5, float("nan")],
            "at": pa.array([moment(1, 1, n) for n in range(4)], pa.timestamp("us")),
            "tags": [["a", None], [], None, ["b"]],
        }
        if number:
            columns["note"] = [f"n{n}" for n in range(4)]
        else:
            columns["NOTE"] = pa.nulls(4)
        written(pa.table(columns), folder / f"day={day}" / "zone=007" / "part 0.parquet")
    return folder


def same(lake, ask, name="t", version=None):
    """Tell which readers see something else than DuckDB."""
    at = "" if version is None else f" AT (VERSION => {version})"
    theirs = adopted.rows(ask(f"FROM {name}{at}"))
    scan = lake.table(name).scan(version=version)
    return [e for e, read in adopted.ENGINES.items() if adopted.rows(read(scan)) != theirs]


def test_files_of_hive_become_a_partitioned_table_that_duckdb_reads(lake, ask, tmp_path):
    report = lake.adopt(sales(tmp_path / "old"), "t")
    assert (report.operation, report.files_added, report.rows_inserted) == ("adopt", 3, 12)
    assert report.version == lake.version
    kinds = {field.name: str(field.type) for field in lake.table("t").schema}
    assert kinds == {
        "id": "int64",
        "price": "double",
        "at": "timestamp[us]",
        "tags": "list<element: string>",
        "note": "string",
        "day": "date32[day]",
        "zone": "string",
    }
    assert same(lake, ask) == []
    found = lake.table("t").scan("day = DATE '2026-01-02' AND zone = '007'").explain()
    assert (found.files_kept, found.files_total) == (1, 3)
    assert lake.table("t").count("day = DATE '2026-01-02'") == 4
    assert ask("FROM t WHERE day = DATE '2026-01-02'").num_rows == 4
    assert lake.doctor(deep=True).healthy


def test_bounds_are_exact_or_absent(lake, ask, tmp_path):
    lake.adopt(sales(tmp_path / "old"), "t")
    totals = ask(
        "SELECT column_name, contains_null, contains_nan, s.min_value, s.max_value FROM"
        " __ducklake_metadata_lake.ducklake_table_column_stats s"
        " JOIN __ducklake_metadata_lake.ducklake_column c USING (table_id, column_id)"
    ).to_pylist()
    told = {row["column_name"]: (row["min_value"], row["max_value"]) for row in totals}
    assert told["id"] == ("0", "23")
    assert told["day"] == ("2026-01-01", "2026-01-03")
    assert told["at"] == ("2026-01-01 00:00:00", "2026-01-01 03:00:00")
    assert "price" not in told, "a footer does not tell whether NaN is there"
    asked = "SELECT max(price), min(price), max(id), count(*), count(note), max(day) FROM t"
    assert adopted.rows(ask(asked)) == adopted.rows(lake.sql(asked).to_arrow_table())


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("price > 0.6", [2, 3, 10, 12, 13, 20, 22, 23]),
        ("isnan(price)", [3, 13, 23]),
        ("id >= 12 AND id < 21", [12, 13, 20]),
        ("note IS NULL", [0, 1, 2, 3]),
        ("\"at\" > '2026-01-01 01:30' AND day < DATE '2026-01-02'", [2, 3]),
    ],
)
def test_filters_find_the_rows_in_every_reader(lake, tmp_path, where, ids):
    lake.adopt(sales(tmp_path / "old"), "t")
    wrong = []
    for engine, read in adopted.ENGINES.items():
        found = read(lake.table("t").scan(where, ["id"])).column("id").to_pylist()
        wrong += [engine] * (sorted(found) != ids)
    assert wrong == []
    assert lake.table("t").count(where) == len(ids)


def test_all_verbs_go_on_after_adoption_and_duckdb_follows(lake, ask, tmp_path):
    lake.adopt(sales(tmp_path / "old"), "t")
    t = lake.table("t")
    first = t.version
    t.append({"id": [100], "day": [dt.date(2026, 1, 1)], "zone": ["007"]})
    t.delete("id IN (1, 21)")
    t.update(set={"note": "'new'", "id": "id + 1000"}, where="day = DATE '2026-01-02' AND id < 12")
    t.upsert(
        {
            "id": [0, 500],
            "price": [9.5, 1.0],
            "day": [dt.date(2026, 1, 1)] * 2,
            "zone": ["007"] * 2,
        },
        on=["id", "day"],
    )
    assert same(lake, ask) == []
    assert same(lake, ask, version=first) == []
    ours = t.changes(first + 1)
    theirs = ask(f"FROM ducklake_table_changes('lake', 'main', 't', {first + 1}, {t.version})")
    names = ["snapshot_id", "rowid", "change_type", "id", "day"]
    assert adopted.rows(ours.select(names)) == adopted.rows(theirs.select(names))
    t.evolve().rename_column("note", "remark").add_column("z", "int64", default=5).commit()
    assert same(lake, ask) == []
    t.overwrite({"id": [7], "day": [dt.date(2026, 1, 3)], "zone": ["007"]}, partitions="dynamic")
    assert t.count("day = DATE '2026-01-03'") == 1
    t.restore(version=first)
    assert adopted.rows(t.scan().to_arrow()) == adopted.rows(t.scan(version=first).to_arrow())
    assert same(lake, ask) == []
    assert lake.doctor(deep=True).healthy


def test_duckdb_changes_and_merges_what_was_adopted(lake, ask, tmp_path):
    lake.adopt(sales(tmp_path / "old"), "t")
    lake.set_option("data_inlining_row_limit", 0)
    lake.table("t").append({"id": [100], "day": [dt.date(2026, 1, 1)], "zone": ["007"]})
    ask(
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET note = 'x' WHERE id = 2",
        "INSERT INTO t(id, day, zone) VALUES (200, DATE '2026-01-02', '007')",
        "CALL ducklake_merge_adjacent_files('lake')",
    )
    assert same(lake, ask) == []
    assert lake.table("t").count() == 13


def test_a_table_takes_more_files_when_its_columns_do(lake, ask, tmp_path):
    lake.create_table("t", {"id": "int64", "v": "decimal(12,2)", "p": "int32"}, partition_by=["p"])
    lake.table("t").append({"id": [1], "v": [Decimal("1.50")], "p": [3]})
    table = pa.table({"ID": pa.array([2, None], pa.int16()), "v": pa.array([7, 8], pa.int32())})
    written(table, tmp_path / "more" / "p=4" / "a.parquet")
    lake.adopt(tmp_path / "more", "t")
    assert lake.table("t").scan("p = 4").to_arrow().column("id").to_pylist() == [2, None]
    assert lake.table("t").scan("p = 4").explain().files_kept == 1
    assert same(lake, ask) == []
    written(pa.table({"id": ["x"]}), tmp_path / "odd" / "b.parquet")
    with pytest.raises(SchemaMismatchError, match="id"):
        lake.adopt(tmp_path / "odd", "t")
    written(pa.table({"id": [1], "extra": [1]}), tmp_path / "wide" / "c.parquet")
    with pytest.raises(SchemaMismatchError, match="extra"):
        lake.adopt(tmp_path / "wide", "t")
    lake.adopt(tmp_path / "wide", "t", merge_schema=True)
    assert same(lake, ask) == []
    with pytest.raises(InvalidInputError, match="layout of its own"):
        lake.adopt(tmp_path / "odd", "t", partition_by=["id"])


def test_not_null_and_checks_hold_for_adopted_files_too(lake, tmp_path):
    lake.create_table("t", pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    lake.table("t").evolve().add_check("small", "id < 100").commit()
    written(pa.table({"id": [1, None]}), tmp_path / "null.parquet")
    written(pa.table({"id": [1, 100]}), tmp_path / "large.parquet")
    written(pa.table({"id": [1, 99]}), tmp_path / "good.parquet")
    with pytest.raises(SchemaMismatchError, match="NOT NULL"):
        lake.adopt(tmp_path / "null.parquet", "t")
    with pytest.raises(SchemaMismatchError, match="small"):
        lake.adopt(tmp_path / "large.parquet", "t")
    lake.adopt(tmp_path / "good.parquet", "t")
    assert lake.table("t").count() == 2


def test_types_widen_to_one_that_keeps_every_value(lake, ask, tmp_path):
    pairs = {
        "a": (pa.int8(), pa.uint8()),
        "b": (pa.uint32(), pa.int32()),
        "c": (pa.int32(), pa.float32()),
        "d": (pa.decimal128(10, 2), pa.decimal128(8, 4)),
        "e": (pa.int16(), pa.decimal128(6, 3)),
        "f": (pa.timestamp("ms"), pa.timestamp("ns")),
    }
    for number in (0, 1):
        columns = {name: some(kinds[number]) for name, kinds in pairs.items()}
        written(pa.table(columns), tmp_path / "old" / f"{number}.parquet")
    lake.adopt(tmp_path / "old", "t")
    found = {field.name: str(field.type) for field in lake.table("t").schema}
    assert found == {
        "a": "int16",
        "b": "int64",
        "c": "double",
        "d": "decimal128(12, 4)",
        "e": "decimal128(8, 3)",
        "f": "timestamp[ns]",
    }
    assert same(lake, ask) == []
    assert lake.table("t").count("a = 2 AND d = 2") == 2
    written(pa.table({"a": [1]}), tmp_path / "odd" / "even.parquet")
    written(pa.table({"a": ["text"]}), tmp_path / "odd" / "odd.parquet")
    with pytest.raises(SchemaMismatchError, match=r"odd\.parquet.*int64"):
        lake.adopt(tmp_path / "odd", "u")
    assert lake.tables() == ["main.t"]


def test_folders_mean_nothing_when_told_so_and_keys_can_be_given(lake, ask, tmp_path):
    sales(tmp_path / "old")
    lake.adopt(tmp_path / "old", "t", partition_by=None)
    assert "day" not in lake.table("t").schema.names
    assert same(lake, ask) == []
    sales(tmp_path / "again")
    lake.adopt(tmp_path / "again", "u", partition_by=["year(at)", "month(at)", "bucket(4, zone)"])
    assert same(lake, ask, "u") == []
    lake.table("u").append({"id": [1], "at": [moment(1, 5)], "zone": ["007"]})
    ask("CALL ducklake_merge_adjacent_files('lake')")
    assert same(lake, ask, "u") == []
    with pytest.raises(InvalidInputError, match="'hive'"):
        lake.adopt(tmp_path / "again", "v", partition_by="day")


def test_a_file_in_two_days_is_in_no_partition_of_a_day(lake, ask, tmp_path):
    moments = [moment(1, 1, 23), moment(2, 1, 1)]
    written(pa.table({"at": pa.array(moments, pa.timestamp("us"))}), tmp_path / "old/a.parquet")
    written(pa.table({"at": pa.array(moments[:1], pa.timestamp("us"))}), tmp_path / "old/b.parquet")
    lake.adopt(tmp_path / "old", "t", partition_by=["day(at)"])
    assert lake.table("t").count("at >= '2026-02-01'") == 1
    kept = lake.table("t").scan("at >= '2026-02-01'").explain()
    assert kept.files_kept == 1
    assert same(lake, ask) == []


def test_a_file_is_in_a_lake_once(lake, tmp_path):
    sales(tmp_path / "old")
    lake.adopt(tmp_path / "old", "t")
    for again in (tmp_path / "old", tmp_path / "old" / "**" / "*.parquet"):
        for name in ("t", "u"):
            with pytest.raises(AlreadyExistsError, match="part 0"):
                lake.adopt(again, name)
    (tmp_path / "link").symlink_to(tmp_path / "old")
    with pytest.raises(AlreadyExistsError):
        lake.adopt(tmp_path / "link", "u")
    with pytest.raises(AlreadyExistsError):
        lake.adopt(tmp_path / "old" / "day=2026-01-01" / "zone=007" / "part 0.parquet", "u")
    lake.table("t").append({"id": [1]})
    with pytest.raises(AlreadyExistsError):
        lake.adopt(tmp_path / "data", "u")
    lake.drop_table("t")
    with pytest.raises(AlreadyExistsError):
        lake.adopt(tmp_path / "old", "u")
    assert lake.tables() == []


def test_a_file_whose_rows_were_moved_to_others_is_not_adopted_again(lake, ask, tmp_path):
    inside, outside = sales(tmp_path / "data" / "here"), sales(tmp_path / "old")
    for folder, name in ((inside, "t"), (outside, "u")):
        lake.adopt(folder, name)
        lake.table(name).repartition([])
        lake.table(name).compact()
        for again in ("t", "u", "v"):
            with pytest.raises(AlreadyExistsError, match="part 0"):
                lake.adopt(folder, again)
    lake.expire(0)
    with pytest.raises(AlreadyExistsError):
        lake.adopt(outside, "u")
    assert (lake.table("t").count(), lake.table("u").count()) == (12, 12)
    assert same(lake, ask) == []
    lake.drop_table("u")
    lake.expire(0)
    lake.adopt(outside, "u")
    assert lake.table("u").count() == 12


def test_broken_files_are_named_and_nothing_is_adopted(lake, tmp_path):
    sales(tmp_path / "old")
    whole = (tmp_path / "old" / "day=2026-01-01" / "zone=007" / "part 0.parquet").read_bytes()
    (tmp_path / "old" / "cut.parquet").write_bytes(whole[:-100])
    (tmp_path / "old" / "empty.parquet").write_bytes(b"")
    (tmp_path / "old" / "short.parquet").write_bytes(b"PAR1" + whole[200:])
    before = lake.version
    with pytest.raises(CorruptionError, match=r"cut\.parquet.*empty\.parquet.*short\.parquet"):
        lake.adopt(tmp_path / "old", "t")
    assert (lake.version, lake.tables()) == (before, [])


def test_what_no_table_can_hold_is_refused_by_name(lake, tmp_path):
    written(pa.table({"d": pa.array([1], pa.duration("s"))}), tmp_path / "d.parquet")
    with pytest.raises(UnsupportedError, match=r"d\.parquet.*'d'"):
        lake.adopt(tmp_path / "d.parquet", "t")
    written(pa.table({"d": pa.array([[]], pa.list_(pa.null()))}), tmp_path / "e.parquet")
    with pytest.raises(UnsupportedError, match=r"e\.parquet.*'d'"):
        lake.adopt(tmp_path / "e.parquet", "t")
    with pytest.raises(NoFilesError, match="nowhere"):
        lake.adopt(tmp_path / "nowhere", "t")
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "delta" / "_delta_log" / "0.json").write_text("{}")
    written(pa.table({"a": [1]}), tmp_path / "delta" / "a.parquet")
    with pytest.raises(InvalidInputError, match="Delta"):
        lake.adopt(tmp_path / "delta", "t")


def test_rows_with_ids_of_another_lake_are_refused(lake, tmp_path):
    column = pa.field("_ducklake_internal_row_id", pa.int64())
    column = column.with_metadata({"PARQUET:field_id": "2147483540"})
    table = pa.table([[1]], schema=pa.schema([column]))
    written(table, tmp_path / "moved.parquet")
    with pytest.raises(InvalidInputError, match=r"moved\.parquet"):
        lake.adopt(tmp_path / "moved.parquet", "t")


def test_a_dry_run_looks_at_everything_and_changes_nothing(lake, tmp_path):
    before = lake.version
    report = lake.adopt(sales(tmp_path / "old"), "t", dry_run=True)
    assert (report.dry_run, report.files_added, report.rows_after) == (True, 3, 12)
    assert (lake.version, lake.tables()) == (before, [])


def test_adoption_is_part_of_a_transaction(lake, ask, tmp_path):
    sales(tmp_path / "old")
    with suppress(ZeroDivisionError), lake.transaction() as tx:
        tx.adopt(tmp_path / "old", "t")
        raise ZeroDivisionError
    assert lake.tables() == []
    with lake.transaction("all at once") as tx:
        assert tx.adopt(tmp_path / "old", "t").version is None
        assert tx.table("t").count() == 12
        assert tx.table("t").scan("day = DATE '2026-01-03'").to_arrow().num_rows == 4
        with pytest.raises(AlreadyExistsError):
            tx.adopt(tmp_path / "old", "u")
        tx.table("t").delete("id = 1")
    assert lake.table("t").count() == 11
    assert same(lake, ask) == []


def test_two_who_adopt_the_same_files_at_once_list_them_once(tmp_path, lake):
    sales(tmp_path / "old")
    other = mere.connect(tmp_path / "lake.db")

    def both():
        with lake.transaction() as tx:
            tx.adopt(tmp_path / "old", "t")
            other.adopt(tmp_path / "old", "u")

    with pytest.raises(mere.CommitConflictError):
        both()
    assert lake.tables() == ["main.u"]


def test_files_that_others_adopt_while_footers_are_read_are_refused(tmp_path, lake, monkeypatch):
    sales(tmp_path / "old")
    other = mere.connect(tmp_path / "lake.db")
    read, used = strangers.look, "mere.reading.strangers.look"

    def after_the_other(*args, **more):
        with suppress(AlreadyExistsError):
            other.adopt(tmp_path / "old", "u")
        return read(*args, **more)

    def look_once(*args, **more):
        monkeypatch.setattr(used, read)
        return after_the_other(*args, **more)

    monkeypatch.setattr(used, look_once)
    with pytest.raises(AlreadyExistsError):
        lake.adopt(tmp_path / "old", "t")
    assert lake.tables() == ["main.u"]


def test_names_with_odd_signs_and_values_survive(lake, ask, tmp_path):
    for part in ("k=a%2Fb", "k=x+y", "k=ä", "k=", "k=NULL"):
        written(pa.table({"k k": [1], "ü": ["x"]}), tmp_path / "old" / part / "f #1.parquet")
    lake.adopt(tmp_path / "old", "t")
    values = lake.table("t").scan().to_arrow().column("k").to_pylist()
    assert sorted(values, key=str) == sorted(["a/b", "x+y", "ä", "", None], key=str)
    assert same(lake, ask) == []


def test_adopted_files_outlive_the_lake_unless_asked_otherwise(lake, ask, tmp_path):
    inside = sales(tmp_path / "data" / "here")
    outside = sales(tmp_path / "old")
    lake.adopt(inside, "t")
    lake.adopt(outside, "u")
    kept = sorted(path for root in (inside, outside) for path in root.rglob("*.parquet"))
    lake.table("t").overwrite({"id": [1]})
    lake.drop_table("u")
    lake.expire(0)
    ask("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert lake.vacuum(0).paths == ()
    assert all(path.exists() for path in kept)
    assert lake.doctor().healthy
    lake.adopt(outside, "again")
    gone = lake.vacuum(0, adopted=True)
    assert len(gone.files) == 3
    assert {file.reason for file in gone.files} == {"adopted"}
    assert not list(inside.rglob("*.parquet"))
    assert len(list(outside.rglob("*.parquet"))) == 3
    assert lake.table("again").count() == 12


def test_duckdb_that_lets_versions_go_leaves_adopted_files_too(lake, ask, tmp_path):
    lake.adopt(sales(tmp_path / "data" / "here"), "t")
    lake.adopt(sales(tmp_path / "old"), "u")
    kept = list(tmp_path.rglob("*.parquet"))
    ask(
        "DROP TABLE t",
        "DROP TABLE u",
        "CALL ducklake_expire_snapshots('lake', older_than => now()::TIMESTAMP)",
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    )
    assert lake.vacuum(0).paths == ()
    assert all(path.exists() for path in kept)


def test_a_file_that_is_about_to_be_deleted_is_not_adopted(lake, tmp_path, monkeypatch):
    sales(tmp_path / "data" / "stray")
    store = lake._session.store  # noqa: SLF001 - the moment between the decision and the deletion
    seen = []

    def adopt_first(_store, paths):
        with pytest.raises(AlreadyExistsError):
            lake.adopt(tmp_path / "data" / "stray", "t")
        seen.extend(paths)

    monkeypatch.setattr(type(store), "delete", adopt_first)
    lake.vacuum(0)
    assert len(seen) == 3
    assert lake.tables() == []


def test_a_copy_of_the_catalog_needs_no_folder_to_know_the_values(tmp_path, lake):
    lake.adopt(sales(tmp_path / "old"), "t")
    shutil.rmtree(tmp_path / "old")
    assert lake.table("t").count("zone = '007'") == 12
    assert lake.table("t").scan("zone = '008'").to_arrow().num_rows == 0
