"""Use secrets in every way on Spark, and look whether Spark tells them to anybody."""

import contextlib
import io
import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.spark.streams import ended

import mere
import mere.spark
from mere.errors import TaskError

CANARY = "hunter2-of-the-canary"
CONTROL = "everybody-may-read-this"


def main(folder: str, catalog: str, root: str) -> None:
    """Write, read and stream with secrets at hand, and print where one of them shows up."""
    events = Path(folder, "events")
    events.mkdir()
    spark = mere.spark.session(
        CONTROL,
        master="local[2]",
        memory="512m",
        **{
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.ui.enabled": "true",
            "spark.ui.port": "0",
            "spark.log.level": "INFO",
        },
    )
    told = dict(explained(spark, folder, catalog, root))
    ui = spark.sparkContext.uiWebUrl
    assert ui is not None
    app = f"{ui}/api/v1/applications/{spark.sparkContext.applicationId}"
    for page in (f"{ui}/environment/", f"{ui}/SQL/", f"{ui}/jobs/", f"{app}/environment"):
        told[page.removeprefix(ui)] = loaded(page)
    told["sql"] = loaded(f"{app}/sql?details=true&planDescription=true&length=1000")
    told["stages"] = loaded(f"{app}/stages?details=true")
    spark.stop()
    told["events"] = "".join(
        path.read_text("utf-8") for path in events.rglob("*") if path.is_file()
    )
    for place, text in told.items():
        leaks = [line[:300] for line in text.splitlines() if CANARY in line]
        sys.stdout.write(json.dumps([place, len(text), CONTROL in text, leaks]) + "\n")


def explained(spark: SparkSession, folder: str, catalog: str, root: str) -> Iterator[Any]:
    """Do what the library does on Spark; yield what Spark says of each plan."""
    url = catalog.replace("://postgres@", f"://postgres:{CANARY}@")
    assert CANARY in url
    keys = {"access_key_id": "env:AWS_ACCESS_KEY_ID", "secret_access_key": CANARY}
    given = {f"storage.{key}": value for key, value in keys.items()}
    source: Any = spark.range(20).selectExpr("id", "id % 2 AS part")
    writer = source.write.format("mere").option("lake", url).options(**given)
    writer.option("data_path", root).option("partition_by", "part").mode("append").save("t")
    frame = spark.read.format("mere").option("lake", url).options(**given).load("t")
    yield "read", said(frame.where("id > 3"))
    assert frame.count() == 20
    with mere.connect(url, storage_options=keys) as lake:
        table = lake.on(spark).table("t")
        table.append(source)
        table.compact()
        yield "scan", said(lake.table("t").scan("id > 3").to_spark(spark))
        broken = source.selectExpr("id", "CAST(raise_error('broken') AS BIGINT) AS part")
        try:
            table.append(broken)
        except TaskError as error:
            yield "error of a task", str(error)
    stream: Any = spark.readStream.format("mere").option("lake", url).options(**given).load("t")
    out = stream.writeStream.format("mere").option("lake", url).options(**given)
    out = out.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    yield "stream", "".join(progress.json for progress in ended(out, "u"))
    for wrong in ("nowhere", "t"):
        try:
            spark.read.format("mere").option("lake", url).options(**given, where="x = 1").load(
                wrong
            ).count()
        except Exception as error:  # noqa: BLE001  whatever Spark makes of it
            yield f"error {wrong}", str(error)


def said(frame: DataFrame) -> str:
    """Return what `explain` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        frame.explain("extended")
        frame.explain("formatted")
    return printed.getvalue()


def loaded(page: str) -> str:
    """Return a page of Spark's own."""
    with urllib.request.urlopen(page, timeout=60) as answer:  # noqa: S310  http, on this machine
        text: str = answer.read().decode()
        return text


if __name__ == "__main__":
    os.environ.setdefault("AWS_ALLOW_HTTP", "true")
    main(*sys.argv[1:])
