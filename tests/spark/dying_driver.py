"""A driver that dies when its rows are written and nothing is committed."""

import os
import signal
import sys
from dataclasses import replace
from typing import Any

import mere
import mere.spark
from mere.lake import Lake


class Deadly:
    """A catalog whose commit ends the process."""

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog

    def __getattr__(self, name: str) -> Any:
        if name == "commit":
            os.kill(os.getpid(), signal.SIGKILL)
        return getattr(self._catalog, name)


def main(url: str) -> None:
    """Append, and never come back."""
    spark = mere.spark.session("dying", master="local[2]", memory="512m")
    session = mere.connect(url).on(spark)._session  # noqa: SLF001  there is no other way to die
    lake = Lake(replace(session, catalog=Deadly(session.catalog)))
    lake.table("t").append(spark.range(10, numPartitions=2).select("id"))


if __name__ == "__main__":
    main(sys.argv[1])
