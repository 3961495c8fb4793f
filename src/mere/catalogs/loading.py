"""Load the statistics of many files as arrays, from the rows of the format."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from mere.catalogs.arrays import ends
from mere.catalogs.dialect import Link
from mere.model.values import FLOATS, TEXTS

Arrays: TypeAlias = dict[str, pa.Array]
_ID = {"data_file_id": pa.int64()}
_TEXTS = {**_ID, "min_value": pa.string(), "max_value": pa.string()}
_PLAIN = {**_ID, "min_value": pa.binary(), "max_value": pa.binary()}
_COUNTS = {**_ID, "null_count": pa.int64(), "value_count": pa.int64()}
_NAN = {**_ID, "nan": pa.int64()}
_PARTITIONS = {**_ID, "partition_value": pa.string()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The files of a table with ids from `first` on and below `end`, seen by one transaction."""

    link: Link
    table: int
    first: int
    end: int

    @property
    def names(self) -> dict[str, Any]:
        """The parameters that name it."""
        return {"table": self.table, "first": self.first, "end": self.end}

    def count(self) -> int:
        """Count the files, of those that ended, too."""
        return int(self.link.rows("span", **self.names)[0][0])


def load_ids(place: Place) -> pa.Array:
    """Return the ids of the files, of those that ended, too, in order."""
    count, first, last = place.link.rows("span", **place.names)[0]
    if not count or last - first + 1 == count:  # without gaps there is nothing to load
        return pa.arange(first or 0, (first or 0) + count)
    return place.link.bulk("bulk_ids", _ID, **place.names)["data_file_id"]


def load_bounds(place: Place, column: int, kind: str) -> Arrays:
    """Return the files that have bounds of a column, and these as they are compared."""
    link, names = place.link, {**place.names, "column": column}
    rows = link.bulk("bulk_bounds", _TEXTS if kind in TEXTS else _PLAIN, **names)
    found = {
        "file": rows["data_file_id"],
        "low": ends(kind, rows["min_value"].cast(pa.string())),
        "high": ends(kind, rows["max_value"].cast(pa.string())),
    }
    if kind in FLOATS:
        suspects = link.bulk("bulk_nan", _NAN, **names)["data_file_id"]
        found["nan"] = pc.is_in(rows["data_file_id"], value_set=suspects)
    return found


def load_counts(place: Place, column: int) -> Arrays:
    """Return the files that have statistics of a column, and what these count."""
    rows = place.link.bulk("bulk_counts", _COUNTS, **place.names, column=column)
    return {
        "file": rows["data_file_id"],
        "nulls": rows["null_count"],
        "values": rows["value_count"],
    }


def load_partitions(place: Place, key: int) -> Arrays:
    """Return the files that have a value of a partition key, and its texts."""
    rows = place.link.bulk("bulk_partitions", _PARTITIONS, **place.names, key=key)
    return {"file": rows["data_file_id"], "texts": rows["partition_value"]}
