"""Every kind of damage is found, named, and told apart from what is merely unfinished."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

import mere
from mere.errors import CorruptionError, InvalidInputError
from mere.model.diagnosis import Verdict

COLUMNS = {"id": "int64", "part": "string", "price": "float64", "at": "timestamptz"}


def rows(*ids):
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return [{"id": i, "part": "ab"[i % 2], "price": i / 2, "at": noon} for i in ids]


@pytest.fixture
def lake(tmp_path):
    """Open a lake with files that live and files that only older versions show."""
    with mere.connect(tmp_path / "shop.db") as opened:
        table = opened.create_table("t", COLUMNS, partition_by=["part"])
        table.append(rows(*range(2000)))
        table.append([{"id": None, "part": None, "price": 0.5}])
        table.overwrite(rows(1, 3, 5), partitions="dynamic")
        yield opened


def files(lake):
    return sorted(Path(lake.data_path).rglob("*.parquet"))


def largest(lake):
    return max(files(lake), key=lambda path: path.stat().st_size)


def found(lake, *, deep=False):
    """Return (verdict, check, name of the file) of each finding."""
    return [
        (str(each.verdict), each.check, each.path and Path(each.path).name)
        for each in lake.doctor(deep=deep).findings
    ]


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def damage(lake, statement):
    with closing(sqlite3.connect(lake.url.removeprefix("sqlite://"))) as connection:
        changed = connection.execute(statement).rowcount
        connection.commit()
    assert changed != 0


@pytest.mark.parametrize("deep", [False, True])
def test_a_lake_that_is_well_has_no_findings(lake, deep):
    diagnosis = lake.doctor(deep=deep)
    assert diagnosis.healthy
    assert diagnosis.findings == ()
    assert diagnosis.files == len(files(lake)) == 4
    assert diagnosis.bytes == sum(path.stat().st_size for path in files(lake))
    assert diagnosis.undigested == 0
    diagnosis.require()


def test_a_file_that_is_gone(lake):
    path = largest(lake)
    path.unlink()
    assert found(lake) == [("wrong", "missing", path.name)]
    with pytest.raises(CorruptionError, match="not there"):
        lake.doctor().require()
    with pytest.raises(CorruptionError, match="not there"):
        lake.table("t").scan(version=2).to_arrow()


def test_a_file_that_was_cut(lake):
    path = largest(lake)
    path.write_bytes(path.read_bytes()[:-1])
    assert found(lake) == [("wrong", "size", path.name)]


def test_a_bit_in_a_page_is_found_when_pages_are_read(lake):
    path = largest(lake)
    flip(path, path.stat().st_size // 3)
    assert found(lake) == []
    assert found(lake, deep=True) == [("wrong", "pages", path.name)]


@pytest.mark.parametrize("place", [-1, -6, -30, -200])
def test_a_bit_in_a_footer(lake, place):
    path = largest(lake)
    flip(path, place)
    assert found(lake) == [("wrong", "footer", path.name)]


def test_a_file_that_another_took_the_place_of(lake):
    one, other = files(lake)[:2]
    one.write_bytes(other.read_bytes())
    assert [check for _, check, _ in found(lake)] in (["size"], ["footer"])


def test_a_footer_of_the_same_length_that_nobody_wrote_is_told_by_its_digest(lake):
    path = largest(lake)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    place = data.rindex(b"parquet-cpp", len(data) - length)
    path.write_bytes(data[:place] + b"PARQUET" + data[place + 7 :])
    assert found(lake) == [("wrong", "footer", path.name)]
    assert "not the one that was written" in str(lake.doctor())


def test_rows_that_are_counted_wrong(lake):
    damage(lake, "UPDATE ducklake_data_file SET record_count = record_count - 1 WHERE end_snapshot")
    assert {check for _, check, _ in found(lake)} == {"rows"}


def test_a_file_that_nobody_lists(lake):
    stray = Path(lake.data_path) / "main" / "t" / "stray.parquet"
    stray.write_bytes(b"what is this")
    assert found(lake) == [("wrong", "unlisted", "stray.parquet")]


def test_what_is_no_parquet_is_nobodys_business(lake):
    (Path(lake.data_path) / "notes.txt").write_text("mine")
    assert found(lake) == []


CRASH = """
import os, sys
import mere
lake = mere.connect(sys.argv[1])
intent = lake._session.catalog.announce(1)
folder = lake.data_path + "main/t/"
name = f"01a1f28e-25d9-75e7-b201-e799e1dadbd9-{intent}.parquet"
open(folder + name, "wb").write(b"PAR1")
print(name, flush=True)
sys.stdin.readline()
os._exit(9)
"""


def test_what_a_writer_has_not_committed_is_its_own_while_it_lives(lake):
    command = [sys.executable, "-c", CRASH, lake.url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        name = writer.stdout.readline().strip()
        assert name.endswith(".parquet")
        assert found(lake) == []
        writer.communicate("\n")
    diagnosis = lake.doctor()
    assert diagnosis.healthy
    assert [(f.verdict, f.check) for f in diagnosis.findings] == [(Verdict.NOTE, "unlisted")]


def test_what_is_scheduled_for_deletion_is_expected(lake):
    lake.expire("0 s")
    assert len(files(lake)) > lake.table("t").files().num_rows
    assert found(lake) == []


def test_a_living_file_that_is_scheduled_for_deletion(lake):
    path = largest(lake)
    where = path.relative_to(lake.data_path).as_posix()
    damage(
        lake,
        "INSERT INTO ducklake_files_scheduled_for_deletion "
        f"VALUES (999, '{where}', 1, '2026-01-01 00:00:00+00')",
    )
    assert found(lake) == [("wrong", "scheduled", path.name)]


NEWEST = "WHERE snapshot_id = (SELECT max(snapshot_id) FROM ducklake_snapshot)"
BROKEN = {
    f"UPDATE ducklake_snapshot SET next_file_id = 2 {NEWEST}": "counters",
    f"UPDATE ducklake_snapshot SET next_catalog_id = 1 {NEWEST}": "counters",
    "UPDATE ducklake_table_stats SET next_row_id = 7": "counters",
    "UPDATE ducklake_data_file SET begin_snapshot = 99 WHERE data_file_id = 2": "versions",
    "UPDATE ducklake_data_file SET row_id_start = 0 WHERE data_file_id = 2": "row-ids",
    "UPDATE ducklake_table_stats SET record_count = 7": "totals",
    "DELETE FROM ducklake_table_stats": "totals",
    "UPDATE ducklake_table_column_stats SET max_value = 7 WHERE column_id = 1": "bounds",
    "UPDATE ducklake_table_column_stats SET min_value = 1 WHERE column_id = 1": "bounds",
    "UPDATE ducklake_table_column_stats SET contains_null = 0 WHERE column_id = 1": "bounds",
    "UPDATE ducklake_file_column_stats SET contains_nan = 1 WHERE column_id = 3": "bounds",
    "UPDATE ducklake_column SET column_name = 'id' WHERE column_id = 2": "names",
    "UPDATE ducklake_table SET schema_id = 77": "names",
    "DELETE FROM ducklake_file_partition_value WHERE data_file_id = 2": "partitions",
    "INSERT INTO ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_1', 1)": (
        "inlined"
    ),
    "UPDATE ducklake_data_file SET encryption_key = 'x' WHERE data_file_id = 2": "refused",
    "UPDATE ducklake_data_file SET table_id = 66 WHERE data_file_id = 2": "tables",
}


@pytest.mark.parametrize(("statement", "check"), BROKEN.items())
def test_a_catalog_that_contradicts_itself(lake, statement, check):
    damage(lake, statement)
    diagnosis = lake.doctor()
    assert check in {finding.check for finding in diagnosis.findings}
    assert not diagnosis.healthy


def test_a_table_that_is_there_twice(lake):
    damage(
        lake,
        "INSERT INTO ducklake_table SELECT table_id, table_uuid, begin_snapshot, end_snapshot, "
        "schema_id, table_name, path, path_is_relative FROM ducklake_table",
    )
    assert [check for _, check, _ in found(lake)] == ["names"]


def test_a_file_is_not_missed_that_was_replaced_while_the_doctor_looked(lake):
    """Versions expire, and their files are deleted, while files are checked."""
    table = lake.table("t")

    def replace():
        for number in range(12):
            table.overwrite(rows(number, number + 1))
            lake.expire("0 s")
            lake.vacuum("0 s")

    other = Thread(target=replace)
    other.start()
    looked = 0
    while other.is_alive():
        lake.doctor().require()
        looked += 1
    other.join()
    assert looked
    lake.doctor(deep=True).require()


def test_files_of_many_pages_are_read_in_bounded_batches_and_counted(lake):
    wide = lake.create_table("wide", {"n": "int64", "s": "string"})
    text = pa.array([f"text {number}" for number in range(300_000)])
    wide.append(pa.table({"n": pa.array(range(300_000)), "s": text}))
    diagnosis = lake.doctor(deep=True)
    assert diagnosis.healthy
    path = max(files(lake), key=lambda each: each.stat().st_size)
    for place in (path.stat().st_size // 5, path.stat().st_size // 2):
        flip(path, place)
        assert found(lake, deep=True) == [("wrong", "pages", path.name)]
        flip(path, place)


def test_a_lake_in_a_bucket_is_checked_as_well(tmp_path, s3):
    with mere.connect(tmp_path / "far.db", data_path=f"{s3.url}/far/") as lake:
        lake.create_table("t", COLUMNS, partition_by=["part"]).append(rows(*range(100)))
        assert lake.doctor(deep=True).findings == ()
        store = lake._session.store  # noqa: SLF001  damage cannot be asked for
        first, second = sorted(file.path for file in store.list())
        data = bytearray(store.read(first))
        data[len(data) // 3] ^= 1
        store.delete([first, second])
        store.put(first, bytes(data))
        store.put("main/t/stray.parquet", b"?")
        wrong = {(each.check, each.path) for each in lake.doctor(deep=True).findings}
        assert wrong == {
            ("pages", first),
            ("missing", second),
            ("unlisted", "main/t/stray.parquet"),
        }


def test_a_transaction_cannot_be_checked(lake):
    with lake.transaction() as tx, pytest.raises(InvalidInputError, match="inside a transaction"):
        tx.doctor()


def test_delete_files_are_known_by_their_digests_and_looked_into(lake):
    table = lake.table("t")
    table.delete("id = 3")
    table.delete("id = 5")
    table.update(set={"price": "8.5"}, where="id = 1")
    diagnosis = lake.doctor(deep=True)
    assert (diagnosis.findings, diagnosis.undigested) == ((), 0)
    path = max(Path(lake.data_path).rglob("*-delete.parquet"), key=lambda path: path.name)
    whole = path.read_bytes()
    flip(path, len(whole) - 40)
    assert found(lake) == [("wrong", "footer", path.name)]
    path.write_bytes(whole)
    flip(path, 60)
    assert found(lake, deep=True) == [("wrong", "pages", path.name)]
