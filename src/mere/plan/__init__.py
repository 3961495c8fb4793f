"""Think: pure functions of what travels; no IO, no engine, no clock."""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.plan import cluster as cluster
    from mere.plan import definition as definition
    from mere.plan import explain as explain
    from mere.plan import extremes as extremes
    from mere.plan import groups as groups
    from mere.plan import rewrite as rewrite

__getattr__ = later(
    __name__, modules=("cluster", "definition", "explain", "extremes", "groups", "rewrite")
)
