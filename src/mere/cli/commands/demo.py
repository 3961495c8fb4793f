"""`mere demo`: a first tour, on Spark in local mode."""

import argparse
from pathlib import Path

from mere.cli.answer import Answer, told
from mere.cli.command import Call, Command
from mere.registry import load


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, help="a new folder; default: mere-demo in this one"
    )
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="how much data to make; 1 is 300,000 messages",
    )


def _fresh(folder: Path) -> Path:
    """Return the folder, or the first `folder-2`, `folder-3`, … that does not exist."""
    number, chosen = 1, folder
    while chosen.exists():
        number += 1
        chosen = folder.with_name(f"{folder.name}-{number}")
    return chosen


def _demo(call: Call) -> Answer:
    folder = call["folder"] or _fresh(Path.cwd() / "mere-demo")
    load("mere.demo.tour:tour")(folder, say=call.say, scale=call["scale"])
    return told({"folder": str(folder)})


DEMO = Command(
    name="demo",
    summary="run a pipeline on Spark into a fresh lake, query it, and write a report with plots",
    arguments=_arguments,
    run=_demo,
    on_lake=False,
)
