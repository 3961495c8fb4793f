"""Change rows: delete, update, upsert, merge, deduplicate."""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.ops.mutate.changing import ChangeOptions as ChangeOptions
    from mere.ops.mutate.duplicates import deduplicate as deduplicate
    from mere.ops.mutate.merging import merge as merge
    from mere.ops.mutate.merging import upsert as upsert
    from mere.ops.mutate.rows import delete as delete
    from mere.ops.mutate.rows import update as update

_HOMES = {
    "ChangeOptions": "changing",
    "deduplicate": "duplicates",
    "delete": "rows",
    "merge": "merging",
    "update": "rows",
    "upsert": "merging",
}

__getattr__ = later(__name__, names=_HOMES)
