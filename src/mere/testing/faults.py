"""Number the calls that go through an object, and die or fail at the n-th.

Nothing in the product knows of this: an adapter is wrapped before it is handed over. A run without
a place counts the calls; then every place can be tried, before the call and after it.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Side: TypeAlias = Literal["before", "after"]
_SIDES: tuple[Side, ...] = ("before", "after")


class InjectedError(OSError):
    """What a call raises that was chosen to fail."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """Where and how to fail: at the n-th call (None: nowhere), before or after it.

    `kill` ends the process as a power cut would end it; `raise` after a call is a lost answer.
    """

    at: int | None = None
    when: Side = "before"
    act: Literal["kill", "raise"] = "kill"
    calls: list[str] = field(default_factory=list)

    def through(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call, and fail where it was asked for."""
        self.calls.append(name)
        here = len(self.calls) == self.at
        if here and self.when == "before":
            self._fail()
        result = call()
        if here and self.when == "after":
            self._fail()
        return result

    def _fail(self) -> None:
        if self.act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        msg = f"injected at call {len(self.calls)}: {self.calls[-1]}"
        raise InjectedError(msg)


class Faulty:
    """An object of which every call is numbered, also on what its context managers hand out."""

    def __init__(self, target: Any, fault: Fault) -> None:
        """Wrap a target."""
        self._target = target
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        """Hand out the target's attribute; calls go through the fault."""
        found = getattr(self._target, name)
        if not callable(found) or name.startswith("_"):
            return found

        def call(*args: Any, **more: Any) -> Any:
            result = self._fault.through(name, lambda: found(*args, **more))
            if isinstance(result, AbstractContextManager):
                return self._within(name, result)
            return result

        return call

    @contextmanager
    def _within(self, name: str, inner: AbstractContextManager[Any]) -> Iterator[Any]:
        """Number the entry and the exit as well: a commit is the exit of a transaction."""
        got = self._fault.through(f"enter {name}", inner.__enter__)
        try:
            yield Faulty(got, self._fault)
        except BaseException as error:
            if not inner.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            self._fault.through(f"leave {name}", lambda: inner.__exit__(None, None, None))


def at_every_call(
    act: Callable[[Fault], None], look: Callable[[str], None], *, step: int = 1
) -> list[str]:
    """Let a forked process die before and after every call of `act`; then look what is there.

    Returns the places that were tried, in order; a `step` leaves some out. Must run in a process
    without threads.
    """
    seen: list[str] = []
    for at in range(1, 1000, step):
        for when in _SIDES:
            fault = Fault(at=at, when=when)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    act(fault)
                    code = 0
                finally:
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            if os.waitstatus_to_exitcode(status) == 0:
                return seen
            if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
                msg = f"died by itself {when} call {at}"
                raise AssertionError(msg)
            place = f"{when} call {at}"
            look(place)
            seen.append(place)
    msg = "never came to an end"
    raise AssertionError(msg)
