"""Write what was found as one HTML page with plots: no script, no font, nothing to load."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape

from mere.demo.drawing import Bar, Candle, bars, candles
from mere.demo.findings import Findings, Stored
from mere.model.report import Pruning

_STYLE = """
:root { --ink: #16202b; --soft: #5d6b7a; --line: #e3e8ee; --paper: #ffffff; --ground: #f5f7fa;
  --a: #2f6fed; --b: #12a594; --c: #e5890b; --d: #8e4ec6; --up: #12a594; --down: #e5484d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #93a1b0; --line: #2a343f;
  --paper: #171e26; --ground: #0e141a; --a: #5a91ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 48px 24px 64px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.02em; }
h2 { font-size: 18px; margin: 0 0 2px; letter-spacing: -0.01em; }
p { margin: 0 0 14px; color: var(--soft); }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 12px;
  padding: 22px 26px 16px; margin-top: 18px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 14px;
  margin-top: 26px; }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 12px;
  padding: 14px 18px; }
.card b { display: block; font-size: 25px; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12.5px; font-variant-numeric: tabular-nums; }
svg .label { text-anchor: end; } svg .value { fill: var(--soft); }
svg .tick { fill: var(--soft); font-size: 11px; } svg .end { text-anchor: end; }
svg .mid { text-anchor: middle; }
svg .a { fill: var(--a); } svg .b { fill: var(--b); } svg .c { fill: var(--c); }
svg .d { fill: var(--d); } svg .behind { fill: var(--line); }
svg .grid { stroke: var(--line); } svg rect.up { fill: var(--up); }
svg rect.down { fill: var(--down); } svg line.up { stroke: var(--up); }
svg line.down { stroke: var(--down); }
.keys { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 0 0 12px; color: var(--soft);
  font-size: 13px; }
