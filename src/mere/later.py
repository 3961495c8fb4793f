"""Load parts of a package when they are first used: whoever reads loads nothing that writes.

A package that says `__getattr__ = later(__name__, ...)` lists its parts once more for type
checkers, under `if TYPE_CHECKING`. Others then write `from mere import ops` and `ops.write.append`:
the module `write` is imported by the first such call.
"""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def later(
    package: str, *, modules: Collection[str] = (), names: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, which imports its `modules`, and what they define.

    `names` says which module defines each name that the package hands out.
    """
    homes = names or {}

    def load(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
