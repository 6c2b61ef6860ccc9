"""Where published objects lie: a web server, an S3-compatible store, or a folder; one way to open an object of each."""

import contextlib
import http.client
import ipaddress
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from assay.errors import AssayError
from assay.names import shown

CHUNK = 1 << 20
_REDIRECTS = 5
_CONNECTIONS = 32
_TIMEOUT = urllib3.Timeout(connect=10.0, read=30.0)
# What a server may answer for a while; anything else of 400 and above it will answer again.
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class TransientError(Exception):
    """A fault that may be gone at the next try; `seconds` is how long the server asks to wait, else null."""

    def __init__(self, words: str, seconds: float | None = None) -> None:
        """Keep the sentence and the wait."""
        super().__init__(words)
        self.seconds = seconds


class MissingError(Exception):
    """The object is not there, or not for everybody."""


@dataclass
class Body:
    """An opened object: what is left of it from `offset` on.

    `size` is the whole object's, null when the server does not say. `validator` names this version of the object
    (entity tag, else time of change), `sha256` is what the store has noted beside it, each null where there is none.
    `unchanged` says that the version asked about is still the one.
    """

    chunks: Iterator[bytes]
    offset: int = 0
    size: int | None = None
    validator: str | None = None
    sha256: str | None = None
    unchanged: bool = False


class Store(Protocol):
    """Opens objects."""

    def open(
        self, address: str, offset: int = 0, validator: str | None = None
    ) -> contextlib.AbstractContextManager[Body]:
        """Open an object.

        With an `offset` its end from there on, if it still is the version that `validator` names, else the whole of it;
        with a validator and no offset only what differs from that version. Raises `TransientError`, `MissingError`,
        `AssayError`.
        """
        ...


class FolderStore:
    """A local folder with the published layout."""

    def __init__(self, root: Path) -> None:
        """Refuse what is no folder."""
        if not root.is_dir():
            raise AssayError(f"the base {shown(root)} is not a folder")
        self._root = root.resolve()

    def keys(self, prefix: str) -> list[tuple[str, int]]:
        """Files below a sub-folder with their sizes, in order."""
        files = (path for path in (self._root / prefix).rglob("*") if path.is_file())
        return sorted((path.relative_to(self._root).as_posix(), path.stat().st_size) for path in files)

    @contextlib.contextmanager
    def open(self, address: str, offset: int = 0, validator: str | None = None) -> Iterator[Body]:
        """Open a file below the folder."""
        path = (self._root / _key_of(address)).resolve()
        if not path.is_relative_to(self._root) or not path.is_file():
            raise MissingError(f"{shown(address)} is not below {shown(self._root)}")
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            version = f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"
            same = version == validator
            if same and not offset:
                yield Body(iter(()), 0, status.st_size, version, unchanged=True)
                return
            begin = offset if same else 0
            file.seek(begin)
            yield Body(iter(lambda: file.read(CHUNK), b""), begin, status.st_size, version)


