"""Hand out rows as a pandas DataFrame."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa

from mere.arrow.bare import bare
from mere.ports import Reading
from mere.readers import arrow

TypesMapper = Callable[[pa.DataType], Any]


def read(
    reading: Reading, *, types_mapper: TypesMapper | None = None, **options: Any
) -> pd.DataFrame:
    """Read the rows into a DataFrame.

    Columns get pandas' own types, so integers with NULLs become floats; with
    `types_mapper=pandas.ArrowDtype` every column keeps its type. Further options are those of
    pyarrow's `Table.to_pandas`.
    """
    table = bare(arrow.read(reading))
    frame: pd.DataFrame = table.to_pandas(types_mapper=types_mapper, **options)
    return frame


def framed(table: pa.Table) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns keep their Arrow types."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame
