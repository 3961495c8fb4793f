"""Run the machine of two writers, perhaps with a slip made."""

from itertools import count
from pathlib import Path

import duckdb
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.stateful.slips import Slip
from tests.stateful.writers import Writers

STEPS = 8


def run(
    duck: duckdb.DuckDBPyConnection,
    folder: Path,
    *,
    examples: int,
    slip: Slip | None = None,
    start: int | None = None,
) -> None:
    """Let two writers work in so many lakes, and raise where something is wrong."""
    numbers = count()

    def place() -> Path:
        found = folder / str(next(numbers))
        found.mkdir()
        return found

    class Machine(Writers):
        pass

    Machine.folder, Machine.duck, Machine.slip = (
        staticmethod(place),
        duck,
        slip and staticmethod(slip),
    )
    begun = Machine if start is None else seed(start)(Machine)
    run_state_machine_as_test(begun, settings=_settings(examples), _min_steps=STEPS)


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=True,
    )
