"""Name the one expression language: build, bind to a schema, evaluate against a row."""

from mere.model.binding import bind, bind_value
from mere.model.evaluation import evaluate
from mere.model.expr import Expr, call, col, columns, conjunction, disjunction, lit, nodes

__all__ = [
    "Expr",
    "bind",
    "bind_value",
    "call",
    "col",
    "columns",
    "conjunction",
    "disjunction",
    "evaluate",
    "lit",
    "nodes",
]
