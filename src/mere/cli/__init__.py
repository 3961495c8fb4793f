"""The `mere` command: one module per family of commands, each thin over the library.

A new command is a `Command` in a module of `commands`, and one line in `commands/__init__.py`.
"""

from mere.cli.program import main

__all__ = ["main"]
