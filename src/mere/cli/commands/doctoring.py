"""`mere doctor`: look for damage; exit code 1 when there is some."""

import argparse

from mere.cli.answer import Answer, Part, Rows
from mere.cli.command import Call, Command
from mere.registry import load

_NAMES = ("verdict", "check", "table", "path", "detail")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--deep", action="store_true", help="also read every page and compare its checksum"
    )


def _doctor(call: Call) -> Answer:
    found = call.lake().doctor(deep=call["deep"])
    parts: tuple[Part, ...] = (str(found).rpartition("\n")[2],)
    if found.findings:
        text = load("pyarrow:string")()
        columns = {
            name: load("pyarrow:array")([getattr(f, name) for f in found.findings], type=text)
            for name in _NAMES
        }
        parts = (Rows(data=load("pyarrow:table")(columns)), *parts)
    return Answer(data=found.as_dict(), parts=parts, code=0 if found.healthy else 1)


DOCTOR = Command(
    name="doctor",
    summary="look for damage in the catalog and the files; exit code 1 when there is some",
    arguments=_arguments,
    run=_doctor,
)
