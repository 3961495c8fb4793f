"""A driver that runs a pipeline and dies at the commit of its step: just before it, or after."""

import os
import signal
import sys
from dataclasses import replace
from typing import Any

import mere
import mere.spark
from mere.lake import Lake
from mere.model.history import Change


class Deadly:
    """A catalog that ends the process at the commit of a step."""

    def __init__(self, catalog: Any, when: str) -> None:
        self._catalog, self._when = catalog, when

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit(self, change: Change, *more: Any) -> Any:
        """Commit or not, and never come back."""
        if change.mark is None:
            return self._catalog.commit(change, *more)
        if self._when == "after":
            self._catalog.commit(change, *more)
        os.kill(os.getpid(), signal.SIGKILL)
        return None


def main(url: str, when: str) -> None:
    """Copy what is new, and never come back."""
    spark = mere.spark.session("dying", master="local[2]", memory="512m")
    session = mere.connect(url).on(spark)._session  # noqa: SLF001  there is no other way to die
    catalog: Any = Deadly(session.catalog, when)
    flow = mere.spark.Pipeline("shop")

    @flow.step("copy", reads="raw", name="copied")
    def copied(raw: Any) -> Any:
        return raw

    flow.run(Lake(replace(session, catalog=catalog)))


if __name__ == "__main__":
    main(*sys.argv[1:])