class WebStore:
    """A web server. Redirects lead only to web addresses, never to a less safe scheme or into a private network."""

    def __init__(self, base: str, token: str | None = None) -> None:
        """`base` is the address that the user typed, and its host is trusted; a token goes to that host alone."""
        self.base = base if base.endswith("/") else f"{base}/"
        self._trusted = _host(self.base)
        self._token = token
        self._pools: dict[str | None, urllib3.PoolManager] = {}

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.clear()

    @contextlib.contextmanager
    def open(self, address: str, offset: int = 0, validator: str | None = None) -> Iterator[Body]:
        """Open a URL, or a key below the base."""
        url = address if "://" in address else self.base + quote(address.lstrip("/"), safe="/:@+=")
        # A body is taken as it is on the wire, so that no answer can unfold to more than it announces.
        headers = {"Accept-Encoding": "identity", "User-Agent": "assay-harvest"}
        if offset and validator:
            headers |= {"Range": f"bytes={offset}-", "If-Range": _tag(validator)}
        elif validator and validator.startswith(('"', "W/")):
            headers |= {"If-None-Match": validator}
        elif validator:
            headers |= {"If-Modified-Since": validator}
        try:
            with self._answer(url, headers) as response:
                yield _body(response, url, validator)
        except (urllib3.exceptions.LocationValueError, UnicodeError) as error:
            raise AssayError(f"{shown(url)} is no address to fetch from: {shown(error)}") from None
        except (urllib3.exceptions.HTTPError, http.client.HTTPException) as error:
            raise TransientError(f"{shown(url)}: {type(error).__name__}: {shown(error)[:200]}") from None

    @contextlib.contextmanager
    def _answer(self, url: str, headers: dict[str, str]) -> Iterator[Any]:
        for _ in range(_REDIRECTS + 1):
            self._check_host(url)
            own = {"Authorization": f"Bearer {self._token}"} if self._token and _host(url) == self._trusted else {}
            proxy = _proxy_of(url)
            response = self._pool(proxy).request(
                "GET", url, headers={**headers, **own}, preload_content=False, decode_content=False, redirect=False,
                retries=False, timeout=_TIMEOUT,
            )  # fmt: skip
            try:
                if proxy is None:
                    self._check_peer(url, response)
                if response.status not in (301, 302, 303, 307, 308):
                    yield response
                    return
                target = urljoin(url, response.headers.get("location", ""))
            finally:
                _leave(response)
            if urlsplit(target).scheme not in ("http", "https") or (
                urlsplit(url).scheme == "https" and urlsplit(target).scheme == "http"
            ):
                raise AssayError(
                    f"{shown(url)} redirects to {shown(target)}: only https, or http from http, is followed"
                )
            url = target
        raise AssayError(f"{shown(url)} redirects more than {_REDIRECTS} times")

    def _check_host(self, url: str) -> None:
        """Refuse a host that is named by a listing or a redirect and lies in a private network."""
        if _host(url) == self._trusted:
            return
        name, port = urlsplit(url).hostname or "", urlsplit(url).port or 443
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise TransientError(f"{shown(name)} is not known: {error.strerror or error}") from None
        for address in {str(entry[4][0]) for entry in found}:
            _refuse_private(url, address)

    def _check_peer(self, url: str, response: Any) -> None:
        """The name may have led elsewhere when the connection was made: look at where it really goes."""
        socket_ = getattr(response.connection, "sock", None)
        if _host(url) != self._trusted and socket_ is not None:
            _refuse_private(url, str(socket_.getpeername()[0]))

    def _pool(self, proxy: str | None) -> urllib3.PoolManager:
        if proxy not in self._pools:
            kept: Any = {"num_pools": 8, "maxsize": _CONNECTIONS}
            self._pools[proxy] = urllib3.ProxyManager(proxy, **kept) if proxy else urllib3.PoolManager(**kept)
        return self._pools[proxy]


class BucketStore:
    """An S3-compatible bucket, `s3://bucket/prefix`; read without credentials unless the environment has some."""

    def __init__(self, base: str, endpoint: str | None) -> None:
        """Raises `AssayError` where the extra is not installed or the address is none."""
        try:
            from obstore.store import S3Store
        except ImportError:
            raise AssayError("an s3 base needs the extra `harvest`: pip install 'assay[harvest]'") from None
        parts = urlsplit(base)
        if not parts.netloc:
            raise AssayError(f"{shown(base)} names no bucket: write s3://bucket or s3://bucket/prefix")
        settings: dict[str, Any] = {
            "region": os.environ.get("AWS_REGION", "us-east-1"),
            "virtual_hosted_style_request": False,
        }
        if endpoint:
            settings |= {"endpoint": endpoint}
        if "AWS_ACCESS_KEY_ID" not in os.environ:
            settings |= {"skip_signature": True}
        client: Any = {"allow_http": bool(endpoint and endpoint.startswith("http://")), "timeout": "60s"}
        # Retries are ours, so that every store has the same.
        retry: Any = {"max_retries": 0}
        self._prefix = parts.path.strip("/")
        self._store = S3Store(parts.netloc, client_options=client, retry_config=retry, **settings)

    def keys(self, prefix: str) -> list[tuple[str, int]]:
        """Keys below a prefix with their sizes, in order."""
        import obstore
        from obstore.exceptions import BaseError

        begin = "/".join(part for part in (self._prefix, prefix) if part)
        try:
            found = [
                (str(meta["path"]), int(meta["size"])) for page in obstore.list(self._store, begin) for meta in page
            ]
        except BaseError as error:
            raise AssayError(f"{shown(begin)} cannot be listed: {shown(error)[:200]}") from None
        return sorted((key.removeprefix(self._prefix).lstrip("/"), size) for key, size in found)

    @contextlib.contextmanager
    def open(self, address: str, offset: int = 0, validator: str | None = None) -> Iterator[Body]:
        """Open a key below the prefix."""
        import obstore
        from obstore.exceptions import (
            BaseError,
            NotFoundError,
            NotModifiedError,
            PermissionDeniedError,
            PreconditionError,
        )

        key = "/".join(part for part in (self._prefix, _key_of(address)) if part)
        options: Any = {}
        if offset and validator:
            options = {"range": {"offset": offset}, "if_match": validator}
        elif validator:
            options = {"if_none_match": validator}
        try:
            try:
                found = obstore.get(self._store, key, options=options)
            except PreconditionError:
                offset, found = 0, obstore.get(self._store, key)
            begin = found.range[0] if offset and validator else 0
            chunks = (bytes(chunk) for chunk in found.stream(min_chunk_size=CHUNK))
            stated = _hexadecimal(found.attributes.get("sha256"))
            yield Body(chunks, begin, found.meta["size"], found.meta.get("e_tag"), stated)
        except NotModifiedError:
            yield Body(iter(()), validator=validator, unchanged=True)
        except (NotFoundError, PermissionDeniedError, FileNotFoundError, PermissionError) as error:
            raise MissingError(f"{shown(key)}: {shown(error).splitlines()[0]}") from None
        except BaseError as error:
            raise TransientError(f"{shown(key)}: {shown(error)[:200]}") from None


