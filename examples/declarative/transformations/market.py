"""Trades out of raw messages: a lake of `mere` as the source and the sink of a flow.

`MERE_LAKE` in the environment of `spark-pipelines` names the lake.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()

SAID = (
    "type STRING, product_id STRING, trade_id BIGINT, time TIMESTAMP_NTZ, side STRING, "
    "price DECIMAL(18,2), size DOUBLE"
)

dp.create_sink("trades", "mere", {"path": "silver.trades", "partition_by": "product_id, day(ts)"})


@dp.append_flow(target="trades")
def trades_of_messages() -> DataFrame:
    """Take each new message once, and keep those that are trades."""
    messages = spark.readStream.format("mere").load("bronze.messages")
    said = messages.select(F.from_json("body", SAID).alias("said")).select("said.*")
    return said.where("type = 'trade'").drop("type").withColumnRenamed("time", "ts")
