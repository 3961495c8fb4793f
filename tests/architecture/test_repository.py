"""The files around the library say nothing that is only true on one machine."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pins():
    """Read the pinned versions by name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def wanted():
    """Read the names of everything that pyproject asks for, extras and tools included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    return {re.split(r"[\[<>=~! ]", entry)[0].lower() for group in groups for entry in group}


def test_constraints_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    odd = [line for line in lines if not re.fullmatch(r"#.*|[a-z0-9-]+==[0-9a-z.+]+", line)]
    assert not odd


def test_everything_that_is_asked_for_is_pinned():
    assert wanted() - {"mere"} <= set(pins())


def test_the_oracle_and_its_extensions_have_one_version():
    versions = {version for name, version in pins().items() if name.startswith("duckdb")}
    assert versions == {"1.5.5"}


def test_the_entrance_and_the_checks_can_be_run():
    for name in ("dev", ".ci/run"):
        assert (ROOT / name).stat().st_mode & 0o111, f"{name} has no run bit"
