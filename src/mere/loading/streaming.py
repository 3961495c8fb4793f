"""Read files as one stream, for verbs that take rows of any source."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from mere.arrow import file_schema
from mere.errors import SchemaMismatchError
from mere.loading.looking import folder_columns, look
from mere.loading.tasks import fitted
from mere.model.loading import Form, Source
from mere.model.schema import Schema
from mere.ports import Store


def stream_files(
    found: Sequence[Source], store: Store, form: Form, known: Schema
) -> pa.RecordBatchReader:
    """Return the rows of files, columns that a table knows in its types; read when they are taken.

    All files must have the same columns, since one that a file lacks would be NULL in its rows.

    Raises:
        SchemaMismatchError: If they have not; the message names a file.
    """
    looks = look(found, store, form, known)
    for seen in looks:
        if seen.problem is not None:
            raise seen.problem
    folders = folder_columns(found)
    first = looks[0].schema
    for seen in looks[1:]:
        if {n.casefold() for n in seen.schema.names} != {n.casefold() for n in first.names}:
            msg = f"{seen.source.path} has other columns than {looks[0].source.path}: "
            msg += f"{seen.schema.spell()} instead of {first.spell()}"
            raise SchemaMismatchError(msg, hint="nothing was changed")
    more = (field for field in folders if field.name not in first)
    fields = [known.find(field.name) or field for field in (*first, *more)]
    target = Schema(fields=tuple(fields))

    def rows() -> Iterator[pa.RecordBatch]:
        for file in found:
            yield from fitted(file, store, form, target)

    return pa.RecordBatchReader.from_batches(file_schema(target), rows())
