"""Write the rows of columns: of a new table, and what an evolution ends and adds."""

from collections.abc import Iterable
from dataclasses import dataclass

from mere.catalogs.dialect import Row
from mere.model.schema import NESTED_TYPES, Field, Schema


def created(table: int, schema: Schema, snapshot: int) -> list[Row]:
    """Return the rows of a new table's columns; ids are the order, too."""
    return [
        _row(table, field, parent, snapshot, order=field.id, initial=_first_default(field))
        for field, parent in schema.walk()
    ]


def _first_default(field: Field) -> str | None:
    return field.default if field.initial_default is None else field.initial_default


def _row(
    table: int,
    field: Field,
    parent: Field | None,
    snapshot: int,
    *,
    order: int,
    initial: str | None,
) -> Row:
    return (
        *(field.id, snapshot, None, table, order, field.name, field.type, initial),
        "NULL" if field.default is None else field.default,
        field.nullable,
        parent.id if parent else None,
        "" if field.type in NESTED_TYPES else "literal",
        "duckdb",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """The ids of column versions that end, those that go for good, and the rows that begin."""

    ended: tuple[int, ...]
    dropped: tuple[int, ...]
    begun: tuple[Row, ...]
    retyped: tuple[int, ...]


def evolution(
    table: int, old: Schema, orders: dict[int, int], new: Schema, snapshot: int
) -> Evolution:
    """Compare two schemas by field id; `orders` are the places of the old columns."""
    before = {field.id: (field, parent) for field, parent in old.walk()}
    after = {field.id: (field, parent) for field, parent in new.walk()}
    places = _places(new, orders)
    changed = [
        number
        for number, (field, parent) in after.items()
        if number not in before
        or _version(*before[number], orders[number]) != _version(field, parent, places[number])
    ]
    dropped = tuple(number for number in before if number not in after)
    return Evolution(
        ended=(*(number for number in changed if number in before), *dropped),
        dropped=dropped,
        begun=tuple(
            _row(
                table,
                after[number][0],
                after[number][1],
                snapshot,
                order=places[number],
                initial=_initial(number, before, after[number][0]),
            )
            for number in changed
        ),
        retyped=tuple(
            number
            for number in changed
            if number in before and before[number][0].type != after[number][0].type
        ),
    )


def _initial(
    number: int, before: dict[int, tuple[Field, Field | None]], field: Field
) -> str | None:
    """A default set later is not what older files read."""
    return before[number][0].initial_default if number in before else field.initial_default


def _version(field: Field, parent: Field | None, order: int) -> tuple[object, ...]:
    """Return what one row of a column says."""
    return field.name, field.type, field.nullable, field.default, parent and parent.id, order


def _places(schema: Schema, orders: dict[int, int]) -> dict[int, int]:
    """Keep the places of columns; one that moved, or is new, comes after its left neighbour."""
    highest = max(orders.values(), default=0)
    places: dict[int, int] = {}
    for siblings in _levels(schema.fields):
        last = 0
        for field in siblings:
            place = orders.get(field.id, max(field.id, highest + 1))
            if place <= last:
                place = max(highest, last) + 1
            highest = max(highest, place)
            places[field.id] = last = place
    return places


def _levels(fields: tuple[Field, ...]) -> Iterable[tuple[Field, ...]]:
    yield fields
    for field in fields:
        yield from _levels(field.children)
