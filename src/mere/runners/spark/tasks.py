"""Do a kernel's work inside Spark's Python workers: Arrow batches come in, pickled results go out.

Everything here runs on the executors, which import this module by its name.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from mere.errors import MereError, TaskError
from mere.model.work import Result, Task
from mere.runners.spark.carried import spell


def run_tasks(
    do: Callable[[Task], Result], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do the tasks of one Spark partition, one after the other."""
    for batch in batches:
        for packed in batch.column("task"):
            task = pickle.loads(packed.as_py())  # noqa: S301  pickled by our own driver
            yield answer(do, task)


def feed_stream(
    do: Callable[[Any], Result], target: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Hand the rows of one Spark partition to `do` as one stream; without rows do nothing."""
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return
    fitted = (batch.cast(target) for batch in chain([first], rows))
    yield answer(do, pa.RecordBatchReader.from_batches(target, fitted))


def answer(do: Callable[[Any], Result], argument: Any) -> pa.RecordBatch:
    """Return the pickled result as the one row of a batch.

    An error goes through Spark's own machinery, so that Spark tries again; the driver finds the
    error itself in the text.
    """
    try:
        result = do(argument)
    except Exception as error:
        raised = error if isinstance(error, MereError) else foreign(error)
        raise RuntimeError(spell(raised)) from error
    return pa.RecordBatch.from_pydict({"result": pa.array([pickle.dumps(result)], pa.binary())})


def foreign(error: Exception, where: str = "on an executor of Spark") -> TaskError:
    """Return an error that is not mere's own as one that says what failed."""
    return TaskError(f"a task failed {where}: {type(error).__name__}: {error}")
