"""The public surface changes on purpose only."""

from pathlib import Path

from tests.architecture import public_api

WRITTEN = Path(__file__).with_name("public_api.txt")


def test_the_public_surface_is_what_is_written_down():
    advice = (
        "the public surface has changed; if that is meant, write it down with\n"
        "  ./dev shell -m tests.architecture.public_api > tests/architecture/public_api.txt\n"
        "and tell users in CHANGELOG.md"
    )
    assert public_api.describe() == WRITTEN.read_text("utf-8"), advice
