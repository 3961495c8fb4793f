"""Write objects that appear whole or not at all."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import obstore
from obstore import exceptions

PART = 8 * 1024 * 1024  # what a write holds before it becomes a multipart upload, and each part
UPLOADS = 4  # parts on their way at the same time; with PART, this bounds the memory of a write

Speaking = Callable[[str, str], AbstractContextManager[None]]


def put_new(client: Any, key: str, data: Any, speaking: Speaking) -> None:
    """Write a new object in one request, which the storage refuses if the name is taken."""
    with speaking("write", key):
        obstore.put(client, key, data, mode="create", use_multipart=False)


class ObjectSink:
    """Collect written bytes: a small object goes out whole, a large one in parts."""

    def __init__(self, client: Any, key: str, speaking: Speaking) -> None:
        """Prepare to write one object; nothing is sent before there is a part to send.

        `speaking` translates the storage's errors while something is done to an object.
        """
        self._client = client
        self._key = key
        self._speaking = speaking
        self._held = bytearray()
        self._upload: Any = None
        self._count = 0
        self.closed = False
        self.mode = "wb"

    def write(self, data: Any) -> int:
        """Take bytes; send parts when enough are held."""
        view = memoryview(data).cast("B")
        self._held += view
        self._count += len(view)
        if len(self._held) >= PART:
            self._send()
        return len(view)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._count

    def readable(self) -> bool:
        """Say no."""
        return False

    def seekable(self) -> bool:
        """Say no."""
        return False

    def writable(self) -> bool:
        """Say yes."""
        return True

    def flush(self) -> None:
        """Do nothing: an object appears whole, at the end."""

    def close(self) -> None:
        """Take no more bytes; whether the object appears is the writer's decision."""
        self.closed = True

    def finish(self) -> None:
        """Make the object appear."""
        self.closed = True
        if self._upload is None:
            put_new(self._client, self._key, self._held, self._speaking)
            return
        with self._speaking("write", self._key):
            if self._held:
                self._upload.write(self._held)
            self._upload.close()
        self._upload = None

    def abort(self, reason: BaseException) -> None:
        """Make sure that nothing appears; the reason keeps a note if parts had to stay."""
        self.closed = True
        self._held = bytearray()
        upload, self._upload = self._upload, None
        if upload is None:
            return
        try:
            upload.__exit__(type(reason), reason, None)
        except (exceptions.BaseError, OSError) as error:
            reason.add_note(f"an unfinished upload of {self._key} stays behind: {type(error)}")

    def _send(self) -> None:
        with self._speaking("write", self._key):
            if self._upload is None:
                self._refuse_existing()
                self._upload = obstore.open_writer(
                    self._client, self._key, buffer_size=PART, max_concurrency=UPLOADS
                )
            self._upload.write(self._held)
        self._held = bytearray()

    def _refuse_existing(self) -> None:
        try:
            obstore.head(self._client, self._key)
        except FileNotFoundError:
            return
        raise exceptions.AlreadyExistsError(self._key)
