"""Start a SparkSession that suits a lake, or suit one that runs already."""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from mere.errors import InvalidInputError
from mere.spark.java import Gateway, find_java, is_sparks_choice, start_gateway
from mere.spark.register import has_sources, register

# Settings that may change on a running session.
LIVE = {
    # INT96, the default, is read back by other engines as nanoseconds, which Spark cannot read.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Above the threshold Spark lists named files with a job of up to 10,000 tasks.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
# Settings of a session that is started here: these change what a user's own code means.
FRESH = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Python workers over sockets of the file system answer several times faster than over TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def session(
    app: str = "mere", *, master: str | None = None, memory: str | None = None, **conf: object
) -> SparkSession:
    """Return a SparkSession with the settings that matter to a lake.

    A running session is returned as it is, plus the settings that may change while it runs;
    its time zone stays. Otherwise one is started: on all local cores unless `master` says
    where, in the time zone UTC, without the web interface, with this Python on the executors.
    Java is taken from JAVA_HOME or PATH if it is 17 or newer, else from the runtime wheel.

    Args:
        app: Name of the application.
        master: `local[4]`, `spark://host:7077`, `yarn`, … or `sc://host` for Spark Connect.
        memory: Memory of the driver, as `"2g"`; in local mode that is all there is.
        **conf: More settings by their full names, as `**{"spark.sql.shuffle.partitions": 8}`.

    Raises:
        EngineMissingError: If no Java is found that runs Spark.
        InvalidInputError: If a setting is none of Spark's, or cannot change on a running session.
    """
    asked = _settings(master, memory, conf)
    if SparkContext._active_spark_context is not None:  # noqa: SLF001  there is no public way
        return _suit(SparkSession.builder.getOrCreate(), asked)
    if master is not None and master.startswith("sc://"):
        asked.pop("spark.master")
        return _suit(SparkSession.builder.remote(master).getOrCreate(), asked)
    settings = {"spark.master": "local[*]", **LIVE, **FRESH, "spark.app.name": app, **asked}
    if settings["spark.master"].startswith("local"):
        settings = {**LOCAL, **settings}
    return _start(settings)


def _settings(master: str | None, memory: str | None, conf: Mapping[str, object]) -> dict[str, str]:
    strange = sorted(key for key in conf if not key.startswith("spark."))
    if strange:
        msg = f"no settings of Spark: {', '.join(strange)}"
        raise InvalidInputError(
            msg, hint='write session(**{"spark.sql.shuffle.partitions": 8}), master= or memory='
        )
    named = {"spark.master": master, "spark.driver.memory": memory, **conf}
    return {key: _text(value) for key, value in named.items() if value is not None}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _suit(spark: SparkSession, asked: Mapping[str, str]) -> SparkSession:
    """Set what may change on a running session; refuse what was asked for and may not."""
    fixed = {
        key: spark.conf.get(key, None)
        for key, value in asked.items()
        if not spark.conf.isModifiable(key) and spark.conf.get(key, None) != value
    }
    if fixed:
        found = ", ".join(f"{key} (it is {value or 'not set'})" for key, value in fixed.items())
        msg = f"a running session cannot change {found}"
        raise InvalidInputError(msg, hint="stop it first (spark.stop()), or leave these out")
    for key, value in {**LIVE, **asked}.items():
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    return _knowing(spark)


def _knowing(spark: SparkSession) -> SparkSession:
    """Make the format `mere` known, unless this PySpark is too old for it."""
    if has_sources():
        register(spark)
    return spark


def _start(settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    python = os.environ.get("PYSPARK_PYTHON") or sys.executable
    with warnings.catch_warnings(), _environment({"PYSPARK_PYTHON": python}):
        # Said of every pandas since 3.0, whether or not anything will use it.
        warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
        gateway = _own_gateway(settings)
        if gateway is None:
            return _knowing(builder.getOrCreate())
        way_in = {
            "PYSPARK_GATEWAY_PORT": str(gateway.port),
            "PYSPARK_GATEWAY_SECRET": gateway.secret,
        }
        with _environment(way_in):
            spark = builder.getOrCreate()
        # Kept where PySpark keeps its own: the pipe to the JVM closes with this process.
        made: Any = SparkContext._gateway  # noqa: SLF001  as PySpark itself does
        made.proc = gateway.process
        return _knowing(spark)


def _own_gateway(settings: Mapping[str, str]) -> Gateway | None:
    """Start a JVM if there is none yet and PySpark could not start the right one itself."""
    running = SparkContext._gateway  # noqa: SLF001  there is no public way
    if running is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    java = find_java(os.environ)
    if is_sparks_choice(java, os.environ):
        return None
    return start_gateway(java, settings, os.environ)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Show PySpark some variables while it starts; nobody else shall inherit them."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
