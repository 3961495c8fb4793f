"""Make files of this machine, and have the disk keep them."""

# Paths stay the strings that the catalog and other engines see:
# ruff: noqa: PTH108
import os
from contextlib import suppress

_BINARY = getattr(os, "O_BINARY", 0)


def claim(target: str) -> None:
    """Make an empty new file."""
    os.close(_new(target))


def create(target: str, data: bytes) -> None:
    """Write a new file whole and flush it, but not its name; on an error nothing stays."""
    handle = _new(target)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(target)
        raise


def flush(target: str) -> None:
    """Have the disk keep the bytes of a file."""
    handle = os.open(target, os.O_RDWR | _BINARY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: str) -> None:
    """Have the disk keep the names in a folder."""
    if os.name == "nt":  # Windows has no handle on folders; its file system journals names
        return
    handle = os.open(folder or "/", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _new(target: str) -> int:
    return os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o666)
