"""Every example of the manual runs, every link leads somewhere, every command exists."""

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
NEEDS = re.compile(r"<!-- needs: ([\w ]+) -->")


def blocks(page, language):
    """Yield (line, text) of every fenced block of that language."""
    text = page.read_text("utf-8")
    for found in FENCE.finditer(text):
        if found[2] == language:
            line = text.count("\n", 0, found.start(3)) + 1
            yield line, textwrap.dedent(found[3])


def with_python():
    """Name the pages that have examples, and mark those that need Spark."""
    for page in PAGES:
        if any(blocks(page, "python")):
            needs = (NEEDS.search(page.read_text("utf-8")) or ["", ""])[1].split()
            marks = [pytest.mark.spark] if "spark" in needs else []
            yield pytest.param(page, needs, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize(("page", "needs"), list(with_python()))
def test_the_examples_of_a_page_run_from_top_to_bottom(page, needs, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if "postgres" in needs:
        monkeypatch.setenv("LAKE_CATALOG", request.getfixturevalue("pg_url"))
    if "s3" in needs:
        monkeypatch.setenv("LAKE_BUCKET", request.getfixturevalue("s3").url)
    if "spark" in needs:
        request.getfixturevalue("spark")  # the page is handed the session that runs
    namespace = {"__name__": "__main__"}
    for line, text in blocks(page, "python"):
        # Empty lines in front make a traceback point into the page.
        code = compile("\n" * (line - 1) + text, str(page), "exec")
        exec(code, namespace)  # noqa: S102 - the example itself is under test


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    dead = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists(page):
    known = set(re.findall(r"^  (\w+) ", (ROOT / "dev").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"\./dev (\w+)", page.read_text("utf-8")))
    assert "test" in known
    assert named <= known | {"help"}


def test_every_page_of_the_manual_can_be_reached_from_its_front():
    front = ROOT / "docs" / "index.md"
    seen, ahead = set(), [front]
    while ahead:
        page = ahead.pop().resolve()
        if page not in seen and page.suffix == ".md" and page.exists():
            seen.add(page)
            targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
            ahead += [page.parent / target for target in targets]
    assert {page for page in PAGES if "docs" in page.parts} <= seen
