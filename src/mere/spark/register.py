"""Make the format `mere` known to a session."""

from importlib import import_module

import pyspark
from pyspark.sql import SparkSession

from mere.errors import UnsupportedError

OLDEST = (4, 2)


def register(spark: SparkSession) -> None:
    """Make `format("mere")` known to a running session, of Spark itself or of Spark Connect.

    Sessions that `mere.spark.session` returns know it already, and so does every session whose
    Python workers find this package: Spark looks for it there.

    Raises:
        UnsupportedError: If this PySpark is older than 4.2.
    """
    if not has_sources():
        msg = f"format('mere') needs PySpark 4.2 or newer, this is {pyspark.__version__}"
        raise UnsupportedError(msg, hint="Table.append and Scan.to_spark work without it")
    spark.dataSource.register(import_module("mere.spark.source").MereSource)


def has_sources() -> bool:
    """Tell whether this PySpark has all that the format is made of."""
    major, minor = pyspark.__version__.split(".")[:2]
    return (int(major), int(minor)) >= OLDEST
