"""Split and spell the names of tables: `"table"`, `"schema.table"`, with quotes where needed."""

import re

from mere.errors import InvalidInputError

DEFAULT_NAMESPACE = "main"
RESERVED = "_ducklake_internal_"
"""How the columns begin that the format keeps for itself."""
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+?))\s*(\.|$)')
_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_LONGEST = 128


def split_name(name: object) -> tuple[str, str]:
    """Return (schema, table) of `"table"` or `"schema.table"`; quoted parts may hold anything.

    Raises:
        InvalidInputError: If the text is no table name.
    """
    if not isinstance(name, str):
        msg = f"a table is named by text, got {name!r}"
        raise InvalidInputError(msg, hint='write "table" or "schema.table"')
    parts: list[str] = []
    place, more = 0, True
    while more:
        match = _PART.match(name, place)
        if match is None:
            msg = f"{name!r} is not a table name"
            raise InvalidInputError(msg, hint='write "table", "schema.table" or "\\"odd.name\\""')
        parts.append(match[1].replace('""', '"') if match[1] else match[2])
        place, more = match.end(), match[3] == "."
    if len(parts) > 2:  # noqa: PLR2004  schema and table
        msg = f"{name!r} has {len(parts)} parts, a table name has one or two"
        raise InvalidInputError(msg, hint='quote a part that contains dots: main."a.b"')
    for part in parts:
        check_name(part)
    return (parts[0], parts[1]) if len(parts) > 1 else (DEFAULT_NAMESPACE, parts[0])


def check_name(name: str) -> str:
    """Return the name of a schema or table when it can be one.

    Raises:
        InvalidInputError: If it is empty, too long or holds control characters.
    """
    if not name or len(name) > _LONGEST or not name.isprintable():
        msg = f"{name!r} cannot name a schema or a table"
        raise InvalidInputError(msg, hint=f"1 to {_LONGEST} printable characters")
    return name


def join_name(namespace: str, name: str) -> str:
    """Spell a table so that `split_name` gives back its parts."""
    return ".".join(part if _PLAIN.fullmatch(part) else _quote(part) for part in (namespace, name))


def _quote(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'


def plain_folder(name: str, uuid: str) -> str:
    """Name the folder of a schema or table: its name when that is plain, else its uuid."""
    return f"{name if _PLAIN.fullmatch(name) else uuid}/"
