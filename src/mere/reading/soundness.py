"""Look at one file that the catalog lists, and say in what it differs from what is listed."""

from collections.abc import Iterator

import pyarrow.compute as pc
import pyarrow.parquet as pq

from mere.arrow.footer import digest_of
from mere.errors import CorruptionError, MereError, StorageError, UnsupportedError
from mere.model.diagnosis import Finding, ListedFile, Verdict
from mere.ports import Store
from mere.reading.footers import as_file, naming, raw_footer

ROW_ID = b"2147483540"
_POSITION = "pos"
_ROWS = 1 << 16
_BUFFER = 1 << 20


def check_file(
    file: ListedFile, store: Store, *, deep: bool, own_row_ids: bool = False
) -> tuple[Finding, ...]:
    """Return what is wrong with a file: its length, its footer, its rows, if `deep` its pages.

    With `own_row_ids` its rows must carry ids, because others have those that its place gives.
    """
    check = _Check(file, store)
    try:
        found = tuple(check.run(deep=deep, own_row_ids=own_row_ids))
    except CorruptionError as error:
        found = (check.said(Verdict.WRONG, error),)
    except (UnsupportedError, StorageError) as error:
        found = (check.said(Verdict.UNREAD, error),)
    return found


class _Check:
    """One file under examination; `looking` names what is looked at."""

    def __init__(self, file: ListedFile, store: Store) -> None:
        self.file = file
        self.store = store
        self.looking = "missing"

    def wrong(self, check: str, detail: str) -> Finding:
        return self._finding(check, Verdict.WRONG, detail)

    def said(self, verdict: Verdict, error: MereError) -> Finding:
        detail = error.message.removeprefix(f"{self.file.path} ")
        return self._finding(self.looking, verdict, detail)

    def _finding(self, check: str, verdict: Verdict, detail: str) -> Finding:
        file = self.file
        return Finding(
            check=check,
            verdict=verdict,
            detail=detail,
            table=file.table,
            path=file.path,
            file=file.id,
        )

    def run(self, *, deep: bool, own_row_ids: bool) -> Iterator[Finding]:
        """Look from the outside to the inside; what lies behind damage is not looked at."""
        file = self.file
        if file.scheduled:
            yield self.wrong("scheduled", "it is listed, and scheduled for deletion as well")
        if file.refused:
            yield self._finding("refused", Verdict.UNREAD, file.refused)
            return
        with naming(file.path):
            size = self.store.size(file.path)
        if file.bytes is not None and size != file.bytes:
            yield self.wrong("size", f"it has {size} bytes, the catalog lists {file.bytes}")
            return
        self.looking = "footer"
        with naming(file.path):
            metadata = self._footer(size)
        if file.rows is not None and metadata.num_rows != file.rows:
            said = f"it holds {metadata.num_rows} rows, the catalog lists {file.rows}"
            yield self.wrong("rows", said)
        if own_row_ids and not _carries_row_ids(metadata):
            yield self.wrong("row-ids", "its rows have the ids of rows in another file")
        if deep:
            self.looking = "pages"
            with naming(file.path):
                yield from self._pages()

    def _footer(self, size: int) -> pq.FileMetaData:
        """Read the footer's bytes once, and hold them to the digest before they are understood."""
        footer = raw_footer(self.store, self.file.path, size)
        if self.file.footer_bytes not in (None, len(footer)):
            msg = f"its footer has {len(footer)} bytes, the catalog lists {self.file.footer_bytes}"
            raise CorruptionError(msg)
        if self.file.digest not in (None, digest_of(footer)):
            msg = "its footer is not the one that was written"
            raise CorruptionError(msg)
        return pq.read_metadata(as_file(footer))

    def _pages(self) -> Iterator[Finding]:
        """Read every page; checksums are compared on the way, where the writer left some."""
        with self.store.open(self.file.path) as source:
            parquet = pq.ParquetFile(
                source, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER
            )
            rows, last = 0, -1
            for batch in parquet.iter_batches(_ROWS, use_threads=False):
                rows += batch.num_rows
                if self.file.positions and batch.num_rows:
                    bounds = pc.min_max(batch.column(_POSITION)).as_py()
                    last = max(last, bounds["max"])
        if rows != parquet.metadata.num_rows:
            yield self.wrong("pages", f"{rows} rows can be read of {parquet.metadata.num_rows}")
        if self.file.of_rows is not None and last >= self.file.of_rows:
            said = f"it deletes row {last} of a file with {self.file.of_rows} rows"
            yield self.wrong("positions", said)


def _carries_row_ids(metadata: pq.FileMetaData) -> bool:
    fields = metadata.schema.to_arrow_schema()
    return any((f.metadata or {}).get(b"PARQUET:field_id") == ROW_ID for f in fields)
