"""Tell how far the jobs of one call are, and cancel them when the call is given up."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from mere.telling import Told, heard, telling

_EVERY_SECONDS = 0.25


@contextmanager
def watched(spark: SparkSession, told: Told | None) -> Iterator[None]:
    """Watch what Spark does for the block, and cancel it when the block ends by an exception."""
    tag = f"mere-{uuid4()}"
    with ExitStack() as stack:
        listener = told or (stack.enter_context(telling("spark")) if heard() else None)
        if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
            stack.enter_context(_classic(spark.sparkContext, tag, listener))
        else:
            stack.enter_context(_connected(spark, tag, listener))
        yield


@contextmanager
def _classic(context: SparkContext, tag: str, told: Told | None) -> Iterator[None]:
    context.addJobTag(tag)
    over = Event()
    teller = Thread(target=_tell, args=(context, tag, told, over), name=tag, daemon=True)
    if told is not None:
        teller.start()
    try:
        yield
    except BaseException:
        context.cancelJobsWithTag(tag)
        raise
    finally:
        over.set()
        if told is not None:
            teller.join()
        context.removeJobTag(tag)


def _tell(context: SparkContext, tag: str, told: Told, over: Event) -> None:
    last = (0, 0)
    while not over.wait(_EVERY_SECONDS):
        try:
            now = _counted(context, tag)
        except Py4JError:  # Spark was stopped, or knows no jobs by their tag
            return
        if now != last:
            told(*now)
            last = now


def _counted(context: SparkContext, tag: str) -> tuple[int, int]:
    tracker = context.statusTracker()
    jobs: Any = context._jsc.sc().statusTracker().getJobIdsForTag(tag)  # noqa: SLF001  no other way
    infos = [tracker.getJobInfo(job) for job in jobs]
    stages = {stage for info in infos if info is not None for stage in info.stageIds}
    found = [info for info in map(tracker.getStageInfo, stages) if info is not None]
    return sum(s.numCompletedTasks for s in found), sum(s.numTasks for s in found)


@contextmanager
def _connected(spark: Any, tag: str, told: Told | None) -> Iterator[None]:
    def handle(stages: Iterable[Any] | None, **_: Any) -> None:
        if told is not None and stages is not None:
            counted = [(stage.num_completed_tasks, stage.num_tasks) for stage in stages]
            told(sum(done for done, _ in counted), sum(total for _, total in counted))

    spark.addTag(tag)
    spark.registerProgressHandler(handle)
    try:
        yield
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeProgressHandler(handle)
        spark.removeTag(tag)
