"""Keep tables in shape: fewer files, rows in order, other partitions; unseen by any version."""

from mere.ops.maintain.clustering import cluster
from mere.ops.maintain.compacting import compact
from mere.ops.maintain.keeping import maintain
from mere.ops.maintain.moving import MoveOptions
from mere.ops.maintain.outcome import Maintenance
from mere.ops.maintain.policies import policy_of
from mere.ops.maintain.repartitioning import Partitioning, repartition
from mere.ops.maintain.reshaping import reshape
from mere.ops.maintain.surveying import health, lake_health

__all__ = [
    "Maintenance",
    "MoveOptions",
    "Partitioning",
    "cluster",
    "compact",
    "health",
    "lake_health",
    "maintain",
    "policy_of",
    "repartition",
    "reshape",
]
