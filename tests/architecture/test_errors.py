"""The errors are what their drawing says, and they survive the way from a worker."""

import ast
import inspect
import pickle
import re

import pytest

from mere import errors

ERRORS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.MereError)
]


def drawn():
    """Read the drawing in the docstring: (name, parent, built-in parent or None), top down."""
    drawing = (errors.__doc__ or "").split("```")[1].removeprefix("text\n")
    above: list[str] = []
    for line in drawing.splitlines():
        ((name, builtin),) = re.findall(r"(\w+Error)(?:\s+\((\w+)\))?", line)
        depth = line.index(name) // 4
        above[depth:] = [name]
        yield name, above[depth - 1] if depth else None, builtin or None


def defined():
    """Read the same from the classes, in the order of the source."""
    for node in ast.parse(inspect.getsource(errors)).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
            bases = [ast.unparse(base) for base in node.bases]
            if node.name == "MereError":
                yield node.name, None, None
            else:
                yield node.name, bases[0], bases[1] if len(bases) > 1 else None


def test_the_drawing_is_the_tree():
    assert list(drawn()) == list(defined())


def test_every_error_has_a_code_of_its_own():
    codes = [error.code for error in ERRORS]
    assert len(set(codes)) == len(ERRORS)
    assert set(codes) == set(errors.ErrorCode)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_error_arrives_from_a_worker_as_it_left(error):
    left = error("no table 'trades'; the lake has: quotes", hint="look at lake.tables()")
    left.task = "write 3 of 8"
    arrived = pickle.loads(pickle.dumps(left))  # noqa: S301 - pickled on the line itself
    assert type(arrived) is error
    assert vars(arrived) == vars(left)
    assert arrived.code == error.code
    assert str(arrived) == str(left)
    assert "trades" in str(arrived)
    assert arrived.hint in str(arrived)
