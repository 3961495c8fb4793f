"""Spell out the public surface as text; run as a script it prints what is to be written down."""

import dataclasses
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator

PLACES = ("mere", "mere.spark", "mere.datasets", "mere.testing")


def describe() -> str:
    """Return one line per public name, parameter lists without types."""
    lines: list[str] = []
    for place in PLACES:
        if importlib.util.find_spec(place) is None:
            continue
        module = importlib.import_module(place)
        for name in sorted(getattr(module, "__all__", ())):
            lines += _lines(f"{place}.{name}", getattr(module, name))
    return "\n".join(lines) + "\n"


def _lines(path: str, value: object) -> Iterator[str]:
    if inspect.isclass(value):
        parents = ", ".join(parent.__name__ for parent in value.__bases__ if parent is not object)
        yield f"{path}({parents})" if parents else path
        if not issubclass(value, BaseException):
            yield from (f"    {line}" for line in sorted(_members(value)))
    elif callable(value):
        yield f"{path}{_signature(value)}"
    else:
        yield f"{path}: {type(value).__name__}"


def _members(kind: type) -> Iterator[str]:
    fields = (
        {field.name for field in dataclasses.fields(kind)}
        if dataclasses.is_dataclass(kind)
        else set()
    )
    for name in sorted(fields | set(vars(kind))):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(kind, name, None)
        if name in fields:
            yield f".{name}: field"
        elif isinstance(value, property):
            yield f".{name}: property"
        elif callable(getattr(kind, name)):
            yield f".{name}{_signature(getattr(kind, name))}"
        else:
            yield f".{name}: value"


def _signature(function: object) -> str:
    assert callable(function)
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(...)"
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


if __name__ == "__main__":
    sys.stdout.write(describe())
