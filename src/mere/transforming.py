"""Let rows through a function of the user's: frames of the library that it was written for."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from mere import registry
from mere.arrow import conformer, file_schema, from_arrow, hold, stream
from mere.arrow.bare import bare
from mere.errors import InvalidInputError, MereError, SchemaMismatchError, TaskError
from mere.model.schema import ROW_ID, Schema
from mere.ops.maintain.reshaping import CHANGED, Passage, Sample
from mere.ports import Session
from mere.reading.whole import Rows
from mere.scan import Scan

_LIBRARIES = {"pl": "polars", "pd": "pandas", "pa": "pyarrow"}
"""What libraries are called where a name is not resolved."""
_KINDS = ("polars", "pandas", "pyarrow", "pyspark")
_TELL = (
    "annotate its first parameter: pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.Table, "
    "pa.RecordBatch, or on Spark a Spark DataFrame"
)
_SAMPLED_FILES = 8
_SAMPLED_ROWS = 1 << 17


def passage(
    session: Session, transform: Callable[[Any], Any] | None, *, loose: bool = False
) -> Passage:
    """Return what rows go through: a function, or (None) nothing that changes them.

    Raises:
        InvalidInputError: If it is no function, or cannot be told what to give it.
        EngineMissingError: If its library is not installed.
    """
    if transform is not None and not callable(transform):
        msg = f"transform takes a function, got {transform!r}"
        raise InvalidInputError(msg)
    on_spark = session.runner.name == "spark"
    library, kind = _taken_by(transform) if transform else (None, "")
    if (library == "pyspark") != on_spark and library is not None:
        where = "on Spark" if on_spark else "in this process"
        msg = f"{_name(transform)} takes a {kind} of {library}, and the work is done {where}"
        raise InvalidInputError(msg, hint="lake.on(spark) does work on Spark; " + _TELL)
    if on_spark:
        return _Framed(session=session, transform=transform, loose=loose)
    shape = _Shape(transform=transform, kind=kind, frame=_frames(library or "polars"))
    return _Streamed(shape=shape, loose=loose)


def _taken_by(transform: Callable[[Any], Any]) -> tuple[str | None, str]:
    """Return the library and the class that a function takes; None: it does not say."""
    try:
        parameters = inspect.signature(transform, eval_str=True).parameters
    except NameError:  # imported for type checkers only
        parameters = inspect.signature(transform).parameters
    except (TypeError, ValueError):  # built in: nothing is known of it
        return None, ""
    told: Any = next((one.annotation for one in parameters.values()), inspect.Parameter.empty)
    if told is inspect.Parameter.empty or told is Any:
        return None, ""
    text = told if isinstance(told, str) else f"{told.__module__}.{told.__qualname__}"
    root, _, kind = text.partition(".")
    library = _LIBRARIES.get(root, root)
    if library not in _KINDS:
        msg = f"{_name(transform)} takes {text}, which rows cannot be given as"
        raise InvalidInputError(msg, hint=_TELL)
    return library, kind.rpartition(".")[2]


def _name(transform: Any) -> str:
    return f"the function {getattr(transform, '__name__', repr(transform))!r}"


def _frames(library: str) -> Callable[[pa.Table], Any]:
    """Return what makes frames of a library out of Arrow's tables."""
    if library == "pyarrow":
        return _same
    made: Callable[[pa.Table], Any] = registry.reader(library).framed
    return lambda table: made(bare(table))


