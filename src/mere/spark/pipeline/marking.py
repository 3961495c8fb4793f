"""Let one commit of any verb carry how far its step has come."""

from dataclasses import replace
from typing import Any

from mere.model.history import Change, Committed, Mark
from mere.ports import Catalog, WriteDeletes


def token_of(mark: Mark) -> str:
    """Name the commit of one run of a step: whoever makes it, it is made once."""
    return f"pipeline/{mark.step}/{mark.run}"


class MarkingCatalog:
    """A catalog whose commits are the work of one run of a step; all else is the real catalog's.

    The token makes it once: a commit that was made before, by whom ever, is `repeated`.
    """

    def __init__(self, catalog: Catalog, mark: Mark, *, message: str) -> None:
        """Wrap a catalog for one commit."""
        self._catalog = catalog
        self._mark = mark
        self._message = message
        self.is_done = False
        self.is_repeated = False
        self.wrote: int | None = None

    def __getattr__(self, name: str) -> Any:
        """Ask the real catalog."""
        return getattr(self._catalog, name)

    def commit(self, change: Change, write_deletes: WriteDeletes | None = None) -> Committed:
        """Commit with the token and the mark of the run."""
        mark = self._mark
        marked = replace(
            change,
            token=token_of(mark),
            mark=mark,
            message=change.message or self._message,
        )
        if write_deletes is None:
            done = self._catalog.commit(marked)
        else:
            done = self._catalog.commit(marked, write_deletes)
        self.is_done, self.is_repeated = True, done.repeated
        self.wrote = done.snapshot if done.snapshot > change.base else None
        return done

    def commit_nothing(self) -> None:
        """Say how far the step has come although it wrote nothing."""
        self.commit(Change(base=self._catalog.snapshot().id, edits=()))
