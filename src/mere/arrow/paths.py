"""Find the Parquet files that a path or a glob names, as one dataset."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from mere.errors import InvalidInputError, NoFilesError, StorageError

WILD = re.compile(r"[*?\[]")
_PIECES = re.compile(r"\*+|\?|\[[^\]]+\]|\[|[^*?\[]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def open_dataset(paths: tuple[str, ...]) -> ds.Dataset:
    """Return a dataset of the Parquet files that the paths, folders or globs name.

    Columns that only the folders name (`day=2026-01-01/`) are added. Columns are the union over
    all files.

    Raises:
        NoFilesError: If there is no such file.
        InvalidInputError: If a file is not Parquet, or the files' types disagree.
        StorageError: If the storage cannot be read.
    """
    try:
        system, root, files = _found(paths)
        if not files:
            msg = f"no Parquet file at {', '.join(map(repr, paths))}"
            raise NoFilesError(msg)
        return _dataset(system, root, files)
    except pa.ArrowInvalid as error:
        msg = f"cannot read {', '.join(map(repr, paths))} as Parquet: {error}"
        raise InvalidInputError(msg) from error
    except OSError as error:
        if isinstance(error, NoFilesError):
            raise
        msg = f"cannot read {', '.join(map(repr, paths))}: {error}"
        raise StorageError(msg) from error


def _dataset(system: fs.FileSystem, root: str, files: list[str]) -> ds.Dataset:
    options = ds.FileSystemFactoryOptions(partition_base_dir=root)
    factory = ds.FileSystemDatasetFactory(system, files, ds.ParquetFileFormat(), options)
    columns = factory.inspect(promote_options="permissive", fragments=None)
    folders = _folder_columns(system, root, files, columns)
    if not folders:
        return factory.finish(columns)
    options = ds.FileSystemFactoryOptions(partition_base_dir=root)
    options.partitioning = ds.partitioning(pa.schema(folders), flavor="hive")
    factory = ds.FileSystemDatasetFactory(system, files, ds.ParquetFileFormat(), options)
    return factory.finish(pa.schema([*columns, *folders]))


def _folder_columns(
    system: fs.FileSystem, root: str, files: list[str], columns: pa.Schema
) -> list[pa.Field]:
    """Return the columns that hive folders name and the files themselves lack."""
    if not any("=" in file[len(root) :] for file in files):
        return []
    options = ds.FileSystemFactoryOptions(partition_base_dir=root)
    options.partitioning_factory = ds.HivePartitioning.discover()
    factory = ds.FileSystemDatasetFactory(system, files, ds.ParquetFileFormat(), options)
    taken = {name.casefold() for name in columns.names}
    folders = factory.inspect(promote_options="permissive", fragments=0)
    return [field for field in folders if field.name.casefold() not in taken]


def _found(paths: tuple[str, ...]) -> tuple[fs.FileSystem, str, list[str]]:
    opened = [_filesystem(path) for path in paths]
    system = opened[0][0]
    if any(other != system for other, _ in opened):
        msg = f"paths must lie in one storage, got {', '.join(map(repr, paths))}"
        raise InvalidInputError(msg)
    found = [_files(system, plain) for _, plain in opened]
    root = found[0][0] if len(found) == 1 else ""
    return system, root, list(dict.fromkeys(file for _, files in found for file in files))


def _filesystem(path: str) -> tuple[fs.FileSystem, str]:
    if _SCHEME.match(path) is None:
        return fs.LocalFileSystem(), Path(path).expanduser().absolute().as_posix()
    wild = WILD.search(path)
    head = path if wild is None else path[: wild.start()]
    system, plain = fs.FileSystem.from_uri(head)
    return system, plain + path[len(head) :]


def _files(system: fs.FileSystem, path: str) -> tuple[str, list[str]]:
    """Return (the folder that hive folders start below, the files) of a path or glob."""
    wild = WILD.search(path)
    about = system.get_file_info(path)
    if wild is None or about.type != fs.FileType.NotFound:
        return _plain_files(system, about)
    base = path[: wild.start()].rpartition("/")[0]
    matches = re.compile(glob_pattern(path)).fullmatch
    listed = system.get_file_info(
        fs.FileSelector(base or "/", recursive=True, allow_not_found=True)
    )
    return base, sorted(f.path for f in listed if f.type == fs.FileType.File and matches(f.path))


def _plain_files(system: fs.FileSystem, about: fs.FileInfo) -> tuple[str, list[str]]:
    path = about.path
    if about.type != fs.FileType.Directory:
        exists = about.type == fs.FileType.File
        return path.rpartition("/")[0], [path] if exists else []
    listed = system.get_file_info(fs.FileSelector(path, recursive=True))
    return path, sorted(
        f.path for f in listed if f.type == fs.FileType.File and is_data(f.path[len(path) :])
    )


def is_data(path: str) -> bool:
    """Leave out what other writers hide: names that start with a dot or an underscore."""
    hidden = any(part.startswith((".", "_")) for part in path.strip("/").split("/"))
    return not hidden and path.endswith(".parquet")


def is_table_of_others(path: str) -> str | None:
    """Name the format whose log a file belongs to, so that not all files beside it count."""
    segments = path.split("/")
    if "_delta_log" in segments:
        return "Delta"
    if ".hoodie" in segments:
        return "Hudi"
    return "Iceberg" if "metadata" in segments and path.endswith(".metadata.json") else None


def glob_pattern(path: str) -> str:
    """Translate a glob into a pattern: `*` stays within a folder, `**` crosses folders."""
    parts = [".*" if part == "**" else _segment(part) for part in path.split("/")]
    return "/".join(parts).replace("/.*/", "/(?:.*/)?")


def _segment(part: str) -> str:
    return "".join(_piece(piece) for piece in _PIECES.findall(part))


def _piece(piece: str) -> str:
    if piece[0] == "*":
        return "[^/]*"
    if piece[0] == "[" and len(piece) > 1:
        inside = piece[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
    return "[^/]" if piece == "?" else re.escape(piece)
