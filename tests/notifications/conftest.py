"""A world, and a server on loopback that receives notifications as JSON."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.workers.conftest import world as world
from tests.workers.world import World

SECRET = "pa55word"


@dataclass
class Receiver:
    """What arrived, as (path, title, message), and the status of the next answers."""

    port: int = 0
    status: int = 200
    arrived: list[tuple[str, str, str]] = field(default_factory=list)

    def url(self, path: str = "all") -> str:
        """Return the URL of a target, with a password in it."""
        return f"json://ada:{SECRET}@127.0.0.1:{self.port}/{path}"

    @property
    def titles(self) -> list[str]:
        """Return the titles that arrived, without the name of the repository."""
        return [title.partition(": ")[2] for _, title, _ in self.arrived]


@pytest.fixture
def receiver(world: World) -> Iterator[Receiver]:
    """Return a running server that is the target of all notifications."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if found.status == 200:
                found.arrived.append((self.path, body["title"], body["message"]))
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, format: str, *words: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    world.git("config", "worker.notify.urls", found.url())
    yield found
    server.shutdown()
    thread.join()
    server.server_close()
