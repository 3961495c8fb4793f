"""Spell the place of any file of a catalog one way, so that spellings can be compared."""

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from mere.catalogs.dialect import Link, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of every table that the catalog still knows, below the root or absolute."""

    root: str
    tables: Mapping[int, frozenset[str]]

    @classmethod
    def read(cls, link: Link, root: str) -> "Folders":
        """Read the folders of all tables, of dropped ones too."""
        found: dict[int, set[str]] = {}
        for table, path, relative, schema_path, schema_relative in link.rows("folders"):
            folder = f"{schema_path or ''}{path or ''}" if relative else str(path)
            below = relative and schema_relative
            found.setdefault(table, set()).add(root + folder if below else folder)
        return cls(root=root, tables={table: frozenset(each) for table, each in found.items()})

    def place(self, table: int, path: str, *, relative: bool) -> tuple[str, bool]:
        """Return a file's path below the root and True, or its whole path and False."""
        folders = self.tables.get(table, frozenset())
        whole = min(folders, default=self.root) + path if relative else path
        key = self.key(whole)
        return (whole, False) if key is None else (key, True)

    def keys(self, rows: Iterable[Row]) -> tuple[frozenset[str], frozenset[str]]:
        """Return what rows of (table, path, relative) name: paths below the root, and bare names.

        The name alone is told where the table's folder is not known.
        """
        paths: set[str] = set()
        names: set[str] = set()
        for table, path, relative in rows:
            folders = self.tables.get(table)
            if relative and not folders:
                names.add(PurePosixPath(path).name)
                continue
            for folder in folders if relative and folders else ("",):
                key = self.key(folder + path)
                if key is not None:
                    paths.add(key)
        return frozenset(paths), frozenset(names)

    def key(self, whole: str) -> str | None:
        """Return an absolute path as one below the root, None when it lies elsewhere."""
        root, path = _plain(self.root), _plain(whole)
        if path.startswith(root + "/"):
            return path[len(root) + 1 :]
        if "://" in root or "://" in path:
            return None
        real_root, real = os.path.realpath(root), os.path.realpath(path)
        inside = real.startswith(real_root.rstrip("/") + "/")
        return real[len(real_root.rstrip("/")) + 1 :] if inside else None


def _plain(path: str) -> str:
    """Take out what does not matter: doubled slashes, dots, and other names of one scheme."""
    scheme, mark, rest = path.partition("://")
    if not mark:
        return posixpath.normpath(path.replace("//", "/"))
    if scheme == "file":
        return posixpath.normpath("/" + rest.lstrip("/"))
    scheme = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "gcs": "gs"}.get(scheme, scheme)
    return f"{scheme}://{posixpath.normpath(rest)}"
