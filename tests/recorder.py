"""Stand between a client and a server: count the requests, or answer in a server's place."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked for."""

    method: str
    path: str
    headers: Message
    bytes: int


@dataclass(frozen=True, slots=True)
class Recorder:
    """An endpoint, and what was asked of it so far."""

    endpoint: str
    requests: list[Request] = field(default_factory=list)

    def take(self) -> list[str]:
        """Return the methods that were asked since the last time, and forget them."""
        methods = [request.method for request in self.requests]
        self.requests.clear()
        return methods


@contextmanager
def recording(endpoint: str) -> Iterator[Recorder]:
    """Pass every request on to a server, and record it."""
    upstream = urlsplit(endpoint).netloc

    def forward(
        request: Request, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes, str | None]:
        connection = http.client.HTTPConnection(upstream, timeout=30)
        try:
            connection.request(request.method, request.path, body, dict(request.headers.items()))
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, answer.getheaders(), data, answer.getheader("Content-Length")
        finally:
            connection.close()

    with _serving(forward) as recorder:
        yield recorder


@contextmanager
def refusing() -> Iterator[Recorder]:
    """Refuse every request with 403, and say in the answer all that the client sent."""

    def refuse(
        request: Request, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes, str | None]:
        said = "".join(f"{name}: {value}\n" for name, value in request.headers.items())
        text = f"<Error><Code>AccessDenied</Code><Message>{request.path}\n{said}</Message></Error>"
        data = text.encode() + body[:1000]
        return 403, [("Content-Type", "application/xml")], data, str(len(data))

    with _serving(refuse) as recorder:
        yield recorder


@contextmanager
def _serving(answer) -> Iterator[Recorder]:
    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Keep silent about clients that hang up: some tests want just that."""

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            request = Request(self.command, self.path, self.headers, size)
            recorder.requests.append(request)
            status, headers, data, length = answer(request, self.rfile.read(size))
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in {"connection", "content-length", "transfer-encoding"}:
                    self.send_header(name, value)
            shown = length if self.command == "HEAD" and length is not None else str(len(data))
            self.send_header("Content-Length", shown)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815

    server = Server(("127.0.0.1", 0), Answers)
    recorder = Recorder(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
