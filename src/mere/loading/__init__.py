"""Files of others as rows: find them, look at their columns, read them with a table's columns.

Parquet, CSV and JSON (an object per line) come through any store. Nothing here knows of catalogs,
of what was loaded before, or of where the rows go.
"""

from mere.loading.finding import find
from mere.loading.looking import Look, folder_columns, look
from mere.loading.opening import named
from mere.loading.streaming import stream_files
from mere.loading.tasks import examine, load

__all__ = ["Look", "examine", "find", "folder_columns", "load", "look", "named", "stream_files"]
