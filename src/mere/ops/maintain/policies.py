"""Take a policy however somebody gives it: as such, as a mapping, or as the path of a TOML file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mere.errors import InvalidInputError, NotFoundError
from mere.model.policy import Policy

Given: TypeAlias = Policy | Mapping[str, Any] | str | os.PathLike[str] | None


def policy_of(given: Given) -> Policy:
    """Return the policy that is meant; None says nothing, so that the lake's options hold.

    Raises:
        NotFoundError: If there is no such file.
        InvalidInputError: If it is no policy.
    """
    match given:
        case None:
            return Policy()
        case Policy():
            return given
        case Mapping():
            return Policy.of(given)
        case str() | os.PathLike():
            return Policy.from_toml(_text(Path(given)))
    msg = f"a policy is a mere.Policy, a mapping or the path of a TOML file, got {given!r}"
    raise InvalidInputError(msg)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the policy {str(path)!r} cannot be read: {error}"
        kind = NotFoundError if isinstance(error, FileNotFoundError) else InvalidInputError
        raise kind(msg) from error
