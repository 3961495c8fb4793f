"""Open one lake from both sides, `mere` and DuckDB, and read every version of it from both."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from tests.jobs import dialect_of
from tests.stateful import bugs

import mere
from mere.lake import Lake


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lake is: its URL for `mere`, its name for DuckDB, and the folder of its files.

    `shared` says whether DuckDB may have it attached while `mere` works: not a DuckDB file.
    """

    url: str
    name: str
    folder: Path
    shared: bool = True


READERS: dict[str, Callable[[Any], pa.Table]] = {
    "arrow": lambda scan: scan.to_arrow(),
    "duckdb": lambda scan: scan.to_duckdb().to_arrow_table(),
    "polars": lambda scan: scan.to_polars().collect().to_arrow(),
}


@dataclass(slots=True)
class BothSides:
    """A lake, opened by `mere` and by DuckDB."""

    place: Place
    duck: duckdb.DuckDBPyConnection
    bug: str = ""
    lake: Lake = field(init=False)
    _attached: bool = False
    _limit: int | None = None

    def __post_init__(self) -> None:
        self.lake = mere.connect(self.place.url, data_path=self.place.folder)
        if self.bug:
            self.lake = Lake(bugs.planted(self.lake._session, self.bug))  # noqa: SLF001  put together by hand

    def close(self) -> None:
        """Let go on both sides."""
        self.lake.close()
        self._detach()

    def run(self, statement: str, *, limit: int = 0, rows: pa.Table | None = None) -> None:
        """Run a statement in DuckDB; changes of up to `limit` rows stay in the catalog."""
        with self._reference() as duck:
            if limit != self._limit:
                duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {limit})")
                self._limit = limit
            if rows is not None:
                duck.register("given", rows)
            duck.execute(statement)

    def theirs(self, versions: Sequence[int]) -> dict[int, pa.Table]:
        """Return the table as DuckDB shows it at each version."""
        query = "SELECT * FROM t AT (VERSION => {})"
        with self._reference() as duck:
            return {v: duck.execute(query.format(v)).to_arrow_table() for v in versions}

    def ours(self, version: int, *, reader: str) -> pa.Table:
        """Return the table as `mere` shows it at a version, through one of its readers."""
        return READERS[reader](self.lake.table("t").scan(version=version))

    def there(self) -> set[str]:
        """Return the names of the files that are there."""
        return {path.name for path in self.place.folder.rglob("*.parquet")}

    def listed(self) -> set[str]:
        """Return the names of the files that any version lists."""
        with closing(dialect_of(self.place.url)) as dialect, dialect.reading() as link:
            found = link.rows("listed", first=-1)
        return {Path(path).name for _, path, _ in found}

    def misread(self) -> set[int]:
        """Return the versions that DuckDB itself reads wrong.

        It flushes inlined deletes of a file that a rewrite has ended into a second delete file
        beside the first, and then joins rows to both.
        """
        with closing(dialect_of(self.place.url)) as dialect, dialect.reading() as link:
            pairs = link.ask(
                "SELECT a.begin_snapshot, b.begin_snapshot,"
                " a.end_snapshot, b.end_snapshot, f.end_snapshot"
                " FROM ducklake_delete_file a JOIN ducklake_delete_file b"
                " ON a.data_file_id = b.data_file_id AND a.delete_file_id < b.delete_file_id"
                " JOIN ducklake_data_file f ON f.data_file_id = a.data_file_id"
            )
            last = link.rows("newest")[0][0]
        spans = ((max(row[:2]), min([*filter(None, row[2:]), last + 1])) for row in pairs)
        return {version for first, end in spans for version in range(first, end)}

    @contextmanager
    def _reference(self) -> Iterator[duckdb.DuckDBPyConnection]:
        if not self._attached:
            self.duck.execute(f"ATTACH 'ducklake:{self.place.name}' AS lake")
            self.duck.execute("USE lake")
            self._attached = True
        try:
            yield self.duck
        finally:
            if not self.place.shared:
                self._detach()

    def _detach(self) -> None:
        if self._attached:
            self.duck.execute("USE memory")
            self.duck.execute("DETACH lake")
            self._attached = False
