"""Say which files of others are loaded into a table, how they are read, and what came of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from mere.errors import InvalidInputError

ENDINGS: Mapping[str, str] = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
}
PACKED: Mapping[str, str] = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}
FORMATS = ("parquet", "csv", "json")


def format_of(path: str) -> tuple[str | None, str | None]:
    """Return (format, compression) that the end of a file's name tells, None for what it does not.

    >>> format_of("in/trades.csv.gz")
    ('csv', 'gzip')
    """
    name = path.rpartition("/")[2].lower()
    rest, dot, last = name.rpartition(".")
    packed = PACKED.get(last) if dot else None
    ending = rest.rpartition(".")[2] if packed else last
    return ENDINGS.get(ending) if dot else None, packed


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to load: `mark` is its etag or the time of its last change.

    `folders` are the columns that its folders name (`day=2026-01-01/`). `known` names the load
    that brought an older state of it into the table, None when there was none.
    """

    path: str
    bytes: int
    mark: str
    format: str
    packed: str | None = None
    folders: tuple[tuple[str, str | None], ...] = ()
    known: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the catalog knows of a file that a table has rows of."""

    path: str
    bytes: int
    mark: str
    load: str
    snapshot: int

    def is_now(self, source: Source) -> bool:
        """Tell whether the file is still what was loaded."""
        return (self.bytes, self.mark) == (source.bytes, source.mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How CSV is spelled; an unquoted text that is among `null` is NULL.

    `header` says that the first line names the columns. `delimiter` None is a tab in `.tsv` files
    and a comma in all others.
    """

    delimiter: str | None = None
    header: bool = True
    quote: str = '"'
    escape: str = ""
    null: tuple[str, ...] = ("",)
    encoding: str = "utf8"
    skip_rows: int = 0
    decimal_point: str = "."
    newlines: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Form":
        """Read options by name; their values may be text.

        Raises:
            InvalidInputError: If an option is unknown, or its value is none.
        """
        known = {field.name: field.default for field in fields(cls)}
        strange = sorted(options.keys() - known.keys())
        if strange:
            msg = f"unknown option(s) of CSV files: {', '.join(strange)}"
            raise InvalidInputError(msg, hint=f"known: {', '.join(known)}")
        return cls(**{name: _read(name, known[name], value) for name, value in options.items()})

    def __post_init__(self) -> None:
        """Refuse what is no single sign."""
        for name in ("delimiter", "quote", "escape", "decimal_point"):
            value = getattr(self, name)
            least = 1 if name in ("delimiter", "decimal_point") else 0
            if value is not None and not least <= len(value) <= 1:
                msg = f"option {name!r} of CSV files is one sign, got {value!r}"
                raise InvalidInputError(msg)


def _read(name: str, default: object, value: Any) -> Any:
    if isinstance(default, tuple):
        return (value,) if isinstance(value, str) else tuple(value)
    if isinstance(default, bool):
        words = {"true": True, "false": False, "yes": True, "no": False}
        found = words.get(value.lower()) if isinstance(value, str) else value
        good = isinstance(found, bool)
    elif isinstance(default, int):
        found = int(value) if str(value).isdecimal() else None
        good = found is not None
    else:
        found = "\t" if value == "\\t" else value
        good = isinstance(found, str)
    if not good:
        kind = {bool: "true or false", int: "a whole number"}.get(type(default), "text")
        msg = f"option {name!r} of CSV files takes {kind}, got {value!r}"
        raise InvalidInputError(msg)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A file that could not be loaded, and the error, which names it."""

    path: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What an ingest did, or would do when `dry_run`.

    `sources` are the files whose rows came into the table, by commits that made the `versions`.
    `skipped` counts those that had been loaded before, `changed` are those that are no longer
    what was loaded, and `failed` are those that could not be read; both were left alone.
    """

    table: str
    operation: str = "ingest"
    dry_run: bool = False
    sources: tuple[str, ...] = ()
    skipped: int = 0
    changed: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()
    bytes: int = 0
    rows: int = 0
    files_added: int = 0
    versions: tuple[int, ...] = ()
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as a plain dictionary."""
        return asdict(self)

    def __str__(self) -> str:
        """Show what was loaded, in a line, and what was not, in a line each."""
        would = "would load" if self.dry_run else "loaded"
        said = f"{would} {len(self.sources):,} file(s) of {self.bytes:,} bytes into {self.table}"
        if not self.dry_run:
            said += f": {self.rows:,} rows in {len(self.versions)} commit(s)"
        lines = [f"{said}; {self.skipped:,} had been loaded before"]
        lines += [f"  changed since it was loaded: {path}" for path in self.changed]
        lines += [f"  not loaded: {failed.error}" for failed in self.failed]
        return "\n".join(lines)
