"""The suite of the runner port, against local threads."""

import pickle
import threading
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from mere.arrow import hold
from mere.errors import CorruptionError, InvalidInputError, TaskError
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.layout import Layout
from mere.model.work import Result, Write
from mere.runners.local import LocalRunner
from mere.stores import open_store
from mere.testing.runners import (
    ROWS,
    RUNNER_CHECKS,
    SCHEMA,
    Check,
    fail_first_slowly,
    name_task,
    number_rows,
    table,
    tasks,
)

RUNNERS = {
    "all cores": LocalRunner(),
    "one": LocalRunner(workers=1),
    "many": LocalRunner(workers=9),
}


@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize("check", RUNNER_CHECKS, ids=lambda check: check.__name__)
def test_a_runner_keeps_what_every_runner_keeps(check: Check, runner: LocalRunner):
    check(runner, lambda rows: rows)


def test_the_suite_takes_rows_of_another_library():
    for check in RUNNER_CHECKS:
        check(LocalRunner(), pl.from_arrow)


def test_no_task_is_begun_after_a_failure():
    done: list[str] = []

    def do(task: Write) -> Result:
        result = fail_first_slowly(task)
        done.append(task.folder)
        return result

    with pytest.raises(CorruptionError):
        list(LocalRunner(workers=2).run(do, tasks(200)))
    assert len(done) < 20


def test_results_come_as_they_are_ready():
    gate = threading.Event()

    def do(task: Write) -> Result:
        if task.folder == "t0/":
            assert gate.wait(10)
        return name_task(task)

    results = LocalRunner(workers=2).run(do, tasks(2))
    assert next(results).files[0].path == "t1/"
    gate.set()
    assert next(results).files[0].path == "t0/"


def test_a_task_error_names_the_task_the_kernel_and_the_runner(tmp_path: Path):
    kernel, store = PyarrowKernel(), open_store(str(tmp_path))
    do = partial(kernel.write, task=tasks(1)[0], store=store)

    def broken() -> Any:
        yield pa.record_batch({"p": [1], "n": [1]})
        msg = "the source ran dry"
        raise RuntimeError(msg)

    with pytest.raises(TaskError) as caught:
        LocalRunner().feed(do, broken(), schema=SCHEMA, layout=Layout())
    assert str(caught.value).startswith(
        "Write with the pyarrow kernel on the local runner: RuntimeError: the source ran dry"
    )
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_column_of_nothing_but_null_fits_any_column():
    rows = pa.table({"p": [1], "n": pa.nulls(1)})
    assert LocalRunner().schema(rows).names == ("p",)


def test_an_iterator_that_is_held_shows_its_columns_and_keeps_its_rows():
    rows = hold(iter(table().to_batches(100)))
    runner = LocalRunner()
    assert runner.schema(rows).names == ("p", "n")
    (result,) = runner.feed(number_rows, rows, schema=SCHEMA, layout=Layout())
    assert result.rows_in == ROWS


def test_a_runner_is_a_value():
    arrived = pickle.loads(pickle.dumps(LocalRunner(workers=3)))  # noqa: S301  pickled right here
    assert arrived == LocalRunner(workers=3)
    with pytest.raises(InvalidInputError, match="workers"):
        LocalRunner(workers=0)
