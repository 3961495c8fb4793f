"""Passwords and keys of a lake show up nowhere in Spark."""

import json

import pytest
from tests.spark.programs import program
from tests.spark.telling import CANARY

pytestmark = pytest.mark.spark


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_spark_tells_no_secret_in_plans_pages_events_errors_or_logs(tmp_path, pg_url, s3):
    """A password in the catalog's URL, and a key of the store, in every use of the library."""
    done = program("telling", tmp_path, pg_url, f"{s3.url}/lake")
    assert done.returncode == 0, done.stderr[-5000:]
    told = {place: (size, seen, leaks) for place, size, seen, leaks in map(json.loads, lines(done))}
    leaking = {place: leaks for place, (_, _, leaks) in told.items() if leaks}
    assert leaking == {}
    logged = [line for line in done.stderr.splitlines() if CANARY in line]
    assert logged == []
    # The control: what these places do tell is found there.
    assert {"events", "/environment/", "error of a task"} <= told.keys()
    assert {"events", "/environment/"} <= {place for place, (_, seen, _) in told.items() if seen}
    assert min(size for size, _, _ in told.values()) > 20
    assert len(done.stderr) > 1000, "Spark's log was on"


def lines(done):
    return [line for line in done.stdout.splitlines() if line.startswith("[")]
