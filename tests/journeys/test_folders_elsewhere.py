"""A plain folder may lie in any storage, and be reached by whatever somebody has for it."""

from collections.abc import Callable
from typing import Any

import fsspec
import pytest
import s3fs
from fsspec.implementations.dirfs import DirFileSystem
from pyarrow import fs
from tests.servers import S3

from mere.datasets import folder
from mere.errors import InvalidInputError, NoFilesError
from mere.table import Table

COLUMNS = {"id": "int64", "p": "varchar"}


def by_url(bucket: S3) -> dict[str, Any]:
    """Open by what the environment says."""
    return {"path": f"s3://{bucket.bucket}/d"}


def by_s3fs(bucket: S3) -> dict[str, Any]:
    """Open by a filesystem of fsspec that has keys of its own, below a folder."""
    system = s3fs.S3FileSystem(
        key=bucket.key, secret=bucket.secret, endpoint_url=bucket.endpoint, skip_instance_cache=True
    )
    return {"path": "d", "filesystem": DirFileSystem(path=bucket.bucket, fs=system)}


def by_pyarrow(bucket: S3) -> dict[str, Any]:
    """Open by a filesystem of pyarrow."""
    scheme, _, host = bucket.endpoint.partition("://")
    system = fs.S3FileSystem(
        access_key=bucket.key,
        secret_key=bucket.secret,
        endpoint_override=host,
        scheme=scheme,
        region="us-east-1",
    )
    return {"path": f"{bucket.bucket}/d", "filesystem": system}


def changed(table: Table) -> Table:
    """Do a bit of everything, and expect what comes of it."""
    for start in (0, 10):
        table.append([{"id": start + n, "p": "ab"[n % 2]} for n in range(4)])
    assert table.compact().compacted_file_count == 4
    assert table.upsert([{"id": 1, "p": "a"}, {"id": 99, "p": "c"}], on="id").rows_inserted == 1
    assert table.delete("id = 0").rows_deleted == 1
    assert table.deduplicate("p", keep="last", order_by="id").rows_deleted == 5
    assert table.repartition([]).after_file_count == 1
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [12, 13, 99]
    return table


@pytest.mark.parametrize("reached", [by_url, by_s3fs, by_pyarrow])
def test_a_folder_on_s3_takes_every_verb(s3: S3, reached: Callable[[S3], dict[str, Any]]) -> None:
    table = changed(folder(**reached(s3), schema=COLUMNS, partition_by=["p"]))
    (path,) = table.files()["path"].to_pylist()
    assert folder(**by_url(s3)).files()["path"].to_pylist() == [path]
    left = s3fs.S3FileSystem(endpoint_url=s3.endpoint, skip_instance_cache=True).find(s3.bucket)
    assert left == [f"{s3.bucket}/d/{path}"]


def test_a_folder_in_other_filesystems_takes_every_verb(tmp_path):
    here = fs.LocalFileSystem()
    changed(folder(tmp_path / "a", filesystem=here, schema=COLUMNS, partition_by="p"))
    below = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    assert folder("a", filesystem=below).count() == 3
    memory = fsspec.filesystem("memory", skip_instance_cache=True)
    changed(folder("/test-folders/b", filesystem=memory, schema=COLUMNS, partition_by="p"))
    assert len(memory.find("/test-folders/b")) == 1
    through = fs.PyFileSystem(fs.FSSpecHandler(memory))
    assert folder("/test-folders/b", filesystem=through).count() == 3


def test_what_is_no_filesystem_is_said_before_anything_is_read(tmp_path):
    with pytest.raises(InvalidInputError, match="one of fsspec or pyarrow, got str"):
        folder(tmp_path, filesystem="s3")
    with pytest.raises(InvalidInputError, match="a filesystem is given already"):
        folder(tmp_path, filesystem=fs.LocalFileSystem(), storage_options={"key": "k"})
    with pytest.raises(NoFilesError):
        folder("nothing/here", filesystem=fs.LocalFileSystem())
