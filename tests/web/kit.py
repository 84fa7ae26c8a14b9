"""The page in a process of its own, and a client that sends requests as a browser does."""

import os
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlencode

from tests.workers.world import World

DEADLINE_S = 30
FORM = "application/x-www-form-urlencoded"
CSRF = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass(frozen=True)
class Answer:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Page:
    """A server and the session of one browser; `address` is the printed one."""

    process: "subprocess.Popen[str]"
    address: str
    port: int
    cookie: str = ""
    csrf: str = ""
    base: Mapping[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Return the page's own origin."""
        return f"http://127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, *, body: bytes | None = None, **headers: str | None
    ) -> Answer:
        """Send one request with these headers; None leaves a usual one out."""
        usual = {"cookie": self.cookie, "host": f"127.0.0.1:{self.port}"}
        if method == "POST":
            usual |= {"origin": self.origin, "content-type": FORM}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        wanted = {name: value for name, value in (usual | given).items() if value is not None}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in wanted.items():
                connection.putheader(name, value)
            if body is not None and "content-length" not in wanted:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read().decode("utf-8"))

    def see(self, path: str) -> str:
        """Return a page that must be shown."""
        answer = self.send("GET", path)
        assert answer.status == 200, (path, answer.status, answer.text)
        return answer.text

    def press(self, path: str, /, **fields: str) -> Answer:
        """Make a change as a button of the page does."""
        body = urlencode({"csrf": self.csrf, **fields}).encode()
        return self.send("POST", path, body=body, hx_request="true")

    def open_session(self) -> None:
        """Open the printed address, and take the token of the forms from a page."""
        answer = self.send("GET", self.address.partition(f":{self.port}")[2], cookie=None)
        assert answer.status == 200, answer
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        found = CSRF.search(self.see("/settings"))
        assert found is not None
        self.csrf = found[1]

    @contextmanager
    def raw(self) -> Iterator[socket.socket]:
        """Connect without a request."""
        with closing(socket.create_connection(("127.0.0.1", self.port), DEADLINE_S)) as found:
            yield found


class Events:
    """A stream of server-sent events; each is read with a deadline."""

    def __init__(self, page: Page, path: str, **headers: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", page.port, timeout=DEADLINE_S)
        fixed = {"Cookie": page.cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}
        self._connection.request("GET", path, headers=fixed)
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.status

    def next(self, kind: str) -> dict[str, str]:
        """Return the fields of the next event of a kind."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            fields = self._read()
            if fields.get("event") == kind:
                return fields
        raise AssertionError(f"no event {kind}")

    def is_silent(self, seconds: float) -> bool:
        """Return whether nothing comes for some time."""
        assert self._connection.sock is not None
        return not select.select([self._connection.sock], [], [], seconds)[0]

    def close(self) -> None:
        """End the stream."""
        self._response.close()
        self._connection.close()

    def _read(self) -> dict[str, str]:
        fields: dict[str, str] = {}
        while line := self._response.readline().decode("utf-8").rstrip("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        return fields


@contextmanager
def started(world: World, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `git-worker web` until the block ends."""
    process = subprocess.Popen(
        ["git-worker", "web", "--no-open", *options], cwd=world.root, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ),
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


@contextmanager
def serving(world: World, *options: str) -> Iterator[Page]:
    """Run the page and open a session."""
    with started(world, *options) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(process.communicate()[1])
        found = re.search(r":(\d+)/", address)
        assert found is not None, address
        page = Page(process, address, int(found[1]))
        page.open_session()
        yield page
