"""Steps between tables: each reads what is new, makes a DataFrame of it, and writes it once.

A step stands at one version of the lake. A run hands it what came since, and commits what it makes
together with the version that it has read: whatever crashes, and whoever runs it at the same time,
both are there or neither is.
"""

from mere.spark.pipeline.flow import Pipeline
from mere.spark.pipeline.report import StepReport
from mere.spark.pipeline.steps import Source, Step, new, whole

__all__ = ["Pipeline", "Source", "Step", "StepReport", "new", "whole"]
