"""What a store tells an engine is enough for the engine to read the same bytes."""

from urllib.parse import urlsplit

import daft
import datafusion
import polars as pl
import pyarrow as pa
import pytest
from datafusion.object_store import AmazonS3
from pyarrow import parquet

from mere.errors import InvalidInputError
from mere.stores import open_store

TABLE = pa.table({"n": pa.array(range(100), pa.int64())})


@pytest.fixture
def store(s3, monkeypatch):
    options = {
        "access_key_id": s3.key,
        "secret_access_key": s3.secret,
        "endpoint": s3.endpoint,
        "region": s3.region,
    }
    for name in s3.environment:
        monkeypatch.delenv(name)
    store = open_store(f"{s3.url}/lake", storage_options=options)
    with store.writer("day=2024-01-01/t.parquet") as sink:
        parquet.write_table(TABLE, sink)
    return store


@pytest.fixture
def url(store):
    return store.resolve("day=2024-01-01/t.parquet")


def test_polars_reads_with_its_options(store, url):
    frame = pl.scan_parquet(url, storage_options=store.options("polars"), hive_partitioning=False)
    assert frame.collect().to_arrow()["n"].to_pylist() == TABLE["n"].to_pylist()


def test_duckdb_reads_with_its_settings(store, url, duckdb_with):
    connection = duckdb_with("httpfs")
    for name, value in store.options("duckdb").items():
        connection.execute(f"SET {name} = '{value}'")
    query = "SELECT sum(n) FROM read_parquet(?, hive_partitioning = false)"
    assert connection.execute(query, [url]).fetchall() == [(4950,)]


def test_datafusion_reads_with_its_arguments(store, url):
    arguments = store.options("datafusion")
    flags = {"allow_http": arguments.pop("allow_http") == "true"}
    context = datafusion.SessionContext()
    context.register_object_store("s3://", AmazonS3(**arguments, **flags), urlsplit(url).netloc)
    context.register_parquet("t", url)
    assert context.sql("SELECT sum(n) AS s FROM t").to_pydict() == {"s": [4950]}


def test_daft_reads_with_its_configuration(store, url):
    words = store.options("daft")
    flags = {"use_ssl": words.pop("use_ssl") == "true"}
    config = daft.io.IOConfig(s3=daft.io.S3Config(**words, **flags))
    frame = daft.read_parquet(url, io_config=config)
    assert frame.to_arrow()["n"].to_pylist() == TABLE["n"].to_pylist()


def test_spark_is_told_about_this_bucket_only(store, s3):
    words = store.options("spark")
    own = f"fs.s3a.bucket.{s3.bucket}"
    assert words.pop("fs.s3.impl") == "org.apache.hadoop.fs.s3a.S3AFileSystem"
    assert words == {
        f"{own}.access.key": s3.key,
        f"{own}.secret.key": s3.secret,
        f"{own}.endpoint": s3.endpoint,
        f"{own}.endpoint.region": s3.region,
        f"{own}.path.style.access": "true",
        f"{own}.connection.ssl.enabled": "false",
    }


def test_an_engine_that_nobody_knows_is_refused(store):
    with pytest.raises(InvalidInputError, match="known are: daft, datafusion, duckdb"):
        store.options("excel")


def test_azure_and_google_are_put_into_each_engines_words():
    azure = open_store(
        "abfss://box@acc.dfs.core.windows.net/lake",
        storage_options={"account_key": "k"},
    )
    assert azure.options("duckdb")["azure_storage_connection_string"] == (
        "AccountName=acc;AccountKey=k"
    )
    assert azure.options("spark") == {"fs.azure.account.key.acc.dfs.core.windows.net": "k"}
    assert azure.options("datafusion") == {
        "access_key": "k",
        "account": "acc",
        "container_name": "box",
    }
    google = open_store("gs://b/lake", storage_options={"service_account": "keys.json"})
    assert google.options("polars") == {"google_service_account": "keys.json"}
