"""Lakehouse tables on mere Parquet, with the catalog in a SQL database."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mere import errors, spark
    from mere.connecting import connect
    from mere.errors import (
        AlreadyExistsError,
        CommitConflictError,
        InvalidInputError,
        MereError,
        NotFoundError,
        SchemaMismatchError,
        TableNotFoundError,
        UnknownColumnError,
        UnsupportedError,
    )
    from mere.lake import Lake
    from mere.model.policy import Policy
    from mere.model.predicate import Expr, col, lit
    from mere.model.report import Report
    from mere.ops.maintain.outcome import Maintenance
    from mere.scan import Scan
    from mere.table import Table

__version__ = "0.1.0"

__all__ = [
    "AlreadyExistsError",
    "CommitConflictError",
    "Expr",
    "InvalidInputError",
    "Lake",
    "Maintenance",
    "MereError",
    "NotFoundError",
    "Policy",
    "Report",
    "Scan",
    "SchemaMismatchError",
    "Table",
    "TableNotFoundError",
    "UnknownColumnError",
    "UnsupportedError",
    "__version__",
    "col",
    "connect",
    "errors",
    "lit",
    "spark",
]

_HOMES = {
    "Expr": "mere.model.predicate",
    "Lake": "mere.lake",
    "Maintenance": "mere.ops.maintain.outcome",
    "Policy": "mere.model.policy",
    "Report": "mere.model.report",
    "Scan": "mere.scan",
    "Table": "mere.table",
    "col": "mere.model.predicate",
    "connect": "mere.connecting",
    "lit": "mere.model.predicate",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name in ("errors", "spark"):
        return import_module(f"mere.{name}")
    if name not in __all__:
        msg = f"module 'mere' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(_HOMES.get(name, "mere.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
