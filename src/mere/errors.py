"""Say what went wrong, grouped by what a caller does about it.

```text
MereError
├── NotFoundError             (LookupError)
│   ├── TableNotFoundError
│   └── SnapshotNotFoundError
├── NoFilesError              (FileNotFoundError)
├── AlreadyExistsError
├── InvalidInputError         (ValueError)
│   ├── SchemaMismatchError
│   ├── UnknownColumnError
│   └── DuplicateKeyError
├── CommitConflictError
├── TaskError
├── EngineMissingError        (ImportError)
├── UnsupportedError
├── StorageError
├── CatalogError
└── CorruptionError
```

Every error has a stable `code`, an optional `hint` that says what to do next, and survives
pickling, because errors cross from executors to the driver.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """Stable codes, append-only: scripts and logs may rely on them."""

    ERROR = "error"
    NOT_FOUND = "not-found"
    TABLE_NOT_FOUND = "table-not-found"
    SNAPSHOT_NOT_FOUND = "snapshot-not-found"
    NO_FILES = "no-files"
    ALREADY_EXISTS = "already-exists"
    INVALID_INPUT = "invalid-input"
    SCHEMA_MISMATCH = "schema-mismatch"
    UNKNOWN_COLUMN = "unknown-column"
    DUPLICATE_KEY = "duplicate-key"
    COMMIT_CONFLICT = "commit-conflict"
    TASK = "task"
    ENGINE_MISSING = "engine-missing"
    UNSUPPORTED = "unsupported"
    STORAGE = "storage"
    CATALOG = "catalog"
    CORRUPTION = "corruption"


def _revive(cls: type["MereError"], message: str, state: dict[str, object]) -> "MereError":
    error = cls(message)
    error.__dict__.update(state)
    return error


class MereError(Exception):
    """Anything that `mere` raises on purpose."""

    code: ErrorCode = ErrorCode.ERROR
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep the message, and what to do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Show the message, and the hint on a line of its own."""
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Travel by pickle with every attribute."""
        return _revive, (type(self), self.message, dict(self.__dict__))


class NotFoundError(MereError, LookupError):
    """Something that was named does not exist."""

    code = ErrorCode.NOT_FOUND


class TableNotFoundError(NotFoundError):
    """No table of that name at that snapshot."""

    code = ErrorCode.TABLE_NOT_FOUND


class SnapshotNotFoundError(NotFoundError):
    """No snapshot with that version, time or tag, or it was expired."""

    code = ErrorCode.SNAPSHOT_NOT_FOUND


class NoFilesError(MereError, FileNotFoundError):
    """A verb that needs files found none that match."""

    code = ErrorCode.NO_FILES


class AlreadyExistsError(MereError):
    """The name is taken."""

    code = ErrorCode.ALREADY_EXISTS


class InvalidInputError(MereError, ValueError):
    """The call itself is wrong; nothing was read or changed."""

    code = ErrorCode.INVALID_INPUT


class SchemaMismatchError(InvalidInputError):
    """The data's columns do not fit the table's."""

    code = ErrorCode.SCHEMA_MISMATCH


class UnknownColumnError(InvalidInputError):
    """A column was named that the table does not have."""

    code = ErrorCode.UNKNOWN_COLUMN


class DuplicateKeyError(InvalidInputError):
    """The source holds a key more than once."""

    code = ErrorCode.DUPLICATE_KEY


class CommitConflictError(MereError):
    """Another commit changed what this one stands on; nothing changed, call again."""

    code = ErrorCode.COMMIT_CONFLICT


class TaskError(MereError):
    """A task failed on a worker; nothing was committed."""

    code = ErrorCode.TASK


class EngineMissingError(MereError, ImportError):
    """An optional library is not installed; the hint names the extra."""

    code = ErrorCode.ENGINE_MISSING


class UnsupportedError(MereError):
    """A feature of the format that this version does not handle, named."""

    code = ErrorCode.UNSUPPORTED


class StorageError(MereError):
    """The storage did not do what was asked; often worth another try."""

    code = ErrorCode.STORAGE


class CatalogError(MereError):
    """The catalog database did not do what was asked; the driver's error is the cause."""

    code = ErrorCode.CATALOG


class CorruptionError(MereError):
    """The catalog and the files disagree."""

    code = ErrorCode.CORRUPTION
