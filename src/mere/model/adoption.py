"""Name what is known of files that others wrote, before they become part of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mere.model.files import DataFile
from mere.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A file that others wrote, as its footer tells.

    `schema` are its own columns, numbered as they come; the bounds of the file and of its row
    groups are keyed by these numbers. `folders` are what the folders tell that lead to it from
    the place that was adopted, by the name that each has there; None is NULL. `blank` are columns
    of nothing but NULL, and of no type.
    """

    file: DataFile
    schema: Schema
    folders: Mapping[str, str | None] = field(default_factory=dict)
    blank: tuple[str, ...] = ()
