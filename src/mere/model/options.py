"""Know the options of a lake, a schema or a table, and how the catalog spells their values."""

import re
from collections.abc import Callable
from math import inf

from mere.errors import InvalidInputError
from mere.model.durations import seconds

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_CODECS = frozenset({"uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"})
COPY_ON_WRITE = "copy-on-write"
ORDERS = ("linear", "zorder", "hilbert")
"""How rows can be ordered by several columns."""
_AS_WRITTEN = ("interval", "list of columns")
_KINDS = {
    "target_file_size": "size",
    "parquet_row_group_size_bytes": "size",
    "parquet_row_group_size": "count",
    "parquet_compression": "codec",
    "parquet_compression_level": "count",
    "parquet_version": "version",
    "data_inlining_row_limit": "count",
    "hive_file_pattern": "flag",
    "require_commit_message": "flag",
    "auto_compact": "flag",
    "per_thread_output": "flag",
    "sort_on_insert": "flag",
    "rewrite_delete_threshold": "share",
    "delete_older_than": "interval",
    "expire_older_than": "interval",
    "mere_write_mode": "mode",
    "mere_min_files": "number of files",
    "mere_cluster_by": "list of columns",
    "mere_cluster_order": "order",
    "mere_max_overlap": "amount",
    "mere_keep_last": "number of versions",
    "mere_expire": "flag",
    "mere_vacuum": "flag",
    "mere_budget_mb": "amount",
    "mere_budget_minutes": "amount",
}


def option_text(key: str, value: object) -> str:
    """Return the text under which the catalog keeps an option's value.

    Raises:
        InvalidInputError: If the option is unknown or the value is not of its kind.
    """
    kind = _KINDS.get(key)
    if kind is None:
        msg = f"unknown option {key!r}"
        raise InvalidInputError(msg, hint=f"known options: {', '.join(sorted(_KINDS))}")
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value).strip()
    text = text if kind in _AS_WRITTEN else text.lower()
    spelled = _SPELL[kind](text)
    if spelled is None:
        article = "an" if kind[0] in "aeiou" else "a"
        msg = f"option {key!r} takes {article} {kind}, got {value!r}"
        raise InvalidInputError(msg)
    return spelled


def _size(text: str) -> str | None:
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    base = 1024 if match[3] else 1000
    amount = int(float(match[1]) * base ** _POWERS[match[2].lower()])
    return str(amount) if amount > 0 else None


def _count(text: str) -> str | None:
    return text if text.isdecimal() else None


def _codec(text: str) -> str | None:
    return text if text in _CODECS else None


def _flag(text: str) -> str | None:
    return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)


def _share(text: str) -> str | None:
    try:
        share = float(text)
    except ValueError:
        return None
    return f"{share:.6f}" if 0 <= share <= 1 else None


def _version(text: str) -> str | None:
    return {"1": "V1", "v1": "V1", "2": "V2", "v2": "V2"}.get(text)


def _mode(text: str) -> str | None:
    return text if text in {"merge-on-read", COPY_ON_WRITE} else None


def _files(text: str) -> str | None:
    return text if text.isdecimal() and int(text) > 1 else None


def _versions(text: str) -> str | None:
    return text if text.isdecimal() and int(text) > 0 else None


def _amount(text: str) -> str | None:
    try:
        return text if 0 < float(text) < inf else None
    except ValueError:
        return None


def _columns(text: str) -> str | None:
    names = [name.strip() for name in text.split(",")]
    return ",".join(names) if all(names) or not text else None


def _order(text: str) -> str | None:
    return text if text in ORDERS else None


def _interval(text: str) -> str | None:
    try:
        seconds(text)
    except InvalidInputError:
        return None
    return text.replace(",", "")


_SPELL: dict[str, Callable[[str], str | None]] = {
    "size": _size,
    "count": _count,
    "codec": _codec,
    "flag": _flag,
    "share": _share,
    "version": _version,
    "interval": _interval,
    "mode": _mode,
    "number of files": _files,
    "number of versions": _versions,
    "list of columns": _columns,
    "order": _order,
    "amount": _amount,
}
