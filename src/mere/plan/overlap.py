"""Say how much files overlap: how many others a reader must open who asks for what is in one."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeAlias

from mere.model.files import DataFile, Value
from mere.model.values import is_nan
from mere.plan.pack import alike

Span: TypeAlias = tuple[Value, Value]
_MOST_PAIRS = 1_000_000


def mean_overlap(files: Sequence[DataFile], columns: Sequence[int]) -> float | None:
    """Return how many other files of its partition a file shares values with, on average.

    Two do when their bounds meet in every column. Of very many files a part is asked. None when
    the bounds of none are known.
    """
    total = asked = 0
    for found in alike(files, lambda file: (file.partition_id, repr(file.partition))).values():
        boxes = [box for box in (_box(file, columns) for file in found) if box is not None]
        if not boxes:
            continue
        if len(columns) == 1:
            counted = _along([box[0] for box in boxes])
            step = 1
        else:
            step = max(1, len(boxes) ** 2 // _MOST_PAIRS)
            counted = sum(_meeting(box, boxes) for box in boxes[::step])
        total += counted
        asked += len(boxes[::step])
    return total / asked if asked else None


def _box(file: DataFile, columns: Sequence[int]) -> tuple[Span, ...] | None:
    """Return the bounds of a file in some columns; None unless all are known."""
    spans: list[Span] = []
    for column in columns:
        bounds = file.bounds.get(column)
        low = None if bounds is None else bounds.minimum
        high = None if bounds is None else bounds.maximum
        if low is None or high is None or is_nan(low) or is_nan(high):
            return None
        spans.append((low, high))
    return tuple(spans)


def _along(spans: Sequence[Span]) -> int:
    """Count the pairs that meet in one column, each from both sides."""
    lows, highs = sorted(span[0] for span in spans), sorted(span[1] for span in spans)
    met = (bisect_right(lows, high) - bisect_left(highs, low) for low, high in spans)
    return sum(met) - len(spans)


def _meeting(box: tuple[Span, ...], boxes: Sequence[tuple[Span, ...]]) -> int:
    return sum(all(map(_meet, box, other)) for other in boxes) - 1


def _meet(one: Span, other: Span) -> bool:
    return bool(one[0] <= other[1] and other[0] <= one[1])
