"""Run one command: read the arguments, call it, print its answer, and translate errors.

Exit codes: 0 done; 1 an error, or something wrong that was looked for; 2 a wrong call; 3 others
were first and nothing changed, so call again; 130 stopped from the keyboard; 141 nobody reads on.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from mere import __version__
from mere.cli import arguments
from mere.cli.command import Call, Command
from mere.cli.commands import COMMANDS
from mere.cli.screen import Screen
from mere.errors import CommitConflictError, InvalidInputError, MereError

DONE, FAILED, WRONG_CALL, AGAIN, STOPPED, UNREAD = 0, 1, 2, 3, 130, 141


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    program = argparse.ArgumentParser(
        prog="mere",
        description="Lakehouse tables on mere Parquet: ACID, time travel, Spark.",
        epilog="`mere COMMAND --help` tells more. Exit codes: 0 done, 1 error or damage found, "
        "2 wrong call, 3 others were first: call again.",
    )
    program.add_argument("--version", action="version", version=f"mere {__version__}")
    arguments.lake(program)
    commands = program.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = commands.add_parser(command.name, help=command.summary, description=command.summary)
        command.arguments(own)
        if command.on_lake:
            arguments.lake(own)
        own.set_defaults(chosen=command)
    return program


def main(typed: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    try:
        asked = parser().parse_args(typed)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or DONE)
    screen = Screen(json=bool(getattr(asked, "json", False)), terminal=sys.stdout.isatty())
    try:
        with screen.progress():
            return _run(asked.chosen, Call(asked=asked, say=screen.say), screen)
    except MereError as error:
        screen.fail(error)
        return _code(error)
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit flushes again
        return UNREAD
    except Exception as error:  # noqa: BLE001  a command tells what happened, and shows no stack
        if os.environ.get("MERE_DEBUG"):
            traceback.print_exc()
        screen.fail(_unexpected(error))
        return FAILED


def _run(command: Command, call: Call, screen: Screen) -> int:
    answer = command.run(call)
    screen.show(answer)
    sys.stdout.flush()
    return answer.code


def _code(error: MereError) -> int:
    if isinstance(error, InvalidInputError):
        return WRONG_CALL
    return AGAIN if isinstance(error, CommitConflictError) else FAILED


def _unexpected(error: Exception) -> MereError:
    msg = f"unexpected {type(error).__name__}: {error}"
    return MereError(msg, hint="MERE_DEBUG=1 shows where it came from")
