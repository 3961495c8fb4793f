"""Turn the texts of inlined rows into Arrow columns, of the types that the table has now."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from mere.arrow import arrow_type
from mere.arrow.bare import bare_type
from mere.errors import CorruptionError, UnsupportedError
from mere.model.nested_text import Nested, read_nested
from mere.model.schema import Field
from mere.model.stored_text import retyped, stored
from mere.model.values import blob_text


def column(now: Field, then: Field | None, values: Sequence[Any], *, literal: bool) -> pa.Array:
    """Return one column out of the texts (or bytes) that the catalog keeps.

    `then` is the column as it was when the rows came, None when it came later than they did.

    Raises:
        CorruptionError: If a text is no value of the column.
        UnsupportedError: If Arrow cannot carry a value.
    """
    kind = arrow_type(now)
    try:
        found = list(_values(now, then, values, literal=literal))
        made = pa.array(found, bare_type(kind))
    except pa.ArrowInvalid as error:
        msg = f"column {now.name!r} holds a value that Arrow cannot carry: {error}"
        raise UnsupportedError(msg, hint="leave the column out, or read it with DuckDB") from error
    except (ValueError, ArithmeticError) as error:
        msg = f"an inlined row holds in column {now.name!r} what is no {now.spell()}: {error}"
        raise CorruptionError(msg) from error
    return made if made.type == kind else made.cast(kind)


def _values(
    now: Field, then: Field | None, values: Sequence[Any], *, literal: bool
) -> Iterator[Any]:
    if then is None:
        yield from [_default(now)] * len(values)
        return
    for value in values:
        if value is None:
            yield None
        elif now.children:
            yield _nested(now, then, read_nested(value, then, literal=literal))
        else:
            yield _leaf(now, then, value)


def _default(field: Field) -> Any:
    """Return what rows read that are older than a column."""
    return None if field.initial_default is None else stored(field.type, field.initial_default)


def _leaf(now: Field, then: Field, value: str | bytes) -> Any:
    if not isinstance(value, bytes):
        return retyped(then.type, now.type, value)
    if then.type != "blob":
        return value.decode()
    return value if now.type == "blob" else blob_text(value)


def _nested(now: Field, then: Field, value: Nested) -> Any:
    """Match the parts of a value by their ids."""
    if value is None:
        return None
    if not now.children:
        return _leaf(now, then, value)
    if now.type == "list":
        item, known = now.children[0], then.children[0]
        return [_nested(item, known, part) for part in value]
    if now.type == "map":
        (key, item), (known_key, known) = now.children, then.children
        return [(_nested(key, known_key, k), _nested(item, known, v)) for k, v in value]
    parts = {child.id: (child, part) for child, part in zip(then.children, value, strict=True)}
    return {
        child.name: _nested(child, *parts[child.id]) if child.id in parts else _default(child)
        for child in now.children
    }
