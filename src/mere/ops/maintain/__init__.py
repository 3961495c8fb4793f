"""Keep tables in shape: fewer files, rows in order, other partitions; unseen by any version."""

from mere.ops.maintain.clustering import cluster
from mere.ops.maintain.compacting import compact
from mere.ops.maintain.moving import MoveOptions
from mere.ops.maintain.repartitioning import Partitioning, repartition

__all__ = ["MoveOptions", "Partitioning", "cluster", "compact", "repartition"]
