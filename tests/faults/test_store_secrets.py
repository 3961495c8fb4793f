"""Secrets stay in the process that was given them, whatever goes wrong."""

import copy
import logging
import os
import pickle
import subprocess
import sys
import traceback

import fsspec
import obstore
import psycopg
import pytest
from obstore.exceptions import PermissionDeniedError
from obstore.store import S3Store
from psycopg import sql
from tests.recorder import refusing

import mere
from mere.errors import InvalidInputError, MereError, StorageError
from mere.stores import from_fsspec, open_store

KEY, SECRET, TOKEN = "CANARYkeyid", "CANARY/secret+key==", "CANARY%2Ftoken=="
AZURE_KEY = "Q0FOQVJZY2FuYXJ5Q0FOQVJZY2FuYXJ5"
SAS = "sv=2024&sig=CANARYsignature%3D"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")):
            monkeypatch.delenv(name)


@pytest.fixture
def refuser():
    with refusing() as recorder:
        yield recorder


def explicit(endpoint):
    return {
        "access_key_id": KEY,
        "secret_access_key": SECRET,
        "session_token": TOKEN,
        "endpoint": endpoint,
        "region": "us-east-1",
        "max_retries": "0",
    }


def from_variables(endpoint, monkeypatch):
    monkeypatch.setenv("CANARY_KEY", KEY)
    monkeypatch.setenv("CANARY_SECRET", SECRET)
    return explicit(endpoint) | {
        "access_key_id": "env:CANARY_KEY",
        "secret_access_key": "env:CANARY_SECRET",
    }


def ambient(endpoint, monkeypatch):
    for name, value in (
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", TOKEN),
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    return {"max_retries": "0"}


def fsspec_s3(endpoint):
    filesystem = fsspec.filesystem(
        "s3",
        key=KEY,
        secret=SECRET,
        token=TOKEN,
        client_kwargs={"endpoint_url": endpoint},
        config_kwargs={"retries": {"max_attempts": 0}},
    )
    return from_fsspec(filesystem, "bucket/lake")


STORES = {
    "s3-explicit": lambda end, _: open_store("s3://bucket/lake", storage_options=explicit(end)),
    "s3-env-reference": lambda end, patch: open_store(
        "s3://bucket/lake", storage_options=from_variables(end, patch)
    ),
    "s3-ambient": lambda end, patch: open_store(
        "s3://bucket/lake", storage_options=ambient(end, patch)
    ),
    "s3-through-fsspec": lambda end, _: fsspec_s3(end),
    "azure-key": lambda end, _: open_store(
        "az://box/lake",
        storage_options={
            "account_name": "account",
            "account_key": AZURE_KEY,
            "endpoint": end,
            "max_retries": "0",
        },
    ),
    "azure-signature": lambda end, _: open_store(
        "abfss://box@account.dfs.core.windows.net/lake",
        storage_options={"sas_token": SAS, "endpoint": end, "max_retries": "0"},
    ),
    "google-token": lambda end, _: open_store(
        "gs://bucket/lake",
        storage_options={
            "bearer_token": TOKEN,
            "base_url": end,
            "allow_http": "true",
            "max_retries": "0",
        },
    ),
    "ftp-password-in-the-url": lambda _, __: open_store(f"ftp://me:{KEY}@127.0.0.1:1/lake"),
}


def write(store):
    with store.writer("a/b") as sink:
        sink.write(b"x" * (9 * 1024 * 1024))


OPERATIONS = {
    "writer": write,
    "put": lambda store: store.put("a", b"x"),
    "open": lambda store: store.open("a"),
    "read": lambda store: store.read("a", 1, 2),
    "read_ranges": lambda store: store.read_ranges("a", [(0, 1), (2**25, 1)]),
    "size": lambda store: store.size("a"),
    "list": lambda store: list(store.list()),
    "delete": lambda store: store.delete(["a", "b"]),
    "filesystem": lambda store: store.filesystem().open_input_file(
        store.resolve("a").partition("://")[2]
    ),
}


def travelled(store):
    return pickle.loads(pickle.dumps(store))  # noqa: S301 - just made


def everything_said(error):
    """Return all that a person, a log or another process may see of an error."""
    said = [
        "".join(traceback.format_exception(error)),
        repr(error),
        pickle.dumps(error).decode("latin1"),
    ]
    seen = set()
    pending = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        said += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ""))]
        pending += [one.__cause__, one.__context__]
    return "\n".join(said)


