"""Have Arrow's engine compute an expression: apart, since loading that engine loads pandas, too."""

from contextlib import suppress

import pyarrow as pa
from pyarrow import acero

from mere.arrowexpr import to_pyarrow
from mere.errors import UnsupportedError
from mere.model.predicate import Expr


def projected(expr: Expr, table: pa.Table) -> pa.ChunkedArray | None:
    """Return the value for each row; None where Arrow cannot say it, or numbers overflow."""
    with suppress(UnsupportedError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
        project = acero.ProjectNodeOptions([to_pyarrow(expr, exact=True)], ["value"])
        plan = acero.Declaration.from_sequence([source, acero.Declaration("project", project)])
        return plan.to_table(use_threads=False).column(0)
    return None
