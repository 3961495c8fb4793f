"""Keep the options of the format: of the lake itself, of a schema, or of a table."""

from mere.catalogs import heads
from mere.catalogs.dialect import Link
from mere.errors import InvalidInputError, NotFoundError
from mere.model.history import NEWEST


def check(key: str) -> None:
    """Refuse a key that says what the lake is.

    Raises:
        InvalidInputError: If it is one.
    """
    if key in heads.OWN_KEYS:
        msg = f"{key!r} says what the lake is; it cannot be set"
        raise InvalidInputError(msg)


def found(link: Link, schema: str | None) -> dict[str, str]:
    """Return the options that are set for the lake itself, or for one schema."""
    scope = ("schema", _schema_id(link, schema)) if schema else (None, None)
    rows = link.rows("options")
    return {k: v for k, v, *of in rows if tuple(of) == scope and k not in heads.OWN_KEYS}


def put(
    link: Link,
    data_path: str,
    key: str,
    value: str | None,
    *,
    table: str | None,
    schema: str | None,
) -> None:
    """Set (None: remove) an option of the lake, a schema or a table."""
    scope, number = None, None
    if schema is not None:
        scope, number = "schema", _schema_id(link, schema)
    elif table is not None:
        now = heads.snapshot(link, NEWEST)
        scope, number = "table", heads.head(link, table, now, data_path).table_id
    if scope is None:
        link.run("drop_lake_option", key=key)
    else:
        link.run("drop_option", key=key, scope=scope, id=number)
    if value is not None:
        link.insert("ducklake_metadata", [(key, value, scope, number)])


def _schema_id(link: Link, name: str) -> int:
    now = heads.snapshot(link, NEWEST).id
    known = {row[1]: row[0] for row in link.rows("namespaces", at=now)}
    if name not in known:
        msg = f"no schema {name!r}; there is: {', '.join(sorted(known))}"
        raise NotFoundError(msg)
    return int(known[name])