def assert_silent(text):
    for word in ("CANARY", AZURE_KEY):
        assert word not in text, text[max(0, text.index(word) - 200) : text.index(word) + 100]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", STORES)
def test_a_refused_request_tells_no_secret(kind, operation, refuser, monkeypatch, caplog):
    store = STORES[kind](refuser.endpoint, monkeypatch)
    with caplog.at_level(logging.INFO), pytest.raises(MereError) as caught:
        OPERATIONS[operation](store)
    assert_silent(
        everything_said(caught.value).replace("CANARY_KEY", "").replace("CANARY_SECRET", "")
    )
    assert_silent(caplog.text)
    assert_silent(repr(store) + str(store) + store.url + store.resolve("a"))


def test_without_the_guard_the_refusal_would_show_the_key(refuser):
    client = S3Store(
        "bucket",
        config={"access_key_id": KEY, "secret_access_key": SECRET, "endpoint": refuser.endpoint},
        client_options={"allow_http": True},
    )
    with pytest.raises(PermissionDeniedError) as caught:
        obstore.get(client, "a")
    assert KEY in str(caught.value)


@pytest.mark.parametrize("kind", STORES)
def test_a_pickle_holds_no_secret(kind, monkeypatch):
    store = STORES[kind]("http://127.0.0.1:1", monkeypatch)
    for travels in (store, store.filesystem(), [store, {"deep": store}]):
        data = pickle.dumps(travels).decode("latin1")
        assert_silent(data.replace("CANARY_KEY", "").replace("CANARY_SECRET", ""))
    assert_silent(repr(copy.deepcopy(store)))


def test_without_the_guard_a_client_would_carry_the_secret():
    client = S3Store("bucket", config={"access_key_id": KEY, "secret_access_key": SECRET})
    assert SECRET in pickle.dumps(client).decode("latin1")


def test_options_for_an_engine_do_hold_the_secret(monkeypatch):
    for kind in ("s3-explicit", "s3-env-reference", "s3-ambient", "s3-through-fsspec"):
        store = STORES[kind]("http://127.0.0.1:1", monkeypatch)
        assert store.options("polars")["aws_secret_access_key"] == SECRET
        assert store.options("polars")["aws_endpoint_url"] == "http://127.0.0.1:1"


def test_a_store_that_travelled_names_the_option_it_misses():
    store = travelled(STORES["s3-explicit"]("http://127.0.0.1:1", None))
    with pytest.raises(StorageError, match=r"'access_key_id'(.|\n)*AWS_ACCESS_KEY_ID") as caught:
        store.read("a")
    assert_silent(everything_said(caught.value))


def test_a_store_that_travelled_uses_the_environment_it_finds(s3, monkeypatch):
    options = {"access_key_id": "x", "secret_access_key": "y", "endpoint": s3.endpoint}
    store = open_store(f"{s3.url}/lake", storage_options=options)
    store.put("a", b"bytes")
    there = travelled(travelled(store))
    assert there.read("a") == b"bytes"
    assert there.options("polars")["aws_access_key_id"] == s3.key
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StorageError, match="'secret_access_key'"):
        travelled(there).read("a")


def test_a_store_without_any_key_says_which_variables_it_looked_for(refuser):
    options = {"endpoint": refuser.endpoint, "metadata_endpoint": refuser.endpoint}
    store = open_store("s3://bucket/lake", storage_options=options | {"max_retries": "0"})
    with pytest.raises(StorageError, match=r"hint: check .*AWS_ACCESS_KEY_ID"):
        store.read("a")


@pytest.mark.parametrize("name", ["max_retries", "retry_timeout"])
def test_a_number_that_is_none_is_refused_by_name_only(name):
    store = open_store("s3://bucket/lake", storage_options={name: KEY})
    with pytest.raises(InvalidInputError, match=name) as caught:
        store.read("a")
    assert_silent(everything_said(caught.value))


