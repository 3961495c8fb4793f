"""The four roles that a lake is made of, and the session that carries them."""

from mere.ports.catalog import Audit, Catalog, ReplanNeeded, WriteDeletes
from mere.ports.session import Reading, Session
from mere.ports.store import Store
from mere.ports.work import Kernel, Runner

__all__ = [
    "Audit",
    "Catalog",
    "Kernel",
    "Reading",
    "ReplanNeeded",
    "Runner",
    "Session",
    "Store",
    "WriteDeletes",
]
