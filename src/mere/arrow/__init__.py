"""Bridge the model and pyarrow: types, sources of rows, new files and what lies in them."""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.arrow import inlined as inlined
    from mere.arrow import leaves as leaves
    from mere.arrow import variants as variants
    from mere.arrow.casting import conform, conformer
    from mere.arrow.names import file_name, uuid7
    from mere.arrow.sources import hold, names_of, nulls_of, schema_from, schema_of, stream
    from mere.arrow.types import arrow_field, arrow_type, file_schema, from_arrow, to_arrow

__all__ = [
    "arrow_field",
    "arrow_type",
    "conform",
    "conformer",
    "file_name",
    "file_schema",
    "from_arrow",
    "hold",
    "names_of",
    "nulls_of",
    "schema_from",
    "schema_of",
    "stream",
    "to_arrow",
    "uuid7",
]

_HOMES = {
    **dict.fromkeys(("conform", "conformer"), "casting"),
    **dict.fromkeys(("file_name", "uuid7"), "names"),
    **dict.fromkeys(
        ("hold", "names_of", "nulls_of", "schema_from", "schema_of", "stream"), "sources"
    ),
    **dict.fromkeys(
        ("arrow_field", "arrow_type", "file_schema", "from_arrow", "to_arrow"), "types"
    ),
}

__getattr__ = later(__name__, modules=("inlined", "leaves", "variants"), names=_HOMES)
