"""What every runner keeps, as checks; `bring` turns a table into rows of the runner's own kind.

```python
@pytest.mark.parametrize("check", RUNNER_CHECKS, ids=lambda check: check.__name__)
def test_my_runner(check):
    check(MyRunner(), lambda table: table)
```
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from mere.arrow import schema_from, stream
from mere.errors import CorruptionError, MereError, TaskError
from mere.model.files import DataFile
from mere.model.layout import Layout, parse_key
from mere.model.schema import number
from mere.model.work import Result, Write
from mere.ports import Runner

Bring: TypeAlias = Callable[[pa.Table], Any]
Check: TypeAlias = Callable[[Runner, Bring], None]

SCHEMA = number(schema_from({"p": "int64", "n": "int64"}))
ROWS = 5000


def table() -> pa.Table:
    """Return rows of which each has a number of its own."""
    return pa.table({"p": [n % 7 for n in range(ROWS)], "n": list(range(ROWS))})


def tasks(count: int) -> list[Write]:
    """Return tasks that differ in their folder."""
    return [
        Write(schema=SCHEMA, layout=Layout(), folder=f"t{i}/", intent="x") for i in range(count)
    ]


def name_task(task: Write) -> Result:
    """Return a result that tells which task it came from."""
    return Result(files=(DataFile(path=task.folder, bytes=1, rows=1),), rows_out=1)


def fail_on_second(task: Write, *, error: Exception) -> Result:
    """Fail on one task of several."""
    if task.folder == "t1/":
        raise error
    return name_task(task)


def number_rows(rows: Any, *, task: Write | None = None) -> Result:
    """Return a result that holds the numbers of the rows that came."""
    del task
    numbers = [n for batch in stream(rows) for n in batch.column("n").to_pylist()]
    files = tuple(DataFile(path=str(n), bytes=1, rows=1) for n in numbers)
    return Result(files=files, rows_in=len(numbers), rows_out=len(numbers))


def break_off(rows: Any, *, error: Exception, task: Write | None = None) -> Result:
    """Fail after the first batch."""
    del task
    next(iter(stream(rows)))
    raise error


def every_task_is_done_once(runner: Runner, bring: Bring) -> None:
    """None is left out, none is done twice, whatever their number."""
    del bring
    for count in (0, 1, 3, 20):
        found = sorted(r.files[0].path for r in runner.run(name_task, tasks(count)))
        _same(found, sorted(task.folder for task in tasks(count)))


def an_error_keeps_its_class(runner: Runner, bring: Bring) -> None:
    """What mere raises on purpose arrives as it was, hint included."""
    del bring
    do = partial(fail_on_second, error=CorruptionError("odd bytes", hint="look at t1"))
    error = _error(lambda: list(runner.run(do, tasks(3))))
    _same((type(error), str(error)), (CorruptionError, "odd bytes\n  hint: look at t1"))


def a_foreign_error_becomes_a_task_error(runner: Runner, bring: Bring) -> None:
    """It says what came, and what failed."""
    do = partial(fail_on_second, error=ValueError("seven is odd"))
    broken = partial(break_off, error=ValueError("seven is odd"), task=tasks(1)[0])
    for call in (
        lambda: list(runner.run(do, tasks(3))),
        lambda: runner.feed(broken, bring(table()), schema=SCHEMA, layout=Layout()),
    ):
        error = _error(call)
        _same(type(error), TaskError)
        _true("seven is odd" in str(error), str(error))


def every_row_is_fed_once(runner: Runner, bring: Bring) -> None:
    """However many streams there are."""
    for layout in (Layout(), Layout(id=1, keys=(parse_key("p", SCHEMA),))):
        results = runner.feed(number_rows, bring(table()), schema=SCHEMA, layout=layout)
        numbers = sorted(int(file.path) for result in results for file in result.files)
        _same(numbers, list(range(ROWS)))
        _same(sum(result.rows_in for result in results), ROWS)


def a_failing_feed_keeps_the_class_of_the_error(runner: Runner, bring: Bring) -> None:
    """What a kernel raises reaches the user."""
    broken = partial(break_off, error=CorruptionError("odd bytes"))
    error = _error(lambda: runner.feed(broken, bring(table()), schema=SCHEMA, layout=Layout()))
    _same((type(error), str(error)), (CorruptionError, "odd bytes"))


def columns_are_told_before_rows_are_read(runner: Runner, bring: Bring) -> None:
    """And the rows are all there afterwards."""
    rows = bring(table())
    _same(runner.schema(rows).spell(), "p: int64, n: int64")
    results = runner.feed(number_rows, rows, schema=SCHEMA, layout=Layout())
    _same(sum(result.rows_in for result in results), ROWS)


def what_is_no_data_is_refused(runner: Runner, bring: Bring) -> None:
    """Before anything runs."""
    del bring
    error = _error(lambda: runner.schema(object()))
    _true(isinstance(error, MereError), f"got {error!r}")


def fail_first_slowly(task: Write) -> Result:
    """Take a moment, and fail at the first task."""
    if task.folder == "t0/":
        msg = "the first task fails"
        raise CorruptionError(msg)
    time.sleep(0.05)
    return name_task(task)


def _error(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001  the check looks at it
        return error
    return None


def _same(found: object, expected: object) -> None:
    if found != expected:
        msg = f"expected {expected!r}, found {found!r}"
        raise AssertionError(msg)


def _true(holds: bool, message: str) -> None:  # noqa: FBT001  the shape of an assertion
    if not holds:
        raise AssertionError(message)


RUNNER_CHECKS: tuple[Check, ...] = (
    every_task_is_done_once,
    an_error_keeps_its_class,
    a_foreign_error_becomes_a_task_error,
    every_row_is_fed_once,
    a_failing_feed_keeps_the_class_of_the_error,
    columns_are_told_before_rows_are_read,
    what_is_no_data_is_refused,
)
