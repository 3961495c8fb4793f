"""Whatever DuckDB and `mere` do to one lake, both show every version as it was.

`HYPOTHESIS_PROFILE=long` makes it fifty times as many examples; `python -m tests.stateful.rates`
measures how often a bug is found.
"""

from contextlib import ExitStack
from itertools import count

import pytest
from hypothesis import settings
from tests.stateful import runs
from tests.stateful.lakes import Place

ORDINARY = settings().max_examples // 10


@pytest.fixture
def duck(duckdb_with):
    """Open DuckDB with what it needs to attach lakes."""
    return duckdb_with("ducklake", "sqlite_scanner", "postgres_scanner")


def test_all_that_happens_to_a_lake_in_sqlite_is_seen_alike_from_both_sides(duck, tmp_path):
    runs.run(duck, runs.sqlite_places(tmp_path), examples=ORDINARY)


def test_all_that_happens_to_a_lake_in_duckdb_is_seen_alike_from_both_sides(duck, tmp_path):
    numbers = count()

    def place() -> Place:
        file = tmp_path / f"{next(numbers)}.ducklake"
        return Place(f"duckdb://{file}", str(file), file.with_suffix(".files"), shared=False)

    runs.run(duck, place, examples=max(1, ORDINARY // 5))


def test_all_that_happens_to_a_lake_in_postgres_is_seen_alike_from_both_sides(
    duck, tmp_path, postgres
):
    numbers = count()
    with ExitStack() as databases:

        def place() -> Place:
            url = databases.enter_context(postgres.database())
            return Place(url, f"postgres:{url}", tmp_path / str(next(numbers)))

        runs.run(duck, place, examples=max(1, ORDINARY // 5))
