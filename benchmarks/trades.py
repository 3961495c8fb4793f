"""Make up the rows that every system gets, and know what each must answer.

Trades of many products, in the order of time, so that the products are interleaved: the usual
stream, and the hard case for a writer that partitions by product.
"""

import json
from pathlib import Path

import duckdb
import pyarrow as pa

PRODUCTS = 100
SCHEMA = pa.schema(
    [
        ("product_id", pa.string()),
        ("trade_id", pa.int64()),
        ("ts", pa.timestamp("us")),
        ("side", pa.string()),
        ("price", pa.float64()),
        ("size", pa.float64()),
    ]
)
_BATCH = 1 << 16
_ROWS = f"""
    SELECT 'product-' || lpad((hash(i) % {PRODUCTS})::VARCHAR, 3, '0') AS product_id,
           i AS trade_id,
           TIMESTAMP '2026-01-01'
               + to_microseconds((i * 86_400 + hash(i, 't') % 80_000)::BIGINT) AS ts,
           CASE WHEN hash(i, 's') % 2 = 0 THEN 'buy' ELSE 'sell' END AS side,
           round(100 + hash(i) % {PRODUCTS} + 5 * sin(i / 10_000) + hash(i, 'p') % 100 / 100, 2)
               AS price,
           round(exp(hash(i, 'q') % 1000 / 200) / 10, 4) AS size
    FROM range(?) AS made(i)
"""
_ANSWERS = f"""
    SELECT 'product-' || lpad((hash(i) % {PRODUCTS})::VARCHAR, 3, '0'), count(*), sum(i)::BIGINT
    FROM range(?) AS made(i) GROUP BY 1 ORDER BY 1
"""


def make(path: str, *, rows: int) -> None:
    """Write rows as an Arrow file, and beside it the count and the sum of each product."""
    with duckdb.connect() as con:
        batches = con.execute(_ROWS, [rows]).to_arrow_reader(_BATCH)
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            for batch in batches:
                writer.write_batch(batch.cast(SCHEMA))
        answers = {name: (n, total) for name, n, total in con.execute(_ANSWERS, [rows]).fetchall()}
    Path(f"{path}.json").write_text(json.dumps(answers), encoding="utf-8")


def load(path: str) -> pa.Table:
    """Return the rows, mapped into memory: every process shares the same pages."""
    return pa.ipc.open_file(pa.memory_map(path)).read_all()


def one(number: int) -> pa.Table:
    """Return one new row."""
    made = [f"product-{number % PRODUCTS:03}", -number, number, "buy", 1.5, 2.5]
    columns = [pa.array([cell], kind.type) for cell, kind in zip(made, SCHEMA, strict=True)]
    return pa.table(columns, schema=SCHEMA)
