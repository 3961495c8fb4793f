"""The servers and the oracle are really there, and fresh for every test."""

import os

import obstore
import psycopg
import pytest
from obstore.store import S3Store


@pytest.mark.parametrize("visit", [1, 2])
def test_every_test_gets_an_empty_database_of_a_real_postgresql(pg_url, visit):
    with psycopg.connect(pg_url) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(tables).fetchone() == (0,), f"visit {visit} sees another's tables"
        connection.execute("CREATE TABLE t (a int)")


@pytest.mark.parametrize("visit", [1, 2])
def test_every_test_gets_an_empty_bucket_that_the_environment_points_to(s3, visit):
    assert os.environ["AWS_ENDPOINT_URL"] == s3.endpoint
    store = S3Store(s3.bucket, virtual_hosted_style_request=False)
    assert obstore.list(store).collect() == [], f"visit {visit} sees another's objects"
    obstore.put(store, "a", b"bytes")
    assert bytes(obstore.get(store, "a").bytes()) == b"bytes"


def test_the_oracle_makes_and_reopens_a_lake_on_every_catalog(oracle, tmp_path, pg_url):
    for catalog in (
        f"sqlite:{tmp_path}/lake.db",
        f"{tmp_path}/lake.ducklake",
        f"postgres:{pg_url}",
    ):
        files = tmp_path / catalog.split(":")[0].replace("/", "_")
        with oracle(catalog, data_path=files) as first:
            first.execute("CREATE TABLE t AS SELECT 42 AS a")
        with oracle(catalog, read_only=True) as again:
            assert again.execute("FROM t").fetchall() == [(42,)]
