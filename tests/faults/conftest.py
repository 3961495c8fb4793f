"""Give the fault tests processes that may die."""

from collections.abc import Iterator

import pytest
from tests import stage as stages


@pytest.fixture(scope="session")
def stage() -> Iterator[stages.Stage]:
    """Hand out the interpreter that forks."""
    with stages.stage() as running:
        yield running
