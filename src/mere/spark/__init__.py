"""Spark as the engine of a lake's pipeline: sessions, native scans, and types.

The names are loaded when first used, so that `import mere.spark` works without pyspark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mere.errors import EngineMissingError

if TYPE_CHECKING:
    from mere.spark import sink as sink
    from mere.spark import stream as stream
    from mere.spark.pipeline import Pipeline as Pipeline
    from mere.spark.pipeline import new as new
    from mere.spark.pipeline import whole as whole
    from mere.spark.register import register as register
    from mere.spark.scan import read as read
    from mere.spark.sessions import session as session
    from mere.spark.spelled import original as original
    from mere.spark.types import from_spark as from_spark
    from mere.spark.types import to_spark as to_spark

__all__ = [
    "Pipeline",
    "from_spark",
    "new",
    "original",
    "read",
    "register",
    "session",
    "to_spark",
    "whole",
]

_HOMES = {
    "Pipeline": "pipeline",
    "new": "pipeline",
    "whole": "pipeline",
    "from_spark": "types",
    "original": "spelled",
    "read": "scan",
    "register": "register",
    "session": "sessions",
    "to_spark": "types",
}
_PARTS = ("sink", "stream")
"""Modules that are loaded when it comes to them: a Python worker of Spark lives shortly."""


def __getattr__(name: str) -> Any:
    """Load a public name from its module, or say that PySpark is missing."""
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    try:
        module = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"pyspark", "py4j"}:
            raise
        msg = f"mere.spark.{name} needs PySpark, which is not installed"
        raise EngineMissingError(msg, hint="pip install 'mere[spark]'") from error
    return getattr(module, name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
