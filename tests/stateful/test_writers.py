"""Two writers that come between each other, and faults, leave what plain Python says.

`HYPOTHESIS_PROFILE=long` makes it fifty times as many examples;
`python -m tests.stateful.slip_rates`
measures how often a slip is found.
"""

import pytest
from hypothesis import settings
from tests.stateful import writer_runs
from tests.stateful.slips import SLIPS

ORDINARY = settings().max_examples // 12


@pytest.fixture
def duck(duckdb_with):
    """Open DuckDB with what it needs to attach lakes."""
    return duckdb_with("ducklake", "sqlite_scanner")


def test_two_writers_leave_what_plain_python_says(duck, tmp_path):
    writer_runs.run(duck, tmp_path, examples=ORDINARY)


@pytest.mark.parametrize("slip", ["what came between is not asked for", "NULL matches NULL"])
def test_a_slip_would_be_found(duck, tmp_path, slip):
    with pytest.raises(AssertionError):
        writer_runs.run(duck, tmp_path, examples=60, slip=SLIPS[slip], start=1)
