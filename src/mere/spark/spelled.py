"""Keep the class of an error where Spark lets through nothing but text.

Spark turns whatever a Python source raises into an error of its own, with the text inside. Ours is
put into that text in a form that `original` finds again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mere.errors import MereError
from mere.runners.spark.carried import find, spell


@contextmanager
def spelled() -> Iterator[None]:
    """Let an error of ours be found again in the text that Spark makes of it."""
    try:
        yield
    except MereError as error:
        raise RuntimeError(spell(error)) from error


def original(error: BaseException) -> MereError | None:
    """Return the error of mere that caused an error of Spark, None when there was none.

    Example:
        >>> try:
        ...     frame.write.format("mere").mode("append").save("market.trades")
        ... except PySparkException as error:
        ...     raise mere.spark.original(error) or error from error
    """
    seen: BaseException | None = error
    while seen is not None:
        found = seen if isinstance(seen, MereError) else find(str(seen))
        if found is not None:
            return found
        seen = seen.__cause__ or seen.__context__
    return None
