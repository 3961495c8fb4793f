"""Read the source and say where it breaks a law of the house: one function per law.

Each law takes one parsed module and yields complaints, so that a test can also show each law a
module that breaks it.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

MODULE_LINES = 400
FUNCTION_LINES = 40
LATE_IMPORTERS = frozenset({"mere", "mere.registry", "mere.scan"})
THINKING = ("mere.errors", "mere.model", "mere.plan", "mere.ports")
TRAVELLING = tuple(f"mere.model.{name}" for name in ("files", "history", "report", "work"))
VAGUE_WORDS = frozenset(
    {"Manager", "Handler", "Helper", "Util", "Base", "Abstract", "Impl", "Info"}
)
VAGUE_MODULES = frozenset({"utils", "util", "common", "core", "helpers", "misc"})
_CLOCK_AND_CHANCE = frozenset({"now", "utcnow", "today", "uuid1", "uuid4", "urandom", "urlopen"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_SILENCED = re.compile(r"#\s*(noqa|type:\s*ignore|pragma: no cover)(.*)")
_RULE = re.compile(
    r"^(?:: ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*|\[[a-z-]+(?:, ?[a-z-]+)*\])(?P<reason>[\s#-]+\w)?"
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its dotted name, its text, and its syntax tree."""

    name: str
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, name: str, text: str) -> "Module":
        """Parse a text as the module of that name."""
        return cls(name, text, _parsed(text))

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Yield every node of these kinds."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    def functions(self) -> Iterator[Function]:
        """Yield every function and method."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def below(self, *packages: str) -> bool:
        """Tell whether the module is one of these, or in one of these."""
        return any(f"{self.name}.".startswith(f"{package}.") for package in packages)


def _parsed(text: str) -> ast.Module:
    """Parse, again if need be: CPython 3.11 counts wrongly when somebody else parses meanwhile."""
    for _ in range(9):
        with suppress(SystemError):
            return ast.parse(text)
    return ast.parse(text)


@cache
def modules() -> tuple[Module, ...]:
    """Parse every module of the library, once for all laws."""
    return tuple(
        Module.of(_dotted(path), path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))
    )


def long_modules(module: Module) -> Iterator[str]:
    """Modules stay under 400 lines."""
    lines = len(module.text.splitlines())
    if lines >= MODULE_LINES:
        yield f"{module.name} has {lines} lines: split it by verb"


def long_functions(module: Module) -> Iterator[str]:
    """Functions stay under 40 lines; a docstring is for the caller and does not count."""
    for function in module.functions():
        lines = (function.end_lineno or 0) - function.lineno + 1 - _docstring_lines(function)
        if lines >= FUNCTION_LINES:
            yield f"{module.name}.{function.name} has {lines} lines"


def late_imports(module: Module) -> Iterator[str]:
    """An import inside a function is allowed only where engines are found by name."""
    if module.name in LATE_IMPORTERS:
        return
    for function in module.functions():
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield f"{module.name}:{node.lineno} imports inside {function.name}"


def spark_elsewhere(module: Module) -> Iterator[str]:
    """PySpark is imported only where Spark lives."""
    if module.below("mere.spark", "mere.runners.spark"):
        return
    for line, name in _imported(module):
        if name.split(".")[0] in {"pyspark", "py4j"}:
            yield f"{module.name}:{line} imports {name}"


def clock_and_chance(module: Module) -> Iterator[str]:
    """Thinking asks neither the clock nor chance."""
    if not module.below(*THINKING):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in _CLOCK_AND_CHANCE:
            yield f"{module.name}:{node.lineno} uses {ast.unparse(node)}"


def vague_names(module: Module) -> Iterator[str]:
    """Names say what a thing is; `datasets` keeps the names that its users know."""
    if module.below("mere.datasets"):
        return
    if VAGUE_MODULES & set(module.name.split(".")):
        yield f"{module.name} is a vague name for a module"
    demanded = _demanded(module)
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ClassDef | Function) or node in demanded:
            continue
        words = {word.title().removesuffix("s") for word in _WORD.findall(node.name)}
        if words & VAGUE_WORDS or node.name.lstrip("_").startswith(("get_", "do_")):
            yield f"{module.name}:{node.lineno} defines {node.name}"


def loose_values(module: Module) -> Iterator[str]:
    """Values of the model are frozen and slotted, and those that travel are built by keyword."""
    if not module.below("mere.model"):
        return
    words = ["frozen", "slots"]
    if module.below(*TRAVELLING):
        words.append("kw_only")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                text = ast.unparse(decorator)
                if "dataclass" in text and not all(f"{word}=True" in text for word in words):
                    yield f"{module.name}.{node.name} is @{text}"


def silenced_without_reason(module: Module) -> Iterator[str]:
    """Whoever silences a tool names the rule and says why, there or in a comment above."""
    above = ""
    for number, line in enumerate(module.text.splitlines(), 1):
        found = _SILENCED.search(line)
        if found:
            match = _RULE.match(found[2])
            if not match or not (match["reason"] or above.lstrip().startswith("# ")):
                yield f"{module.name}:{number} silences a tool without naming rule and reason"
        above = line


def unfinished(module: Module) -> Iterator[str]:
    """What is in the library works."""
    for number, line in enumerate(module.text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError", line):
            yield f"{module.name}:{number} is unfinished: {line.strip()}"


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _demanded(module: Module) -> set[ast.AST]:
    """Return the public methods of classes that fill in an interface, which chose their names."""
    return {
        method
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.bases
        for method in node.body
        if isinstance(method, Function) and not method.name.startswith("_")
    }


def _docstring_lines(function: Function) -> int:
    if ast.get_docstring(function, clean=False) is None:
        return 0
    first = function.body[0]
    return (first.end_lineno or 0) - first.lineno + 1


def _imported(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
