"""Lakes on every catalog, for stories told through the public API."""

import pyarrow as pa
import pytest

import mere
from mere.catalogs.sql import SqlCatalog

TRADES = pa.schema(
    [
        ("product_id", pa.string()),
        ("trade_id", pa.int64()),
        ("ts", pa.timestamp("us")),
        ("price", pa.float64()),
    ]
)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def any_lake(request, tmp_path):
    """Open a fresh lake, once on each kind of catalog."""
    if request.param == "postgresql":
        url = request.getfixturevalue("pg_url")
        with mere.connect(url, data_path=tmp_path / "files") as lake:
            yield lake
    else:
        ending = "db" if request.param == "sqlite" else "ducklake"
        with mere.connect(tmp_path / f"shop.{ending}") as lake:
            yield lake


@pytest.fixture
def lake(tmp_path):
    """Open a fresh lake on SQLite."""
    with mere.connect(tmp_path / "shop.db") as opened:
        yield opened


@pytest.fixture
def meanwhile(monkeypatch):
    """Hand out a function: what it is given is done by others, each before one of the commits."""

    def others(*deeds):
        left = iter(deeds)
        commit = SqlCatalog.commit

        def late(self, *change):
            with monkeypatch.context() as patch:
                patch.setattr(SqlCatalog, "commit", commit)
                next(left, bool)()
            return commit(self, *change)

        monkeypatch.setattr(SqlCatalog, "commit", late)

    return others
