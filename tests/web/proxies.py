"""Servers in threads: an app, and a proxy that has it below a path, which it `strips` or passes on."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

OF_ONE_CONNECTION = {"connection", "keep-alive", "transfer-encoding"}


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an app on a port of its own; give its address."""
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.should_exit = True
        thread.join()


@contextmanager
def proxy_of(server: str, path: str, *, strips: bool) -> Iterator[str]:
    """Serve `server` below `path` of a port of its own, and nothing beside it; give the address of the latter."""

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            if not self.path.startswith(f"{path}/"):
                self.send_error(404, "Another service is here")
                return
            # One of both may go while a response without an end, such as a stream of events, is passed on.
            connection = http.client.HTTPConnection(urlsplit(server).netloc, timeout=60)
            with closing(connection), suppress(http.client.HTTPException, OSError):
                self.pass_on_by(connection)

        def pass_on_by(self, connection: http.client.HTTPConnection) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection.request(self.command, self.path[len(path) if strips else 0 :], body, dict(self.headers))
            with connection.getresponse() as response:
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in OF_ONE_CONNECTION:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                while self.command != "HEAD" and (part := response.read1(65_536)):
                    self.wfile.write(part)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = pass_on

        def log_message(self, *_: object) -> None:
            """Keep the tests' output free of requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Passing) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{proxy.server_port}"
        finally:
            proxy.shutdown()
