"""Take a predicate in any form that people have it in, and tie it to a table's columns.

| form | example |
|---|---|
| SQL text | `"price > 3 AND side = 'ask'"` |
| expression | `(mere.col("price") > 3) & (mere.col("side") == "ask")` |
| pyarrow | `pc.field("price") > 3` |
| polars | `pl.col("price") > 3` |
| dict, all must hold | `{"side": "ask", "day": ["2026-01-01", "2026-01-02"], "note": None}` |
| tuple, or a list of them, all must hold | `[("price", ">", 3), ("side", "in", ["ask"])]` |
| list of lists, one must hold | `[[("price", ">", 3)], [("side", "=", "ask")]]` |

Whatever the form, comparisons mean what SQL says: NULL matches none. NaN is the greatest number.
"""

from typing import TYPE_CHECKING

from mere.later import later
from mere.where.forms import as_expr, translate

if TYPE_CHECKING:
    from mere.where import filters as filters
    from mere.where import from_polars as from_polars
    from mere.where import from_pyarrow as from_pyarrow

__all__ = ["as_expr", "translate"]

__getattr__ = later(__name__, modules=("filters", "from_polars", "from_pyarrow"))
