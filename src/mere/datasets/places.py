"""Name a folder and how it is worked on; each verb opens it anew, so it sees what is there."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mere.arrow.names import uuid7
from mere.datasets.opening import folder
from mere.lake import Lake
from mere.table import Table

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the files of a dataset lie, and who works on them.

    `engine` is `"local"` or a SparkSession. With `compression` files get that codec; None: files
    that are written anew keep theirs. With `backup`, files are copied there before they go.
    """

    path: str | os.PathLike[str]
    filesystem: Any = field(default=None, repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    kernel: str = "pyarrow"
    engine: Any = LOCAL
    compression: str | None = None
    backup: str | None = None

    def table(self, **terms: Any) -> Table:
        """Open the folder as a table.

        Raises:
            FileNotFoundError: If there is no Parquet file in it, unless the terms say what to make.
        """
        return folder(
            self.path,
            filesystem=self.filesystem,
            storage_options=self.storage_options,
            kernel=self.kernel,
            runner=None if self.engine == LOCAL else self.engine,
            compression=self.compression,
            backup=self.backup,
            **terms,
        )


def backup_in(root: str | os.PathLike[str] | None) -> str | None:
    """Name a new folder for copies, sorted by time among the others; None without a root."""
    return None if root is None else f"{os.fspath(root).rstrip('/')}/{uuid7()}"


@contextmanager
def transaction(table: Table) -> Iterator[Table]:
    """Do several things to a folder in one swap: all of them, or nothing after an exception."""
    with Lake(table._session).transaction() as staged:  # noqa: SLF001  a folder has no lake
        yield staged.table(table.name)
