"""Run one Spark job over prepared partitions, and take its results or its error."""

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from mere.errors import MereError, TaskError
from mere.model.work import Result
from mere.runners.spark.carried import find
from mere.runners.spark.watching import watched
from mere.telling import Told

ANSWER = "result binary"
UNKNOWN_SLOTS = 16


def slots(spark: SparkSession) -> int:
    """Return how many tasks Spark does at a time; over Spark Connect nobody can tell."""
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        return max(spark.sparkContext.defaultParallelism, 1)
    return UNKNOWN_SLOTS


def collect(
    frame: DataFrame,
    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    *,
    told: Told | None = None,
) -> list[Result]:
    """Run the one Spark job, and return the results of its successful attempts.

    Raises:
        MereError: What a worker raised, after Spark's own retries.
        TaskError: If Spark itself failed.
    """
    try:
        with warnings.catch_warnings(), watched(frame.sparkSession, told):
            # Said of every pandas since 3.0, which PySpark asks for here and does not use.
            warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
            answers = frame.mapInArrow(work, ANSWER).collect()
    except (PySparkException, Py4JError) as error:
        raise own(error) from error
    return [pickle.loads(row.result) for row in answers]  # noqa: S301  pickled by our own workers


def own(error: Exception) -> MereError:
    """Return the error that a worker raised, or a TaskError for Spark's own."""
    text = str(error)
    return find(text) or TaskError(f"Spark could not do the work: {text}")
