"""Tell which paths may be used below a root, and which name a place elsewhere."""

import os.path
import re
from urllib.parse import unquote, urlsplit

from mere.errors import InvalidInputError

LONGEST_SEGMENT = 255
LONGEST_PATH = 1024
LOCAL_SCHEMES = frozenset({"", "file", "local"})

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def scheme_of(url: str) -> str:
    """Return the scheme of a URL in lower case, or nothing for a path of this machine."""
    found = _SCHEME.match(url)
    return found[1].lower() if found else ""


def is_absolute(path: str) -> bool:
    """Tell whether a path names a place of its own instead of one below the root."""
    return bool(_SCHEME.match(path)) or path.startswith("/") or bool(_DRIVE.match(path))


def place_of(path: str) -> str:
    """Return the widest root that holds an absolute path: its bucket or host, or this machine."""
    scheme = scheme_of(path)
    return "/" if scheme in LOCAL_SCHEMES else f"{scheme}://{urlsplit(path).netloc}/"


def checked(path: str) -> str:
    """Return a path that stays below any root on any storage, or refuse it before any IO.

    Raises:
        InvalidInputError: If the path is absolute, climbs, is ambiguous or too long.
    """
    reason = _objection(path)
    if reason is not None:
        msg = f"path {path[:200]!r} {reason}"
        raise InvalidInputError(
            msg, hint="paths are relative to the lake's root: names joined by forward slashes"
        )
    return path


def checked_folder(prefix: str) -> str:
    """Return the folder that a listing starts from, with neither slash nor surprise at its end."""
    return checked(prefix.rstrip("/")) if prefix.rstrip("/") else ""


def local_path(url: str) -> str:
    """Return the absolute POSIX spelling of a path or `file:` URL of this machine."""
    path = unquote(url.split("://", 1)[1]) if _SCHEME.match(url) else url
    if "\x00" in path:
        msg = f"path {path!r} holds a NUL character"
        raise InvalidInputError(msg)
    if _SCHEME.match(url) and re.match(r"/[A-Za-z]:/", path):
        path = path[1:]
    return os.path.abspath(path).replace(os.sep, "/")  # noqa: PTH100  links stay as they are


def split_url(url: str) -> tuple[str, str, str]:
    """Return scheme, authority and path of a URL that carries nothing else.

    Raises:
        InvalidInputError: If there is a password, a query or a fragment: these hold secrets.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    if ":" in host and not host.rpartition(":")[2].isdigit():  # such as a key that holds a slash
        msg = f"a {parts.scheme}:// URL names no host or bucket that can be understood"
        raise InvalidInputError(msg, hint="give keys and passwords as storage_options")
    clean = f"{parts.scheme}://{host}{parts.path}"
    if parts.query or parts.fragment:
        msg = f"the URL {clean!r} carries a query or a fragment"
        raise InvalidInputError(msg, hint="give signatures and keys as storage_options")
    if "@" in parts.netloc and ":" in parts.netloc.rpartition("@")[0]:
        msg = f"the URL {clean!r} carries credentials"
        raise InvalidInputError(msg, hint="give them as storage_options")
    return parts.scheme.lower(), parts.netloc, parts.path


def _objection(path: str) -> str | None:
    if not path:
        return "is empty"
    if is_absolute(path):
        return "is absolute"
    if _CONTROL.search(path) or "\\" in path:
        return "holds a control character or a backslash"
    try:
        spelled = path.encode()
    except UnicodeEncodeError:
        return "holds half a character, which no storage can spell"
    return _objection_to_segments(path.split("/"), len(spelled))


def _objection_to_segments(segments: list[str], length: int) -> str | None:
    if any(segment in {"", ".", ".."} for segment in segments):
        return "has an empty, '.' or '..' segment"
    longest = max(len(segment.encode()) for segment in segments)
    if longest > LONGEST_SEGMENT:
        return f"has a segment of {longest} bytes; at most {LONGEST_SEGMENT} are possible"
    if length > LONGEST_PATH:
        return f"is {length} bytes long; at most {LONGEST_PATH} are possible"
    return None
