"""One verb each: ask the catalog, plan, carry out. Verbs see the ports, never an adapter.

Whoever opens a lake to read it loads none of them.
"""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.ops import adopt as adopt
    from mere.ops import carry as carry
    from mere.ops import clear as clear
    from mere.ops import define as define
    from mere.ops import diagnose as diagnose
    from mere.ops import evolve as evolve
    from mere.ops import maintain as maintain
    from mere.ops import mutate as mutate
    from mere.ops import restore as restore
    from mere.ops import staging as staging
    from mere.ops import write as write

_VERBS = (
    "adopt",
    "carry",
    "clear",
    "define",
    "diagnose",
    "evolve",
    "maintain",
    "mutate",
    "restore",
    "staging",
    "write",
)

__getattr__ = later(__name__, modules=_VERBS)
