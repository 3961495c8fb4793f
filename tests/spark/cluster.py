"""A real cluster of Spark on this machine: a master and two workers, each in its own processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home
from tests.spark.programs import SPARING

from mere.spark.java import find_java

ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Cluster:
    """A master that runs, and the workers that were started for it."""

    folder: Path
    url: str
    stack: ExitStack
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def add_worker(self) -> None:
        """Start one more worker, of one core."""
        place = self.folder / f"worker-{len(self.workers)}"
        more = ("--webui-port", "0", "-c", "1", "-m", "1g", "-d", str(place), self.url)
        process = _start(self.stack, self.folder, "worker.Worker", *more)
        self.workers.append(process)

    def name(self, place: int) -> str:
        """Return what the folder of a worker is called, below which its executors run."""
        return f"worker-{range(len(self.workers))[place]}"

    def kill_worker(self, place: int) -> None:
        """Take a worker and its executors away at once, as when a machine is lost."""
        for pid in _family(self.workers[place].pid):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """Run a cluster of two workers for the length of a block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with ExitStack() as stack:
        _start(stack, folder, "master.Master", "--port", str(port), "--webui-port", "0")
        made = Cluster(folder=folder, url=f"spark://127.0.0.1:{port}", stack=stack)
        _wait_for(port)
        made.add_worker()
        made.add_worker()
        yield made


def _start(stack: ExitStack, folder: Path, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
    home = Path(_find_spark_home())
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "JDK_JAVA_OPTIONS": SPARING,
    }
    what = f"org.apache.spark.deploy.{name}"
    log = stack.enter_context((folder / f"{name}-{time.monotonic_ns()}.log").open("wb"))
    process = subprocess.Popen(
        [str(home / "bin" / "spark-class"), what, "--host", "127.0.0.1", *arguments],
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    stack.callback(_end, process)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    for pid in _family(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait(30)


def _family(pid: int) -> list[int]:
    """Return a process and all that came of it."""
    said = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = [tuple(map(int, line.split())) for line in said.stdout.splitlines()]
    found = [pid]
    for parent in found:
        found.extend(child for child, above in pairs if above == parent)
    return found


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return
