"""Do tasks in this process, on threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from mere import stopping
from mere.arrow import from_arrow, schema_of, stream
from mere.errors import InvalidInputError, MereError, TaskError
from mere.telling import telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mere.model.layout import Layout
    from mere.model.schema import Schema
    from mere.model.work import Result, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRunner:
    """Threads of this process: `workers` of them, None for as many as there are cores."""

    workers: int | None = None
    name: str = field(default="local", init=False)

    def __post_init__(self) -> None:
        """Refuse a number of workers that nothing could run with."""
        if self.workers is not None and self.workers < 1:
            msg = f"workers must be at least 1, got {self.workers}"
            raise InvalidInputError(msg)

    @property
    def together(self) -> int:
        """How many tasks share the memory of this process, at most."""
        return self.workers or os.cpu_count() or 1

    @property
    def slots(self) -> int:
        """How many tasks are done at a time."""
        return self.together

    def schema(self, rows: Any) -> Schema:
        """Return the columns of rows that come in, without consuming them.

        A column of nothing but NULL, without a type of its own, is left out: it fits any column.

        Raises:
            InvalidInputError: If rows cannot be taken from `rows`.
        """
        return from_arrow(schema_of(rows), untyped=None)

    def run(self, do: Callable[[Any], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Do every task and yield the results as they come.

        After the first failure, or an interrupt, no further task is begun, and those that run end
        at their next step.

        Raises:
            TaskError: If a task failed by an error that is not mere's own; it is the cause.
        """
        if not tasks:
            return
        workers, over = min(self.together, len(tasks)), Event()
        pool = ThreadPoolExecutor(workers, initializer=stopping.heed, initargs=(over,))
        with telling(_verb(do)) as told, pool:
            try:
                futures = {pool.submit(do, task): task for task in tasks}
                told(0, len(tasks))
                for done, future in enumerate(as_completed(futures), start=1):
                    with _named(futures[future], do, self.name):
                        result = future.result()
                    told(done, len(tasks))
                    yield result
            finally:
                over.set()
                pool.shutdown(wait=True, cancel_futures=True)

    def feed(
        self, do: Callable[[Any], Result], rows: Any, *, schema: Schema, layout: Layout
    ) -> tuple[Result, ...]:
        """Hand the incoming rows to `do` as one stream; a kernel uses the cores by itself.

        Raises:
            TaskError: If it failed by an error that is not mere's own; it is the cause.
        """
        del schema, layout  # one stream needs no bringing together
        reader = stream(rows)
        with telling(_verb(do)), _named(None, do, self.name):
            return (do(reader),)


@contextmanager
def _named(task: Task | None, do: Callable[..., Result], runner: str) -> Iterator[None]:
    """Turn a foreign error into a TaskError that names task, kernel and runner."""
    try:
        yield
    except MereError:
        raise
    except Exception as error:
        given = do.keywords.get("task") if isinstance(do, partial) else None
        what = type(task or given or do).__name__
        kernel = _kernel_name(do)
        msg = f"{what} with the {kernel} kernel on the {runner} runner: "
        msg += f"{type(error).__name__}: {error}"
        raise TaskError(msg, hint="nothing was committed") from error


def _verb(do: Callable[..., Result]) -> str:
    """Name what is done."""
    method = do.func if isinstance(do, partial) else do
    return str(getattr(method, "__name__", "work"))


def _kernel_name(do: Callable[..., Result]) -> str:
    method = do.func if isinstance(do, partial) else do
    kernel = do.keywords.get("kernel") if isinstance(do, partial) else None
    return str(getattr(kernel or getattr(method, "__self__", None), "name", "given"))
