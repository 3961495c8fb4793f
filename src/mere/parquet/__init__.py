"""Parquet files as bytes: how they are encoded, and what is written into them."""
