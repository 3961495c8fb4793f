"""Measure what is asked for, print the figures and the verdicts, keep every repetition."""

import argparse
import subprocess
import sys
import traceback
from pathlib import Path

from benchmarks import (
    bulk,
    commit,
    compact,
    folders,
    importing,
    machine,
    mutate,
    partition,
    planning,
    results,
    selective,
    spark,
    venv,
)
from benchmarks.processes import Bench, say

_ALL = {
    "import": importing.measure,
    "planning": planning.measure,
    "commit": commit.measure,
    "partition": partition.measure,
    "selective": selective.measure,
    "bulk": bulk.measure,
    "mutate": mutate.measure,
    "compact": compact.measure,
    "folders": folders.measure,
    "spark": spark.measure,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_ALL)}")
    parser.add_argument("--spark", action="store_true", help="only Spark, against Spark alone")
    parser.add_argument("--quick", action="store_true", help="a smoke run: small, few repetitions")
    parser.add_argument("--rows", type=int, help="rows of the tables (10,000,000)")
    parser.add_argument("--files", type=int, help="files of the planned table (1,000,000)")
    parser.add_argument("--rounds", type=int, help="how often the systems take turns (10)")
    parser.add_argument("--work", type=Path, help="folder to work in (.bench)")
    parser.add_argument("--json", type=Path, help="where every repetition goes")
    parser.add_argument("--importtime", action="store_true", help="only break down the import")
    parser.add_argument("--strict", action="store_true", help="fail when a target is missed")
    found = parser.parse_args()
    found.names += ["spark"] if found.spark else []
    unknown = sorted(set(found.names) - set(_ALL))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(_ALL)}")
    return found


def _bench(asked: argparse.Namespace) -> Bench:
    rows, files, rounds = (500_000, 50_000, 3) if asked.quick else (10_000_000, 1_000_000, 10)
    work = (asked.work or venv.ROOT / ".bench").resolve()
    work.mkdir(parents=True, exist_ok=True)
    return Bench(
        python=sys.executable if asked.names == ["spark"] else venv.ready(),
        work=work,
        rows=asked.rows or rows,
        files=asked.files or files,
        rounds=asked.rounds or rounds,
    )


def main() -> int:
    """Return 0; 1 when something failed, or when a target was missed and that was to count."""
    asked = _arguments()
    bench = _bench(asked)
    if asked.importtime:
        print(importing.breakdown(bench))
        return 0
    facts = machine.facts(bench)
    print(machine.spell(facts), flush=True)
    cases: list[results.Case] = []
    names = [name for name in _ALL if not asked.names or name in asked.names]
    failed = [name for name in names if not _run(name, bench, cases)]
    results.print_verdicts(cases)
    path = asked.json or bench.work / "results.json"
    results.save(path, cases, facts | {"load after": machine.load()})
    say(f"every repetition: {path}")
    if failed:
        say(f"failed: {', '.join(failed)}")
    return int(bool(failed) or (asked.strict and any(case.met() is False for case in cases)))


def _run(name: str, bench: Bench, cases: list[results.Case]) -> bool:
    """Add a benchmark's cases; a system that fails ends it, and spares the others."""
    try:
        for case in _ALL[name](bench):
            results.print_case(case)
            cases.append(case)
    except (RuntimeError, subprocess.CalledProcessError):
        traceback.print_exc()
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
