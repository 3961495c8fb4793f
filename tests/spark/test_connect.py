"""Spark Connect: the format in both directions, streams, and scans, from a process of its own."""

import pytest
from tests.spark.programs import program

pytestmark = pytest.mark.spark

STEPS = ("write", "read", "replace", "stream", "scan", "fail")


@pytest.mark.timeout(900)
def test_a_client_of_connect_does_what_others_do(tmp_path):
    said = program("on_connect", tmp_path)
    right = [line for line in said.stdout.splitlines() if line.startswith("RIGHT")]
    assert right == [f"RIGHT {step}" for step in STEPS], said.stderr[-3000:]
    assert said.returncode == 0
