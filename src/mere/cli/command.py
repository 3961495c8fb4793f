"""Say what a command is: its name, its arguments, and what it does with a call."""

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mere
from mere.cli.answer import Answer
from mere.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from mere import Lake


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command as it was typed, and where it tells of its progress."""

    asked: argparse.Namespace
    say: Callable[[str], None]

    def __getitem__(self, name: str) -> Any:
        """Return an argument, None when it was not given."""
        return getattr(self.asked, name, None)

    @property
    def url(self) -> str:
        """The lake that is meant.

        Raises:
            InvalidInputError: If none is named.
        """
        url: str = self["lake"] or os.environ.get("MERE_LAKE", "")
        if not url:
            msg = "no lake is named"
            hint = "pass --lake URL, or set MERE_LAKE; `mere init --lake shop.db` makes one"
            raise InvalidInputError(msg, hint=hint)
        return url

    def lake(self, *, create: bool = False) -> "Lake":
        """Open the lake that is meant; only `mere init` makes one."""
        try:
            lake = mere.connect(
                self.url,
                data_path=self["data_path"],
                create=create,
                kernel=self["kernel"] or "pyarrow",
                storage_options=dict(self["storage_options"] or ()) or None,
                schema=self["catalog_schema"] or "public",
            )
        except NotFoundError as error:
            raise NotFoundError(error.message, hint="`mere init` makes a lake") from error
        if self["spark"]:
            return lake.on(mere.spark.session(app="mere"))
        return lake.on(workers=self["workers"]) if self["workers"] else lake

    def moment(self) -> dict[str, Any]:
        """Return the version, time or tag that was asked for, as `scan` and `sql` take it."""
        return {name: self[name] for name in ("version", "as_of", "tag")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: `summary` is a line of help, `arguments` adds what is special to it."""

    name: str
    summary: str
    run: Callable[[Call], Answer]
    arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None
    on_lake: bool = True
