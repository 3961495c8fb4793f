"""Let Spark find the format `mere` by itself: it looks into modules with names like this one."""

from importlib import import_module
from typing import Any

from mere.spark.register import has_sources


def __getattr__(name: str) -> Any:
    """Hand out the format, where PySpark is new enough for it."""
    if name == "DefaultSource" and has_sources():
        return import_module("mere.spark.source").MereSource
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
