"""Check that listed files are what the catalog says, and name the one that is not."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mere.errors import CorruptionError, StorageError, UnsupportedError
from mere.model.files import DataFile
from mere.ports import Store

WHOLE_BYTES = 1 << 20
MAGIC = b"PAR1"
_SEALED = b"PARE"
AFTER = 8
_TAIL = 1 << 16
_HINT = "`mere doctor` compares the catalog with the files of a table"


def opened(source: Any, *, pre_buffer: bool = False, coded: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a file; times of the kind that old writers wrote are microseconds, as in any engine.

    The texts of `coded` columns are read as dictionaries, where the file has such columns.
    """
    parts = partial(
        pq.ParquetFile,
        source,
        page_checksum_verification=True,
        pre_buffer=pre_buffer,
        coerce_int96_timestamp_unit="us",
    )
    try:
        return parts(read_dictionary=list(coded) or None)
    except KeyError:  # one is called otherwise there
        return parts()


def raw_footer(store: Store, path: str, size: int) -> bytes:
    """Read the bytes of a file's footer: in one request, unless it is long.

    Raises:
        CorruptionError: If the file does not end as a Parquet file does.
        UnsupportedError: If the footer is encrypted.
    """
    start = max(size - _TAIL, 0)
    tail = store.read(path, start, size - start)
    length = int.from_bytes(tail[-AFTER:-4], "little")
    if tail[-4:] == _SEALED:
        msg = f"{path} has an encrypted footer, which this version cannot read"
        raise UnsupportedError(msg)
    if len(tail) < size - start or tail[-4:] != MAGIC or length > size - AFTER - len(MAGIC):
        msg = f"{path} does not end as a Parquet file does"
        raise CorruptionError(msg)
    if length > len(tail) - AFTER:
        return store.read(path, size - AFTER - length, length)
    return tail[len(tail) - AFTER - length : -AFTER]


def as_file(footer: bytes) -> pa.BufferReader:
    """Return what libraries take for a file of which only the footer is asked."""
    return pa.BufferReader(MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC)


def fetched(store: Store, file: DataFile, coded: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a listed file; a small one is fetched whole, in one request."""
    whole = file.bytes <= WHOLE_BYTES
    source = pa.BufferReader(store.read(file.path)) if whole else store.open(file.path)
    return opened(source, pre_buffer=not whole, coded=coded)


def check_rows(file: DataFile, parquet: pq.ParquetFile) -> None:
    """Demand that a file has the rows that are listed.

    Raises:
        CorruptionError: If it has more or less.
    """
    found = parquet.metadata.num_rows
    if found != file.rows:
        msg = f"{file.path} holds {found} rows, the catalog lists {file.rows}"
        raise CorruptionError(msg, hint=_HINT)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Say which file it was, when one turns out to be missing or damaged."""
    try:
        yield
    except StorageError as error:
        if not is_missing(error):
            raise
        raise _missing(path) from error
    except FileNotFoundError as error:
        raise _missing(path) from error
    except pa.ArrowNotImplementedError as error:
        msg = f"{path} uses a feature of Parquet that cannot be read here: {error}"
        raise UnsupportedError(msg) from error
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
        # Arrow reports damaged pages as an OSError without a number; the system gives one.
        if getattr(error, "errno", None) is None:
            msg = f"{path} is damaged: {error}"
            raise CorruptionError(msg, hint=_HINT) from error
        msg = f"cannot read {path}: {error}"
        raise StorageError(msg) from error


def _missing(path: str) -> CorruptionError:
    return CorruptionError(f"{path} is listed by the catalog, but it is not there", hint=_HINT)


def is_missing(error: BaseException) -> bool:
    """Tell whether a storage says that a file is not there."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, FileNotFoundError) or type(cause).__name__ == "NotFoundError":
            return True
        cause = cause.__cause__
    return False
