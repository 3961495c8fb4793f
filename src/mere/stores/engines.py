"""Say in each engine's own words how it reaches the same storage; the answers hold secrets."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from mere.errors import InvalidInputError

ENGINES = ("daft", "datafusion", "duckdb", "polars", "spark")

# engine → our name → the engine's name; {bucket} is the root's bucket or container
_S3 = {
    "daft": {
        "access_key_id": "key_id",
        "endpoint": "endpoint_url",
        "region": "region_name",
        "secret_access_key": "access_key",
        "session_token": "session_token",
    },
    "datafusion": {
        "access_key_id": "access_key_id",
        "allow_http": "allow_http",
        "endpoint": "endpoint",
        "region": "region",
        "secret_access_key": "secret_access_key",
        "session_token": "session_token",
    },
    "duckdb": {
        "access_key_id": "s3_access_key_id",
        "region": "s3_region",
        "secret_access_key": "s3_secret_access_key",
        "session_token": "s3_session_token",
    },
    "polars": {
        "access_key_id": "aws_access_key_id",
        "allow_http": "aws_allow_http",
        "endpoint": "aws_endpoint_url",
        "region": "aws_region",
        "secret_access_key": "aws_secret_access_key",
        "session_token": "aws_session_token",
        "skip_signature": "aws_skip_signature",
        "virtual_hosted_style_request": "aws_virtual_hosted_style_request",
    },
    "spark": {
        "access_key_id": "fs.s3a.bucket.{bucket}.access.key",
        "endpoint": "fs.s3a.bucket.{bucket}.endpoint",
        "region": "fs.s3a.bucket.{bucket}.endpoint.region",
        "secret_access_key": "fs.s3a.bucket.{bucket}.secret.key",
        "session_token": "fs.s3a.bucket.{bucket}.session.token",
    },
}
_GCS = {
    "daft": {"bearer_token": "token", "service_account_key": "credentials"},
    "datafusion": {
        "application_credentials": "service_account_path",
        "service_account": "service_account_path",
    },
    "duckdb": {},
    "polars": {
        "application_credentials": "google_application_credentials",
        "bearer_token": "google_bearer_token",
        "service_account": "google_service_account",
        "service_account_key": "google_service_account_key",
    },
    "spark": {
        "application_credentials": "google.cloud.auth.service.account.json.keyfile",
        "service_account": "google.cloud.auth.service.account.json.keyfile",
    },
}
_AZURE = {
    "daft": {
        "account_key": "access_key",
        "account_name": "storage_account",
        "client_id": "client_id",
        "client_secret": "client_secret",
        "endpoint": "endpoint_url",
        "sas_key": "sas_token",
        "tenant_id": "tenant_id",
        "token": "bearer_token",
    },
    "datafusion": {
        "account_key": "access_key",
        "account_name": "account",
        "client_id": "client_id",
        "client_secret": "client_secret",
        "tenant_id": "tenant_id",
        "token": "bearer_token",
    },
    "duckdb": {"account_name": "azure_account_name", "endpoint": "azure_endpoint"},
    "polars": {
        "account_key": "azure_storage_account_key",
        "account_name": "azure_storage_account_name",
        "client_id": "azure_storage_client_id",
        "client_secret": "azure_storage_client_secret",
        "endpoint": "azure_storage_endpoint",
        "sas_key": "azure_storage_sas_key",
        "tenant_id": "azure_storage_tenant_id",
        "token": "azure_storage_token",
    },
    "spark": {
        "account_key": "fs.azure.account.key.{account}.dfs.core.windows.net",
        "sas_key": "fs.azure.sas.fixed.token.{account}.dfs.core.windows.net",
    },
}
_TABLES = {"s3": _S3, "gs": _GCS, "az": _AZURE}


def engine_options(
    engine: str, *, cloud: str, bucket: str, options: Mapping[str, str]
) -> dict[str, str]:
    """Translate effective options of a cloud (`s3`, `gs`, `az`) into an engine's own.

    The answer is for DuckDB a set of settings (`SET name = value`), for Polars its
    `storage_options`, for Spark Hadoop configuration (which a reader also takes as options), for
    DataFusion the arguments of its object store, for Daft those of its configuration of the cloud.

    Raises:
        InvalidInputError: If the engine is not known.
    """
    if engine not in ENGINES:
        msg = f"unknown engine {engine!r}; known are: {', '.join(ENGINES)}"
        raise InvalidInputError(msg)
    account = options.get("account_name", "")
    result = {
        name.format(bucket=bucket, account=account): options[ours]
        for ours, name in _TABLES[cloud][engine].items()
        if ours in options
    }
    more = _MORE.get((cloud, engine))
    return result | more(bucket, options) if more else result


def _plain_http(options: Mapping[str, str]) -> bool:
    return urlsplit(options.get("endpoint", "")).scheme == "http"


def _by_path(options: Mapping[str, str]) -> bool:
    return "endpoint" in options and options.get("virtual_hosted_style_request") != "true"


def _duckdb_s3(_: str, options: Mapping[str, str]) -> dict[str, str]:
    result = {"s3_url_style": "path" if _by_path(options) else "vhost"}
    if "endpoint" in options:
        result["s3_endpoint"] = urlsplit(options["endpoint"]).netloc
        result["s3_use_ssl"] = "false" if _plain_http(options) else "true"
    return result


def _spark_s3(bucket: str, options: Mapping[str, str]) -> dict[str, str]:
    own = f"fs.s3a.bucket.{bucket}"
    result = {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        f"{own}.path.style.access": "true" if _by_path(options) else "false",
    }
    if _plain_http(options):
        result[f"{own}.connection.ssl.enabled"] = "false"
    if options.get("skip_signature") == "true":
        result[f"{own}.aws.credentials.provider"] = (
            "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
        )
    return result


def _daft_s3(_: str, options: Mapping[str, str]) -> dict[str, str]:
    return {"use_ssl": "false"} if _plain_http(options) else {}


def _datafusion_bucket(bucket: str, _: Mapping[str, str]) -> dict[str, str]:
    return {"bucket_name": bucket}


def _datafusion_container(bucket: str, _: Mapping[str, str]) -> dict[str, str]:
    return {"container_name": bucket}


def _duckdb_azure(_: str, options: Mapping[str, str]) -> dict[str, str]:
    if "account_name" not in options or "account_key" not in options:
        return {}
    parts = {
        "AccountName": options["account_name"],
        "AccountKey": options["account_key"],
    } | ({"BlobEndpoint": options["endpoint"]} if "endpoint" in options else {})
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    return {"azure_storage_connection_string": text}


_MORE = {
    ("s3", "daft"): _daft_s3,
    ("s3", "datafusion"): _datafusion_bucket,
    ("s3", "duckdb"): _duckdb_s3,
    ("s3", "spark"): _spark_s3,
    ("gs", "datafusion"): _datafusion_bucket,
    ("az", "datafusion"): _datafusion_container,
    ("az", "duckdb"): _duckdb_azure,
}
