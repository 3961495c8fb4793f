"""Make the environment that every measured process runs in: mere's needs and the peers."""

import subprocess
import sys
import venv
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PINS = Path(__file__).with_name("constraints.txt")
_PLACE = ROOT / ".venv-bench"
_WANTED = (
    "deltalake",
    "duckdb",
    "duckdb-extension-ducklake",
    "duckdb-extension-sqlite-scanner",
    "duckdb-extensions",
    "fsspeckit",
    "numpy",
    "obstore",
    "polars",
    "psycopg[binary]",
    "pyarrow",
    "pyiceberg[pyarrow,sql-sqlite]",
    "sqlglot",
)


def ready() -> str:
    """Return the interpreter of the environment, made first where it is missing or outdated."""
    python = _PLACE / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    mark = _PLACE / ".installed"
    wanted = blake2b(repr(_WANTED).encode() + _PINS.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return str(python)
    print(f"Making {_PLACE.name}: the peers, in an environment of their own ...", file=sys.stderr)
    venv.create(_PLACE, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(_PINS), "pip"], check=True)
    subprocess.run([*pip, "--constraint", str(_PINS), *_WANTED], check=True)
    mark.write_text(wanted, encoding="utf-8")
    return str(python)
