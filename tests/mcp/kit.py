"""A client of a server in this process: it sends lines through a pipe and reads the answers."""

import itertools
import json
import os
import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gitworker.mcp.caller import Caller
from gitworker.mcp.server import Server
from gitworker.mcp.toolbox import Toolbox

DEADLINE_S = 60


class Client:
    """One connection; `closed` stops the server's output, as a client that has died does."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.log: list[str] = []
        self.closed = False
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader, self._writer = os.pipe()
        self._numbers = itertools.count(1)
        caller = Caller(str(directory), {**os.environ, **environment})
        self.server = Server(Toolbox(caller, self.log.append), self._receive)
        self.thread = threading.Thread(target=self.server.serve, args=(self._reader,))
        self.thread.start()

    def send(self, line: bytes) -> None:
        """Send raw bytes."""
        while line:
            line = line[os.write(self._writer, line) :]

    def request(self, method: str, /, **params: Any) -> int:
        """Send a request and return its id."""
        id = next(self._numbers)
        self.message(id=id, method=method, params=params)
        return id

    def message(self, **fields: Any) -> None:
        """Send one message."""
        self.send(json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n")

    def answer(self) -> dict[str, Any]:
        """Return the next message of the server."""
        return self._answers.get(timeout=DEADLINE_S)

    def ask(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Send a request and return the answer to it."""
        id = self.request(method, **params)
        answer = self.answer()
        assert answer["id"] == id
        return answer

    def begin(self, name: str, /, **arguments: Any) -> int:
        """Send a tool's call and return its id."""
        return self.request("tools/call", name=name, arguments=arguments)

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool and return its data; fail the test if it fails."""
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        assert result["isError"] is False, result
        assert result["content"][0]["text"]
        return result["structuredContent"]

    def fail(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that fails and return its error."""
        result = self.ask("tools/call", name=name, arguments=arguments)["result"]
        assert result["isError"] is True, result
        error: dict[str, Any] = result["structuredContent"]["error"]
        text = result["content"][0]["text"]
        assert error["message"] in text
        assert f"code: {error['code']}" in text
        assert "Traceback" not in text
        return error

    def names(self) -> list[str]:
        """Return the names of the offered tools."""
        return [tool["name"] for tool in self.ask("tools/list")["result"]["tools"]]

    def close(self) -> None:
        """End the input and wait for the server."""
        os.close(self._writer)
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()
        os.close(self._reader)

    @property
    def is_silent(self) -> bool:
        """Return whether no answer is waiting to be read."""
        return self._answers.empty()

    def _receive(self, line: bytes) -> None:
        if self.closed:
            raise BrokenPipeError
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        self._answers.put(json.loads(line))


@contextmanager
def connected(directory: Path, **environment: str) -> Iterator[Client]:
    """Yield a client of a server in this directory; no answer may be left unread."""
    client = Client(directory, environment)
    try:
        yield client
    finally:
        client.close()
    assert client.is_silent
