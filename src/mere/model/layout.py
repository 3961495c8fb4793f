"""Say how the files of a table should lie: partitions, order, sizes; and name their folders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import quote

from mere.errors import InvalidInputError
from mere.model.files import Value
from mere.model.mapping import NULL_FOLDER
from mere.model.schema import Field, Schema

MIB = 1 << 20
CALENDAR = ("year", "month", "day", "hour")
_CALL = re.compile(r"\s*(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?(.+?)\s*\)\s*", re.DOTALL)
_LONGEST_VALUE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKey:
    """One partition column: `transform` is identity, year, month, day, hour or bucket."""

    column: int
    transform: str = "identity"
    buckets: int | None = None

    def spell(self) -> str:
        """Spell the transform as the catalog stores it: `day`, `bucket(16)`."""
        return f"bucket({self.buckets})" if self.transform == "bucket" else self.transform


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """One column that rows are ordered by inside a file."""

    column: int
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Partition keys, sort order and sizes; `id` is the catalog's partition id, None without.

    With `copy_on_write`, a file of which rows go or change is written anew; with `sorts_later`,
    rows stay in the order in which they come until somebody orders them. `page_version` is the
    version of data pages, 1 or 2. With `plain`, files hold the table's columns and nothing else,
    and get their names when they are committed: others read the folder that they lie in. Columns
    with the ids `told` do not lie in the files, since their folders tell them.
    """

    id: int | None = None
    keys: tuple[PartitionKey, ...] = ()
    order: tuple[SortKey, ...] = ()
    target_file_bytes: int = 512 * MIB
    row_group_rows: int = 1 << 18
    row_group_bytes: int = 128 * MIB
    compression: str = "zstd"
    compression_level: int | None = None
    hive_folders: bool = True
    copy_on_write: bool = False
    sorts_later: bool = False
    page_version: int = 1
    plain: bool = False
    told: tuple[int, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Refuse sizes that no file can have."""
        sizes = (self.target_file_bytes, self.row_group_rows, self.row_group_bytes)
        if min(sizes) <= 0:
            msg = f"sizes must be positive, got file bytes, group rows, group bytes = {sizes}"
            raise InvalidInputError(msg)


def parse_key(text: str, schema: Schema) -> PartitionKey:
    """Parse `"product_id"`, `"day(ts)"` or `"bucket(16, user_id)"` against the schema.

    Raises:
        UnknownColumnError: If the column does not exist.
        InvalidInputError: If the transform does not exist or does not take the column's type.
    """
    call = None if text in schema else _CALL.fullmatch(text)
    if call is None:
        return PartitionKey(column=_leaf(schema, text).id)
    transform, count, name = call[1].lower(), call[2], call[3]
    if transform not in {"identity", "bucket", *CALENDAR}:
        msg = f"unknown partition transform {transform!r} in {text!r}"
        raise InvalidInputError(msg, hint="known: identity, year, month, day, hour, bucket(N, …)")
    if (transform == "bucket") != (count is not None) or count == "0":
        msg = f"cannot read the partition transform {text!r}"
        raise InvalidInputError(msg, hint='write "day(ts)" or "bucket(16, user_id)"')
    column = _leaf(schema, name)
    times = column.type.startswith("timestamp")
    if transform in CALENDAR and not (times or (column.type == "date" and transform != "hour")):
        msg = f"{transform}() takes a date or a timestamp, {name!r} is {column.spell()}"
        raise InvalidInputError(msg)
    return PartitionKey(
        column=column.id, transform=transform, buckets=int(count) if count else None
    )


def refuse_transforms(keys: Sequence[PartitionKey]) -> None:
    """Refuse partitions that only a catalog could remember.

    Raises:
        InvalidInputError: If there is one.
    """
    if any(key.transform != "identity" for key in keys):
        msg = "a folder is partitioned by the values of its columns"
        raise InvalidInputError(msg, hint="add a column of the years, and partition by it")


def parse_order(text: str, schema: Schema) -> SortKey:
    """Parse `"ts"`, `"ts DESC"` or `"ts DESC NULLS FIRST"`; NULLs come last unless said.

    Raises:
        UnknownColumnError: If the column does not exist.
    """
    if text in schema:
        return SortKey(column=schema.field(text).id)
    words = text.split()
    upper = [word.upper() for word in words]
    nulls_first = upper[-2:] == ["NULLS", "FIRST"]
    if upper[-2:] in (["NULLS", "FIRST"], ["NULLS", "LAST"]):
        words, upper = words[:-2], upper[:-2]
    descending = upper[-1:] == ["DESC"]
    if upper[-1:] in (["DESC"], ["ASC"]):
        words = words[:-1]
    column = schema.field(" ".join(words))
    return SortKey(column=column.id, descending=descending, nulls_first=nulls_first)


def key_texts(layout: Layout, schema: Schema) -> tuple[str, ...]:
    """Spell the partition keys as `parse_key` reads them."""
    columns = {f.id: f.name for f in schema.fields}
    return tuple(_key_text(key, columns.get(key.column, "?")) for key in layout.keys)


def _key_text(key: PartitionKey, column: str) -> str:
    if key.transform == "identity":
        return column
    count = f"{key.buckets}, " if key.buckets is not None else ""
    return f"{key.transform}({count}{column})"


def order_texts(layout: Layout, schema: Schema) -> tuple[str, ...]:
    """Spell the order of rows as `parse_order` reads it."""
    columns = {f.id: f.name for f in schema.fields}
    return tuple(
        columns.get(key.column, "?")
        + (" DESC" if key.descending else "")
        + (" NULLS FIRST" if key.nulls_first else "")
        for key in layout.order
    )


def _leaf(schema: Schema, name: str) -> Field:
    column = schema.field(name)
    if column.children or column.type in {"variant", "geometry", "interval"}:
        msg = f"cannot partition by {name!r} of type {column.spell()}"
        raise InvalidInputError(msg)
    return column


def key_names(layout: Layout, schema: Schema) -> tuple[str, ...]:
    """Name the folder of each partition key: the column, or the transform's name.

    A name already taken becomes `<transform>_<column>`.
    """
    columns = {f.id: f.name for f in schema.fields}
    names: list[str] = []
    for key in layout.keys:
        column = columns.get(key.column, f"column{key.column}")
        name = column if key.transform == "identity" else key.transform
        names.append(f"{key.transform}_{column}" if name in names else name)
    return tuple(names)


def folder(names: Sequence[str], values: Sequence[str | None]) -> str:
    """Return the hive folder of partition values, each given as its text: `d=2026-01-01/p=a/`.

    Every value becomes exactly one segment that no value can escape from; a long one is cut and
    ends in a digest of the whole, so two values never share a folder.
    """
    return "".join(f"{_segment(n, v)}/" for n, v in zip(names, values, strict=True))


def _segment(name: str, value: str | None) -> str:
    if value is None:
        return f"{quote(name, safe='')}={NULL_FOLDER}"
    coded = quote(value, safe="")
    if coded == NULL_FOLDER:  # the text, not NULL
        coded = f"%{ord(coded[0]):02X}{coded[1:]}"
    if len(coded) > _LONGEST_VALUE:
        digest = blake2b(value.encode(), digest_size=12).hexdigest()
        coded = f"{coded[: _LONGEST_VALUE - 25].rsplit('%', 1)[0]}~{digest}"
    return f"{quote(name, safe='')}={coded}"


def partition_map(names: Sequence[str], values: Sequence[Value | None]) -> dict[str, Value | None]:
    """Pair partition names with a file's values."""
    return dict(zip(names, values, strict=True))
