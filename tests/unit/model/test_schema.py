"""How columns fit a table."""

from dataclasses import replace

import pytest

from mere.errors import InvalidInputError, SchemaMismatchError, UnknownColumnError
from mere.model.promotion import widens
from mere.model.schema import Field, Schema, fit, from_mapping, number

TABLE = number(from_mapping({"id": "int64", "price": "decimal(10,2)", "note": "varchar"}))


def test_a_field_refuses_an_unknown_type():
    with pytest.raises(InvalidInputError, match="unknown type 'int65'"):
        Field(name="x", type="int65")


def test_a_nested_field_needs_its_parts():
    with pytest.raises(InvalidInputError, match="0 parts"):
        Field(name="x", type="list")


def test_two_columns_may_not_differ_in_case_alone():
    with pytest.raises(InvalidInputError, match="same name"):
        from_mapping({"id": "int64", "ID": "int64"})


def test_an_unknown_column_is_answered_with_those_that_exist():
    with pytest.raises(UnknownColumnError, match="unknown column 'usr'; the table has: id, price"):
        TABLE.field("usr")


def test_a_column_is_found_without_case_but_as_written_first():
    assert TABLE.field("ID").name == "id"


def test_ids_are_given_depth_first_and_kept_where_they_are():
    nested = Schema(
        fields=(
            Field(
                name="a",
                type="struct",
                children=(Field(name="x", type="int64"), Field(name="y", type="int64")),
            ),
            Field(name="b", type="int64"),
        )
    )
    ids = [field.id for field, _ in number(nested).walk()]
    assert ids == [1, 2, 3, 4]
    assert number(number(nested), start=9) == number(nested)


def test_missing_columns_fit_and_change_nothing():
    fitted = fit(TABLE, from_mapping({"id": "int64"}))
    assert fitted.schema == TABLE
    assert not fitted.changes


def test_a_missing_column_that_may_not_be_null_does_not_fit():
    strict = Schema(fields=(replace(TABLE.fields[0], nullable=False), *TABLE.fields[1:]))
    with pytest.raises(SchemaMismatchError, match="id: expected int64 NOT NULL, it is missing"):
        fit(strict, from_mapping({"note": "varchar"}))


def test_a_narrower_column_fits_and_changes_nothing():
    assert not fit(TABLE, from_mapping({"id": "int32", "price": "decimal(8,2)"})).changes


def test_every_misfit_is_named_with_what_was_expected_and_what_came():
    incoming = from_mapping({"id": "varchar", "price": "float64", "extra": "date"})
    with pytest.raises(SchemaMismatchError) as caught:
        fit(TABLE, incoming)
    message = str(caught.value)
    assert "id: expected int64, got varchar" in message
    assert "price: expected decimal(10,2), got float64" in message
    assert "extra: not in the table, got date" in message
    assert "merge_schema=True" in message


def test_merging_adds_columns_at_the_end_and_widens_types():
    incoming = from_mapping({"price": "decimal(12,2)", "day": "date"})
    fitted = fit(TABLE, incoming, merge_schema=True)
    assert fitted.schema.names == ("id", "price", "note", "day")
    assert fitted.schema.field("price").type == "decimal(12,2)"
    assert fitted.schema.field("price").id == TABLE.field("price").id
    assert fitted.added == ("day",)
    assert fitted.widened == ("price",)


def test_merging_reaches_into_structs():
    def table_of(*names):
        children = tuple(Field(name=name, type="int64") for name in names)
        return Schema(fields=(Field(name="s", type="struct", children=children),))

    fitted = fit(number(table_of("x")), table_of("x", "y"), merge_schema=True)
    assert [child.name for child in fitted.schema.fields[0].children] == ["x", "y"]
    with pytest.raises(SchemaMismatchError, match="struct<x: int64, y: int64>"):
        fit(table_of("x"), table_of("x", "y"))


def test_promotion_to_text_is_the_last_resort():
    fitted = fit(TABLE, from_mapping({"id": "date"}), promote_to_string=True)
    assert fitted.schema.field("id").type == "varchar"
    assert fit(TABLE, from_mapping({"id": "int32"}), promote_to_string=True).schema == TABLE


@pytest.mark.parametrize(
    ("narrow", "wide", "fits"),
    [
        ("int8", "int64", True),
        ("int64", "int8", False),
        ("int64", "float64", False),
        ("uint32", "int64", True),
        ("uint64", "int64", False),
        ("uint64", "decimal(20,0)", True),
        ("int32", "decimal(9,0)", False),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("decimal(10,2)", "decimal(10,2)", False),
        ("date", "timestamp", True),
        ("timestamp", "timestamptz", False),
        ("timestamp_ms", "timestamp_ns", True),
        ("float32", "float64", True),
        ("varchar", "blob", False),
    ],
)
def test_widening_keeps_every_value(narrow, wide, fits):
    assert widens(narrow, wide) is fits
