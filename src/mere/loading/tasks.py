"""Do one task: read files with a table's columns, and hand the rows to a kernel."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from mere import stopping
from mere.arrow import conformer, file_schema, from_arrow
from mere.checking import checked
from mere.errors import MereError, SchemaMismatchError
from mere.loading.opening import batches, named
from mere.model.loading import Form, Source
from mere.model.schema import Field, Schema, fit
from mere.model.values import from_text
from mere.model.work import Load, Result
from mere.ports import Kernel, Store

Convert: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]


def load(task: Load, *, kernel: Kernel, store: Store, source: Store) -> Result:
    """Write the rows of the files of a task, as one stream.

    Raises:
        MereError: What is wrong with a file; the message names it.
    """
    wrong: list[MereError] = []  # Arrow's streams keep an error's text only
    rows = _noted(_rows(task, source), wrong)
    reader = pa.RecordBatchReader.from_batches(file_schema(task.write.schema), rows)
    try:
        return kernel.write(reader, task=task.write, store=store)
    except Exception as error:
        if wrong:
            raise wrong[0] from error
        raise


def examine(task: Load, *, source: Store) -> Result:
    """Read the files of a task to their ends, and say what is wrong; nothing is written."""
    write = task.write
    try:
        rows = sum(batch.num_rows for batch in checked(_rows(task, source), write))
    except MereError as error:
        return Result(number=task.number, problem=str(error))
    return Result(number=task.number, rows_in=rows)


def _noted(rows: Iterator[pa.RecordBatch], wrong: list[MereError]) -> Iterator[pa.RecordBatch]:
    try:
        yield from rows
    except MereError as error:
        wrong.append(error)
        raise


def _rows(task: Load, source: Store) -> Iterator[pa.RecordBatch]:
    for file in task.inputs:
        yield from fitted(file, source, task.form, task.write.schema)


def fitted(file: Source, source: Store, form: Form, target: Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with the columns of the table, those of its folders too."""
    columns: pa.Schema | None = None
    convert: Convert | None = None
    for batch in batches(file, source, form, target):
        stopping.check()
        with named(file):
            whole = _with_folders(batch, file, target)
            if convert is None or whole.schema != columns:
                columns = whole.schema
                fit(target, from_arrow(columns, untyped=None))
                convert = conformer(columns, target)
            made = convert(whole)
        yield made


def _with_folders(batch: pa.RecordBatch, file: Source, target: Schema) -> pa.RecordBatch:
    there = {name.casefold() for name in batch.schema.names}
    for name, text in file.folders:
        if name.casefold() not in there:
            field = target.find(name)
            values = pa.repeat(pa.scalar(text, pa.string()), len(batch))
            if field is not None:
                values = pa.repeat(_value(field, text), len(batch))
            batch = batch.append_column(name, values)
    return batch


def _value(field: Field, text: str | None) -> pa.Scalar:
    value = from_text(field.type, text)
    if value is None and text is not None:
        msg = f"its folder says {field.name}={text!r}, which is no {field.type}"
        raise SchemaMismatchError(msg, hint="hive=False takes no columns from folders")
    kind = file_schema(Schema(fields=(field,))).field(0).type
    return pa.scalar(value, kind)
