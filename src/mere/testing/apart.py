"""A runner whose tasks share nothing: each gets its own copy of the work, as on a cluster."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mere.model.layout import Layout
from mere.model.schema import Schema
from mere.model.work import Result, Task
from mere.runners.local import LocalRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class ApartRunner:
    """Does tasks one after the other, each unpickled, and says that `slots` processes did them.

    The first attempts at the tasks numbered in `twice` are thrown away after they were done, as
    those of a machine that is lost with its results. Without `copies` tasks are not unpickled,
    so that a store which counts its calls sees all of them.
    """

    slots: int = 4
    copies: bool = True
    twice: frozenset[int] = frozenset()
    done: list[Task] = field(default_factory=list, compare=False)
    name: str = field(default="apart", init=False)

    @property
    def together(self) -> int:
        """One: each task has a process of its own."""
        return 1

    def schema(self, rows: Any) -> Schema:
        """Return the columns of rows that come in, without consuming them."""
        return LocalRunner().schema(rows)

    def run(self, do: Callable[[Any], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Do every task, the last one first."""
        for place, task in reversed(list(enumerate(tasks))):
            self.done.append(task)
            for _ in range(2 if place in self.twice else 1):
                own, given = _copied((do, task)) if self.copies else (do, task)
                (result,) = LocalRunner(workers=1).run(own, [given])
            yield _copied(result)

    def feed(
        self, do: Callable[[Any], Result], rows: Any, *, schema: Schema, layout: Layout
    ) -> tuple[Result, ...]:
        """Hand the incoming rows to `do` as one stream."""
        return LocalRunner().feed(do, rows, schema=schema, layout=layout)


def _copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  pickled right here
