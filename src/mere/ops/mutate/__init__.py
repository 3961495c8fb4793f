"""Change rows: delete, update, upsert, merge, deduplicate."""

from mere.ops.mutate.changing import ChangeOptions
from mere.ops.mutate.duplicates import deduplicate
from mere.ops.mutate.merging import merge, upsert
from mere.ops.mutate.rows import delete, update

__all__ = ["ChangeOptions", "deduplicate", "delete", "merge", "update", "upsert"]
