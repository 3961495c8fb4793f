"""Make the clients of object storage, and say in this library's errors what they say."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import urlsplit

from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from mere.errors import AlreadyExistsError, InvalidInputError, MereError, StorageError
from mere.stores.options import CLIENT_OPTIONS, RETRY_OPTIONS, Options
from mere.stores.paths import split_url

Cloud = Literal["s3", "gs", "az"]

SCHEMES: Mapping[str, Cloud] = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
}
_PATIENCE = {"connect_timeout": "5s", "timeout": "120s"}
_RETRIES = {"max_retries": "5", "retry_timeout": "60"}
_KEYS = (
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profiles are not read), "
    "GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
)
_REFUSED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)


def connect(url: str, options: Options) -> Any:
    """Return the client of a bucket and prefix; no request is made yet.

    Raises:
        StorageError: If a secret is not where the options say it is.
    """
    given = options.resolved()
    client: dict[str, Any] = _PATIENCE | {
        name: value for name, value in given.items() if name in CLIENT_OPTIONS
    }
    if urlsplit(options.effective().get("endpoint", "")).scheme == "http":
        client = {"allow_http": "true"} | client
    config: dict[str, Any] = {
        name: value for name, value in given.items() if name not in CLIENT_OPTIONS | RETRY_OPTIONS
    }
    scheme, authority, path = split_url(url)
    retries = _RETRIES | given
    settings: dict[str, Any] = {
        "prefix": path.strip("/") or None,
        "client_options": client,
        "retry_config": {
            "max_retries": _count("max_retries", retries),
            "retry_timeout": timedelta(seconds=_count("retry_timeout", retries)),
        },
    }
    return _MAKERS[SCHEMES[scheme]](authority, config, settings)


def _count(name: str, options: Mapping[str, str]) -> int:
    value = options[name]
    if not value.isdecimal():
        msg = f"the storage option {name!r} is a whole number, of seconds where it is a time"
        raise InvalidInputError(msg)
    return int(value)


def _s3(authority: str, config: dict[str, Any], settings: dict[str, Any]) -> Any:
    if "access_key_id" in config and "secret_access_key" in config:
        keys = {
            "access_key_id": config.pop("access_key_id"),
            "secret_access_key": config.pop("secret_access_key"),
            "token": config.pop("session_token", None),
            "expires_at": None,
        }
        # As plain configuration they would be mixed with a session token of the environment.
        settings = settings | {"credential_provider": lambda: keys}
    return S3Store(authority, config=config, **settings)  # type: ignore[arg-type]  # plain texts


def _gcs(authority: str, config: dict[str, Any], settings: dict[str, Any]) -> Any:
    return GCSStore(authority, config=config, **settings)  # type: ignore[arg-type]  # plain texts


def _azure(authority: str, config: dict[str, Any], settings: dict[str, Any]) -> Any:
    container, _, host = authority.partition("@")
    if host:
        config = {"account_name": host.partition(".")[0]} | config
    if ".fabric." in host:
        config = {"use_fabric_endpoint": "true"} | config
    return AzureStore(container, config=config, **settings)  # type: ignore[arg-type]  # plain texts


_MAKERS: Mapping[Cloud, Callable[[str, dict[str, Any], dict[str, Any]], Any]] = {
    "s3": _s3,
    "gs": _gcs,
    "az": _azure,
}


def translated(verb: str, url: str, failure: BaseException, shown: BaseException) -> MereError:
    """Return this library's error for what a client raised; `shown` is fit to be read."""
    if isinstance(failure, (exceptions.AlreadyExistsError, FileExistsError)):
        msg = f"cannot {verb} {url}: it exists"
        return AlreadyExistsError(msg, hint="files are never replaced: take a new name")
    if isinstance(failure, FileNotFoundError):
        return StorageError(
            f"cannot {verb} {url}: it is not there",
            hint="it was deleted, or the bucket or the lake's data path is another one",
        )
    if isinstance(failure, _REFUSED):
        return StorageError(
            f"cannot {verb} {url}: the storage refused",
            hint=f"check the keys in storage_options or in the environment: {_KEYS}",
        )
    reason = str(shown).partition("\n")[0]
    return StorageError(
        f"cannot {verb} {url}: {reason}",
        hint=f"check the endpoint, and the keys in storage_options or in the environment: {_KEYS}",
    )
