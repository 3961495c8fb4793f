"""The program as such: how it is called, how it fails, and how it speaks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.test_silence import HEAVY, loaded_by

import mere
from mere.cli import main
from mere.cli.commands import COMMANDS
from mere.errors import CommitConflictError

PROGRAM = Path(sys.executable).with_name("mere")

pytestmark = pytest.mark.usefixtures("lake")


def run(*arguments, **options):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, check=False, **options
    )


def test_the_installed_command_answers():
    done = run("show", "trades", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == 12
    assert run("--version").stdout == f"mere {mere.__version__}\n"


def test_the_module_can_be_run_as_well():
    command = [sys.executable, "-m", "mere.cli", "tables"]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=False).stdout
        == "main.trades\n"
    )


def test_a_reader_that_goes_away_is_no_error():
    command = [str(PROGRAM), "sql", "SELECT * FROM range(1000000)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.readline()
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 141


def test_errors_go_to_stderr_with_their_hint_and_no_stack():
    done = run("show", "trade")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("mere: no table 'trade'")
    assert "hint: did you mean main.trades?" in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_for_scripts_have_a_code(mere_):
    shown = mere_("show", "trade", "--json")
    assert (shown.code, shown.out) == (1, "")
    assert json.loads(shown.err)["error"]["code"] == "table-not-found"


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("show",), ("tables", "--nonsense")])
def test_a_call_that_argparse_refuses_has_the_code_of_wrong_calls(mere_, arguments):
    shown = mere_(*arguments)
    assert shown.code == 2
    assert "usage: mere" in shown.err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_tells_how_it_is_called(mere_, command):
    shown = mere_(command.name, "--help")
    assert shown.code == 0
    assert f"usage: mere {command.name}" in shown.out
    assert ("--lake" in shown.out) is command.on_lake


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommitConflictError("others were first"), 3, "mere: others were first"),
        (KeyboardInterrupt(), 130, ""),
        (OSError("the disk is gone"), 1, "mere: unexpected OSError: the disk is gone"),
    ],
)
def test_what_goes_wrong_below_has_its_exit_code(mere_, monkeypatch, error, code, said):
    def broken(*_):
        raise error

    monkeypatch.setattr(mere.Lake, "tables", broken)
    shown = mere_("tables")
    assert shown.code == code
    assert shown.err.startswith(said)
    assert "Traceback" not in shown.err


def test_the_stack_of_something_unexpected_is_shown_when_asked_for(mere_, monkeypatch):
    def broken(*_):
        raise OSError

    monkeypatch.setattr(mere.Lake, "tables", broken)
    monkeypatch.setenv("MERE_DEBUG", "1")
    assert "Traceback" in mere_("tables").err


def test_loading_the_command_loads_no_engine_and_no_terminal():
    heavy = {*HEAVY, "rich"}
    assert not loaded_by("import mere.cli") & heavy
    quiet = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): "
    assert not loaded_by(f"{quiet}import mere.cli; mere.cli.main(['show', '--help'])") & heavy


def test_tables_are_drawn_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["sql", "SELECT '[bold]x' AS text, NULL AS gap, * FROM range(300)"]) == 0
    shown = capsys.readouterr().out
    assert "─" in shown
    assert "[bold]x" in shown
    assert "NULL" in shown
    assert "the first 200 rows are shown" in shown
    assert main(["show", "trades"]) == 0
    described = capsys.readouterr().out
    assert "KB" in described
    assert "partition_by" in described


def test_a_terminal_without_rich_gets_plain_lines():
    hidden = (
        "import sys\nsys.modules['rich.console'] = None\nsys.stdout.isatty = lambda: True\n"
        "from mere.cli import main\nmain(['tag'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("name\tversion\n", "")


def test_the_page_of_the_command_line_names_every_command():
    page = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
    text = page.read_text("utf-8")
    missing = [command.name for command in COMMANDS if f"`mere {command.name}" not in text]
    assert not missing
