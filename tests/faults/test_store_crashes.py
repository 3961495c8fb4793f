"""Writes that die, fail or are cut off leave nothing that anyone would take for a file."""

import os
import signal
import subprocess
import sys
from itertools import pairwise

import boto3  # type: ignore[import-untyped]
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests import servers
from tests.recorder import recording

from mere.errors import StorageError
from mere.stores import from_fsspec, open_store

MIB = 1024 * 1024


def in_a_process(program, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


KILLED = """
import os, signal, sys
from mere.stores import open_store
with open_store(sys.argv[1]).writer("p=1/half") as sink:
    for _ in range(20):
        sink.write(b"x" * 1024 * 1024)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_local_write_leaves_at_most_a_partial_file_of_its_own_name(tmp_path):
    store = open_store(str(tmp_path))
    store.put("p=1/other", b"untouched")
    assert in_a_process(KILLED, str(tmp_path)).returncode == -signal.SIGKILL
    left = {file.path: file.bytes for file in store.list()}
    assert left.pop("p=1/other") == 9
    assert left.keys() <= {"p=1/half"}
    assert all(size <= 20 * MIB for size in left.values())
    store.delete(["p=1/half"])
    store.put("p=1/next", b"works")
    assert store.read("p=1/other") == b"untouched"


def test_a_killed_upload_leaves_nothing_to_see(s3):
    assert in_a_process(KILLED, s3.url).returncode == -signal.SIGKILL
    store = open_store(s3.url)
    assert list(store.list()) == []
    store.put("p=1/half", b"the name is free")


def uploads(s3):
    client = boto3.client("s3", endpoint_url=s3.endpoint)
    return client.list_multipart_uploads(Bucket=s3.bucket).get("Uploads", [])


def test_a_failed_upload_is_taken_back_part_by_part(s3):
    store = open_store(s3.url)

    def fail():
        with store.writer("half") as sink:
            sink.write(b"x" * 30 * MIB)
            assert len(uploads(s3)) == 1
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert uploads(s3) == []
    assert list(store.list()) == []


def test_a_server_that_goes_away_while_writing_is_a_storage_error():
    with servers.moto() as endpoint:
        servers.make_bucket(endpoint, "bucket")
        with recording(endpoint) as recorder:
            options = {
                "endpoint": recorder.endpoint,
                "access_key_id": "k",
                "secret_access_key": "s",
                "max_retries": "0",
            }
            store = open_store("s3://bucket/lake", storage_options=options)
            writer = store.writer("half")
            sink = writer.__enter__()
            sink.write(b"x" * 9 * MIB)
        with pytest.raises(StorageError) as caught:
            write_on(sink)
        assert writer.__exit__(StorageError, caught.value, None) is not True
        assert (
            list(open_store("s3://bucket", storage_options=options | {"endpoint": endpoint}).list())
            == []
        )


def write_on(sink):
    for _ in range(100):
        sink.write(b"x" * MIB)
    sink.finish()


FULL = """
import resource, signal, sys
from mere.errors import StorageError
from mere.stores import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
try:
    with open_store(sys.argv[1]).writer("a/large") as sink:
        for _ in range(5):
            sink.write(b"x" * 1_000_000)
except StorageError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are a POSIX feature")
def test_a_full_disk_is_a_storage_error_and_leaves_nothing(tmp_path):
    done = in_a_process(FULL, str(tmp_path))
    assert "cannot write" in done.stdout, done.stderr
    assert "make room" in done.stdout
    assert list(open_store(str(tmp_path)).list()) == []


class Breaking(MemoryFileSystem):  # type: ignore[misc]
    """A file system that stores half of a file and then fails."""

    protocol = "breaking"
    cachable = False

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        super().pipe_file(path, value[: len(value) // 2], mode=mode, **kwargs)
        raise OSError(28, "no space left, says the file system")

    def put_file(self, lpath, rpath, **kwargs):  # noqa: ARG002 - the signature of fsspec
        super().pipe_file(rpath, b"half")
        raise OSError(28, "no space left, says the file system")


def write_through(store):
    with store.writer("a/b") as sink:
        sink.write(b"whole")


WRITES = {"put": lambda store: store.put("a/b", b"whole"), "writer": write_through}


@pytest.mark.parametrize("write", WRITES)
def test_a_foreign_file_system_that_fails_half_way_is_cleaned_up(write):
    filesystem = Breaking()
    store = from_fsspec(filesystem, "/broken")
    with pytest.raises(StorageError, match="no space left"):
        WRITES[write](store)
    assert list(store.list()) == []
    assert not filesystem.exists("/broken/a/b")


@pytest.fixture
def flushed(monkeypatch):
    """Note which files and folders are flushed, while they are flushed."""
    inodes = []
    real = os.fsync

    def fsync(handle):
        inodes.append(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return inodes


def inode(path):
    return path.stat().st_ino


def test_a_local_file_and_all_folders_that_lead_to_it_are_flushed_in_order(tmp_path, flushed):
    root = tmp_path / "new" / "root"
    store = open_store(str(root))
    with store.writer("a/b/file") as sink:
        sink.write(b"x")
        assert inode(root / "a" / "b" / "file") not in flushed
    chain = [root / "a/b/file", root / "a/b", root / "a", root, tmp_path / "new", tmp_path]
    for place in chain:
        assert inode(place) in flushed, place
    inside = [flushed.index(inode(place)) for place in chain[:3]]
    assert all(first < second for first, second in pairwise(inside))


def test_a_folder_that_is_flushed_already_costs_one_flush_per_file(tmp_path, flushed):
    store = open_store(str(tmp_path))
    store.put("a/b/one", b"x")
    flushed.clear()
    store.put("a/b/two", b"x")
    assert flushed == [inode(tmp_path / "a/b/two"), inode(tmp_path / "a/b")]


def test_a_folder_that_was_made_by_another_process_is_flushed_too(tmp_path, flushed):
    store = open_store(str(tmp_path))
    store.put("a/one", b"x")
    (tmp_path / "a" / "made by another").mkdir()
    flushed.clear()
    store.put("a/made by another/two", b"x")
    assert inode(tmp_path / "a") in flushed
