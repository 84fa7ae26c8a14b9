"""The heartbeats of a supervised agent: a thread of its supervisor, which can pause."""

from __future__ import annotations

from gitworker.bus.files.state_file_heartbeat import update_state_file_heartbeat
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.liveness.heartbeat_thread import ChangeInterval, HeartbeatThread, Report
from gitworker.liveness.life_lock import LifeLock
from gitworker.store.backend import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.agents.adapters.tool_uses import ToolUses
    from gitworker.agents.launch import AgentRun, LaunchContext
    from gitworker.store.api import Store


class RunHeartbeats:
    """Send heartbeats for the agent of a run between `start` and `pause` or `stop`.

    The proof of life is held from the first `start` to `end`, also during a pause. Each heartbeat
    also publishes the agent's tool calls since the last one: a busy bus delays no order to it.
    """

    def __init__(
        self, post: LaunchContext, run: AgentRun, *, every_s: float, tools: ToolUses | None = None
    ) -> None:
        self._paths = post.paths
        self._run = run
        self._every_s = every_s
        self._tools = tools
        self._thread: HeartbeatThread | None = None
        self._store: Store | None = None
        self._proof = LifeLock(post.paths, run.worker)

    def start(self) -> None:
        """Send heartbeats from now on."""
        self._proof.take()
        self._thread = HeartbeatThread(self._open, every_s=self._every_s, on_heartbeat=self._renew)
        self._thread.start()
        self._thread.put(Report(self._run.worker, task=self._run.task))

    def change_interval(self, every_s: float) -> None:
        """Send the heartbeats every `every_s` seconds from now on, also after a pause."""
        if every_s != self._every_s:
            self._every_s = every_s
            if self._thread is not None:
                self._thread.put(ChangeInterval(every_s))

    def pause(self) -> None:
        """Stop the heartbeats and wait until none is in progress: no write of ours is open then."""
        while self._thread is not None:
            self.stop()

    def stop(self) -> None:
        """Stop the heartbeats; wait some seconds for one that is in progress."""
        if self._thread is None:
            return
        self._thread.stop()
        if self._thread.is_alive:
            return
        self._thread = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def end(self) -> None:
        """Stop the heartbeats, and give up the proof of life."""
        self.stop()
        self._proof.release()

    def _open(self) -> Store:
        self._store = open_store(self._paths.database)
        return self._store

    def _renew(self, times: dict[str, int]) -> None:
        self._proof.take()  # the heartbeat daemon may have held it when we began
        for agent, ts_ms in times.items():
            update_state_file_heartbeat(self._paths, agent, ts_ms)
        if self._tools is not None and self._tools.pending[0]:
            self._publish_tools(self._tools)

    def _publish_tools(self, tools: ToolUses) -> None:
        from gitworker.agents.adapters.tool_uses import publish_tool_uses  # loaded with the adapter

        run = self._run
        assert self._store is not None
        with self._store.write(durable=False) as writer:
            number = publish_tool_uses(writer, tools, worker=run.worker, task=run.task, run=run.id)
        tools.settle(number)
        notify_followers(self._paths.bell)
