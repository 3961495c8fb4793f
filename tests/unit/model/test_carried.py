"""Libraries that lack a type hand its values over as another one."""

import pytest

from mere.errors import SchemaMismatchError
from mere.model.schema import Field, Schema, fit


def _one(kind: str) -> Schema:
    return Schema(fields=(Field(name="x", type=kind, id=1),))


@pytest.mark.parametrize(
    ("incoming", "wanted"),
    [
        ("varchar", "json"),
        ("varchar", "uuid"),
        ("blob", "uuid"),
        ("decimal(38,0)", "int128"),
        ("time", "timetz"),
        ("timestamp_ns", "timestamp"),
    ],
)
def test_a_carried_type_fits_and_changes_nothing(incoming: str, wanted: str):
    assert fit(_one(wanted), _one(incoming)).schema == _one(wanted)


@pytest.mark.parametrize(
    ("incoming", "wanted"),
    [("varchar", "int64"), ("decimal(38,2)", "int128"), ("timestamptz", "timestamp")],
)
def test_another_type_does_not_fit(incoming: str, wanted: str):
    with pytest.raises(SchemaMismatchError):
        fit(_one(wanted), _one(incoming))


def test_a_wider_type_still_widens_the_column_when_schemas_are_merged():
    merged = fit(_one("timestamp"), _one("timestamp_ns"), merge_schema=True)
    assert merged.schema == _one("timestamp_ns")
