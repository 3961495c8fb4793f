"""Run the machine on places of one kind, perhaps with a bug planted."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import duckdb
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.stateful.lakes import Place
from tests.stateful.machine import LakeMachine

STEPS = 6
TOGETHER = 2


def run(
    duck: duckdb.DuckDBPyConnection,
    place: Callable[[], Place],
    *,
    examples: int,
    bug: str = "",
    start: int | None = None,
) -> None:
    """Do random things in as many lakes as there are examples, and raise where something is wrong.

    Each pair of lakes starts with other changes, so that a run comes by all of them. A smaller
    example is not looked for: it would cost minutes, and the steps are told anyway.
    """
    for first in range(0, examples, TOGETHER):

        class Machine(LakeMachine):
            turn = first // TOGETHER * STEPS

        Machine.duck, Machine.place, Machine.bug = duck, staticmethod(place), bug
        begun = Machine if start is None else seed(start * 1000 + first)(Machine)
        run_state_machine_as_test(begun, settings=_settings(), _min_steps=STEPS)


def _settings() -> settings:
    return settings(
        max_examples=TOGETHER,
        stateful_step_count=STEPS,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=True,
    )


def sqlite_places(folder: Path) -> Callable[[], Place]:
    """Return what names a fresh lake in a SQLite file each time."""
    numbers = count()

    def place() -> Place:
        name = folder / str(next(numbers))
        return Place(f"sqlite://{name}.db", f"sqlite:{name}.db", name)

    return place
