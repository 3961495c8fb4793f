"""Predicates from and to SQL text; the parser takes a moment to load."""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.sqltext.reading import parse
    from mere.sqltext.writing import render

__all__ = ["parse", "render"]

__getattr__ = later(__name__, names={"parse": "reading", "render": "writing"})
