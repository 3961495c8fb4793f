"""How a written schema and a changed table come together."""

from dataclasses import replace

import pytest

from mere.errors import CommitConflictError
from mere.model.history import Head
from mere.model.schema import Field, Schema, from_mapping, number
from mere.plan.evolve import evolved

TABLE = number(from_mapping({"id": "int32", "note": "varchar"}))


def head(schema, following=3):
    return Head(
        snapshot=1,
        schema_version=1,
        table_id=1,
        uuid="u",
        namespace="main",
        name="t",
        folder="main/t/",
        schema=schema,
        next_column_id=following,
    )


def test_rows_of_the_same_schema_change_nothing():
    assert evolved(head(TABLE), TABLE, new_from=3) == TABLE


def test_new_and_wider_columns_become_part_of_the_table():
    written = Schema(
        fields=(
            replace(TABLE.fields[0], type="int64"),
            TABLE.fields[1],
            Field(name="day", type="date", id=3),
        )
    )
    assert evolved(head(TABLE), written, new_from=3) == written


def test_a_rename_and_a_new_column_by_others_stay():
    theirs = Schema(
        fields=(
            TABLE.fields[0],
            replace(TABLE.fields[1], name="comment"),
            Field(name="z", type="date", id=3),
        )
    )
    assert evolved(head(theirs, 4), TABLE, new_from=3) == theirs


def test_the_same_column_added_twice_is_one_column():
    both = Schema(fields=(*TABLE.fields, Field(name="day", type="date", id=3)))
    assert evolved(head(both, 4), both, new_from=3) == both


def test_a_column_that_others_dropped_is_a_conflict():
    with pytest.raises(CommitConflictError, match="'note'"):
        evolved(head(Schema(fields=TABLE.fields[:1])), TABLE, new_from=3)


def test_an_id_that_others_took_for_another_type_is_a_conflict():
    ours = Schema(fields=(*TABLE.fields, Field(name="day", type="date", id=3)))
    theirs = Schema(fields=(*TABLE.fields, Field(name="size", type="int64", id=3)))
    with pytest.raises(CommitConflictError):
        evolved(head(theirs, 4), ours, new_from=3)


def test_an_id_that_others_took_for_another_name_is_a_conflict():
    ours = Schema(fields=(*TABLE.fields, Field(name="day", type="date", id=3)))
    theirs = Schema(fields=(*TABLE.fields, Field(name="born", type="date", id=3)))
    with pytest.raises(CommitConflictError):
        evolved(head(theirs, 4), ours, new_from=3)
