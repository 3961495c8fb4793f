"""Read the options of `format("mere")`: all are text, none is guessed."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mere import ops
from mere.connecting import connect
from mere.errors import InvalidInputError
from mere.lake import Lake
from mere.model.history import At, at
from mere.ports import Session

if TYPE_CHECKING:
    from mere.ops.write import WriteOptions

LAKE = "MERE_LAKE"
STORAGE = "storage."
_READ = ("version", "as_of", "tag", "where", "columns")
_STREAM = ("from_version", "changes", "max_snapshots", "max_files", "max_rows")
_WRITE = ("partition_by", "sort_by", "partitions", "token", "message")
_FLAGS = ("merge_schema", "promote_to_string")
_PLACE = ("lake", "table", "data_path", "schema", "kernel")
KNOWN = frozenset((*_PLACE, *_READ, *_STREAM, *_WRITE, *_FLAGS))
_SPARKS_OWN = frozenset({"path", "paths", "checkpointlocation", "queryname", "querytype"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What one use of the source was asked for; shown by the names of its options only."""

    given: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse an option that means nothing, before anything is opened."""
        strange = [
            key
            for key in self.given
            if key not in KNOWN | _SPARKS_OWN and not key.startswith((STORAGE, "spark."))
        ]
        if strange:
            msg = f"unknown option(s) {', '.join(sorted(strange))} of format('mere')"
            raise InvalidInputError(msg, hint=f"known: {', '.join(sorted(KNOWN))}, {STORAGE}…")

    def __repr__(self) -> str:
        """Show the names, no value: the URL of a lake may hold a password."""
        return f"Asked({', '.join(sorted(self.given))})"

    @contextmanager
    def opened(self, *, create: bool = False, read_only: bool = False) -> Iterator[Session]:
        """Open the lake that is meant, for the length of a block."""
        with self._lake(create=create, read_only=read_only) as lake:
            yield lake._session  # noqa: SLF001  the source carries verbs out in parts

    def _lake(self, *, create: bool, read_only: bool) -> Lake:
        url = self.given.get("lake") or os.environ.get(LAKE)
        if not url:
            msg = "format('mere') needs to know the lake"
            raise InvalidInputError(msg, hint=f"option('lake', url), or {LAKE} in the environment")
        storage = {
            key.removeprefix(STORAGE): value
            for key, value in self.given.items()
            if key.startswith(STORAGE)
        }
        more = {
            key: self.given[key] for key in ("data_path", "schema", "kernel") if key in self.given
        }
        return connect(
            _from_environment(url),
            create=create,
            read_only=read_only,
            storage_options=storage or None,
            **more,
        )

    def name(self) -> str:
        """Return the table that `load`, `save` or the option names."""
        name = self.given.get("path") or self.given.get("table")
        if not name:
            msg = "format('mere') needs to know the table"
            raise InvalidInputError(msg, hint='load("schema.table"), save("schema.table")')
        return name

    def at(self) -> At:
        """Return which version is asked for."""
        return at(self.number("version"), self.given.get("as_of"), self.given.get("tag"))

    def where(self) -> str | None:
        """Return which rows are asked for, or are to be replaced."""
        return self.given.get("where")

    def number(self, key: str) -> int | None:
        """Return an option that is a whole number.

        Raises:
            InvalidInputError: If it is none.
        """
        text = self.given.get(key)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError as error:
            msg = f"option {key!r} takes a whole number, got {text!r}"
            raise InvalidInputError(msg) from error

    def most(self, key: str) -> int | None:
        """Return an option that is a limit, of at least 1."""
        found = self.number(key)
        if found is not None and found < 1:
            msg = f"option {key!r} must be at least 1, got {found}"
            raise InvalidInputError(msg)
        return found

    def flag(self, key: str) -> bool:
        """Return an option that is true or false."""
        text = self.given.get(key, "false").lower()
        if text not in ("true", "false"):
            msg = f"option {key!r} takes true or false, got {text!r}"
            raise InvalidInputError(msg)
        return text == "true"

    def several(self, key: str) -> tuple[str, ...]:
        """Return an option that lists names: a JSON list, or text parted by commas."""
        text = self.given.get(key, "").strip()
        if text.startswith("["):
            try:
                found = json.loads(text)
            except ValueError as error:
                msg = f"option {key!r} is no JSON list: {text!r}"
                raise InvalidInputError(msg) from error
            return tuple(str(item) for item in found)
        return tuple(_split(text))

    def writing(self, *, token: str | None = None) -> "WriteOptions":
        """Return how rows are to be written."""
        return ops.write.WriteOptions(
            merge_schema=self.flag("merge_schema"),
            promote_to_string=self.flag("promote_to_string"),
            token=token or self.given.get("token"),
            message=self.given.get("message"),
        )


def _split(text: str) -> Sequence[str]:
    """Cut at commas, but not inside parentheses: `day(ts), bucket(16, user)`."""
    parts: list[str] = [""]
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _from_environment(url: str) -> str:
    """Return what `env:NAME` stands for: a URL with a password need not be an option."""
    if not url.startswith("env:"):
        return url
    name = url.removeprefix("env:")
    found = os.environ.get(name)
    if not found:
        msg = f"the lake is to be found in the variable {name}, which is not set here"
        raise InvalidInputError(msg, hint="set it for the driver of Spark")
    return found
