"""Copy files to another folder before they go."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from mere.ports import Store

KEPT = ".kept"
"""How copies end that lie in the folder itself: they are no data, and nobody drops them."""
_BLOCK = 8 << 20
_AT_ONCE = 8


def keep(store: Store, paths: Sequence[str], to: Store) -> None:
    """Copy files, whole and durable, by the names that they have.

    Raises:
        MereError: If one cannot be copied, or lies there already.
    """
    ending = KEPT if to.url.startswith(store.url) else ""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tuple(pool.map(partial(_copy, store, to, ending), paths))


def _copy(store: Store, to: Store, ending: str, path: str) -> None:
    with store.open(path) as source, to.writer(path + ending) as sink:
        while block := source.read(_BLOCK):
            sink.write(block)
