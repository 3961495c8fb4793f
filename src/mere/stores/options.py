"""Know which storage options exist, which are secret, and which may leave this process."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import quote

from mere.errors import InvalidInputError, MereError, StorageError

FROM_ENVIRONMENT = "env:"
HIDDEN = "***"
_SHORTEST_SECRET = 5  # shorter texts are no secrets, and hiding them would garble messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The options of one kind of storage.

    `plain` may travel to other machines, `secret` never does. `variables` names where the
    environment keeps an option; `instead` are variables that make secrets unnecessary.
    """

    name: str
    prefixes: tuple[str, ...]
    aliases: Mapping[str, str]
    plain: frozenset[str]
    secret: frozenset[str]
    variables: Mapping[str, tuple[str, ...]]
    instead: tuple[str, ...] = ()

    def canonical(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the options under their own names, whatever dialect they were given in.

        Raises:
            InvalidInputError: If an option is unknown or given twice; its value is not shown.
        """
        result: dict[str, str] = {}
        for key, value in given.items():
            name = self._name(str(key))
            if name in result:
                msg = f"the storage option {name!r} is given twice"
                raise InvalidInputError(msg)
            result[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return result

    def _name(self, key: str) -> str:
        name = key.lower()
        for prefix in self.prefixes:
            name = name.removeprefix(prefix)
        name = self.aliases.get(name, name)
        if name not in self.plain | self.secret:
            known = ", ".join(sorted(self.plain | self.secret))
            msg = f"unknown storage option {key!r} for {self.name}; known are: {known}"
            raise InvalidInputError(msg)
        return name


@dataclass(frozen=True, slots=True)
class Options:
    """Storage options of one store: shown by name only, and without secrets when they travel."""

    vocabulary: Vocabulary = field(repr=False)
    given: Mapping[str, str] = field(repr=False)
    left_behind: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        """Show the names that are set, no value."""
        return f"Options({', '.join(sorted(self.given))})"

    def travelling(self) -> tuple[dict[str, str], frozenset[str]]:
        """Return what another machine may know, and the names of what it must find itself."""
        kept = {
            name: value
            for name, value in self.given.items()
            if name in self.vocabulary.plain or value.startswith(FROM_ENVIRONMENT)
        }
        return kept, self.left_behind | (self.given.keys() - kept.keys())

    def resolved(self) -> dict[str, str]:
        """Return what was given, with `env:NAME` replaced by what the environment holds.

        Raises:
            StorageError: If the environment lacks a variable, or a secret stayed behind.
        """
        self._check_secrets()
        return {name: from_environment(name, value) for name, value in self.given.items()}

    def effective(self) -> dict[str, str]:
        """Return what was given, completed by the standard variables of the environment."""
        given = self.resolved()
        secret = self.vocabulary.secret
        # A key from here and a token from there would not fit together.
        complete = secret if given.keys() & secret else frozenset()
        found = {
            name: value
            for name, names in self.vocabulary.variables.items()
            if name not in complete and (value := _first(names)) is not None
        }
        return found | given

    def scrub(self, text: str) -> str:
        """Return a text without any of the secrets that this store uses."""
        return scrubbed(text, self._secrets())

    def _secrets(self) -> set[str]:
        names = self.vocabulary.secret
        given = [
            os.environ.get(value.removeprefix(FROM_ENVIRONMENT), "")
            if value.startswith(FROM_ENVIRONMENT)
            else value
            for name, value in self.given.items()
            if name in names
        ]
        ambient = [
            os.environ.get(variable, "")
            for name, variables in self.vocabulary.variables.items()
            if name in names
            for variable in variables
        ]
        return {*given, *ambient}

    def _check_secrets(self) -> None:
        if _first(self.vocabulary.instead) is not None:
            return
        for name in sorted(self.left_behind):
            variables = self.vocabulary.variables.get(name, ())
            if name != "session_token" and _first(variables) is None:
                known = f"set {' or '.join(variables)} there, or " if variables else ""
                msg = (
                    f"the storage option {name!r} stays in the process where it was given, "
                    "and this machine's environment does not hold it"
                )
                raise StorageError(msg, hint=f"{known}give the option as 'env:NAME'")


def _first(variables: Iterable[str]) -> str | None:
    return next((value for name in variables if (value := os.environ.get(name))), None)


def from_environment(name: str, value: str) -> str:
    """Return an option's value, looked up in the environment where it is `env:NAME`.

    Raises:
        StorageError: If the environment does not hold it.
    """
    if not value.startswith(FROM_ENVIRONMENT):
        return value
    variable = value.removeprefix(FROM_ENVIRONMENT)
    found = os.environ.get(variable)
    if found is None:
        msg = f"the storage option {name!r} comes from {variable!r}, which is not set"
        raise StorageError(msg, hint=f"set the environment variable {variable} on this machine")
    return found


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which every secret is hidden, however it is spelled."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            for spelled in (secret, quote(secret, safe=""), quote(secret), repr(secret)[1:-1]):
                text = text.replace(spelled, HIDDEN)
    return text


def redacted(error: BaseException, scrub: Callable[[str], str]) -> BaseException:
    """Return an error fit to be shown: itself, or a copy whose text holds no secret."""
    text = f"{error} {error.args!r}"
    if scrub(text) == text:
        return error
    kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
    return kind(scrub(str(error)))


def raise_shown(error: MereError, cause: BaseException) -> NoReturn:
    """Raise an error from a cause that is fit to be shown, and from nothing else.

    Python would also keep the driver's own error as the context, with all that it says.
    """
    try:
        raise error from cause
    except MereError:
        error.__context__ = cause
        raise


_CLIENT = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_excludes",
        "read_timeout",
        "timeout",
        "user_agent",
    }
)
CLIENT_OPTIONS = _CLIENT | {"proxy_url", "root_certificate"}
RETRY_OPTIONS = frozenset({"max_retries", "retry_timeout"})

S3 = Vocabulary(
    name="S3",
    prefixes=("aws_", "s3."),
    aliases={
        "access_key": "secret_access_key",
        "default_region": "region",
        "endpoint_url": "endpoint",
        "endpoint_url_s3": "endpoint",
        "key": "access_key_id",
        "key_id": "access_key_id",
        "region_name": "region",
        "secret": "secret_access_key",
        "secret_key": "secret_access_key",
        "token": "session_token",
    },
    plain=_CLIENT
    | RETRY_OPTIONS
    | {
        "checksum_algorithm",
        "container_credentials_full_uri",
        "container_credentials_relative_uri",
        "disable_bulk_delete",
        "disable_tagging",
        "endpoint",
        "imdsv1_fallback",
        "metadata_endpoint",
        "region",
        "request_payer",
        "role_arn",
        "role_session_name",
        "s3_express",
        "server_side_encryption",
        "skip_signature",
        "sse_bucket_key_enabled",
        "sse_kms_key_id",
        "sts_endpoint",
        "unsigned_payload",
        "virtual_hosted_style_request",
        "web_identity_token_file",
    },
    secret=frozenset(
        {
            "access_key_id",
            "proxy_url",
            "root_certificate",
            "secret_access_key",
            "session_token",
            "sse_customer_key_base64",
        }
    ),
    variables={
        "access_key_id": ("AWS_ACCESS_KEY_ID",),
        "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
        "session_token": ("AWS_SESSION_TOKEN",),
        "sse_customer_key_base64": ("AWS_SSE_CUSTOMER_KEY_BASE64",),
    },
    instead=(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    ),
)

GCS = Vocabulary(
    name="Google Cloud Storage",
    prefixes=("google_", "gcs_"),
    aliases={"service_account_path": "service_account", "token": "bearer_token"},
    plain=_CLIENT
    | RETRY_OPTIONS
    | {"application_credentials", "base_url", "service_account", "skip_signature"},
    secret=frozenset({"bearer_token", "proxy_url", "root_certificate", "service_account_key"}),
    variables={
        "application_credentials": ("GOOGLE_APPLICATION_CREDENTIALS",),
        "base_url": ("GOOGLE_BASE_URL",),
        "bearer_token": ("GOOGLE_BEARER_TOKEN",),
        "service_account": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
        "service_account_key": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
    },
    instead=("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT"),
)

AZURE = Vocabulary(
    name="Azure Storage",
    prefixes=("azure_storage_", "azure_"),
    aliases={
        "access_key": "account_key",
        "bearer_token": "token",
        "master_key": "account_key",
        "sas_token": "sas_key",
    },
    plain=_CLIENT
    | RETRY_OPTIONS
    | {
        "account_name",
        "authority_host",
        "client_id",
        "credential_type",
        "endpoint",
        "federated_token_file",
        "msi_endpoint",
        "msi_resource_id",
        "object_id",
        "skip_signature",
        "tenant_id",
        "use_azure_cli",
        "use_emulator",
        "use_fabric_endpoint",
    },
    secret=frozenset(
        {
            "account_key",
            "client_secret",
            "encryption_key",
            "proxy_url",
            "root_certificate",
            "sas_key",
            "token",
        }
    ),
    variables={
        "account_key": (
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
        ),
        "account_name": ("AZURE_STORAGE_ACCOUNT_NAME",),
        "client_id": ("AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"),
        "client_secret": ("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"),
        "endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
        "sas_key": ("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"),
        "tenant_id": ("AZURE_STORAGE_TENANT_ID", "AZURE_TENANT_ID"),
        "token": ("AZURE_STORAGE_TOKEN",),
    },
    instead=("AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT"),
)
