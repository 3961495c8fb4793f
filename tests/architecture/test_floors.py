"""The import contracts hold, and they notice what they are there for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts over the copy of the library in `folder`."""
    code = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    """Copy the library and its contracts, so that a test can break them."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_imports_go_down_only(copy):
    outcome = lint(copy)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("module", "text", "complaint"),
    [
        ("attic.py", "", "attic"),
        ("model/upwards.py", "import mere.arrow\n", "mere.model.upwards"),
        ("plan/engine.py", "import pyarrow\n", "mere.plan.engine -> pyarrow"),
        ("kernels/planner.py", "import mere.plan\n", "mere.kernels.planner -> mere.plan"),
        ("ops/shortcut.py", "import mere.stores\n", "mere.ops.shortcut -> mere.stores"),
        ("runners/local.py", "import mere.runners.spark\n", "mere.runners.local -> "),
    ],
    ids=["no floor", "upwards", "thinking", "carrying out", "verbs", "siblings"],
)
def test_a_module_that_breaks_a_contract_is_named(copy, module, text, complaint):
    with (copy / "src" / "mere" / module).open("a") as file:
        file.write(text)
    outcome = lint(copy)
    assert outcome.returncode != 0
    assert complaint in outcome.stdout
