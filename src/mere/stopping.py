"""Let work on other threads end early: between steps it looks whether it is still wanted."""

import threading

_HERE = threading.local()


class StoppedError(Exception):
    """Raised in work that nobody waits for any more; nobody sees it."""


def heed(event: threading.Event) -> None:
    """Let the work of this thread end when an event is set."""
    _HERE.event = event


def check() -> None:
    """Go on, unless the work of this thread is not wanted any more.

    Raises:
        StoppedError: If it is not.
    """
    event: threading.Event | None = getattr(_HERE, "event", None)
    if event is not None and event.is_set():
        raise StoppedError
