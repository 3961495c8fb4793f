"""Say what differs between the engines that SQL text is written for."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_SHARED = {
    "boolean": "BOOLEAN",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "json": "JSON",
    "uuid": "UUID",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "interval": "INTERVAL",
    "varchar": "VARCHAR",
    "timetz": "TIMETZ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What differs between engines: how things are quoted, and what they are called."""

    name: str
    quote: str
    types: Mapping[str, str]
    functions: Mapping[str, str]
    backslash: bool = False


DUCKDB = Dialect(
    name="duckdb",
    quote='"',
    types=MappingProxyType(
        {
            **_SHARED,
            "int8": "TINYINT",
            "int128": "HUGEINT",
            "uint8": "UTINYINT",
            "uint16": "USMALLINT",
            "uint32": "UINTEGER",
            "uint64": "UBIGINT",
            "uint128": "UHUGEINT",
            "blob": "BLOB",
            "float32": "FLOAT",
            "timestamp_s": "TIMESTAMP_S",
            "timestamp_ms": "TIMESTAMP_MS",
            "timestamp_ns": "TIMESTAMP_NS",
        }
    ),
    functions=MappingProxyType({}),
)
SPARK = Dialect(
    name="spark",
    quote="`",
    backslash=True,
    types=MappingProxyType(
        {
            **_SHARED,
            "int8": "TINYINT",
            "int128": "DECIMAL(38,0)",
            "uint8": "SMALLINT",
            "uint16": "INT",
            "uint32": "BIGINT",
            "uint64": "DECIMAL(20,0)",
            "uint128": "DECIMAL(38,0)",
            "float32": "FLOAT",
            "blob": "BINARY",
            "varchar": "STRING",
            "json": "STRING",
            "uuid": "STRING",
            "timestamp": "TIMESTAMP_NTZ",
            "timestamptz": "TIMESTAMP",
            **dict.fromkeys(("timestamp_s", "timestamp_ms", "timestamp_ns"), "TIMESTAMP_NTZ"),
        }
    ),
    functions=MappingProxyType({"starts_with": "startswith", "ends_with": "endswith"}),
)
POSTGRES = Dialect(
    name="postgres",
    quote='"',
    types=MappingProxyType(
        {
            **_SHARED,
            "int8": "SMALLINT",
            "uint8": "SMALLINT",
            "uint16": "INTEGER",
            "uint32": "BIGINT",
            **dict.fromkeys(("int128", "uint64", "uint128"), "NUMERIC"),
            "float32": "REAL",
            "float64": "DOUBLE PRECISION",
            "blob": "BYTEA",
            **dict.fromkeys(("timestamp_s", "timestamp_ms", "timestamp_ns"), "TIMESTAMP"),
        }
    ),
    functions=MappingProxyType({}),
)
DIALECTS = {
    "duckdb": DUCKDB,
    "spark": SPARK,
    "postgres": POSTGRES,
    "postgresql": POSTGRES,
}
