"""A plain folder as a catalog: what its files tell is the truth, and a journal makes commits.

Nothing is kept but the files themselves. What a commit needs for a moment lies below `_mere/`.
"""

from mere.catalogs.directory.catalog import DirectoryCatalog
from mere.catalogs.directory.terms import Terms

__all__ = ["DirectoryCatalog", "Terms"]