def store_of(base: str, endpoint: str | None = None, token: str | None = None) -> Store:
    """The store that a base address names."""
    scheme = urlsplit(base).scheme
    if scheme in ("http", "https"):
        return WebStore(base, token)
    if scheme == "s3":
        return BucketStore(base, endpoint)
    if scheme not in ("", "file"):
        raise AssayError(f"{shown(base)} is no base: name an http, https or s3 address, or a folder")
    return FolderStore(Path(urlsplit(base).path if scheme == "file" else base))


def _body(response: Any, url: str, validator: str | None) -> Body:
    status, headers = response.status, response.headers
    if status == 304:
        return Body(iter(()), validator=validator, unchanged=True)
    if status in _PASSING:
        raise TransientError(f"{shown(url)} answered {status}", _seconds(headers.get("retry-after")))
    if status >= 400 or status not in (200, 206):
        raise MissingError(f"{shown(url)} answered {status}")
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise AssayError(f"{shown(url)} is sent compressed although it was asked for as it is")
    tag = headers.get("etag") or headers.get("last-modified")
    length = _number(headers.get("content-length"))
    begin, size = 0, length
    if status == 206:
        span, _, whole = headers.get("content-range", "").removeprefix("bytes ").partition("/")
        begin, size = _number(span.partition("-")[0]) or 0, _number(whole)
    return Body(_pieces(response), begin, size, tag, _hexadecimal(headers.get("x-amz-meta-sha256")))


def _pieces(response: Any) -> Iterator[bytes]:
    """What has arrived, piece by piece: a body that is cut off gives all that came before the cut."""
    while piece := response.read1(CHUNK, decode_content=False):
        yield piece


def _leave(response: Any) -> None:
    """Give a connection back when its body has been read, else close it: the rest is not waited for."""
    if response.length_remaining == 0:
        response.drain_conn()
        response.release_conn()
    else:
        response.close()


def _proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL, null where it names none."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def _key_of(address: str) -> str:
    """The key of an address in a mirror: a URL's path, without the slash before it."""
    return urlsplit(address).path.lstrip("/") if "://" in address else address


def _host(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)


def _refuse_private(url: str, address: str) -> None:
    if not ipaddress.ip_address(address.partition("%")[0]).is_global:
        raise AssayError(
            f"{shown(url)} leads to {address}, which is no public address: only the base itself may be private"
        )


def _tag(validator: str) -> str:
    # A weak tag names no bytes: such a body is fetched whole again.
    return '""' if validator.startswith("W/") else validator


def _hexadecimal(text: object) -> str | None:
    """A SHA-256 as its 64 digits, whether or not the name of the hash stands before them."""
    digits = str(text).removeprefix("sha256:")
    return digits if len(digits) == 64 and set(digits) <= set("0123456789abcdef") else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def _seconds(text: str | None) -> float | None:
    number = _number(text)
    return None if number is None else float(number)
