"""Run the programs beside this file, which need a process or a kind of session of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


SPARING = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives shortly: a second compiler and parallel sweeping cost more than they win."""


def surroundings(**more):
    """Return the environment of a program that imports from here and starts JVMs of its own."""
    return {
        **os.environ,
        "JDK_JAVA_OPTIONS": SPARING,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        "PYTHONWARNINGS": "ignore",
        **more,
    }


def program(name, *arguments):
    """Run one of the programs beside this file to its end."""
    return subprocess.run(
        [sys.executable, "-m", f"tests.spark.{name}", *map(str, arguments)],
        cwd=ROOT,
        env=surroundings(),
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )
