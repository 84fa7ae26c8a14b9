"""The server: binds loopback or a socket, and runs until it is interrupted."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gitworker.errors import Refused, Unavailable
from gitworker.model.ids import HQ
from gitworker.web.access import Access
from gitworker.web.app import make_app
from gitworker.web.jobs import Jobs
from gitworker.web.live import Hub
from gitworker.web.request import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from gitworker.service import Service

ADDRESS = "127.0.0.1"
REQUEST_WITHIN_S = 10.0
HEADERS_AT_MOST = 32 * 1024
CONNECTIONS_AT_MOST = 256


class _BoundedProtocol(H11Protocol):
    """Closes a connection whose first request does not arrive in time; uvicorn has no such limit.

    After a request, `timeout_keep_alive` bounds the wait for the next one.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the request."""
        super().connection_made(transport)
        self._expiry = self.loop.call_later(REQUEST_WITHIN_S, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait."""
        self._expiry.cancel()
        super().connection_lost(exc)

    def _expire(self) -> None:
        if getattr(self, "cycle", None) is None:
            self.transport.close()


class _Server(uvicorn.Server):
    """Sleeps until it has work to do; uvicorn's own loop looks ten times a second for its end."""

    _loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Wait for an interrupt."""
        self._is_over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._is_over.wait()
        import logging  # uvicorn has imported it

        logging.getLogger("uvicorn.error").disabled = True  # it calls a stream that ends an error

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the wait, as the handler of a signal."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._is_over.set)


def serve(
    service: Service,
    announce: Callable[[str], None],
    *,
    port: int = 0,
    path: str | None = None,
) -> None:
    """Serve until an interrupt; `announce` receives the address with its token once it is open.

    Without `port` a free one is taken; with `path` a socket of that name is made instead. Raises
    Refused for a worker, Unavailable for a port or path that cannot be bound.
    """
    reader = service.reader()
    if reader.identity != HQ:
        raise Refused("the page acts for a person, so a worker cannot serve it; use --as hq")
    access, hub = Access(), Hub(service)
    listener = _bind_path(path) if path is not None else _bind_port(port)
    try:
        hub.start()
    except BaseException:
        _unbind(listener, path)
        raise
    own_port = None if path is not None else int(listener.getsockname()[1])
    address = "http://localhost:8080" if own_port is None else f"http://{ADDRESS}:{own_port}"
    site = Site(service, hub, Jobs(lambda: hub.announce("notice")), access, reader, address)
    cookie = f"gitworker-{own_port or 'socket'}"  # cookies of one host are shared by its ports
    app: Any = make_app(site, port=own_port, cookie=cookie)
    config = uvicorn.Config(
        app, http=_BoundedProtocol, ws="none", lifespan="on", log_config=None, access_log=False,
        server_header=False, date_header=False, proxy_headers=False, timeout_keep_alive=30,
        limit_concurrency=CONNECTIONS_AT_MOST, timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=HEADERS_AT_MOST,
    )  # fmt: skip
    announce(f"{address}/open?token={access.new_token()}")
    try:
        _Server(config).run(sockets=[listener])
    finally:
        site.jobs.close()
        _unbind(listener, path)


def _unbind(listener: socket.socket, path: str | None) -> None:
    listener.close()
    if path is not None:
        with suppress(FileNotFoundError):  # another program has removed it
            os.unlink(path)


def _bind_port(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        raise Unavailable(f"port {port} of {ADDRESS} cannot be used: {error.strerror}") from error
    listener.listen()
    return listener


def _bind_path(path: str) -> socket.socket:
    """Return a socket that only its user can connect to; a stale one of that name is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_stale(path):
            os.unlink(path)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
    except OSError as error:
        listener.close()
        raise Unavailable(f"{path} cannot be bound: {error.strerror}") from error
    listener.listen()
    return listener


def _is_stale(path: str) -> bool:
    """Return whether a path is a socket that no server listens on."""
    if not os.path.lexists(path) or not stat.S_ISSOCK(os.lstat(path).st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == errno.ECONNREFUSED
