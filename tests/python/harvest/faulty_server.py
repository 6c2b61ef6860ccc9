"""A real HTTP server of one folder with ranges and entity tags, and with the faults that a test asks for."""

import gzip
import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Fault = tuple[str, int]


@dataclass
class Site:
    """The folder that is served, faults by path (kind, how many times), and what was asked for."""

    root: Path
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    port: int = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def next_fault(self, path: str) -> str:
        self.counts[path] += 1
        left = self.counts[path]
        for kind, times in self.faults.get(path, []):
            if left <= times:
                return kind
            left -= times
        return ""


@contextmanager
def serving(root: Path) -> Iterator[Site]:
    site = Site(root)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            _answer(self, site)

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that hangs up

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def _answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    path = handler.path.partition("?")[0].lstrip("/")
    asked_range = handler.headers.get("Range")
    site.asked.append((path, asked_range, handler.headers.get("If-None-Match")))
    fault = site.next_fault(path)
    if fault.isdigit():
        handler.send_response(int(fault))
        if fault == "429":
            handler.send_header("Retry-After", "0")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    if fault.startswith("redirect "):
        handler.send_response(302)
        handler.send_header("Location", fault.removeprefix("redirect "))
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    file = site.root / path
    if not file.is_file():
        handler.send_response(404)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    data = file.read_bytes()
    tag = f'"{hashlib.md5(data).hexdigest()}"'
    if handler.headers.get("If-None-Match") == tag:
        handler.send_response(304)
        handler.end_headers()
        return
    begin = 0
    found = re.fullmatch(r"bytes=(\d+)-", asked_range or "")
    if found and handler.headers.get("If-Range", tag) == tag and fault != "no range":
        begin = int(found[1])
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
    else:
        handler.send_response(200)
    body = data[begin:]
    if fault == "bomb":
        body = gzip.compress(bytes(1 << 20))
        handler.send_header("Content-Encoding", "gzip")
    announced = {"longer": len(body) + 100, "shorter": max(0, len(body) - 100)}.get(fault, len(body))
    handler.send_header("ETag", tag)
    if fault == "endless":
        handler.send_header("Connection", "close")
        handler.close_connection = True
    else:
        handler.send_header("Content-Length", str(announced))
    handler.end_headers()
    if fault in ("cut", "longer"):
        handler.wfile.write(body[: len(body) // 2])
        handler.close_connection = True
        return
    if fault == "changed":
        handler.wfile.write(body[: len(body) // 2])
        handler.close_connection = True
        file.write_bytes(data.replace(b"old", b"new"))
        return
    if fault == "slow":
        for at in range(0, len(body), max(1, len(body) // 5)):
            handler.wfile.write(body[at : at + max(1, len(body) // 5)])
            handler.wfile.flush()
            time.sleep(0.05)
        return
    if fault == "endless":
        for _ in range(200):
            handler.wfile.write(body)
        return
    handler.wfile.write(body[:announced] if fault == "shorter" else body)
