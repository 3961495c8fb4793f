"""Put files into groups that become one file each: by what they have in common, first fit."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
Weight = tuple[int, int]
"""Bytes and rows: what a group can hold is told in both."""


def alike(files: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the files by what they have in common, in the order of first occurrence."""
    found: dict[K, list[T]] = {}
    for file in files:
        found.setdefault(key(file), []).append(file)
    return found


def first_fit(files: Sequence[T], weigh: Callable[[T], Weight], capacity: Weight) -> list[list[T]]:
    """Put each file into the first group that has room for it.

    So no two groups fit into one: to pack what was packed changes nothing. Files keep their order
    within a group.
    """
    groups: list[list[T]] = []
    room = _Room(len(files), capacity)
    for file in files:
        weight = weigh(file)
        place = room.take(weight)
        if place == len(groups):
            groups.append([])
        groups[place].append(file)
    return groups


class _Room:
    """How much room each of some groups has; finds the first with enough in a few steps.

    A tree over the groups keeps, for each node, the most room that any group below it has.
    """

    def __init__(self, most: int, capacity: Weight) -> None:
        self._leaves = 1
        while self._leaves < most:
            self._leaves *= 2
        self._bytes = [capacity[0]] * (2 * self._leaves)
        self._rows = [capacity[1]] * (2 * self._leaves)
        self._capacity = capacity

    def take(self, weight: Weight) -> int:
        """Take room in the first group that has it; one that is larger than any has its own."""
        fits = all(own <= most for own, most in zip(weight, self._capacity, strict=True))
        wanted = (max(weight[0], 1), max(weight[1], 1)) if fits else self._capacity
        node = self._find(wanted)
        self._bytes[node] -= wanted[0]
        self._rows[node] -= wanted[1]
        place = node - self._leaves
        while node > 1:
            node //= 2
            self._bytes[node] = max(self._bytes[2 * node], self._bytes[2 * node + 1])
            self._rows[node] = max(self._rows[2 * node], self._rows[2 * node + 1])
        return place

    def _find(self, wanted: Weight) -> int:
        waiting = [1]
        while True:
            node = waiting.pop()
            if self._bytes[node] < wanted[0] or self._rows[node] < wanted[1]:
                continue
            if node >= self._leaves:
                return node
            waiting += [2 * node + 1, 2 * node]
