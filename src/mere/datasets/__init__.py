"""Plain folders of Parquet files, without a catalog."""

from mere.datasets.opening import folder

__all__ = ["folder"]