def test_a_reference_is_looked_up_where_it_is_used(s3):
    options = {
        "access_key_id": "env:LAKE_KEY",
        "secret_access_key": "env:LAKE_SECRET",
        "endpoint": s3.endpoint,
        "region": s3.region,
    }
    store = open_store(f"{s3.url}/lake", storage_options=options)
    with pytest.raises(StorageError, match="'LAKE_KEY', which is not set"):
        store.read("a")
    program = (
        "import pickle, sys\n"
        "store = pickle.load(sys.stdin.buffer)\n"
        "store.put('a', b'from far away')\n"
        "print(store.options('polars')['aws_secret_access_key'])\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(store),
        env=environment | {"LAKE_KEY": "k", "LAKE_SECRET": "found there"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().strip() == "found there"
    assert open_store(f"{s3.url}/lake").read("a") == b"from far away"


def test_a_token_of_the_environment_never_joins_a_key_that_was_given(refuser, monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another identity")
    options = explicit(refuser.endpoint)
    del options["session_token"]
    store = open_store("s3://bucket/lake", storage_options=options)
    with pytest.raises(StorageError):
        store.read("a")
    (request,) = refuser.requests
    assert KEY in request.headers["authorization"]
    assert "x-amz-security-token" not in request.headers
    assert "aws_session_token" not in store.options("polars")


@pytest.mark.parametrize(
    "url",
    [
        f"s3://{KEY}:{SECRET}@bucket/lake",
        f"s3://{KEY}@bucket/lake",
        f"gs://bucket/lake?token={TOKEN}",
        f"az://me:{KEY}@box/lake",
        f"s3://bucket/lake#{KEY}",
        f"memory://x?key={KEY}",
        f"simplecache::ftp://me:{KEY}@host/x",
    ],
)
def test_a_url_that_carries_a_secret_is_refused_without_repeating_it(url):
    with pytest.raises(InvalidInputError) as caught:
        open_store(url)
    assert_silent(everything_said(caught.value))


@pytest.mark.parametrize(
    "options",
    [
        {"no_such_option": KEY},
        {"endpoint": f"http://me:{KEY}@host"},
        {"key": KEY, "access_key_id": KEY},
    ],
)
def test_a_bad_option_is_refused_by_name_only(options):
    with pytest.raises(InvalidInputError, match=r"no_such_option|endpoint|access_key_id") as caught:
        open_store("s3://bucket/lake", storage_options=options)
    assert_silent(everything_said(caught.value))


def lies_in(secrets, folder, url):
    """Return which of the secrets stand anywhere in the files of a catalog, or in its rows."""
    found = [file.read_bytes() for file in folder.iterdir() if file.is_file()]
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
            for (name,) in connection.execute(asked).fetchall():
                rows = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)))
                found.append(repr(rows.fetchall()).encode())
    return {secret for secret in secrets for text in found if secret.encode() in text}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql"])
def test_no_row_of_a_catalog_holds_a_secret(kind, tmp_path, s3, request):
    catalogs = {"sqlite": str(tmp_path / "x.db"), "duckdb": str(tmp_path / "x.ducklake")}
    url = catalogs.get(kind) or request.getfixturevalue("pg_url")
    options = explicit(s3.endpoint)
    del options["max_retries"]
    with mere.connect(url, data_path=f"{s3.url}/lake/", storage_options=options) as lake:
        table = lake.create_table("t", {"day": "string", "n": "int64"}, partition_by=["day"])
        table.append([{"day": "a", "n": 1}, {"day": "b", "n": 2}], message="a day")
        table.delete("n = 1")
        table.evolve().comment("about days").commit()
        lake.tag("first")
        lake.expire(0)
        lake.vacuum(0)
        told = repr(lake) + repr(table) + repr(table.scan()) + repr(table.history().to_pylist())
        assert table.scan().to_arrow().to_pylist() == [{"day": "b", "n": 2}]
        assert not any(secret in told for secret in (KEY, SECRET, TOKEN))
        assert not lies_in((KEY, SECRET, TOKEN), tmp_path, url)
        table.evolve().comment(SECRET).commit()  # whoever writes one down there finds it again
    assert lies_in((KEY, SECRET, TOKEN), tmp_path, url) == {SECRET}
