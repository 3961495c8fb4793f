"""Files of others come in once, whatever their format, wherever they lie, whoever asks again."""

import gzip
import json
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import fsspec
import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store

import mere
import mere.arrow
from mere.errors import InvalidInputError, NoFilesError, SchemaMismatchError, StorageError

THREE = [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]
WRITERS = {
    "parquet": lambda path, rows: pq.write_table(pa.Table.from_pylist(rows), path),
    "csv": lambda path, rows: path.write_text(
        "id,name\n" + "".join(f"{r['id']},{r['name'] or ''}\n" for r in rows)
    ),
    "json": lambda path, rows: path.write_text("\n".join(json.dumps(r) for r in rows)),
}


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "lake.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "in"
    made.mkdir()
    return made


def rows_of(lake, table="t", order="id"):
    return lake.table(table).scan().to_arrow().sort_by(order).to_pylist()


def csv(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# --- each file once -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["pyarrow", "duckdb"])
@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_folder_is_loaded_once_and_what_is_new_in_it_later(lake, folder, form, kernel):
    lake = lake.on(kernel=kernel)
    WRITERS[form](folder / f"one.{form}", THREE)
    first = lake.ingest(folder, "t")
    assert (first.rows, len(first.sources), first.skipped) == (3, 1, 0)
    assert rows_of(lake) == THREE
    WRITERS[form](folder / f"two.{form}", [{"id": 4, "name": "d"}])
    second = lake.ingest(folder, "t")
    assert (second.rows, second.skipped) == (1, 1)
    assert [path.rpartition("/")[2] for path in second.sources] == [f"two.{form}"]
    third = lake.ingest(folder, "t")
    assert (third.rows, third.skipped, third.versions) == (0, 2, ())
    assert [row["id"] for row in rows_of(lake)] == [1, 2, 3, 4]


def test_a_dry_run_lists_what_would_come_and_changes_nothing(lake, folder):
    path = csv(folder / "a.csv", "id\n1\n")
    would = lake.ingest(folder, "t", dry_run=True)
    assert (would.dry_run, would.sources, would.bytes) == (True, (str(path),), 5)
    assert str(would).startswith("would load 1 file(s) of 5 bytes into main.t")
    assert lake.tables() == []


@pytest.mark.parametrize(("changed", "ids"), [("report", [1]), ("load", [1, 1, 2])])
def test_a_file_that_changed_is_told_and_loaded_again_if_asked(lake, folder, changed, ids):
    path = csv(folder / "a.csv", "id\n1\n")
    lake.ingest(folder, "t")
    csv(path, "id\n1\n2\n")
    done = lake.ingest(folder, "t", changed=changed)
    assert done.changed == (() if changed == "load" else (str(path),))
    assert [row["id"] for row in rows_of(lake)] == ids
    again = lake.ingest(folder, "t", changed=changed)
    assert again.sources == (), "what was loaded again is known as it is now"


def test_a_file_that_changed_can_be_an_error(lake, folder):
    path = csv(folder / "a.csv", "id\n1\n")
    lake.ingest(folder, "t")
    os.utime(path, ns=(1, 1))
    csv(folder / "b.csv", "id\n2\n")
    with pytest.raises(
        InvalidInputError, match=r"changed since they were loaded, such as .*a\.csv"
    ):
        lake.ingest(folder, "t", changed="error")
    assert lake.table("t").count() == 1


def test_batches_are_bounded_by_bytes_and_told_one_by_one(lake, folder):
    for n in range(5):
        csv(folder / f"{n}.csv", f"id\n{n}\n")
    told = []
    done = lake.ingest(
        folder,
        "t",
        batch_mb=10 / (1 << 20),
        message="a batch",
        progress=lambda done, left: told.append((done.rows, left)),
    )
    assert told == [(2, 3), (4, 1), (5, 0)]
    assert done.versions == (1, 2, 3)
    assert set(lake.table("t").history()["message"].to_pylist()) == {"a batch"}


def test_tables_remember_for_themselves(lake, folder):
    csv(folder / "a.csv", "id\n1\n")
    for name in ("t", "other"):
        assert lake.ingest(folder, name).rows == 1
    lake.rename_table("t", "renamed")
    assert lake.ingest(folder, "renamed").skipped == 1
    lake.drop_table("other")
    assert lake.ingest(folder, "other").rows == 1, "another table of the same name is another"


def test_what_is_remembered_of_a_table_goes_when_it_expires(lake, folder):
    csv(folder / "a.csv", "id\n1\n")
    lake.ingest(folder, "t")
    lake.drop_table("t")
    lake.create_table("t", {"id": "int64"})
    lake.expire(0)
    assert lake.doctor().healthy
    assert lake.ingest(folder, "t").rows == 1


# --- where files lie ------------------------------------------------------------------------------


def test_globs_links_and_several_places_name_files(lake, tmp_path, folder):
    csv(folder / "2026/a.csv", "id\n1\n")
    csv(folder / "2026/b.txt", "id\n2\n")
    csv(folder / "2027/a.csv", "id\n3\n")
    csv(folder / "_tmp/a.csv", "id\n4\n")
    csv(folder / ".a.csv", "id\n5\n")
    elsewhere = csv(tmp_path / "elsewhere/c.csv", "id\n6\n")
    (folder / "link.csv").symlink_to(elsewhere)
    (folder / "around").symlink_to(folder)
    assert lake.ingest(f"{folder}/2026/*.csv", "one").rows == 1
    assert lake.ingest([folder / "2026/a.csv", folder / "2027"], "two").rows == 2
    assert lake.ingest(folder, "all").rows == 3, "a link to a file counts, one that goes round not"
    assert lake.ingest(f"{folder}/**/?.csv", "deep").rows == 3
    assert lake.ingest(folder / "2026", "every", format="csv").rows == 2
    with pytest.raises(InvalidInputError, match=r"b\.txt' does not tell its format"):
        lake.ingest(folder / "2026/b.txt", "t")
    with pytest.raises(NoFilesError):
        lake.ingest(folder / "2028", "t")


@pytest.mark.parametrize("catalog", ["sqlite", "duckdb", "postgres"])
def test_a_bucket_is_loaded_into_a_lake_in_a_bucket(request, tmp_path, s3, catalog):
    url = f"{catalog}://{tmp_path}/lake.db"
    if catalog == "postgres":
        url = request.getfixturevalue("pg_url")
    bucket = S3Store(s3.bucket)
    for n in (1, 2):
        line = gzip.compress(json.dumps({"id": n}).encode())
        obstore.put(bucket, f"raw/day=2026-01-0{n}/f.json.gz", line)
    with mere.connect(url, data_path=f"{s3.url}/lake") as lake:
        first = lake.ingest(f"{s3.url}/raw", "t", partition_by=["day"])
        assert first.rows == 2
        assert rows_of(lake)[1] == {"id": 2, "day": date(2026, 1, 2)}
        assert lake.ingest(f"{s3.url}/raw/*/*.gz", "t").skipped == 2
        obstore.put(bucket, "raw/day=2026-01-01/f.json.gz", gzip.compress(b'{"id": 7}'))
        single = f"{s3.url}/raw/day=2026-01-01/f.json.gz"
        assert lake.ingest(f"{s3.url}/raw", "t").changed == (single,)
        assert lake.ingest(single, "t", changed="load").rows == 1


def test_any_fsspec_filesystem_is_a_source(lake):
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/ingest-raw/a.csv", b"id\n1\n")
    assert lake.ingest("memory://ingest-raw", "t").rows == 1
    assert lake.ingest("memory://ingest-raw/*.csv", "t").skipped == 1


def test_the_lakes_own_files_are_no_source(lake, folder, tmp_path):
    csv(folder / "a.csv", "id\n1\n")
    lake.ingest(folder, "t")
    with pytest.raises(InvalidInputError, match="where the lake keeps its own files"):
        lake.ingest(tmp_path, "t")


def test_credentials_in_a_url_are_refused(lake):
    with pytest.raises(InvalidInputError) as told:
        lake.ingest("s3://key:hunter2@bucket/raw", "t")
    assert "hunter2" not in str(told.value)


# --- columns --------------------------------------------------------------------------------------


def test_the_types_of_text_are_those_of_the_table(lake, folder):
    columns = {
        "id": "int8",
        "price": "decimal(9,2)",
        "day": "date",
        "at": "timestamptz",
        "key": "uuid",
        "ok": "boolean",
        "zip": "varchar",
        "x": "double",
    }
    lake.create_table("t", columns)
    key = "12345678-1234-5678-1234-567812345678"
    csv(
        folder / "a.csv",
        "ZIP,id,price,day,at,key,ok,x\n"
        f'01234,1,1.5,2026-01-01,2026-01-01 10:00:00,{key},true,nan\n"",2,,,,,,\n',
    )
    line = {"id": 3, "price": 2.25, "day": "2026-01-02", "at": "2026-01-01T10:00:00+02:00"}
    (folder / "b.json").write_text(json.dumps({**line, "key": key, "ok": False, "zip": "5"}))
    lake.ingest(folder, "t")
    one, two, three = rows_of(lake)
    assert (one["zip"], one["price"], one["day"]) == ("01234", Decimal("1.50"), date(2026, 1, 1))
    assert one["at"] == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert (one["key"], one["ok"], one["x"] != one["x"]) == (UUID(key), True, True)
    assert (two["zip"], two["price"], two["ok"]) == ("", None, None)
    assert (three["at"], three["day"]) == (datetime(2026, 1, 1, 8, tzinfo=UTC), date(2026, 1, 2))
    assert (three["key"], three["price"]) == (UUID(key), Decimal("2.25"))


def test_columns_are_guessed_over_all_files_of_the_first_batch(lake, folder):
    csv(folder / "a.csv", "id,price,note,at\n1,10,,2026-01-01 10:00:00\n")
    csv(folder / "b.csv", "id,price,more\n2,10.5,x\n")
    (folder / "c.json").write_text('{"id": 3, "tags": ["a"], "inner": {"x": 1}}\n')
    lake.ingest(folder, "t")
    kinds = {field.name: str(field.type) for field in lake.table("t").schema}
    assert kinds["price"] == "double"
    assert kinds["note"] == "string"
    assert kinds["at"] == "timestamp[us]"
    assert [row["price"] for row in rows_of(lake)] == [10.0, 10.5, None]
    assert rows_of(lake)[2]["inner"] == {"x": 1}


def test_columns_may_be_given(lake, folder):
    csv(folder / "a.tsv", "1\tx\n2\ty\n")
    columns = {"id": "int32", "name": "varchar"}
    lake.ingest(folder, "t", schema=columns, options={"header": "false"}, sort_by=["id DESC"])
    assert rows_of(lake) == [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]
    assert lake.table("t").sort_by == ("id DESC",)


def test_folders_name_columns_unless_they_shall_not(lake, folder):
    csv(folder / "day=2026-01-01/n=1/a b.csv", "id\n1\n")
    csv(folder / "day=__HIVE_DEFAULT_PARTITION__/n=2/a.csv", "id,n\n2,7\n")
    lake.ingest(folder, "t", partition_by=["day"])
    assert rows_of(lake) == [
        {"id": 1, "n": 1, "day": date(2026, 1, 1)},
        {"id": 2, "n": 7, "day": None},
    ]
    assert lake.ingest(folder, "plain", hive=False, merge_schema=True).rows == 2
    assert "day" not in lake.table("plain").schema.names
    csv(folder / "day=soon/n=3/a.csv", "id\n3\n")
    with pytest.raises(
        SchemaMismatchError, match=r"soon/n=3/a\.csv: .*day='soon', which is no date"
    ):
        lake.ingest(folder, "t")


def test_new_columns_come_only_when_they_are_asked_for(lake, folder):
    csv(folder / "a.csv", "id\n1\n")
    lake.ingest(folder, "t")
    csv(folder / "b.csv", "id,more\n2,x\n")
    with pytest.raises(SchemaMismatchError, match=r"b\.csv: .*\n  more: not in the table"):
        lake.ingest(folder, "t")
    assert lake.ingest(folder, "t", merge_schema=True).rows == 1
    assert rows_of(lake) == [{"id": 1, "more": None}, {"id": 2, "more": "x"}]


def test_a_default_stands_for_a_column_that_a_file_lacks(lake, folder):
    lake.create_table("t", {"id": "int64"})
    lake.table("t").evolve().add_column("source", "varchar", default="feed").commit()
    csv(folder / "a.csv", "id\n1\n")
    (folder / "b.json").write_text('{"id": 2}\n')
    lake.ingest(folder, "t")
    assert [row["source"] for row in rows_of(lake)] == ["feed", "feed"]


# --- bad files ------------------------------------------------------------------------------------

BAD = {
    "broken.parquet": b"PAR1 no",
    "broken.csv": b"id,name\n1\n",
    "kind.csv": b"id,name\nx,y\n",
    "broken.json": b'{"id": 1}\n{"id": ',
    "array.json": b'[{"id": 1}]',
    "more.json": b'{"id": 1, "more": 2}',
    "zip.csv.gz": b"id\n1\n",
    "empty.parquet": b"",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_and_stops_the_load_or_is_left_out(lake, folder, name):
    lake.create_table("t", {"id": "int64", "name": "varchar"})
    csv(folder / "good.csv", "id,name\n1,x\n")
    bad = folder / name
    bad.write_bytes(BAD[name])
    with pytest.raises(InvalidInputError) as told:
        lake.ingest(folder, "t")
    assert str(bad) in str(told.value)
    assert lake.table("t").count() == 0, "nothing of its batch came"
    done = lake.ingest(folder, "t", on_error="skip")
    assert [failed.path for failed in done.failed] == [str(bad)]
    assert f"not loaded: {done.failed[0].error}" in str(done)
    assert lake.table("t").count() == 1
    assert len(lake.ingest(folder, "t", on_error="skip").failed) == 1, "it is tried again"
    bad.unlink()
    assert lake.ingest(folder, "t").skipped == 1


def test_bad_files_are_left_out_of_a_table_that_is_made(lake, folder):
    csv(folder / "a.csv", "id\n1\n")
    (folder / "b.parquet").write_bytes(b"no")
    pq.write_table(pa.table({"id": [[1]]}), folder / "c.parquet")
    done = lake.ingest(folder, "t", on_error="skip")
    assert [failed.path[-9:] for failed in done.failed] == ["b.parquet", "c.parquet"]
    assert rows_of(lake) == [{"id": 1}]


def test_rows_that_break_a_check_are_found_in_their_file(lake, folder):
    table = lake.create_table("t", {"id": "int64"})
    table.evolve().add_check("positive", "id > 0").commit()
    csv(folder / "a.csv", "id\n1\n")
    csv(folder / "b.csv", "id\n-1\n")
    done = lake.ingest(folder, "t", on_error="skip")
    assert "positive" in done.failed[0].error
    assert rows_of(lake) == [{"id": 1}]


def test_files_without_rows_are_loaded_and_make_no_version(lake, folder):
    table = lake.create_table("t", {"id": "int64"})
    csv(folder / "head.csv", "id\n")
    csv(folder / "nothing.csv", "")
    csv(folder / "nothing.json", "\n")
    done = lake.ingest(folder, "t")
    assert (len(done.sources), done.versions, table.version) == (3, (), 1)
    assert lake.ingest(folder, "t").skipped == 3


def test_a_file_that_is_still_written_is_not_loaded_in_part(lake, folder, monkeypatch):
    path = csv(folder / "a.csv", "id\n1\n")
    lake.create_table("t", {"id": "int64"})
    columns = mere.arrow.file_schema

    def late(schema):
        with path.open("a") as file:
            file.write("2\n")
        return columns(schema)

    with monkeypatch.context() as patched:
        patched.setattr("mere.loading.tasks.file_schema", late)
        with pytest.raises(InvalidInputError, match="changed while it was read"):
            lake.ingest(folder, "t")
    assert lake.table("t").count() == 0
    assert lake.ingest(folder, "t").rows == 2


# --- wrong calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"format": "xml"}, "format takes one of parquet, csv, json"),
        ({"changed": "maybe"}, "changed takes one of report, error, load"),
        ({"on_error": "cry"}, "on_error takes one of stop, skip"),
        ({"batch_mb": 0}, "a batch holds at least one byte"),
        ({"options": {"separator": ";"}}, r"unknown option\(s\) of CSV files: separator"),
        ({"options": {"delimiter": ";;"}}, "'delimiter' of CSV files is one sign"),
        ({"options": {"skip_rows": "some"}}, "takes a whole number"),
    ],
)
def test_a_wrong_call_is_told_before_anything_is_done(lake, folder, wrong, told):
    csv(folder / "a.csv", "id\n1\n")
    with pytest.raises(InvalidInputError, match=told):
        lake.ingest(folder, "t", **wrong)
    assert lake.tables() == []


def test_a_load_is_no_part_of_a_transaction_and_not_for_readers(lake, folder, tmp_path):
    csv(folder / "a.csv", "id\n1\n")
    with lake.transaction() as tx, pytest.raises(InvalidInputError, match="commits of their own"):
        tx.ingest(folder, "t")
    with mere.connect(tmp_path / "lake.db", read_only=True) as reader:
        with pytest.raises(InvalidInputError, match="read_only"):
            reader.ingest(folder, "t")
        assert len(reader.ingest(folder, "t", dry_run=True).sources) == 1


def test_storage_that_cannot_be_reached_is_no_bad_file(lake, folder):
    folder.chmod(0o755)
    with pytest.raises((NoFilesError, StorageError)):
        lake.ingest(folder / "gone.csv", "t")
