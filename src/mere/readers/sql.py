"""Let DuckDB answer a query over the tables of a lake."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import duckdb
import sqlglot
from sqlglot import exp

from mere.errors import InvalidInputError, TableNotFoundError, UnsupportedError
from mere.model.history import View
from mere.model.names import DEFAULT_NAMESPACE, split_name
from mere.ports import Reading
from mere.readers.duckdb import select
from mere.readers.duckdb_columns import name as quoted

Key: TypeAlias = tuple[str, str]
_LAKE, _HERE = "{DUCKLAKE_CATALOG}", "memory"
_PART = re.compile(r'"((?:[^"]|"")*)"|([^".\s]+)')


class Provider(Protocol):
    """Finds the files of a table, those that can match an SQL condition when one is given."""

    def __call__(self, name: str, where: str | None = None) -> Reading:
        """Return what to read."""
        ...


def relation(
    query: str, names: Iterable[str], reading: Provider, views: Iterable[View] = ()
) -> duckdb.DuckDBPyRelation:
    """Return the answer as a relation on a connection of its own, which lives as long as it does.

    Only tables and views that the query names are looked up. The condition of a query over one
    table leaves out files before DuckDB sees them; in any case DuckDB leaves out row groups. As of
    any relation, `.df()`, `.pl()`, `.fetchall()` and `.to_arrow_table()` take the rows; `.arrow()`
    gives what the installed DuckDB makes it give.

    Raises:
        TableNotFoundError: If the query names a table that the lake has not.
        InvalidInputError: If DuckDB does not understand the query.
        UnsupportedError: If it names a view that cannot be read here.
    """
    con = duckdb.connect(config={"python_enable_replacements": "false"})
    tables = {_key(*split_name(name)): name for name in names}
    known = {_key(view.namespace, view.name): view for view in views}
    used = _mentioned(con, query, {**tables, **known})
    lone = len(used) == 1 and used <= tables.keys()
    given = _Given(con=con, tables=tables, views=known, reading=reading)
    given.provide(used, _condition(query) if lone else None)
    answer = _ask(con, query, [*tables.values(), *(v.full_name for v in known.values())])
    if answer is None:
        msg = "the query answers with no rows; sql() only reads"
        raise InvalidInputError(msg, hint="tables change through their own verbs")
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What a connection is given: tables and views of the lake, as far as they are named."""

    con: duckdb.DuckDBPyConnection
    tables: Mapping[Key, str]
    views: Mapping[Key, View]
    reading: Provider
    done: set[Key] = field(default_factory=set)

    def provide(self, keys: Iterable[Key], condition: str | None = None) -> None:
        """Make tables and views known to the connection, and first what the views read."""
        for key in sorted(set(keys) - self.done):
            self.done.add(key)
            if key in self.tables:
                self._table(self.tables[key], condition)
            elif key in self.views:
                self._view(self.views[key])

    def _table(self, name: str, condition: str | None) -> None:
        schema, table = map(quoted, split_name(name))
        self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        rows = select(self.con, _narrowed(self.reading, name, condition))
        self.con.execute(f"CREATE VIEW {schema}.{table} AS {rows}")

    def _view(self, view: View) -> None:
        if view.dialect.casefold() != "duckdb":
            msg = f"the view {view.full_name} is written in {view.dialect!r}, not for DuckDB"
            raise UnsupportedError(msg)
        sql = view.sql.replace(_LAKE, _HERE)
        known: dict[Key, Any] = {**self.tables, **self.views}
        with duckdb.connect() as nothing:
            used = _mentioned(nothing, sql, known, view.namespace)
        self.provide(used & known.keys())
        schema, name = quoted(view.namespace), quoted(view.name)
        columns = f"({view.columns})" if view.columns else ""
        try:
            self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            self.con.execute(f"CREATE VIEW {schema}.{name}{columns} AS {sql}")
        except duckdb.Error as error:
            msg = f"the view {view.full_name} cannot be read here: {error}"
            raise UnsupportedError(msg, hint=f"it says: {sql}") from error


def _ask(
    con: duckdb.DuckDBPyConnection, query: str, names: Iterable[str]
) -> duckdb.DuckDBPyRelation | None:
    try:
        answer: duckdb.DuckDBPyRelation | None = con.sql(query)
    except duckdb.CatalogException as error:
        msg = f"the query names something that is not there: {error}"
        hint = f"tables of the lake: {', '.join(sorted(names)) or 'none'}"
        raise TableNotFoundError(msg, hint=hint) from error
    except (duckdb.ParserException, duckdb.BinderException) as error:
        msg = f"cannot understand the query: {error}"
        raise InvalidInputError(msg) from error
    return answer


def _key(schema: str, table: str) -> Key:
    return schema.casefold(), table.casefold()


def _mentioned(
    con: duckdb.DuckDBPyConnection,
    query: str,
    tables: Mapping[Key, Any],
    namespace: str = DEFAULT_NAMESPACE,
) -> set[Key]:
    """Return the tables that the query reads, as DuckDB's own parser tells.

    A bare name may be one of the namespace, or else of the default one.
    """
    try:
        found = con.get_table_names(query, qualified=True)
    except duckdb.Error:
        # DuckDB lists names only for single, plain statements: else any word may be one. Asked on
        # a connection that knows tables already, it would look into these.
        said = query.casefold()
        return {key for key in tables if re.search(rf"(?<!\w){re.escape(key[1])}(?!\w)", said)}
    parts = ([(a or b).replace('""', '"') for a, b in _PART.findall(name)] for name in found)
    return {_placed(_before_alias(part), tables, namespace) for part in parts}


def _placed(parts: list[str], tables: Mapping[Key, Any], namespace: str) -> Key:
    """Return schema and table of a name, of a bare one the schema that has it."""
    if len(parts) > 1:
        return _key(parts[-2], parts[-1])
    inside = _key(namespace, parts[-1])
    return inside if inside in tables else _key(DEFAULT_NAMESPACE, parts[-1])


def _before_alias(parts: list[str]) -> list[str]:
    """Return the parts of `"schema"."table" AS alias` that name the table."""
    return parts[: parts.index("AS", 1)] if "AS" in parts[1:] else parts


def _condition(query: str) -> str | None:
    """Return the condition of a plain SELECT over one table, in terms of its columns."""
    try:
        tree = sqlglot.parse_one(query, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return None
    where = tree.args.get("where")
    sources = list(tree.find_all(exp.Select, exp.Join, exp.SetOperation))
    if not isinstance(tree, exp.Select) or len(sources) > 1 or where is None:
        return None
    condition = where.this.copy()
    for column in condition.find_all(exp.Column):
        qualifier = column.args.get("table")
        if qualifier is not None and qualifier.name.casefold() in _called(tree):
            column.set("table", None)
    return str(condition.sql(dialect="duckdb"))


def _called(tree: exp.Select) -> set[str]:
    return {
        text.casefold() for table in tree.find_all(exp.Table) for text in (table.alias_or_name,)
    }


def _narrowed(reading: Provider, name: str, condition: str | None) -> Reading:
    """Return what to read of a table, without files in which no row meets the condition.

    DuckDB applies the condition itself: whatever `mere` cannot say only costs time.
    """
    found = None
    if condition is not None:
        with suppress(InvalidInputError, UnsupportedError):
            found = reading(name, condition)
    return replace(found or reading(name), where=None, certain=frozenset())