.keys i { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--ground); border-radius: 8px; padding: 12px 14px; overflow-x: auto; }
"""
_STEPS = {"trades": "b", "bars": "c", "days": "d"}


def page(found: Findings) -> str:
    """Return the page."""
    body = "".join((_head(found), *_sections(found)))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>A market in a lake</title><style>{_STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _head(found: Findings) -> str:
    received = sum(day.received.rows_inserted for day in found.days)
    sizes = {size.table: size for size in found.after.sizes}
    total = sum(one.bytes_total for one in found.prunings) or 1
    left = sum(one.bytes_left for one in found.prunings)
    cards = (
        (f"{received:,}", "messages received"),
        (f"{sizes['silver.trades'].rows:,}", "trades, each once"),
        (f"{sizes['gold.bars'].rows:,}", "bars of five minutes"),
        (f"{1 - left / total:.0%}", "of bytes pruned in five questions"),
        (f"{found.seconds:.0f} s", "from messages to this page"),
    )
    shown = "".join(f'<div class="card"><b>{b}</b><span>{text}</span></div>' for b, text in cards)
    first, last = found.days[0].day, found.days[-1].day
    return (
        "<h1>A market in a lake</h1>"
        f"<p>{first:%d %B} to {last:%d %B %Y}, through a pipeline on Spark into "
        f'<code>{escape(found.place)}</code></p><div class="cards">{shown}</div>'
    )


def _sections(found: Findings) -> Iterator[str]:
    yield _section(
        "Rows per step",
        "Each run reads what is new alone: messages that came twice fall away in silver; late and "
        "corrected trades change bars of the day before.",
        _keys((("a", "received"), *((kind, step) for step, kind in _STEPS.items())))
        + bars(list(_rows(found)), title="Rows per step and day"),
    )
    told = [
        Candle(
            said=f"{row['hour']:%d %b %H:%M}",
            **{name: float(row[name]) for name in ("open", "high", "low", "close")},
        )
        for row in found.candles
    ]
    yield _section(
        "What comes out",
        "BTC-USD by the hour, from the bars in gold.",
        candles(told, title="BTC-USD by the hour"),
    )
    yield _section(
        "What a question costs",
        "The catalog knows bounds and partitions of every file and row group. What cannot match is "
        "never opened.",
        bars([_pruned(one) for one in found.prunings], title="Bytes read of bytes there are"),
    )
    yield _section(
        "Sizes",
        "Every table is a folder of Parquet files. These are listed by the newest version.",
        bars(list(_sizes(found)), title="Bytes per table"),
    )
    yield _section(
        "Before and after maintenance",
        "Small files are merged, table by table. Then old versions go, and with them the files in "
        "the folder that only they showed; what a tag names stays.",
        bars(list(_kept(found.before, found.after)), title="Before and after maintenance")
        + _advice(found.before, found.after),
    )


def _advice(before: Stored, after: Stored) -> str:
    """Show what the health of the lake asked for."""
    asked = "\n".join(before.advice) or "nothing"
    left = "\n".join(after.advice) or "nothing"
    return (
        f"<p>What <code>lake.health()</code> asked for before:</p><pre>{escape(asked)}</pre>"
        f"<p>and afterwards:</p><pre>{escape(left)}</pre>"
    )


def _section(title: str, text: str, plot: str) -> str:
    return f"<section><h2>{title}</h2><p>{text}</p>{plot}</section>"


def _keys(pairs: Iterable[tuple[str, str]]) -> str:
    shown = (
        f'<span><i style="background: var(--{kind})"></i>{escape(said)}</span>'
        for kind, said in pairs
    )
    return f'<div class="keys">{"".join(shown)}</div>'


def _rows(found: Findings) -> Iterator[Bar]:
    for day in found.days:
        came = day.received.rows_inserted
        label = f"{day.day:%d %b}  bronze.messages"
        yield Bar(label=label, value=came, said=f"{came:,} came", first=True)
        for step in day.steps:
            done = step.rows_written
            said = f"{done:,} written"
            if step.report is not None and step.report.rows_updated:
                said += f", {step.report.rows_updated:,} changed"
            yield Bar(label=step.table, value=done, said=said, kind=_STEPS.get(step.step, "a"))


def _pruned(one: Pruning) -> Bar:
    share = one.bytes_left / one.bytes_total if one.bytes_total else 0
    return Bar(
        label=one.table,
        value=share,
        whole=1,
        said=f"{one.files_kept:,} of {one.files_total:,} files, {share:.0%}",
        kind="b",
        note=str(one.where or "everything"),
    )


def _sizes(found: Findings) -> Iterator[Bar]:
    for size, kind in zip(found.before.sizes, "abcd", strict=True):
        files = "file" if size.files == 1 else "files"
        yield Bar(
            label=size.table,
            value=size.bytes,
            said=f"{mib(size.bytes)}, {size.files:,} {files}",
            kind=kind,
        )


def _kept(before: Stored, after: Stored) -> Iterator[Bar]:
    for old, now, kind in zip(before.sizes, after.sizes, "abcd", strict=True):
        yield replace(_went(old.table, old.files, now.files), kind=kind)
    yield replace(_went("versions", before.versions, after.versions), first=True)
    yield _went("files in the folder", before.files, after.files)
    said = _arrow(mib(before.bytes), mib(after.bytes))
    yield replace(_went("bytes in the folder", before.bytes, after.bytes), said=said)
    yield _went("calls that would help", len(before.advice), len(after.advice))


def _went(label: str, before: int, after: int) -> Bar:
    most = max(before, after, 1)
    said = _arrow(f"{before:,}", f"{after:,}")
    return Bar(label=label, value=after / most, whole=before / most, said=said)


def _arrow(before: str, after: str) -> str:
    return f"{before} \N{RIGHTWARDS ARROW} {after}"


def mib(size: int) -> str:
    """Spell a number of bytes."""
    return f"{size / (1 << 20):,.1f} MiB" if size >= 1 << 20 else f"{size / 1024:,.0f} KiB"
