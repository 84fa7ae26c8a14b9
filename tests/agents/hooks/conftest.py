"""A worker whose agent's hooks are called in this process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitworker.agents.hooks.hook_context import HookContext
from gitworker.agents.hooks.respond import acknowledge, respond
from gitworker.agents.hooks.rules_dialects import EVENTS
from gitworker.bus.limits.send_limits import Limits
from gitworker.bus.send import MessageDraft, send
from gitworker.paths import require_repository
from gitworker.processes import jobs
from tests.workers.world import World, without_heartbeat_daemon


@dataclass(frozen=True)
class HookedAgent:
    """The agent of the worker `auth`, with the task `t1`."""

    world: World

    @property
    def worktree(self) -> Path:
        """Return the worker's worktree."""
        return self.world.path("auth")

    def hear(
        self, event: str, *, is_supervised: bool = False, hands_in: bool = False, given: bytes = b""
    ) -> str:
        """Call a hook and return its text; the agent has read it then."""
        session = self.world.session()
        context = HookContext(
            "auth", require_repository(str(self.worktree)), session.store, session.paths,
            open_session=lambda: self.world.session(self.worktree, "auth"), lease_ms=60_000,
            is_supervised=is_supervised, hands_in=hands_in, given=given,
        )  # fmt: skip
        answer = respond(context, EVENTS[event])
        assert answer is not None
        acknowledge(context, answer)
        for job in list(jobs._started):  # the job that begins the work
            assert jobs.wait_job(job) == 0
        return answer.text

    def write(self, text: str, *, to: str | None = "auth", task: str | None = None) -> None:
        """Send a text as `hq`, to all about a task if `to` is None."""
        session = self.world.session()
        draft = MessageDraft("x-note", f'{{"text": "{text}"}}', to=to)
        send(
            session.store, draft, sender="hq", task=task, blobs=session.paths.blobs,
            limits=Limits(),
        )  # fmt: skip

    @property
    def status(self) -> str | None:
        """Return the status in the last heartbeat."""
        rows = self.world.query("SELECT status FROM heartbeats WHERE agent_id = 'auth'")
        return str(rows[0][0]) if rows else None


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookedAgent]:
    """Return the agent of a worker that is ASSIGNED."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1", text="Add the form")
    with without_heartbeat_daemon(world):
        yield HookedAgent(world)
        world.require_sound()
