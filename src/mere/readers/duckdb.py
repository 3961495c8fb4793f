"""Hand out rows as a DuckDB relation that reads the files itself wherever it can."""

# ruff: noqa: S608  every name, text and path in a query is quoted by duckdb_columns

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex

import duckdb

from mere.model.files import DataFile, DeleteFile
from mere.model.schema import SNAPSHOT_ID, Field, Schema
from mere.ports import Reading
from mere.readers import arrow, streams
from mere.readers import duckdb_columns as spell
from mere.readers import duckdb_named as named
from mere.readers.shapes import shapes
from mere.reading import living, visible
from mere.reading.forms import Source, has_ids, lines_up
from mere.sqltext import render

_SINCE = "_mere_since"
_NUMBER = "file_row_number"
_PATTERN = frozenset("*?[")
_EXTENSIONS = {"s3": "httpfs", "gs": "httpfs", "gcs": "httpfs", "http": "httpfs", "https": "httpfs"}
_EXTENSIONS |= {"az": "azure", "abfs": "azure", "abfss": "azure", "azure": "azure"}


def read(
    reading: Reading, *, con: duckdb.DuckDBPyConnection | None = None
) -> duckdb.DuckDBPyRelation:
    """Return a relation on `con`, or on a connection of its own that lives as long as it does.

    DuckDB finds columns by field id, leaves out deleted rows by their positions, and pushes
    further filters into the files. Where it cannot read a file, or cannot reach the storage,
    `mere` streams the rows to it. The rows are pinned: asked twice, they are the same.
    """
    connection = duckdb.connect() if con is None else con
    return connection.sql(select(connection, reading))


def select(con: duckdb.DuckDBPyConnection, reading: Reading) -> str:
    """Return the SELECT that yields the rows; what it needs is made known to the connection."""
    wanted = streams.wanted(reading)
    plain = replace(reading, schema=wanted, where=None, limit=None, certain=frozenset())
    urls = {file.path: reading.store.resolve(file.path) for file in reading.files}
    native, streamed = _sorted(con, plain, urls)
    queries = _queries(plain, [file for file in native if file.names is None])
    queries += named.queries(plain, [file for file in native if file.names is not None])
    if streamed or plain.inlined is not None:
        rows = f"mere_rows_{token_hex(8)}"
        con.register(rows, _Rows(replace(plain, files=tuple(streamed))))
        queries.append(f"SELECT {spell.typed(wanted)} FROM {rows}")
    union = " UNION ALL ".join(queries) if queries else _nothing(wanted)
    query = f"SELECT {spell.names(reading.schema)} FROM ({union})"
    if reading.where is not None:
        query += f" WHERE {render(reading.where, 'duckdb')}"
    return query if reading.limit is None else f"{query} LIMIT {reading.limit}"


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that can be streamed again and again; nothing is read before the first is taken."""

    reading: Reading

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Start a new stream."""
        return arrow.reader(self.reading).__arrow_c_stream__(requested_schema)


def _sorted(
    con: duckdb.DuckDBPyConnection, reading: Reading, urls: Mapping[str, str]
) -> tuple[list[DataFile], list[DataFile]]:
    """Tell the files that DuckDB reads itself from those that are streamed to it."""
    candidates = [file for file in reading.files if _is_plain(reading, file, urls[file.path])]
    native: list[DataFile] = []
    if candidates and _reaches(con, reading, [urls[file.path] for file in candidates]):
        own = [file for file in candidates if file.names is None]
        if not reading.stable:
            looked = shapes(replace(reading, files=tuple(own)))
            own = [file for file, shape in looked if _is_native(shape.columns)]
        native = own + named.native(reading, candidates)
    taken = {file.path for file in native}
    return native, [file for file in reading.files if file.path not in taken]


def _is_plain(reading: Reading, file: DataFile, url: str) -> bool:
    """Tell whether nothing about the file means something else to DuckDB."""
    cut = not visible.is_whole(file, reading.snapshot)
    if cut and any(field.name.casefold() == _NUMBER for field in reading.schema):
        return False  # DuckDB calls the positions of rows the same
    return "://" not in url or not _PATTERN.intersection(url)


