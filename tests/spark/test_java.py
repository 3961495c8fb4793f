"""Which Java is taken, and that Spark runs without one being installed."""

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mere.errors import EngineMissingError
from mere.spark.java import find_java, is_sparks_choice

pytestmark = pytest.mark.spark


def fake_java(home: Path, version: str, *, complete: bool = True) -> Path:
    """Make a program that answers like a Java of that version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    refuse = "" if complete else 'case "$1" in --add-modules=*) exit 1;; esac\n'
    program.write_text(f"#!/bin/sh\n{refuse}echo 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


def tools_without_java(folder: Path) -> str:
    """Return a PATH with what Spark's scripts and Python need, and no Java."""
    folder.mkdir()
    for tool in ("sh", "bash", "env", "dirname", "ps", "chmod", "rm", "cat", "uname", "nice"):
        found = shutil.which(tool)
        if found:
            (folder / tool).symlink_to(found)
    return str(folder)


def run(code: str, path: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with nothing in its environment that leads to a Java."""
    environment = {"PATH": path, "HOME": os.environ["HOME"], **more}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def is_alive(pid: str) -> bool:
    """Tell whether a process runs; one that nobody has buried yet does not."""
    said = subprocess.run(
        ["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False
    )
    return said.stdout.strip()[:1] not in ("", "Z")


def test_java_home_comes_before_the_path(tmp_path):
    home = fake_java(tmp_path / "home", "21.0.1")
    other = fake_java(tmp_path / "other", "17.0.2")
    environ = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    java = find_java(environ)
    assert (java.version, java.origin, java.home) == (21, "JAVA_HOME", home)
    assert is_sparks_choice(java, environ)


def test_an_old_java_is_passed_over(tmp_path):
    old = fake_java(tmp_path / "old", "1.8.0_392")
    new = fake_java(tmp_path / "new", "17.0.2")
    environ = {"JAVA_HOME": str(old), "PATH": str(new / "bin")}
    java = find_java(environ)
    assert (java.version, java.origin) == (17, "PATH")
    assert not is_sparks_choice(java, environ), "PySpark itself would start the one in JAVA_HOME"


def test_a_slim_java_is_taken_but_not_left_to_pyspark(tmp_path):
    slim = fake_java(tmp_path / "slim", "25.0.2", complete=False)
    environ = {"JAVA_HOME": str(slim), "PATH": ""}
    java = find_java(environ)
    assert (java.version, java.origin) == (25, "JAVA_HOME")
    assert not is_sparks_choice(java, environ)


def test_without_any_java_the_error_says_what_was_found_and_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("mere.spark.java.WHEEL_HOME", None)
    old = fake_java(tmp_path / "old", "11.0.1")
    with pytest.raises(EngineMissingError, match="Java 11") as caught:
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    assert "mere[spark]" in (caught.value.hint or "")


def test_without_pyspark_the_error_names_the_extra(tmp_path):
    code = """
        import sys
        sys.modules["pyspark"] = None
        import mere.spark
        from mere.errors import EngineMissingError
        try:
            mere.spark.session()
        except EngineMissingError as error:
            print(error)
    """
    said = run(code, tools_without_java(tmp_path / "bin"))
    assert "mere[spark]" in said.stdout, said.stderr


def test_spark_runs_with_no_java_on_the_machine_and_dies_with_python(tmp_path):
    code = """
        import os, sys
        import mere.spark
        spark = mere.spark.session(master="local[1]", memory="512m")
        gateway = spark.sparkContext._gateway
        version = spark.sparkContext._jvm.java.lang.System.getProperty("java.version")
        left = [name for name in os.environ if name.startswith("PYSPARK")]
        print("RAN", spark.range(10).count(), version, gateway.proc.pid, left, flush=True)
        os.kill(os.getpid(), 9)
    """
    said = run(code, tools_without_java(tmp_path / "bin"))
    line = next((line for line in said.stdout.splitlines() if line.startswith("RAN")), None)
    assert line is not None, said.stderr
    _, count, version, pid, left = line.split(maxsplit=4)
    assert (count, left) == ("10", "[]")
    assert int(version.split(".")[0]) >= 17
    deadline = time.monotonic() + 30
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_alive(pid), "the JVM outlived the Python that started it"
