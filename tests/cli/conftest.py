"""A lake on disk, and the command that is pointed at it by the environment."""

import json
from datetime import datetime, timedelta

import pytest

import mere
from mere.cli import main

NEW_YEAR = datetime.fromisoformat("2026-01-01")
ROWS = [
    {"id": n, "side": "ask" if n % 2 else "bid", "ts": NEW_YEAR + timedelta(hours=n)}
    for n in range(12)
]


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """Open a lake with a table of a dozen rows in two partitions; MERE_LAKE names it."""
    monkeypatch.setenv("MERE_LAKE", str(tmp_path / "shop.db"))
    with mere.connect(tmp_path / "shop.db") as opened:
        columns = {"id": "int64", "side": "string", "ts": "timestamp"}
        trades = opened.create_table("trades", columns, partition_by=["side"], sort_by=["ts DESC"])
        trades.append(ROWS, message="a dozen")
        yield opened


class Typed:
    """What a command answered: its exit code, and what it wrote where."""

    def __init__(self, code, out, err):
        """Keep them."""
        self.code = code
        self.out = out
        self.err = err

    @property
    def lines(self):
        """Return the lines of the answer, cut into cells."""
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def json(self):
        """Return the answer to a script."""
        return json.loads(self.out)


@pytest.fixture
def mere_(capsys):
    """Type a command: `mere_("show", "trades")`."""

    def typed(*arguments):
        code = main([str(argument) for argument in arguments])
        return Typed(code, *capsys.readouterr())

    return typed
