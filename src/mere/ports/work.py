"""How is one task done, and where? The roles of kernels and runners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mere.model.layout import Layout
    from mere.model.schema import Schema
    from mere.model.work import Result, Task
    from mere.ports.store import Store


class Kernel(Protocol):
    """How one task is done: settings only, so that it pickles; it opens what it needs per task."""

    @property
    def name(self) -> str:
        """The kernel's short name."""
        ...

    def write(self, rows: Any, *, task: Any, store: Store) -> Result:
        """Write an Arrow stream as files: batches in, files with bounds and row groups out."""
        ...

    def probe(self, task: Any, *, store: Store) -> Result:
        """Find the rows that clauses are about; write new versions of those that are updated."""
        ...

    def rewrite(self, task: Any, *, store: Store) -> Result:
        """Write the rows of files anew, as every version that is kept sees them."""
        ...


class Runner(Protocol):
    """Where tasks are done; it does not know what `do` means."""

    @property
    def name(self) -> str:
        """The runner's short name."""
        ...

    @property
    def together(self) -> int:
        """How many tasks share the memory of one process, at most."""
        ...

    @property
    def slots(self) -> int:
        """How many tasks are done at a time; more than `together` where processes do them."""
        ...

    def schema(self, rows: Any) -> Schema:
        """Return the columns of rows that come in, without consuming them."""
        ...

    def run(self, do: Callable[[Any], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Do every task, in any order."""
        ...

    def feed(
        self, do: Callable[[Any], Result], rows: Any, *, schema: Schema, layout: Layout
    ) -> tuple[Result, ...]:
        """Hand incoming rows to `do` as one or more Arrow streams, each row exactly once.

        `schema` and `layout` are the table's: a distributed runner brings rows of one partition
        together, so that files are few.
        """
        ...
