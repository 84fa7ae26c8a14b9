"""A bare remote that the target lands on, another clone of it, and its possible failures."""

import base64
import http.server
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures.repos import Repo
from gitworker.branches.remote import Remote, open_remote
from gitworker.model.ids import Oid
from tests.workers.world import World, wait_until


@dataclass(frozen=True)
class Upstream:
    """A world whose target lands on the remote `up`."""

    world: World
    bare: Repo

    @classmethod
    def make(cls, world: World) -> "Upstream":
        """Give a world a remote that has its target."""
        bare = Repo.make(world.root.parent / "up.git", "--bare", "-b", "main")
        world.git("remote", "add", "up", str(bare.root))
        world.git("push", "-q", "up", "main")
        world.git("config", "worker.merge.remote", "up")
        return cls(world, bare)

    @property
    def tip(self) -> str:
        """Return the commit of the target on the remote."""
        return self.bare.head("main")

    def remote(self) -> Remote:
        """Open the remote as a landing does."""
        remote = open_remote(self.world.session())
        assert remote is not None
        return remote

    def commit(self, message: str = "Ours", parent: str = "up/main") -> Oid:
        """Write a commit on top of another, with no ref to it."""
        tree = f"{parent}^{{tree}}"
        return Oid(self.world.git("commit-tree", "-p", parent, "-m", message, tree))

    def other(self) -> Repo:
        """Return another clone, fresh."""
        place = self.world.root.parent / "other"
        if not place.exists():
            self.world.git("clone", "-q", str(self.bare.root), str(place))
        Repo(place).git("pull", "-q", "--rebase")
        return Repo(place)

    def theirs(self, name: str = "theirs") -> str:
        """Push a commit by another user and return it."""
        other = self.other()
        tip = other.commit(f"By {name}", {name: f"{name}\n"})
        other.git("push", "-q")
        return tip

    def hook(self, name: str, script: str, *, where: Path | None = None) -> None:
        """Write a hook of the remote's, or of another repository's."""
        path = (where or self.bare.root) / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def require_program(name: str) -> None:
    """Skip the test if this git was unpacked without one of its programs, or its libraries."""
    folder = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True)
    path = Path(folder.stdout.strip(), name)
    if path.exists():
        options = {"check": False, "capture_output": True, "stdin": subprocess.DEVNULL}
        tried = subprocess.run([path, "--no-such-option"], **options)  # type: ignore[call-overload]
    if not path.exists() or b"required by" in tried.stderr:
        pytest.skip(f"this git has no {name} that runs here")


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """Give the address of a `git daemon` that serves the repositories of a folder."""
    require_program("git-daemon")
    daemon, port = _start_daemon(folder, options)
    while daemon.poll() is not None:  # another process took the port meanwhile
        daemon, port = _start_daemon(folder, options)
    try:
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait()


def _start_daemon(folder: Path, options: tuple[str, ...]) -> "tuple[subprocess.Popen[bytes], int]":
    """Start a `git daemon` at a port that is free; return it once it answers, or has ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = subprocess.Popen(
        [
            "git", "daemon", "--listen=127.0.0.1", f"--port={port}", f"--base-path={folder}",
            "--export-all", "--reuseaddr", *options,
        ],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    wait_until(lambda: daemon.poll() is not None or _answers(port))
    return daemon, port


def _answers(port: int) -> bool:
    with socket.socket() as client:
        if client.connect_ex(("127.0.0.1", port)):
            return False
        return bool(client.getsockname() != client.getpeername())  # nor is it we ourselves


@contextmanager
def guarded(folder: Path, *, password: str) -> Iterator[str]:
    """Give the address of a web server that shows a repository's files to user and password."""
    require_program("git-remote-http")
    wanted = base64.b64encode(f"{password}:{password}".encode()).decode()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def do_GET(self) -> None:
            if self.headers["Authorization"] == f"Basic {wanted}":
                super().do_GET()
                return
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with _listening(Handler) as address:
        yield address


@contextmanager
def answering(status: int, headers: dict[str, str]) -> Iterator[str]:
    """Give the address of a web server that answers everything with one status."""
    require_program("git-remote-http")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with _listening(Handler) as address:
        yield f"{address}/repo.git"


@contextmanager
def _listening(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Give the address of a web server on the loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
