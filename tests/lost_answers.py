"""Stand between a client and PostgreSQL, and lose what a test wants lost."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Trouble:
    """What the proxy is to do to the next COMMIT, and whether it has."""

    def __init__(self, lose: str | None) -> None:
        self._lose = lose
        self._armed = False
        self._open: list[socket.socket] = []
        self.happened = False

    def start(self) -> None:
        """Lose the next COMMIT, or its answer; once."""
        self._armed = True

    def cut(self) -> None:
        """Cut every connection that is open."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def serve(self, client: socket.socket, upstream: tuple[str, int]) -> None:
        """Carry bytes both ways until one side ends, or the trouble comes."""
        self._open.append(client)
        with client, socket.create_connection(upstream) as server, suppress(OSError):
            lost = False
            while True:
                ready, _, _ = select.select([client, server], [], [])
                for one in ready:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    if one is client and self._armed and b"COMMIT\x00" in data:
                        self._armed, self.happened = False, True
                        if self._lose == "request":
                            return
                        lost = True
                    if one is server and lost:
                        return  # the server has committed, and the client never hears of it
                    (server if one is client else client).sendall(data)


@contextmanager
def proxy(url: str, *, lose: str | None = None) -> Iterator[tuple[str, Trouble]]:
    """Hand out a URL that leads through the proxy, and what controls it."""
    parts = urlsplit(url)
    trouble = Trouble(lose)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        upstream = (str(parts.hostname), int(parts.port or 5432))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    work = threading.Thread(
                        target=trouble.serve, args=(client, upstream), daemon=True
                    )
                    work.start()

        threading.Thread(target=accept, daemon=True).start()
        port = listener.getsockname()[1]
        yield url.replace(f":{parts.port}", f":{port}", 1), trouble
        listener.shutdown(socket.SHUT_RDWR)
        trouble.cut()
