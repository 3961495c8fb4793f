"""Give the tests real servers, the reference implementation of the format, and fresh places.

Nothing heavy is imported here: a test that needs no engine must not wait for one.
"""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests import servers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

settings.register_profile("quick", deadline=None, max_examples=50)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=100,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("long", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner", "httpfs")


def pytest_configure() -> None:
    """Stop servers also when the run itself is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all that needs Spark in one process, when the suite runs in several.

    A test whose parameters say that it runs on Spark has it in its name.
    """
    for item in items:
        told = item.nodeid + " ".join(getattr(item, "fixturenames", ()))
        if "spark" in told or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Postgres]:
    """Run one PostgreSQL server for the whole session."""
    with servers.postgres() as server:
        yield server


@pytest.fixture
def pg_url(postgres: servers.Postgres) -> Iterator[str]:
    """Hand out the URL of a fresh PostgreSQL database."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Run one S3 server for the whole session."""
    with servers.moto() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def _bucket_numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def s3(
    s3_endpoint: str, _bucket_numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch
) -> servers.S3:
    """Hand out a fresh bucket; the environment tells every S3 client where it is."""
    bucket = servers.S3(
        endpoint=s3_endpoint,
        bucket=f"bucket-{next(_bucket_numbers)}",
        key="test-key",
        secret="test-secret",
    )
    servers.make_bucket(bucket.endpoint, bucket.bucket)
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    return bucket


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Start one small session in which a task may be tried twice; end its JVM afterwards."""
    from pyspark import SparkContext  # noqa: PLC0415 - only tests on Spark pay for it

    import mere.spark  # noqa: PLC0415 - the same

    session = mere.spark.session(
        "tests",
        master="local[2,2]",
        memory="1g",
        **{
            "spark.sql.shuffle.partitions": 4,
            "spark.log.level": "OFF",
            # Workers import what a test gives them to do, wherever the tests were started.
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
            # Short queries spend more time in the second compiler than they win by it.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
    )
    yield session
    session.stop()
    context: Any = SparkContext
    gateway, context._gateway, context._jvm = context._gateway, None, None  # noqa: SLF001
    gateway.shutdown()
    gateway.proc.communicate(timeout=60)


@pytest.fixture
def duckdb_with() -> Iterator[Callable[..., "DuckDBPyConnection"]]:
    """Hand out a function that opens DuckDB with the named extensions, without a network."""
    with ExitStack() as opened:

        def open_duckdb(*extensions: str) -> "DuckDBPyConnection":
            import duckdb  # noqa: PLC0415 - only tests that use DuckDB pay for it

            offline: dict[str, str | bool | int | float | list[str]] = {
                "autoinstall_known_extensions": False,
                # They come from wheels with pinned versions. Checking their signatures anew takes
                # a tenth of a second each, ten times as long as all the rest of a connection.
                "allow_unsigned_extensions": True,
            }
            connection = opened.enter_context(duckdb.connect(config=offline))
            for name in extensions:
                connection.execute(f"LOAD '{_extension(name)}'")
            return connection

        yield open_duckdb


@pytest.fixture
def oracle(
    duckdb_with: Callable[..., "DuckDBPyConnection"],
) -> Callable[..., "DuckDBPyConnection"]:
    """Hand out a function that attaches a lake in DuckDB, the independent check of the format.

    `oracle("sqlite:shop.db")`, `oracle("shop.ducklake")` or `oracle("postgres:" + pg_url)` attach
    the lake as `lake` and use it; further keywords are options of ATTACH, such as
    `data_path="files/"`, `snapshot_version=3` or `read_only=True`.
    """

    def attach(catalog: str, /, **options: object) -> "DuckDBPyConnection":
        connection = duckdb_with(*_EXTENSIONS)
        words = ", ".join(
            name if value is True else f"{name} {_literal(value)}"
            for name, value in options.items()
        )
        where = catalog.replace("'", "''")
        connection.execute(f"ATTACH 'ducklake:{where}' AS lake" + (f" ({words})" if words else ""))
        connection.execute("USE lake")
        return connection

    return attach


def _literal(value: object) -> str:
    if isinstance(value, str | Path):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)


def _extension(name: str) -> Path:
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    if spec is None or spec.origin is None:
        msg = f"the wheel of DuckDB's extension {name!r} is not installed; ./dev installs it"
        raise LookupError(msg)
    (path,) = Path(spec.origin).parent.glob(f"extensions/*/{name}.duckdb_extension")
    return path
