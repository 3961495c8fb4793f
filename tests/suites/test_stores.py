"""The suite of the store port, against every store and every storage at hand."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import fsspec
import pytest
from obstore.store import MemoryStore
from tests import servers
from tests.seaweedfs import seaweedfs

from mere.ports import Store
from mere.stores import from_fsspec, from_obstore, open_store
from mere.testing.stores import ARBITER_CHECKS, STORE_CHECKS, TRAVEL_CHECKS

LOCAL = ("local", "local-url", "fsspec-local")
REMOTE = ("s3", "fsspec-s3")
MEMORY = ("obstore-memory", "fsspec-memory")
_names = count()


@pytest.fixture(scope="session")
def weed() -> Iterator[servers.S3]:
    with seaweedfs() as server:
        yield server


@pytest.fixture
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Store]:
    """Hand out a function that opens an empty store of a kind."""

    def local(_: str) -> Store:
        return open_store(str(tmp_path / "deep" / "root"))

    def local_url(_: str) -> Store:
        return open_store((tmp_path / "with blank").as_uri())

    def fsspec_local(_: str) -> Store:
        return from_fsspec(
            fsspec.filesystem("dir", path=str(tmp_path), fs=fsspec.filesystem("file")), "sub"
        )

    def s3(name: str) -> Store:
        request.getfixturevalue("s3")
        return open_store(f"{request.getfixturevalue('s3').url}/{name}")

    def fsspec_s3(name: str) -> Store:
        bucket = request.getfixturevalue("s3")
        options = {"key": bucket.key, "secret": bucket.secret, "endpoint_url": bucket.endpoint}
        return from_fsspec(fsspec.filesystem("s3", **options), f"{bucket.bucket}/{name}")

    def real(name: str) -> Store:
        server = request.getfixturevalue("weed")
        patch = request.getfixturevalue("monkeypatch")
        for variable, value in server.environment.items():
            patch.setenv(variable, value)
        return open_store(f"{server.url}/{name}")

    kinds = {
        "local": local,
        "local-url": local_url,
        "fsspec-local": fsspec_local,
        "s3": s3,
        "fsspec-s3": fsspec_s3,
        "seaweedfs": real,
        "obstore-memory": lambda name: from_obstore(MemoryStore(), f"mem://{name}"),
        "fsspec-memory": lambda name: open_store(f"memory://{name}"),
    }
    return lambda kind: kinds[kind](f"root-{next(_names)}")


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [*LOCAL, *REMOTE, *MEMORY])
def test_a_store_keeps_what_every_store_keeps(kind, check, fresh):
    check(fresh(kind))


@pytest.mark.real_s3
@pytest.mark.parametrize(
    "check", [*STORE_CHECKS, *ARBITER_CHECKS, *TRAVEL_CHECKS], ids=lambda check: check.__name__
)
def test_a_store_on_a_server_that_checks_signatures_keeps_the_same(check, fresh):
    check(fresh("seaweedfs"))


@pytest.mark.parametrize("check", ARBITER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", ["local", "s3", "obstore-memory"])
def test_a_store_with_atomic_names_lets_one_of_many_win(kind, check, fresh):
    check(fresh(kind))


@pytest.mark.parametrize("check", TRAVEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [*LOCAL, *REMOTE, "fsspec-memory"])
def test_a_store_travels(kind, check, fresh):
    check(fresh(kind))
