"""The truth about tables, as SQL rows: one behaviour, and a thin dialect for each database.

Whoever opens a catalog to read it loads nothing that changes it.
"""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.catalogs import adopting as adopting
    from mere.catalogs import arrays as arrays
    from mere.catalogs import auditing as auditing
    from mere.catalogs import commit as commit
    from mere.catalogs import expiring as expiring
    from mere.catalogs import feeding as feeding
    from mere.catalogs import history as history
    from mere.catalogs import inlined_rows as inlined_rows
    from mere.catalogs import leaving as leaving
    from mere.catalogs import loads as loads
    from mere.catalogs import memory as memory
    from mere.catalogs import moving as moving
    from mere.catalogs import progress as progress
    from mere.catalogs import recording as recording
    from mere.catalogs import references as references
    from mere.catalogs import refining as refining
    from mere.catalogs import settings as settings
    from mere.catalogs import sifting as sifting
    from mere.catalogs import sweeping as sweeping

_PARTS = (
    "adopting",
    "arrays",
    "auditing",
    "commit",
    "expiring",
    "feeding",
    "history",
    "inlined_rows",
    "leaving",
    "loads",
    "memory",
    "moving",
    "progress",
    "recording",
    "references",
    "refining",
    "settings",
    "sifting",
    "sweeping",
)

__getattr__ = later(__name__, modules=_PARTS)
