"""One run of an agent that speaks ACP: session, prompt, messages as further prompts, cancel."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES
from acp.schema import ClientCapabilities, EnvVariable, Implementation, McpServerStdio

from gitworker import __version__, proc
from gitworker.acp.client import WorkerClient
from gitworker.acp.rules_permission import parse_policy
from gitworker.acp.worker_side import Desk

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp import Client
    from acp.client.connection import ClientSideConnection

    Emit = Callable[[dict[str, Any]], None]

STOPPED = 143
CANCEL_S = 3.0  # for so long a cancelled turn may take
END_S = 1.0  # for so long the agent may live after its input has ended
TASK_TEXT = "\n\nThis is a new session. `git worker task text` prints the text of your task."
PASSED = ("PATH", "HOME")  # and all GITWORKER_… to our MCP server


class AcpRequest(NamedTuple):
    """An agent's command with the prompt; the session that it continues, its mode, the policy."""

    command: list[str]
    prompt: str
    worker: str
    session: str | None = None
    mode: str | None = None
    policy: tuple[str, ...] = ()


def run_agent(request: AcpRequest, emit: Emit) -> int:
    """Run an agent until it has answered the prompt and all messages; return the exit status."""
    import logging  # with the library

    logging.disable()  # it reports each line that is not of the protocol
    return asyncio.run(_run(request, emit))


async def _run(request: AcpRequest, emit: Emit) -> int:
    pid, to_agent, from_agent = proc.spawn_piped(request.command)
    client = WorkerClient(
        Desk(os.getcwd(), request.worker, request.prompt), parse_policy(request.policy), emit=emit,
        in_thread=asyncio.to_thread,
    )  # fmt: skip
    connection, writer = await _connect(client, to_agent, from_agent)
    run = _Run(connection, client, request, emit)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, lambda: asyncio.ensure_future(run.cancel(task)))
    try:
        return await run.work()
    except RequestError as error:
        emit({"type": "error", "message": _words(error)})
        return 1
    except ConnectionError:
        emit({"type": "error", "message": "the agent has ended in the middle of its work"})
        return 1
    except asyncio.CancelledError:
        return STOPPED
    finally:
        writer.close()
        await _end(pid)
        await connection.close()


class _Run:
    """The course of one run; `cancel` ends it from a signal."""

    def __init__(
        self, connection: ClientSideConnection, client: WorkerClient, request: AcpRequest,
        emit: Emit,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._client = client
        self._request = request
        self._emit = emit
        self._session: str | None = None
        self._is_stopped = False

    async def work(self) -> int:
        """Open the session and send prompts as long as there are any; return the exit status."""
        prompt = self._request.prompt
        if not await self._open_session():
            prompt += TASK_TEXT
        upto: int | None = None
        while prompt:
            status = await self._turn(prompt)
            if status:
                return status
            await asyncio.to_thread(self._client.desk.ack, upto)
            prompt, upto = await asyncio.to_thread(self._client.desk.mail)
            if prompt:
                self._emit({"type": "prompt", "text": prompt})
        return 0

    async def cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancel the turn, and end the run if the agent does not."""
        self._client.stop()
        if self._session is not None and not self._is_stopped:
            self._is_stopped = True
            with suppress(ConnectionError, RequestError):
                await self._connection.cancel(session_id=self._session)
            await asyncio.sleep(CANCEL_S)
        task.cancel()

    async def _open_session(self) -> bool:
        """Begin or load a session; return whether the agent knows the task already or needs not."""
        ready = await self._connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="gitworker", version=__version__),
        )
        place: dict[str, Any] = {"cwd": os.getcwd(), "mcp_servers": _servers()}
        wanted, capabilities = self._request.session, ready.agent_capabilities
        loaded = None
        if wanted is not None and capabilities is not None and capabilities.load_session:
            self._client.is_silent = True
            with suppress(RequestError):  # it does not have this session any more
                loaded = await self._connection.load_session(session_id=wanted, **place)
            self._client.is_silent = False
        if loaded is not None and wanted is not None:
            self._session = wanted
        else:
            self._session = (await self._connection.new_session(**place)).session_id
        self._emit({"type": "session", "session": self._session})
        if self._request.mode:
            await self._connection.set_session_mode(
                session_id=self._session, mode_id=self._request.mode
            )
        return wanted is None or loaded is not None

    async def _turn(self, prompt: str) -> int:
        """Send a prompt and wait for the end of the turn; return 0, or the status of a failure."""
        assert self._session is not None
        answer = await self._connection.prompt(
            session_id=self._session, prompt=[text_block(prompt)]
        )
        usage = answer.usage.model_dump(mode="json", by_alias=True) if answer.usage else None
        self._emit({"type": "turn", "reason": answer.stop_reason, "usage": usage})
        if answer.stop_reason == "cancelled" or self._is_stopped:
            return STOPPED
        return 0 if answer.stop_reason == "end_turn" else 1


async def _connect(
    client: WorkerClient, to_agent: int, from_agent: int
) -> tuple[ClientSideConnection, asyncio.StreamWriter]:
    """Return the connection over an agent's pipes, and the writer that its input hangs on."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_agent, "rb", 0)
    )
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(to_agent, "wb", 0),
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return connect_to_agent(cast("Client", client), writer, reader), writer


def _servers() -> list[McpServerStdio]:
    """Return our MCP server for the agent, if our program's path is known."""
    program = os.environ.get("GITWORKER")
    if not program:
        return []
    env = [
        EnvVariable(name=name, value=value)
        for name, value in os.environ.items()
        if name in PASSED or name.startswith("GITWORKER")
    ]
    return [McpServerStdio(name="gw", command=program, args=["mcp"], env=env)]


def _words(error: RequestError) -> str:
    """Return an error of the agent in words; details are often in its data."""
    data = error.data
    details = data.get("details") or data.get("message") if isinstance(data, dict) else data
    return f"{error}: {details}" if details else str(error)


async def _end(pid: int) -> None:
    """End the agent's process: some outlive the end of their input, and TERM."""
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        for _ in range(int(END_S / 0.05)):
            with suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return
            await asyncio.sleep(0.05)
