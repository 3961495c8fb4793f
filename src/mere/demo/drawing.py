"""Draw small plots as SVG text: bars, pairs of bars, candles. Colours are the page's."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
_LABEL, _ROW, _THICK, _NOTE, _GAP = 186, 30, 16, 20, 8
_SIGN, _SMALL = 7.5, 6.8
"""How wide a sign may be, in the size of the values and of the ticks: SVG cannot be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One line of a plot: what it is, how much of how much, and the words beside and above it."""

    label: str
    value: float
    said: str
    whole: float | None = None
    kind: str = "a"
    note: str = ""
    first: bool = False


def bars(rows: Sequence[Bar], *, title: str) -> str:
    """Draw horizontal bars, one below the other; with a `whole`, its outline lies behind."""
    most = max((row.whole or row.value for row in rows), default=0) or 1
    room = WIDTH - _LABEL - 2 * _GAP - _SIGN * max((len(row.said) for row in rows), default=0)
    top = 6.0
    parts: list[str] = []
    for row in rows:
        top += 12 if row.first and parts else 0
        if row.note:
            left = max(min(_LABEL, WIDTH - _GAP - _SMALL * len(row.note)), _GAP)
            parts.append(_text("tick", left, top + 9, row.note))
            top += _NOTE
        parts.append(_bar(row, top, room / most))
        top += _ROW
    return _svg(parts, top, title)


def _bar(row: Bar, top: float, scale: float) -> str:
    middle = top + _THICK / 2 + 4.5
    behind = "" if row.whole is None else _rect(_LABEL, top, scale * row.whole, "behind")
    front = _rect(_LABEL, top, max(scale * row.value, 2 if row.value else 0), row.kind)
    end = _LABEL + scale * (row.whole or row.value) + _GAP
    label = _text("label", _LABEL - 10, middle, row.label)
    return f"{label}{behind}{front}{_text('value', end, middle, row.said)}"


def _text(kind: str, left: float, base: float, said: str) -> str:
    return f'<text class="{kind}" x="{left:.1f}" y="{base:.1f}">{escape(said)}</text>'


def _rect(left: float, top: float, width: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{_THICK}" rx="3"/>'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candle:
    """One bar of a market: when, and its four prices."""

    said: str
    open: float
    high: float
    low: float
    close: float


def candles(rows: Sequence[Candle], *, title: str, height: float = 240) -> str:
    """Draw candles from left to right, with a few prices at the side."""
    if not rows:
        return ""
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    room, left, span = height - 36, 64, (high - low) or 1

    def at(price: float) -> float:
        return 8 + room * (high - price) / span

    step = (WIDTH - left - 8) / len(rows)
    parts = [_line_at(at(price), f"{price:,.0f}", left) for price in _ticks(low, high)]
    for number, row in enumerate(rows):
        parts.append(_candle(row, left + step * (number + 0.5), step * 0.62, at))
    for number in range(0, len(rows), max(len(rows) // 6, 1)):
        said = rows[number].said
        place = min(left + step * (number + 0.5), WIDTH - _GAP - _SMALL * len(said) / 2)
        parts.append(_text("tick mid", place, height - 8, said))
    return _svg(parts, height, title)


def _candle(row: Candle, middle: float, width: float, at: Callable[[float], float]) -> str:
    kind = "up" if row.close >= row.open else "down"
    top, bottom = at(max(row.open, row.close)), at(min(row.open, row.close))
    return (
        f'<line class="{kind}" x1="{middle:.1f}" x2="{middle:.1f}" '
        f'y1="{at(row.high):.1f}" y2="{at(row.low):.1f}"/>'
        f'<rect class="{kind}" x="{middle - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{max(bottom - top, 1):.1f}" rx="1"/>'
    )


def _line_at(place: float, said: str, left: float) -> str:
    return (
        f'<line class="grid" x1="{left}" x2="{WIDTH}" y1="{place:.1f}" y2="{place:.1f}"/>'
        f"{_text('tick end', left - 8, place + 4, said)}"
    )


def _ticks(low: float, high: float) -> Iterable[float]:
    return (low + (high - low) * part / 4 for part in range(5))


def _svg(parts: Iterable[str], height: float, title: str) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height:.0f}" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
