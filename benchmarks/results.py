"""Hold what was measured, judge it against the targets, and print it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

MERE = "mere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One repetition."""

    wall: float
    cpu: float
    peak: int = 0


@dataclass(slots=True, kw_only=True)
class Case:
    """One question: the samples of every system, and what is asked of mere.

    `rivals` are the systems whose fastest mere must not exceed by more than `target` times; without
    rivals, `target` is in seconds. Without a target, the case is only told. What is compared are
    wall times, or CPU seconds.
    """

    name: str
    target: float | None = None
    rivals: tuple[str, ...] = ()
    by: str = "wall"
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)

    def add(self, system: str, sample: Sample) -> None:
        """Keep one repetition."""
        self.samples.setdefault(system, []).append(sample)

    def wall(self, system: str) -> float:
        """Return the median of the wall times."""
        return median(sample.wall for sample in self.samples[system])

    def cpu(self, system: str) -> float:
        """Return the median of the CPU seconds."""
        return median(sample.cpu for sample in self.samples[system])

    def value(self, system: str) -> float:
        """Return the median that decides."""
        return self.cpu(system) if self.by == "cpu" else self.wall(system)

    def fastest(self) -> str | None:
        """Return the rival with the smallest median."""
        present = [name for name in self.rivals if name in self.samples]
        return min(present, key=self.value) if present else None

    def ratio(self) -> float:
        """Return mere's median over the fastest rival's, or over the target's seconds."""
        rival = self.fastest()
        return self.value(MERE) / (self.value(rival) if rival else self.target or 1.0)

    def met(self) -> bool | None:
        """Tell whether the target is met; None where there is none."""
        if self.target is None or MERE not in self.samples:
            return None
        return self.ratio() <= (self.target if self.fastest() else 1.0)


def seconds(value: float) -> str:
    """Spell a duration with three digits that count."""
    if value >= 100:
        return f"{value:.0f} s"
    if value >= 1:
        return f"{value:.2f} s"
    if value >= 0.1:
        return f"{value * 1e3:.0f} ms"
    return f"{value * 1e3:.3g} ms"


def verdicts(cases: Iterable[Case]) -> list[tuple[str, ...]]:
    """Return one line per case that has a target."""
    lines = []
    for case in cases:
        met = case.met()
        if met is None or case.target is None:
            continue
        rival = case.fastest()
        lines.append(
            (
                case.name,
                seconds(case.value(MERE)),
                f"{seconds(case.value(rival))} {rival}" if rival else "",
                f"{case.ratio():.2f}" if rival else "",
                f"{case.cpu(MERE) / case.cpu(rival):.2f}" if rival else seconds(case.cpu(MERE)),
                f"≤ {case.target:g}" if rival else f"≤ {seconds(case.target)}",
                "met" if met else "MISSED",
            )
        )
    return lines


def figures(case: Case) -> list[tuple[str, ...]]:
    """Return one line per system, the fastest first."""
    return [
        (
            name,
            seconds(case.wall(name)),
            f"{seconds(min(s.wall for s in found))} … {seconds(max(s.wall for s in found))}",
            seconds(case.cpu(name)),
            f"{case.wall(name) / case.wall(MERE):.2f}" if MERE in case.samples else "",
            f"{max(s.peak for s in found) / 1e6:.0f} MB",
            str(len(found)),
        )
        for name, found in sorted(case.samples.items(), key=lambda item: case.wall(item[0]))
    ]


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Lay lines out in columns that are also a table in Markdown."""
    widths = [max(len(row[k]) for row in (header, *lines)) for k in range(len(header))]
    ruled = [header, ["-" * width for width in widths], *lines]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in ruled
    )


def print_case(case: Case) -> None:
    """Print every system's figures."""
    print(f"\n## {case.name}")
    if case.facts:
        print("; ".join(f"{name}: {value}" for name, value in case.facts.items()))
    print()
    header = ("system", "median", "range", "CPU", "/ mere", "peak memory", "times")
    print(table(header, figures(case)), flush=True)


def print_verdicts(cases: Sequence[Case]) -> None:
    """Print what was asked, and what came of it."""
    header = ("measured", "mere", "fastest peer", "ratio", "CPU", "target", "verdict")
    print("\n" + table(header, verdicts(cases)), flush=True)


def save(path: Path, cases: Sequence[Case], machine: dict[str, object]) -> None:
    """Write every repetition, beside what the machine was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"machine": machine, "cases": [asdict(case) for case in cases]}
    path.write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")
