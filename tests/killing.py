"""Kill a verb everywhere on the same lake, and look each time whether it is whole or not there."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import aftermath, jobs

import mere


@dataclass(frozen=True, slots=True)
class Lakes:
    """A lake in a folder, which can be put back to how it was."""

    url: str
    folder: Path
    was: Path

    @classmethod
    def made(
        cls, tmp_path: Path, kind: str = "sqlite", *, more: Callable[[str], None] | None = None
    ) -> "Lakes":
        """Make a lake with two tables, four rows in two files of one, two in the other."""
        folder = tmp_path / "here"
        folder.mkdir()
        lakes = cls(f"{kind}://{folder}/lake.db", folder, tmp_path / "was")
        fill(lakes.url)
        if more is not None:
            more(lakes.url)
        shutil.copytree(folder, lakes.was)
        return lakes

    def back(self) -> str:
        """Put the lake back to how it was made; return its URL."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.was, self.folder)
        return self.url

    def keep(self) -> None:
        """Take the lake as it is for how it was made."""
        shutil.rmtree(self.was)
        shutil.copytree(self.folder, self.was)

    def untouched(self) -> bool:
        """Tell whether every byte is as it was."""
        return contents(self.folder) == contents(self.was)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return every byte below a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


def fill(url: str, **more: Any) -> None:
    """Make two tables."""
    with mere.connect(url, **more) as lake:
        lake.create_table("a", jobs.COLUMNS, partition_by=["part"])
        lake.create_table("b", jobs.COLUMNS)
        lake.table("a").append(jobs.rows(1, 2, 3, 4))
        lake.table("b").append(jobs.rows(5, 6))


def old_and_new(
    lakes: Lakes, stage: Any, *, whole: bool = False, **job: Any
) -> tuple[list[str], list[Any]]:
    """Do a verb once, whole: return its calls, and the states before and after it."""
    old = aftermath.state_of(lakes.back(), whole=whole)
    calls = stage.run("count_calls", url=lakes.url, **job).result
    new = aftermath.state_of(lakes.url, whole=whole)
    assert new[""] == [old[""][0] + 1]
    assert new != old
    return calls, [old, new]


def killed_everywhere(
    lakes: Lakes, stage: Any, *, every: int = 1, whole: bool = False, **job: Any
) -> tuple[int, Any]:
    """Kill a verb before and after its calls: return how many kills, and what was wrong.

    Every third time, or when the commit is near, the lake also has to take the next append.
    """
    calls, allowed = old_and_new(lakes, stage, whole=whole, **job)
    near = len(calls) - calls[::-1].index("commit")
    wrongs = []
    places = [(at, when) for at in range(1, len(calls) + 1, every) for when in ("before", "after")]
    for number, (at, when) in enumerate(places):
        outcome = stage.run("die_at", url=lakes.back(), at=at, when=when, **job)
        assert outcome.killed, f"{when} {calls[at - 1]}: {outcome}"
        if lakes.untouched():
            continue
        again = number % 3 == 0 or at > near
        found = list(aftermath.wrongs(lakes.url, allowed=allowed, again=again, whole=whole))
        wrongs += [f"{when} call {at}, {calls[at - 1]}: {wrong}" for wrong in found]
    return len(places), wrongs
