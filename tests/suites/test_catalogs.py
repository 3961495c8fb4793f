"""The suite of the catalog port, on all three databases."""

from collections.abc import Iterator

import pytest

from mere.catalogs import duckdb, postgres, sqlite
from mere.ports import Catalog
from mere.testing.catalogs import CATALOG_CHECKS
from mere.testing.conflicts import CONFLICT_CHECKS, MEETINGS

CHECKS = [*CATALOG_CHECKS, *CONFLICT_CHECKS, *(meeting.check for meeting in MEETINGS)]
NAMES = [check.__name__ for check in (*CATALOG_CHECKS, *CONFLICT_CHECKS)] + [*map(str, MEETINGS)]


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def catalog(request, tmp_path) -> Iterator[Catalog]:
    if request.param == "sqlite":
        opened = sqlite.open_catalog(tmp_path / "lake.db")
    elif request.param == "duckdb":
        opened = duckdb.open_catalog(tmp_path / "lake.ducklake")
    else:
        url = request.getfixturevalue("pg_url")
        opened = postgres.open_catalog(url, data_path=str(tmp_path / "files"))
    yield opened
    opened.close()


@pytest.mark.parametrize("check", CHECKS, ids=NAMES)
def test_a_catalog_keeps_what_it_promises(catalog, check):
    check(catalog)
