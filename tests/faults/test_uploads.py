"""Uploads in parts that a writer left when it died are aborted, and those of the living are not."""

import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
import s3fs
from tests import jobs
from tests.seaweedfs import seaweedfs

import mere
from mere.catalogs.times import time_text


@pytest.fixture(scope="module")
def weed():
    with seaweedfs() as server:
        yield server


@pytest.fixture(params=["moto", pytest.param("seaweedfs", marks=pytest.mark.real_s3)])
def bucket(request, monkeypatch):
    """Hand out a bucket, on either server."""
    if request.param == "moto":
        return request.getfixturevalue("s3")
    server = request.getfixturevalue("weed")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


_roots = count()


class Begun:
    """A lake on S3, and uploads below its root that are begun and left."""

    def __init__(self, bucket, folder):
        self.bucket = bucket
        self.root = f"root-{next(_roots)}"
        self.url = f"sqlite://{folder}/x.db"
        self.s3 = s3fs.S3FileSystem(
            key=bucket.key,
            secret=bucket.secret,
            endpoint_url=bucket.endpoint,
            client_kwargs={"region_name": bucket.region},
            skip_instance_cache=True,
            use_listings_cache=False,
        )
        self.lake = mere.connect(self.url, data_path=f"{bucket.url}/{self.root}")

    def begin(self, path, *, below=None):
        """Begin an upload, and send a part of it."""
        where = {"Bucket": self.bucket.bucket, "Key": f"{below or self.root}/{path}"}
        begun = self.s3.call_s3("create_multipart_upload", **where)["UploadId"]
        self.s3.call_s3("upload_part", **where, UploadId=begun, PartNumber=1, Body=b"x" * 100)
        return begun

    def left(self):
        """Return the paths of all uploads here and beside that are not finished."""
        found = self.s3.call_s3("list_multipart_uploads", Bucket=self.bucket.bucket)
        keys = [upload["Key"] for upload in found.get("Uploads", [])]
        mine = (f"{self.root}/", f"{self.root}-beside/")
        return sorted(k.removeprefix(mine[0]) for k in keys if k.startswith(mine))

    def announce(self, name, *, host, pid, at):
        """Announce a writer."""
        with closing(jobs.dialect_of(self.url)) as dialect, dialect.writing() as link:
            link.insert("mere_intent", [(name, 1, time_text(at), host, pid, "open")])


@pytest.fixture
def begun(bucket, tmp_path):
    """Open a lake with one table."""
    found = Begun(bucket, tmp_path)
    with found.lake as lake:
        lake.create_table("a", jobs.COLUMNS).append(jobs.rows(1, 2))
        yield found


def marked(writer):
    return f"main/a/part=0/mere-019a0000-0000-7000-8000-000000000000-{writer}.parquet"


LIVING, DEAD, STRANGER = "a" * 16, "b" * 16, "c" * 16
NOW = datetime.now(UTC)


def test_uploads_of_the_dead_go_and_those_of_the_living_stay(begun):
    begun.announce(LIVING, host="elsewhere", pid=1, at=NOW)
    begun.announce(DEAD, host="elsewhere", pid=1, at=NOW - timedelta(days=2))
    for writer in (LIVING, DEAD):
        begun.begin(marked(writer))
    begun.begin("main/a/notes.txt")
    begun.begin(marked(DEAD), below=f"{begun.root}-beside")
    would = begun.lake.vacuum("30 days", dry_run=True)
    assert [upload.path for upload in would.uploads] == []
    would = begun.lake.vacuum("1 day", dry_run=True)
    assert [upload.path for upload in would.uploads] == [marked(DEAD)]
    assert len(begun.left()) == 4
    done = begun.lake.vacuum("1 day")
    assert (done.uploads, done.fenced, done.notes) == (would.uploads, (DEAD,), ())
    assert "1 upload(s) aborted" in str(done)
    assert sorted(begun.left()) == sorted(
        [marked(LIVING), "main/a/notes.txt", f"{begun.root}-beside/{marked(DEAD)}"]
    )
    assert begun.lake.vacuum("1 day").uploads == ()
    assert begun.lake.table("a").count() == 2


def test_an_upload_of_nobody_known_goes_when_it_is_old(begun):
    begun.begin(marked(STRANGER))
    (upload,) = begun.lake.vacuum(0, dry_run=True).uploads
    age = datetime.now(UTC) - upload.since
    if age < timedelta(hours=1):  # one of the servers tells a time of its own for all uploads
        assert begun.lake.vacuum("1 hour").uploads == ()
    assert [found.path for found in begun.lake.vacuum(0).uploads] == [marked(STRANGER)]
    assert begun.left() == []


def test_what_a_writer_left_that_was_killed_while_it_sent_is_aborted(begun, stage):
    environment = begun.bucket.environment
    outcome = stage.run("die_sending", url=begun.url, environment=environment)
    assert outcome.killed
    (path,) = begun.left()
    assert path.startswith("main/a/")
    swept = begun.lake.vacuum("1 day")
    assert [upload.path for upload in swept.uploads] == [path]
    assert begun.left() == []
    assert begun.lake.table("a").count() == 2


@pytest.mark.parametrize("missing", ["s3fs", "the right"])
def test_files_are_cleared_where_uploads_cannot_be_listed(begun, missing, monkeypatch):
    begun.lake.table("a").overwrite(jobs.rows(5))
    begun.lake.expire(0)
    if missing == "s3fs":
        monkeypatch.setitem(sys.modules, "s3fs", None)
    else:
        begun.lake._session.store.__dict__["_s3"] = Refused()  # noqa: SLF001  as a policy refuses it
    done = begun.lake.vacuum(0)
    assert done.files
    (note,) = done.notes
    assert "unfinished uploads were not looked for" in note
    assert note in str(done)


class Refused:
    def call_s3(self, *_, **__):
        raise PermissionError


def test_a_folder_of_this_machine_has_no_uploads(tmp_path):
    with mere.connect(tmp_path / "x.db") as lake:
        lake.create_table("a", jobs.COLUMNS)
        assert lake.vacuum(0).notes == ()
