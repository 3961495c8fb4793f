"""Tell by the catalog alone which rows of a file a snapshot sees: all, or what is to be read."""

from mere.model.files import DataFile, DeleteFile


def needs_snapshot(file: DataFile, snapshot: int | None) -> bool:
    """Tell whether the file holds rows that came after the snapshot."""
    return snapshot is not None and file.last is not None and file.last > snapshot


def is_whole(file: DataFile, snapshot: int | None) -> bool:
    """Tell whether every row of the file is visible, so that an engine may read it as it is."""
    return file.deletes is None and not file.gone and not needs_snapshot(file, snapshot)


def reaches_beyond(deletes: DeleteFile, snapshot: int | None) -> bool:
    """Tell whether a delete file may name positions that went after the snapshot."""
    return snapshot is not None and deletes.last is not None and deletes.last > snapshot
