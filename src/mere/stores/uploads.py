"""Find uploads in parts that nobody finished, and abort them: they are no files, but paid for.

A process that dies while it sends a large object to S3 leaves the parts behind, in no listing of
objects. obstore knows no request that lists them; s3fs does, so it is asked where it is installed.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from mere.errors import EngineMissingError
from mere.model.clearing import Upload

_WORDS = {
    "access_key_id": "key",
    "secret_access_key": "secret",
    "session_token": "token",
    "endpoint": "endpoint_url",
}


def filesystem(options: Mapping[str, str]) -> Any:
    """Return s3fs's own filesystem, for the effective options of an S3 store.

    Raises:
        EngineMissingError: If s3fs is not installed.
    """
    try:
        s3fs = import_module("s3fs")
    except ModuleNotFoundError as error:
        msg = "unfinished uploads are found through s3fs, which is not installed"
        raise EngineMissingError(msg, hint="pip install mere[s3]") from error
    given: dict[str, Any] = {
        name: options[ours] for ours, name in _WORDS.items() if ours in options
    }
    if options.get("skip_signature") == "true":
        given["anon"] = True
    if "region" in options:
        given["client_kwargs"] = {"region_name": options["region"]}
    if options.get("virtual_hosted_style_request") == "true":
        given["config_kwargs"] = {"s3": {"addressing_style": "virtual"}}
    return s3fs.S3FileSystem(**given, use_listings_cache=False)


def unfinished(s3: Any, url: str) -> tuple[Upload, ...]:
    """Return the uploads below a root that were begun and not finished."""
    prefix = _prefix(url)
    return tuple(
        Upload(
            path=found["Key"].removeprefix(prefix), id=found["UploadId"], since=found["Initiated"]
        )
        for found in _pages(s3, urlsplit(url).netloc, prefix)
    )


def abort(s3: Any, url: str, uploads: Iterable[Upload]) -> None:
    """Abort uploads; those that are over already are fine."""
    bucket, prefix = urlsplit(url).netloc, _prefix(url)
    for upload in uploads:
        try:
            s3.call_s3(
                "abort_multipart_upload",
                Bucket=bucket,
                Key=prefix + upload.path,
                UploadId=upload.id,
            )
        except FileNotFoundError:  # finished or aborted meanwhile
            continue


def _pages(s3: Any, bucket: str, prefix: str) -> Iterator[Mapping[str, Any]]:
    place: dict[str, str] = {}
    while True:
        page = s3.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=prefix, **place)
        yield from (found for found in page.get("Uploads", ()) if found["Key"].startswith(prefix))
        if not page.get("IsTruncated"):
            return
        place = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}


def _prefix(url: str) -> str:
    return urlsplit(url).path.lstrip("/")
