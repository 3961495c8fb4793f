"""Make the folders that the examples work on: a few hours of a market, in many small files."""

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

PRODUCTS = ("BTC-USD", "ETH-USD")
START = datetime.fromisoformat("2025-11-26T09:00")


def level2(hours: int = 4, rows: int = 60) -> pl.DataFrame:
    """Return quotes: `rows` of each product and hour."""
    made = []
    for product in PRODUCTS:
        for number in range(hours * rows):
            ts = START + timedelta(hours=number // rows, seconds=number % rows)
            bid = 100.0 + number % 7
            wide = 50.0 if number % 50 == 7 else 0.5
            made.append(
                {
                    "product_id": product,
                    "date": f"{ts:%Y-%m-%d}",
                    "timestamp": ts,
                    "sequence_num": number,
                    "side": "offer" if number % 2 else "bid",
                    "side_normalized": None if number % 2 else "bid",
                    "best_bid": bid,
                    "best_ask": bid + wide,
                    "mid_price": bid + wide / 2,
                    "spread": None if number % 5 == 0 else wide,
                    "spread_bps": None if number % 5 == 0 else wide / (bid + wide / 2) * 10000,
                    "price": bid,
                    "volume": 1.0,
                }
            )
    types = {"side_normalized": pl.String, "spread": pl.Float64, "spread_bps": pl.Float64}
    return pl.DataFrame(made, schema_overrides=types)


def trades(rows: int = 40) -> pl.DataFrame:
    """Return trades, of which every tenth is there twice."""
    made = [
        {
            "product_id": PRODUCTS[number % 2],
            "trade_id": str(12340 + number),
            "price": 49_000.0 + number,
            "size": 1.0,
            "side": "buy",
            "date": "2025-11-26",
        }
        for number in range(rows)
    ]
    return pl.DataFrame(made + made[::10])


def write_folder(root: Path, rows: pl.DataFrame, by: list[str], files: int = 6) -> None:
    """Write rows as many small files below folders of partitions, which hold these columns, too."""
    for key, part in rows.partition_by(by, as_dict=True).items():
        names = (f"{name}={value}" for name, value in zip(by, key, strict=True))
        place = root.joinpath(*names)
        place.mkdir(parents=True)
        size = -(-len(part) // files)
        for number in range(-(-len(part) // size)):
            part.slice(number * size, size).write_parquet(place / f"part-{number}.parquet")
