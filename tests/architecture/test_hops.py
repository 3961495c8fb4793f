"""The way is short: few functions of mere lie between a public call and the adapter that works.

Counted are the functions of mere that are running below the public call when an adapter is first
entered by one of the methods of its role, that method included. What an adapter does inside is its
own affair.
"""

import sys
import threading
from collections.abc import Callable
from types import FrameType

import pyarrow as pa
import pytest

import mere

KERNEL = ("mere.kernels", {"write"})
READER = ("mere.readers", {"read", "batches", "reader"})
CATALOG = ("mere.catalogs", {"files", "head", "history", "snapshot", "snapshots", "tables"})
DATA, METADATA = 5, 3


def running(frame: FrameType | None) -> list[str]:
    """Name the functions of mere on a stack, innermost first."""
    names = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_name
        if module.split(".")[0] == "mere" and not name.startswith("<"):
            names.append(f"{module}.{name}")
        frame = frame.f_back
    return names


def way(call: Callable[[], object], role: tuple[str, set[str]]) -> list[str]:
    """Return the functions between a public call and the first step into an adapter."""
    package, methods = role
    caller = threading.get_ident()
    found: list[list[str]] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or found or frame.f_code.co_name not in methods:
            return
        if f"{module}.".startswith(f"{package}."):
            names = running(frame)
            if threading.get_ident() != caller:  # a worker: the caller waits for it
                names += running(sys._current_frames()[caller])  # noqa: SLF001  the only way
            found.append(names)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert found, f"{package} was never entered"
    return found[0][:-1]


@pytest.fixture
def table(tmp_path):
    """Make a table with a row, and enter every module once."""
    lake = mere.connect(tmp_path / "lake.db")
    table = lake.create_table("t", {"a": "int64"})
    table.append(pa.table({"a": [1]}))
    table.scan("a = 1").to_arrow()
    return table


@pytest.mark.parametrize(
    ("call", "role"),
    [
        (lambda table: table.append(pa.table({"a": [2]})), KERNEL),
        (lambda table: table.overwrite(pa.table({"a": [2]})), KERNEL),
        (lambda table: table.scan("a = 1").to_arrow(), READER),
        (lambda table: table.scan().to_duckdb().fetchall(), READER),
        (lambda table: table.scan("a > 0").to_polars().collect(), READER),
        (lambda table: list(table.scan().to_batches()), READER),
    ],
    ids=["append", "overwrite", "to_arrow", "to_duckdb", "to_polars", "to_batches"],
)
def test_data_is_at_most_five_functions_away(table, call, role):
    steps = way(lambda: call(table), role)
    assert len(steps) <= DATA, steps


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.count(),
        lambda table: table.version,
        lambda table: table.schema,
        lambda table: table.files(),
        lambda table: table.history(),
        lambda table: table.scan("a = 1"),
    ],
    ids=["count", "version", "schema", "files", "history", "scan"],
)
def test_metadata_is_at_most_three_functions_away(table, call):
    steps = way(lambda: call(table), CATALOG)
    assert len(steps) <= METADATA, steps


def test_the_count_sees_every_function_on_the_way(table):
    steps = way(lambda: table.append(pa.table({"a": [2]})), KERNEL)
    assert steps[-1].startswith("mere.ops.")
    assert steps[0].startswith("mere.kernels.")
    assert len(steps) > 1
