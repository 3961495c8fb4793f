"""The buckets that DuckDB files rows under are the ones that `mere` computes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mere.model.layout import PartitionKey
from mere.model.transforms import transform
from mere.model.values import from_text, partition_value

VALUES: dict[str, tuple[str, list[str]]] = {
    "boolean": ("BOOLEAN", ["true", "false"]),
    "int8": ("TINYINT", ["-128", "0", "127"]),
    "int16": ("SMALLINT", ["-32768", "34"]),
    "int32": ("INTEGER", ["34", "-2147483648"]),
    "int64": ("BIGINT", ["9223372036854775807", "-9223372036854775808", "0"]),
    "int128": ("HUGEINT", ["-170141183460469231731687303715884105727", "5"]),
    "uint8": ("UTINYINT", ["0", "255"]),
    "uint16": ("USMALLINT", ["65535"]),
    "uint32": ("UINTEGER", ["4000000000"]),
    "uint64": ("UBIGINT", ["18446744073709551615"]),
    "uint128": ("UHUGEINT", ["340282366920938463463374607431768211455"]),
    "float32": ("FLOAT", ["1.5", "-0.0", "0.1", "inf", "1e20", "nan"]),
    "float64": ("DOUBLE", ["1.5", "-0.0", "0.1", "-inf", "1e-7", "nan"]),
    "decimal(9,2)": ("DECIMAL(9,2)", ["1.50", "-0.07"]),
    "decimal(18,5)": ("DECIMAL(18,5)", ["1.50000", "-1234567890123.12345"]),
    "decimal(30,5)": ("DECIMAL(30,5)", ["1.50000", "-0.00001", "0.00000"]),
    "date": ("DATE", ["2024-02-29", "1969-12-31", "0001-01-01"]),
    "time": ("TIME", ["01:02:03.5", "00:00:00"]),
    "timestamp": ("TIMESTAMP", ["2024-01-02 03:04:05.678901", "1969-12-31 23:59:59.999999"]),
    "timestamp_s": ("TIMESTAMP_S", ["2024-01-02 03:04:05", "1969-12-31 23:59:59"]),
    "timestamp_ms": ("TIMESTAMP_MS", ["2024-01-02 03:04:05.678", "1969-12-31 23:59:59.999"]),
    "timestamp_ns": ("TIMESTAMP_NS", ["2024-01-02 03:04:05.678901234", "1969-12-31 00:00:00"]),
    "timestamptz": ("TIMESTAMPTZ", ["2024-01-02 03:04:05.678901+00"]),
    "varchar": ("VARCHAR", ["", "a", "ab", "abc", "abcd", "iceberg", "größe 日本"]),
    "json": ("JSON", ['{"a": 1}', "[1,2]"]),
    "blob": ("BLOB", [r"\x00a\xFF", "abcde"]),
    "uuid": ("UUID", ["f79c3e09-677c-4bbd-a479-3f349cb785e7"]),
}

NEWEST = """
    SELECT partition_value FROM __ducklake_metadata_lake.ducklake_file_partition_value
    ORDER BY data_file_id DESC LIMIT 1
"""


def test_every_value_lies_in_the_bucket_that_the_reference_chose(
    tmp_path: Path, oracle: Callable[..., Any]
):
    con = oracle(str(tmp_path / "lake.ducklake"), data_path=f"{tmp_path}/d/")
    con.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    key = PartitionKey(column=1, transform="bucket", buckets=97)
    chosen, computed = {}, {}
    for number, (kind, (sql, texts)) in enumerate(VALUES.items()):
        table = f"t{number}"
        con.execute(f"CREATE TABLE {table} (x {sql})")
        con.execute(f"ALTER TABLE {table} SET PARTITIONED BY (bucket(97, x))")
        read = partition_value if kind == "blob" else from_text
        for text in texts:
            con.execute(f"INSERT INTO {table} SELECT CAST(? AS {sql})", [text])
            chosen[kind, text] = con.execute(NEWEST).fetchone()[0]
            computed[kind, text] = str(transform(key, kind, read(kind, text)))
    assert computed == chosen