def _is_native(columns: Sequence[Source]) -> bool:
    """Tell whether field ids lead DuckDB to the columns; inside nested ones it goes by names."""
    found = [source for source in columns if source.part is not None]
    if not found or not has_ids(source.part for source in found if source.part is not None):
        return False
    return all(
        lines_up(child, named=source.field.type == "struct")
        for source in found
        for child in source.children
    ) and all(
        source.part is None or len(source.children) == len(source.part.children) for source in found
    )


def _reaches(con: duckdb.DuckDBPyConnection, reading: Reading, urls: list[str]) -> bool:
    """Prepare the connection for the storage, and tell whether it can read there."""
    schemes = {url.partition("://")[0] for url in urls if "://" in url}
    if not schemes:
        return True
    if any(scheme not in _EXTENSIONS for scheme in schemes):
        return False
    try:
        for extension in {_EXTENSIONS[scheme] for scheme in schemes}:
            con.execute(f"LOAD {extension}")
        for setting, value in reading.store.options("duckdb").items():
            con.execute(f"SET {setting} = {spell.text(value)}")
    except (duckdb.IOException, duckdb.CatalogException, duckdb.HTTPException):
        return False  # the extension is not installed: `mere` reads the files in its place
    return True


def _queries(reading: Reading, files: list[DataFile]) -> list[str]:
    whole = [file for file in files if visible.is_whole(file, reading.snapshot)]
    cut = [file for file in files if not visible.is_whole(file, reading.snapshot)]
    return ([_whole(reading, whole)] if whole else []) + [_cut(reading, file) for file in cut]


def _nothing(schema: Schema) -> str:
    columns = (f"NULL::{spell.type_of(f)} AS {spell.name(f.name)}" for f in schema)
    return f"SELECT {', '.join(columns)} WHERE false"


def _source(reading: Reading, files: list[DataFile], *more: Field, numbered: bool = False) -> str:
    paths = ", ".join(spell.file(reading.store.resolve(file.path)) for file in files)
    fields = {field.id: field for field in (*reading.schema.fields, *more)}
    return (
        f"read_parquet([{paths}], schema={spell.by_id(fields)}, hive_partitioning=false"
        f"{f', {_NUMBER}=true' if numbered else ''})"
    )


def _whole(reading: Reading, files: list[DataFile]) -> str:
    return f"SELECT {spell.names(reading.schema)} FROM {_source(reading, files)}"


def _cut(reading: Reading, file: DataFile) -> str:
    later = visible.needs_snapshot(file, reading.snapshot)
    more = (Field(name=_SINCE, type="int64", id=SNAPSHOT_ID),) if later else ()
    tests = [f"({_SINCE} IS NULL OR {_SINCE} <= {reading.snapshot})"] if later else []
    if file.deletes is not None or file.gone:
        tests.append(f"{_NUMBER} NOT IN ({_gone(reading, file)})")
    source = _source(reading, [file], *more, numbered=True)
    return f"SELECT {spell.names(reading.schema)} FROM {source} WHERE {' AND '.join(tests)}"


def _gone(reading: Reading, file: DataFile) -> str:
    parts = [_listed(reading, deletes) for deletes in file.every_delete]
    if file.gone:
        parts.append(f"SELECT unnest({list(file.gone)}::BIGINT[])")
    return " UNION ALL ".join(parts)


def _listed(reading: Reading, deletes: DeleteFile) -> str:
    bound = reading.snapshot
    path = spell.file(reading.store.resolve(deletes.path))
    query = f"SELECT pos FROM read_parquet({path}, hive_partitioning=false)"
    query += " WHERE pos IS NOT NULL"
    later = visible.reaches_beyond(deletes, bound)
    if later and living.tells_when(reading.store, deletes):
        since = "_ducklake_internal_snapshot_id"
        query += f" AND ({since} IS NULL OR {since} <= {bound})"
    return query
