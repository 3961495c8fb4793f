"""Commands that look after a lake: health, maintain."""

import argparse
from typing import Any

from mere.cli import arguments
from mere.cli.answer import Answer, Part, Rows, listed
from mere.cli.command import Call, Command
from mere.registry import load

_AGAIN, _FAILED = 3, 1


def _policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        metavar="FILE",
        help="rules in a TOML file; what it leaves open, options in the catalog say",
    )


def _health_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table",
        nargs="?",
        metavar="TABLE",
        help="one table; without it, what is not good in the lake and in any table",
    )
    _policy(parser)


def _health(call: Call) -> Answer:
    lake = call.lake()
    if call["table"]:
        return listed(Rows(data=lake.table(call["table"]).health(policy=call["policy"])))
    found = lake.health(policy=call["policy"])
    bad = found.filter(load("pyarrow.compute:field")("verdict") != "good")
    good = f"{found.num_rows - bad.num_rows:,} check(s) are good, {bad.num_rows:,} are not"
    parts: tuple[Part, ...] = (Rows(data=bad), good) if bad.num_rows else (good,)
    return Answer(data=Rows(data=found), parts=parts)


HEALTH = Command(
    name="health",
    summary="say how files lie, and which call would help at what cost",
    arguments=_health_arguments,
    run=_health,
)


def _maintain_arguments(parser: argparse.ArgumentParser) -> None:
    _policy(parser)
    parser.add_argument(
        "--budget-mb", metavar="N", type=float, help="how much may be read and written"
    )
    parser.add_argument(
        "--budget-minutes", metavar="N", type=float, help="after how long nothing new is begun"
    )
    help_ = "how much is held in memory at a time"
    parser.add_argument("--memory-mb", metavar="N", type=arguments.positive, help=help_)
    arguments.dry_run(parser)
    arguments.work(parser)


def _maintain(call: Call) -> Answer:
    policy: Any = load("mere.ops.maintain.policies:policy_of")(call["policy"])
    given = {name: call[name] for name in ("budget_mb", "budget_minutes")}
    policy = load("mere:Policy")(**given).over(policy)
    done = call.lake().maintain(policy, dry_run=call["dry_run"], memory_mb=call["memory_mb"])
    parts: tuple[Part, ...] = (*done.notes, done.summary)
    if done:
        parts = (Rows(data=done.to_arrow()), *parts)
    return Answer(data=done.as_dict(), parts=parts, code=_code(done))


def _code(done: Any) -> int:
    if done.ok:
        return 0
    return _FAILED if done.of("failed") else _AGAIN


MAINTAIN = Command(
    name="maintain",
    summary="keep all tables in shape by the lake's rules, what is worth most first",
    arguments=_maintain_arguments,
    run=_maintain,
)