def _same(table: pa.Table) -> pa.Table:
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A function, and what it is given: a class of its library, made out of Arrow's tables."""

    transform: Callable[[Any], Any] | None
    kind: str
    frame: Callable[[pa.Table], Any]

    def plain(self, table: pa.Table) -> pa.Table:
        """Return the rows as they would come out if the function returned what it was given."""
        return table if self.transform is None else _table(self.frame(table))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the rows as they come out.

        Raises:
            TaskError: If the function failed; its error is the cause.
            InvalidInputError: If it returned nothing that holds rows.
        """
        if self.transform is None:
            return table
        given = self.frame(table)
        if self.kind == "LazyFrame":
            given = given.lazy()
        elif self.kind == "RecordBatch":
            given = pa.RecordBatch.from_struct_array(given.to_struct_array().combine_chunks())
        return _table(_called(self.transform, given))


def _called(transform: Callable[[Any], Any], given: Any) -> Any:
    """Call a function; say what it was given when it fails."""
    try:
        made = transform(given)
    except MereError:
        raise
    except Exception as error:
        kind = f"{type(given).__module__.split('.')[0]} {type(given).__name__}"
        msg = f"{_name(transform)} failed: {type(error).__name__}: {error}"
        raise TaskError(msg, hint=f"it was given a {kind}; {_TELL}") from error
    if made is None:
        msg = f"{_name(transform)} returned None, not rows"
        raise InvalidInputError(msg, hint="return the frame")
    return made


def _table(made: Any) -> pa.Table:
    if isinstance(made, pa.RecordBatch):
        made = pa.Table.from_batches([made])
    return made if isinstance(made, pa.Table) else stream(hold(made)).read_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Streamed:
    """Rows go through in this process, batch by batch, in their order."""

    shape: _Shape
    loose: bool

    @property
    def keeps_ids(self) -> bool:
        """Whether rows come out as they went in, one by one."""
        return not self.loose

    def sample(self, rows: Rows) -> Sample:
        """Let some rows through."""
        some = rows.sampled()
        made = self._made(some)
        return Sample(
            table=made,
            before=from_arrow(self.shape.plain(some.slice(0, 0)).schema, untyped=None),
            after=from_arrow(made.schema, untyped=None),
            growth=made.nbytes / max(some.nbytes, 1),
        )

    def _made(self, table: pa.Table) -> pa.Table:
        made = self.shape(table)
        if made.num_rows != table.num_rows and not self.loose:
            msg = f"row count mismatch after repartition: {table.num_rows:,} rows went into "
            msg += f"{_name(self.shape.transform)}, {made.num_rows:,} came out"
            raise InvalidInputError(msg, hint=CHANGED)
        return made

    def through(self, rows: Rows, target: Schema) -> pa.RecordBatchReader:
        """Let all rows through, as one stream; the last column is for ids if it is theirs."""
        return pa.RecordBatchReader.from_batches(file_schema(target), self._batches(rows, target))

    def _batches(self, rows: Rows, target: Schema) -> Iterator[pa.RecordBatch]:
        own = target.fields[-1] if target.fields[-1].id == ROW_ID else None
        read = 0
        for table, ids in rows.batches():
            made = self._made(table)
            if own is not None:
                made = made.append_column(own.name, pa.array(ids))
            _require_names(made, target, self.shape.transform)
            fitted = conformer(made.schema, target)
            yield from (fitted(batch) for batch in made.combine_chunks().to_batches())
            read += len(ids)
        if read != rows.count:
            msg = f"{read:,} rows were read, the catalog lists {rows.count:,}"
            raise TaskError(msg, hint="nothing was committed")


def _require_names(made: pa.Table, target: Schema, transform: Any) -> None:
    """Demand that every batch brings the columns of the first.

    Raises:
        SchemaMismatchError: Naming those that it does not.
    """
    there = {name.casefold() for name in made.column_names}
    lost = [name for name in target.names if name.casefold() not in there]
    if lost:
        msg = f"{_name(transform)} left {', '.join(lost)} out of some batch, but not of another"
        raise SchemaMismatchError(msg, hint="nothing was committed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Framed:
    """Rows go through as one DataFrame of Spark, which nobody can follow row by row."""

    session: Session
    transform: Callable[[Any], Any] | None
    loose: bool
    keeps_ids: bool = False

    def sample(self, rows: Rows) -> Sample:
        """Let the rows of some files through."""
        given = self._frame(rows.some(_SAMPLED_FILES))
        made = self._made(given)
        schema = self.session.runner.schema
        return Sample(
            table=made.limit(_SAMPLED_ROWS).toArrow(),
            before=schema(given),
            after=schema(made),
        )

    def through(self, rows: Rows, target: Schema) -> Any:
        """Return the DataFrame of all that comes out."""
        del target  # a runner casts
        return self._made(self._frame(rows))

    def _frame(self, rows: Rows) -> Any:
        reading = Scan(session=self.session, head=rows.head, found=rows.found).reading()
        runner: Any = self.session.runner
        return registry.reader("spark").read(reading, spark=runner.spark)

    def _made(self, given: Any) -> Any:
        return given if self.transform is None else _called(self.transform, given)
