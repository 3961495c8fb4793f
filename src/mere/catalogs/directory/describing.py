"""Say what table the files of a folder make: columns, partitions, counts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mere.catalogs.directory.journal import HIDDEN, folder_of
from mere.catalogs.directory.looking import Known
from mere.catalogs.directory.terms import Terms
from mere.errors import InvalidInputError
from mere.model.files import DataFile, StoredFile, Value
from mere.model.history import Head, Snapshot
from mere.model.layout import Layout, PartitionKey, key_texts, parse_key, refuse_transforms
from mere.model.schema import Schema, number
from mere.model.values import partition_value
from mere.plan.adopt import Placing, folder_columns, merged, with_blank

PARTITIONED = 1
"""The id of the layout that a folder's partitions have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A folder as it was looked at: `stored` and `homes` are by the id of a file, and by partition.

    A home is the folder, relative to the root and ending in a slash, that files of a partition
    lie in already.
    """

    head: Head
    at: datetime
    files: tuple[DataFile, ...]
    stored: Mapping[int, StoredFile]
    homes: Mapping[tuple[Value | None, ...], str]

    def holds(self, found: Sequence[StoredFile]) -> bool:
        """Tell whether these are the files that were looked at."""
        return len(found) == len(self.stored) and set(found) == set(self.stored.values())

    @property
    def snapshot(self) -> Snapshot:
        """What a lake would call this state."""
        head = self.head
        return Snapshot(id=head.snapshot, at=self.at, schema_version=head.schema_version)


def described(root: str, known: Sequence[Known], terms: Terms) -> State:
    """Describe a folder by the footers of its files; versions are numbered by whoever asks."""
    strangers = [one.stranger for one in known]
    if known:
        columns = with_blank(merged(strangers, folder_columns(strangers)), strangers)
        schema = number(columns)
    else:
        schema = number(terms.schema or Schema(fields=()))
    layout = _layout(known, schema, terms)
    layout = replace(layout, told=_told(known, schema, layout))
    files = _files(known, schema, layout)
    head = Head(
        snapshot=0,
        schema_version=0,
        table_id=1,
        uuid=root,
        namespace="",
        name=root,
        folder=HIDDEN,
        schema=schema,
        layout=layout,
        rows=sum(file.rows for file in files),
        file_count=len(files),
        bytes=sum(file.bytes for file in files),
        next_column_id=1 + max((field.id for field, _ in schema.walk()), default=0),
    )
    homes: dict[tuple[Value | None, ...], str] = {}
    for file in files:
        if file.partition_id == PARTITIONED:
            homes.setdefault(file.partition, folder_of(file.path))
    stored = {one.id: one.stored for one in known}
    return State(head=head, at=datetime.now(UTC), files=files, stored=stored, homes=homes)


def _layout(known: Sequence[Known], schema: Schema, terms: Terms) -> Layout:
    """Return how new files are to lie: under the keys that most files lie under."""
    layout = terms.layout()
    if not known:
        keys = tuple(parse_key(text, schema) for text in terms.partition_by)
        refuse_transforms(keys)
        return replace(layout, id=PARTITIONED, keys=keys) if keys else layout
    seen = Counter(tuple(name.casefold() for name in one.stranger.folders) for one in known)
    names = max(seen, key=lambda found: (seen[found], found))
    columns = {field.name.casefold(): field for field in schema}
    keys = tuple(PartitionKey(column=columns[name].id) for name in names)
    return replace(layout, id=PARTITIONED, keys=keys) if keys else layout


def require_keys(head: Head, terms: Terms) -> None:
    """Demand that a folder has the partitions that somebody who opens it says it has.

    Raises:
        InvalidInputError: If it has others.
    """
    asked = tuple(parse_key(text, head.schema) for text in terms.partition_by)
    if asked and asked != head.layout.keys:
        found = list(key_texts(head.layout, head.schema))
        msg = f"the folder is partitioned by {found}, not by {list(terms.partition_by)}"
        raise InvalidInputError(msg, hint="leave partition_by out, or repartition it")


def _told(known: Sequence[Known], schema: Schema, layout: Layout) -> tuple[int, ...]:
    """Return the columns that no file holds, but the folders of new ones tell as well."""
    held = {field.name.casefold() for one in known for field in one.stranger.schema}
    names = {field.id: field.name.casefold() for field in schema}
    ids = (key.column for key in layout.keys) if known else ()
    return tuple(id_ for id_ in ids if names[id_] not in held)


def _files(known: Sequence[Known], schema: Schema, layout: Layout) -> tuple[DataFile, ...]:
    placing = Placing(schema=schema)
    rooms: dict[str, int] = {}
    found = []
    for one in known:
        file = replace(placing.placed(one.stranger), id=one.id, row_id_start=one.first_row)
        partition = _partition(one, file, schema, layout)
        if partition is not None:
            file = replace(file, partition_id=PARTITIONED, partition=partition)
        elif room := folder_of(file.path):
            # Files of one folder stay together, whatever it is called.
            file = replace(file, partition_id=-1 - rooms.setdefault(room, len(rooms)))
        found.append(file)
    return tuple(found)


def _partition(
    one: Known, file: DataFile, schema: Schema, layout: Layout
) -> tuple[Value | None, ...] | None:
    """Return the partition that folders tell, where what the file holds says nothing else."""
    texts = {name.casefold(): text for name, text in one.stranger.folders.items()}
    columns = {field.id: field for field in schema}
    names = [columns[key.column].name.casefold() for key in layout.keys]
    if not names or list(texts) != names:
        return None
    values = []
    for key, name in zip(layout.keys, names, strict=True):
        text, bounds = texts[name], file.bounds.get(key.column)
        value = None if text is None else partition_value(columns[key.column].type, text)
        if bounds is None:
            return None
        if value is None and bounds.values != 0:
            return None
        if value is not None and (
            bounds.nulls != 0 or bounds.minimum != value or bounds.maximum != value
        ):
            return None
        values.append(value)
    return tuple(values)
