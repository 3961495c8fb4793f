"""Types of a table as Spark's, and back."""

import pytest

from mere.errors import UnsupportedError
from mere.model.schema import Field, Schema
from mere.spark import from_spark, to_spark

pytestmark = pytest.mark.spark


def columns(**kinds: str) -> Schema:
    return Schema(fields=tuple(Field(name=name, type=kind) for name, kind in kinds.items()))


def test_what_both_sides_have_comes_back_the_same():
    kinds = ["boolean", "int8", "int16", "int32", "int64", "float32", "float64", "decimal(12,3)"]
    kinds += ["date", "time", "timestamp", "timestamptz", "varchar", "blob"]
    schema = columns(**{f"c{i}": kind for i, kind in enumerate(kinds)})
    assert from_spark(to_spark(schema)) == schema


def test_nested_columns_come_back_the_same():
    inner = Field(name="a", type="list", children=(Field(name="element", type="int64"),))
    pair = (Field(name="key", type="varchar"), Field(name="value", type="float64"))
    schema = Schema(
        fields=(
            Field(name="s", type="struct", children=(inner, Field(name="b", type="date"))),
            Field(name="m", type="map", children=pair),
        )
    )
    assert from_spark(to_spark(schema)).spell() == schema.spell()


def test_unsigned_integers_are_shown_in_the_next_wider_type():
    struct = to_spark(columns(a="uint8", b="uint16", c="uint32", d="uint64"))
    assert struct.simpleString() == "struct<a:smallint,b:int,c:bigint,d:decimal(20,0)>"


def test_a_column_that_spark_has_no_type_for_is_named():
    with pytest.raises(UnsupportedError, match="'gap' of type interval"):
        to_spark(columns(id="int64", gap="interval"))


def test_not_null_of_a_literal_is_forgotten(spark):
    frame = spark.sql("SELECT 1 AS a, array(1, 2) AS b, named_struct('x', 1) AS c")
    schema = from_spark(frame.schema)
    assert all(field.nullable for field, _ in schema.walk())


@pytest.mark.parametrize("query", ["SELECT parse_json('1') AS v", "SELECT INTERVAL '1' MONTH AS v"])
def test_a_type_that_no_table_holds_is_refused(spark, query):
    with pytest.raises(UnsupportedError):
        from_spark(spark.sql(query).schema)
