"""Have DuckDB read adopted files itself: columns by their names in them, or from their folders."""

# ruff: noqa: S608  every name, text and path in a query is quoted by duckdb_columns

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mere.model.files import DataFile
from mere.model.mapping import Mapping, Named
from mere.model.schema import Field
from mere.ports import Reading
from mere.readers import duckdb_columns as spell
from mere.reading import visible
from mere.reading.forms import folder_value

_PLACE = "_mere_place"


def native(reading: Reading, files: Iterable[DataFile]) -> list[DataFile]:
    """Return the adopted files that DuckDB reads as they are.

    By names it cannot number the rows of a file, so those that lost some are left to `mere`.
    """
    verdicts: dict[int, bool] = {}
    found = []
    for file in files:
        if file.names is None or not visible.is_whole(file, reading.snapshot):
            continue
        key = id(file.names)
        if key not in verdicts:
            verdicts[key] = _lines_up(reading, file.names)
        if verdicts[key]:
            found.append(file)
    return found


def _lines_up(reading: Reading, names: Mapping) -> bool:
    """Tell whether names lead to every column; inside nested ones they must be the table's own."""
    known = {named.id: named for named in names}
    pairs = [(field, known[field.id]) for field in reading.schema if field.id in known]
    held = [named.name.casefold() for _, named in pairs if not named.hive]
    own = {field.name.casefold() for field in reading.schema}
    return bool(held) and _PLACE not in own and all(_alike(f, n) for f, n in pairs)


def _alike(field: Field, named: Named) -> bool:
    parts = {child.id: child for child in named.children}
    return len(parts) == len(field.children) and all(
        child.id in parts
        and (field.type != "struct" or parts[child.id].name == child.name)
        and _alike(child, parts[child.id])
        for child in field.children
    )


def queries(reading: Reading, files: Sequence[DataFile]) -> list[str]:
    """Return a SELECT for all files that call their columns the same."""
    alike: dict[Mapping, list[DataFile]] = {}
    for file in files:
        alike.setdefault(file.names or (), []).append(file)
    return [_query(reading, names, found) for names, found in alike.items()]


def _query(reading: Reading, names: Mapping, files: list[DataFile]) -> str:
    known = {named.id: named for named in names}
    hive = [(f, known[f.id]) for f in reading.schema if f.id in known and known[f.id].hive]
    source = _source(reading, known, files)
    columns = ", ".join(_column(field, known.get(field.id)) for field in reading.schema)
    if not hive:
        return f"SELECT {columns} FROM {source} AS f"
    values = ", ".join(_values(reading, file, hive) for file in files)
    named = ", ".join(spell.name(field.name) for field, _ in hive)
    folders = f"(VALUES {values}) AS v({_PLACE}, {named})"
    return f"SELECT {columns} FROM {source} AS f JOIN {folders} ON f.{_PLACE} = v.{_PLACE}"


def _source(reading: Reading, known: dict[int, Named], files: list[DataFile]) -> str:
    paths = ", ".join(spell.file(reading.store.resolve(file.path)) for file in files)
    held = [(f, known[f.id]) for f in reading.schema if f.id in known and not known[f.id].hive]
    schema = spell.by_name({named.name: field for field, named in held})
    return f"read_parquet([{paths}], schema={schema}, filename='{_PLACE}')"


def _column(field: Field, named: Named | None) -> str:
    name = spell.name(field.name)
    if named is None:
        return f"{spell.constant(field)} AS {name}"
    return f"v.{name}" if named.hive else f"f.{name}"


def _values(reading: Reading, file: DataFile, hive: Iterable[tuple[Field, Named]]) -> str:
    told: Iterator[str] = (
        spell.constant(replace(field, initial_default=folder_value(file, named)))
        for field, named in hive
    )
    return f"({spell.text(reading.store.resolve(file.path))}, {', '.join(told)})"
