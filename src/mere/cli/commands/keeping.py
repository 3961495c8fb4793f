"""Commands that keep a lake: init, tag, expire, vacuum."""

import argparse
from typing import TYPE_CHECKING

from mere.cli import arguments
from mere.cli.answer import Answer, Facts, Part, Rows, told
from mere.cli.command import Call, Command
from mere.errors import NotFoundError
from mere.registry import load

if TYPE_CHECKING:
    from mere.model.clearing import Cleared


def _init(call: Call) -> Answer:
    try:
        lake, made = call.lake(), False
    except NotFoundError:
        made = True
        if call["dry_run"]:
            return told({"made": True, "dry_run": True, "lake": call.url}, "would make the lake")
        lake = call.lake(create=True)
    facts = {"lake": lake.url, "data_path": lake.data_path, "version": lake.version}
    data = {"made": made, "dry_run": bool(call["dry_run"]), **facts}
    return told(data, "made a lake" if made else "the lake is there already", Facts(data=facts))


INIT = Command(
    name="init",
    summary="make a lake, unless it is there already",
    arguments=arguments.dry_run,
    run=_init,
)


def _tag_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="without it, the tags are listed")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--version", metavar="N", type=int, help="the version; default: the newest")
    group.add_argument("--drop", action="store_true", help="drop the tag")
    arguments.dry_run(parser)


def _tag(call: Call) -> Answer:
    lake, name = call.lake(), call["name"]
    tags = lake.tags()
    if name is None:
        columns = {"name": list(tags), "version": list(tags.values())}
        rows = Rows(data=load("pyarrow:table")(columns))
        return Answer(data=tags, parts=(rows,))
    if call["drop"]:
        if not call["dry_run"]:
            lake.untag(name)
        elif name not in tags:
            msg = f"no tag {name!r}; there is: {', '.join(tags) or 'none yet'}"
            raise NotFoundError(msg)
        said = f"{'would drop' if call['dry_run'] else 'dropped'} the tag {name}"
        return told({"dropped": name, "dry_run": call["dry_run"]}, said)
    version = call["version"]
    if call["dry_run"]:
        version = lake.version if version is None else version
        said = f"would tag version {version} as {name}"
    else:
        version = lake.tag(name, version=version)
        said = f"tagged version {version} as {name}"
    return told({"name": name, "version": version, "dry_run": call["dry_run"]}, said)


TAG = Command(
    name="tag",
    summary="name a version, which keeps it from expiring; or list or drop such names",
    arguments=_tag_arguments,
    run=_tag,
)


def _cleared(done: "Cleared") -> Answer:
    """Show what expired or was deleted."""
    parts: tuple[Part, ...] = (str(done),)
    if done.versions:
        parts = ("versions: " + ", ".join(map(str, done.versions)), *parts)
    if done.files:
        names = ("path", "bytes", "reason")
        columns = {name: [getattr(file, name) for file in done.files] for name in names}
        parts = (Rows(data=load("pyarrow:table")(columns)), *parts)
    if done.uploads:
        parts = ("uploads: " + ", ".join(upload.path for upload in done.uploads), *parts)
    return told(done.as_dict(), *parts)


def _expire_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        metavar="AGE",
        help="the least age; default: the lake's option expire_older_than, or else 7 days",
    )
    parser.add_argument(
        "--keep-last",
        metavar="N",
        type=arguments.positive,
        default=1,
        help="how many of the newest versions stay, whatever their age; default: 1",
    )
    arguments.dry_run(parser)


def _expire(call: Call) -> Answer:
    return _cleared(
        call.lake().expire(call["older_than"], keep_last=call["keep_last"], dry_run=call["dry_run"])
    )


EXPIRE = Command(
    name="expire",
    summary="let old versions go; tagged ones stay, and vacuum deletes their files later",
    arguments=_expire_arguments,
    run=_expire,
)


def _vacuum_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--grace",
        metavar="AGE",
        help="how long files stay for those who still read them; default: the lake's option "
        "delete_older_than, or else 1 day",
    )
    parser.add_argument(
        "--adopted",
        action="store_true",
        help="also delete adopted files below the root that no version shows any more",
    )
    arguments.dry_run(parser)


def _vacuum(call: Call) -> Answer:
    return _cleared(
        call.lake().vacuum(call["grace"], dry_run=call["dry_run"], adopted=call["adopted"])
    )


VACUUM = Command(
    name="vacuum",
    summary="delete files that no version shows and nobody can commit any more",
    arguments=_vacuum_arguments,
    run=_vacuum,
)
