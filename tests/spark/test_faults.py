"""Tasks, workers and machines die; rows are there once, or not at all."""

import os
import signal

import pytest
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from tests.spark.programs import program

import mere
from mere.errors import TaskError

pytestmark = [
    pytest.mark.spark,
    # Said of every pandas since 3.0, which PySpark asks for here and does not use.
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
]

SCHEMA = "id bigint"


@pytest.fixture
def lake(tmp_path):
    with mere.connect(tmp_path / "shop.db") as opened:
        opened.create_table("t", {"id": "int64"})
        yield opened


def ids(lake):
    return sorted(lake.table("t").scan().to_arrow()["id"].to_pylist())


def dying(folder, times):
    """Return what lets its Python process die after some rows, so many times per partition."""

    def work(batches):
        context = TaskContext.get()
        assert context is not None
        before = len(list(folder.glob(f"{context.partitionId()}-*")))
        for batch in batches:
            yield batch
            if before < times:
                (folder / f"{context.partitionId()}-{context.taskAttemptId()}").touch()
                os.kill(os.getpid(), signal.SIGKILL)

    return work


@pytest.mark.parametrize("way", ["append", "format"])
def test_a_worker_that_is_killed_is_made_up_for(spark, lake, tmp_path, way):
    notes = tmp_path / "notes"
    notes.mkdir()
    frame = spark.range(100, numPartitions=2).mapInArrow(dying(notes, 1), SCHEMA)
    if way == "append":
        lake.on(spark).table("t").append(frame)
    else:
        frame.write.format("mere").option("lake", lake.url).mode("append").save("t")
    assert ids(lake) == list(range(100))
    assert len(list(notes.iterdir())) == 2


@pytest.mark.parametrize("way", ["append", "format"])
def test_a_task_that_fails_for_good_changes_nothing(spark, lake, tmp_path, way):
    lake.table("t").append([{"id": -1}])
    version = lake.version
    notes = tmp_path / "notes"
    notes.mkdir()
    frame = spark.range(100, numPartitions=2).mapInArrow(dying(notes, 9), SCHEMA)
    if way == "append":
        with pytest.raises(TaskError):
            lake.on(spark).table("t").append(frame)
    else:
        with pytest.raises((PySparkException, Py4JError)):
            frame.write.format("mere").option("lake", lake.url).mode("append").save("t")
    assert (ids(lake), lake.version) == ([-1], version)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_machines_of_a_cluster_are_lost_while_rows_are_written_and_moved(tmp_path):
    """One is lost in each step but the last, in which every task fails twice."""
    said = program("on_cluster", tmp_path)
    right = [line for line in said.stdout.splitlines() if line.startswith("RIGHT")]
    steps = ("append", "overwrite", "stream", "compact", "cluster", "fail_twice")
    assert right == [f"RIGHT {step}" for step in steps], said.stderr[-3000:]
    assert said.returncode == 0
