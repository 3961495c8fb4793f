"""What is shown to users runs: the demo, the market example, Spark's declarative pipelines."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from datetime import datetime
from html import escape
from pathlib import Path
from time import perf_counter
from xml.etree import ElementTree as ET

import pyspark
import pytest
from tests.spark.programs import surroundings

import mere
from mere.demo import exchange
from mere.demo.tour import walk

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
TRADES = 2_000


def one_in(spark, many, trades=TRADES, day=0):
    """Return which trades of a day fall under a rule of the made-up feed."""
    ids = spark.range(day * trades, (day + 1) * trades)
    return {row.id for row in ids.where(f"pmod(xxhash64(id, {many}), {many}) = 0").collect()}


@pytest.fixture(scope="module")
def toured(spark, tmp_path_factory):
    """Walk through the demo once, at a small size."""
    folder = tmp_path_factory.mktemp("demo")
    said: list[str] = []
    found = walk(folder, spark, say=said.append, trades=TRADES, started=perf_counter())
    return folder, "\n".join(said), found


def test_the_demo_keeps_each_trade_once_late_and_corrected_ones_too(spark, toured):
    folder, _, found = toured
    with mere.connect(folder / "market.db") as lake:
        table = lake.table("silver.trades").scan(columns=["trade_id", "price"]).to_arrow()
        late = one_in(spark, 80, day=2)
        assert late
        assert set(table["trade_id"].to_pylist()) == set(range(3 * TRADES)) - late
        assert table.num_rows == 3 * TRADES - len(late)
        whole = exchange.delivered(spark, 0, TRADES).where("body LIKE '%\"trade_id\":7,%'").first()
        corrected = sorted(one_in(spark, 120))
        prices = dict(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
        first = json.loads(whole.body)
        assert (first["trade_id"], float(first["price"])) == (7, float(prices[7]))
        before = lake.table("silver.trades").scan(
            f"trade_id = {corrected[0]}", tag="first-day", columns=["price"]
        )
        (was,) = before.to_arrow()["price"].to_pylist()
        assert float(prices[corrected[0]]) == pytest.approx(float(was) * 0.999, abs=0.011)
        bars = lake.table("gold.bars").scan().to_arrow()
        days = lake.table("gold.days").scan().to_arrow()
        assert sum(bars["trades"].to_pylist()) == table.num_rows
        assert sum(days["trades"].to_pylist()) == table.num_rows
        assert lake.doctor().findings == ()
    assert [len(day.steps) for day in found.days] == [3, 3, 3]


def test_the_demo_shows_engines_time_travel_and_pruning(toured):
    _, said, _ = toured
    for words in ("== Spark:", "== DuckDB:", "== Polars:", "at the tag 'first-day'", "pruned by"):
        assert words in said


def test_the_page_stands_alone_and_shows_every_plot(toured):
    folder, _, found = toured
    text = (folder / "report.html").read_text("utf-8")
    assert not re.search(r"<script|<link|<img|src=|https?://|@import|url\(", text)
    plots = [ET.fromstring(plot) for plot in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]  # noqa: S314  our own text
    assert len(plots) == 5
    assert all(len(list(plot.iter("rect"))) >= 3 for plot in plots)
    for words in ("Rows per step", "files", "Sizes", "Before and after"):
        assert words in text
    assert found.before.versions > found.after.versions
    assert found.before.advice
    assert found.after.advice == ()
    assert all(escape(call) in text for call in found.before.advice)
    was, now = ({size.table: size for size in one.sizes} for one in (found.before, found.after))
    assert now["silver.trades"].files < was["silver.trades"].files
    assert {name: size.rows for name, size in now.items()} == {n: s.rows for n, s in was.items()}
    assert [words for plot in plots for words in outside(plot)] == []


def outside(plot):
    """Return the words of a plot that do not lie inside it, if its signs are wide."""
    width = float(plot.get("viewBox").split()[2])
    for text in plot.iter("text"):
        kinds, place, said = text.get("class").split(), float(text.get("x")), text.text or ""
        wide = len(said) * (6.8 if "tick" in kinds else 7.5)
        left = place - wide * (1 if {"end", "label"} & set(kinds) else 0.5 if "mid" in kinds else 0)
        if not -1 <= left <= left + wide <= width:
            yield said, left, left + wide


def test_the_market_example_goes_on_where_it_stopped(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main = runpy.run_path(str(ROOT / "examples/market_data/run.py"))["main"]
    asked = ["--lake", "market.db", "--trades", str(TRADES), "--days", "1", "--keep", "0 days"]
    main(asked)
    main(asked)
    with mere.connect("market.db") as lake:
        assert lake.table("silver.trades").count() == 2 * TRADES - len(one_in(spark, 80, day=1))
        version = lake.version
        main([*asked, "--dry-run"])
        assert lake.version == version
        main([*asked, "--backfill", "bars"])
        assert lake.version == version + 1
    printed = capsys.readouterr().out
    assert "2026-11-17: " in printed
    assert "bars: upsert to gold.bars" in printed
    assert (tmp_path / "market.html").exists()


def put(table, *numbers):
    said = {"type": "trade", "product_id": "A", "time": "2026-01-01 10:00:00", "side": "buy"}
    table.append(
        [
            {
                "received": datetime.fromisoformat("2026-01-01"),
                "sequence": n,
                "body": json.dumps({**said, "trade_id": n, "price": "3.50", "size": 1.0}),
            }
            for n in numbers
        ]
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_declarative_pipelines_read_a_lake_and_write_it_each_row_once(tmp_path):
    shutil.copytree(ROOT / "examples/declarative", tmp_path / "flow")
    spec = tmp_path / "flow/spark-pipeline.yml"
    text = spec.read_text("utf-8")
    ours = re.sub(r"storage: \S+", f"storage: {(tmp_path / 'storage').as_uri()}", text)
    assert ours != text
    spec.write_text(ours, "utf-8")
    with mere.connect(tmp_path / "market.db") as lake:
        lake.create_schema("silver")
        lake.create_schema("bronze")
        messages = lake.create_table("bronze.messages", exchange.MESSAGES)
        put(messages, 1, 2)
        declared(spec, lake.url)
        put(messages, 3)
        declared(spec, lake.url)
        found = lake.table("silver.trades").scan().to_arrow()
        assert sorted(found["trade_id"].to_pylist()) == [1, 2, 3]
        assert lake.table("silver.trades").partition_by == ("product_id", "day(ts)")


def declared(spec, url):
    """Run Spark's own command, with its environment as a user has it."""
    environment = surroundings(
        MERE_LAKE=url,
        PYSPARK_PYTHON=sys.executable,
        SPARK_HOME=str(Path(pyspark.__file__).parent),
        SPARK_LOCAL_IP="127.0.0.1",
    )
    done = subprocess.run(
        [Path(sys.executable).parent / "spark-pipelines", "run", "--spec", spec],
        env=environment,
        cwd=spec.parent,
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
