"""Treat the options of fsspec filesystems, of which nobody says which ones are secret."""

import os
from collections.abc import Mapping
from typing import Any

from mere.stores.options import FROM_ENVIRONMENT, from_environment

PLAIN = frozenset(
    {
        "account_name",
        "anon",
        "client_kwargs",
        "endpoint",
        "endpoint_url",
        "host",
        "hostname",
        "port",
        "project",
        "region",
        "region_name",
        "requester_pays",
        "tenant_id",
        "timeout",
        "use_listings_cache",
        "use_ssl",
        "user",
        "username",
        "verify",
    }
)


def harmless(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that may travel: known to be no secret, or references."""
    result: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            if name in PLAIN:
                result[name] = harmless(value)
        elif (name in PLAIN and isinstance(value, str | int | float | bool)) or _refers(value):
            result[name] = value
    return result


def _refers(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(FROM_ENVIRONMENT)


def resolved(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with what the environment holds in place of references.

    Raises:
        StorageError: If the environment does not hold it.
    """
    return {
        name: resolved(value)
        if isinstance(value, Mapping)
        else from_environment(name, value)
        if isinstance(value, str)
        else value
        for name, value in options.items()
    }


def secrets_in(options: Mapping[str, Any]) -> set[str]:
    """Return every text that may be a secret: all but those known to be none."""
    result: set[str] = set()
    for name, value in options.items():
        if isinstance(value, Mapping):
            result |= secrets_in(value)
        elif _refers(value):
            result.add(os.environ.get(value.removeprefix(FROM_ENVIRONMENT), ""))
        elif isinstance(value, str) and name not in PLAIN:
            result.add(value)
    return result
