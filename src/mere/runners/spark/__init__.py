"""Do tasks on Spark's executors, and feed them the rows of a Spark DataFrame.

Rows and tasks go to the executors as Arrow batches, results come back pickled, one row each. Only
the results of attempts that succeeded arrive: a retried or speculative attempt leaves files that
nobody lists. This way works alike with Spark's classic sessions and with Spark Connect.
"""

from mere.runners.spark.rows import cluster, columns_of
from mere.runners.spark.runner import SparkRunner

__all__ = ["SparkRunner", "cluster", "columns_of"]
