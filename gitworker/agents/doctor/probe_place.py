"""The throw-away repository of the probes: a worktree and a bus as those of a worker, then nothing.

It is in the state directory, on the file system of the real worktrees: sandboxes open /tmp to every
program, so a probe there would prove nothing.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from gitworker import clock, proc
from gitworker.agents.doctor.rules_problems import SANDBOX, SHELL, ProbeResult, Probes
from gitworker.app import open_session
from gitworker.errors import Unavailable
from gitworker.repo.hooks.worker_alias import ALIAS, alias_value
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV
from gitworker.store.messages.mailbox import newest_seq

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitworker.agents.adapters.rules_adapter import Adapter
PREFIX = "probe-"
LEFT_S = 3600  # an older one was left by a command that was killed
PROBE_S = 20.0  # for one command in a sandbox; usually 0.1 to 0.5 s
START = ("sh", "-c", ":")
COMMIT = (
    "sh", "-c", 'echo "$0" >probe.txt && git add probe.txt && git commit -q -m "Probe $0"',
)  # fmt: skip
MESSAGE = ("git", "worker", "msg", "send", "x-probe", "{}")
LOST = "it succeeded, but its result is not visible from outside"


class ProbePlace:
    """A repository with a linked worktree, its bus, and the environment of an agent in it."""

    __slots__ = ("_env", "_git", "_paths", "_store", "_worktree")

    def __init__(
        self, top: str, identity: Mapping[str, str], program: str | None,
        *, settings: Mapping[str, str],
    ) -> None:  # fmt: skip
        root, self._worktree = f"{top}/repo", f"{top}/worktree"
        Git(top).run("init", "-q", root)
        git = Git(root)
        plain = ("user.name=probe", "user.email=probe@localhost", "commit.gpgSign=false",
                 "core.hooksPath=/dev/null")  # fmt: skip
        git.run("commit", "-q", "--allow-empty", "-m", "Start", settings=plain)
        for key, value in settings.items():
            git.run("config", key, value)
        git.run("worktree", "add", "-q", "-b", "probe", self._worktree)
        if program is not None:
            git.run("config", ALIAS, alias_value(program))
        self._git = git.at(self._worktree)
        self._paths = {
            "common_dir": f"{root}/.git", "git_dir": f"{root}/.git/worktrees/worktree",
        }  # fmt: skip
        self._store = open_session(root, identity="hq", env={}).store
        self._env = _environment(self._worktree, identity)
        if program is not None:
            self._env["GITWORKER"] = program

    def probe(self, adapter: Adapter) -> Probes:
        """Commit and send a message as an agent's shell would; the sandbox is the agent's own."""
        place = SANDBOX if adapter.probe else SHELL
        starts = self._run(adapter, START)
        if starts.status != 0:
            return Probes(place, starts, starts, starts)
        before = self._seen()
        commit = self._run(adapter, (*COMMIT, adapter.name))
        message = self._run(adapter, MESSAGE)
        after = self._seen()
        lost = ProbeResult(1, complaint=LOST)
        return Probes(
            place,
            starts,
            lost if commit.status == 0 and before[0] == after[0] else commit,
            lost if message.status == 0 and before[1] == after[1] else message,
        )

    def close(self) -> None:
        """Close the bus."""
        self._store.close()

    def _run(self, adapter: Adapter, command: Sequence[str]) -> ProbeResult:
        words = adapter.probe_words(command, self._paths)
        env = {**adapter.variables(), **self._env}
        return finish_probe(start_probe(words, cwd=self._worktree, env=env), PROBE_S)

    def _seen(self) -> tuple[str | None, int]:
        """Return the tip of the worktree's branch and the position of the newest message."""
        with self._store.read() as reader:
            return self._git.find_oid("HEAD"), newest_seq(reader)


@contextmanager
def probe_place(
    state: str, identity: Mapping[str, str], program: str | None, *, settings: Mapping[str, str]
) -> Iterator[ProbePlace]:
    """Give a place in the state directory, with settings of git, for as long as the block runs."""
    _remove_left(state)
    top = mkdtemp(prefix=PREFIX, dir=state)
    try:
        place = ProbePlace(top, identity, program, settings=settings)
        try:
            yield place
        finally:
            place.close()
    finally:
        shutil.rmtree(top, ignore_errors=True)


def start_probe(words: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> proc.Running | None:
    """Start a program without a terminal; return None if it cannot be started."""
    try:
        return proc.start(words, cwd=cwd, env=env, new_session=True)
    except Unavailable:
        return None


def finish_probe(running: proc.Running | None, timeout_s: float) -> ProbeResult:
    """Wait for a program, and kill it with its children if it does not end in time."""
    if running is None:
        return ProbeResult(127, complaint="it cannot be started")
    try:
        done = running.finish(timeout_s)
    except Unavailable:
        return ProbeResult(None)
    return ProbeResult(done.status, done.out.decode("utf-8", "replace"), done.complaint)


def _environment(worktree: str, identity: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an agent: ours, without the variables of a repository or worker."""
    left_out = {*LOCAL_ENV, HELD_ENV}
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in left_out and not name.startswith("GITWORKER_")
    }
    return {**env, **identity, "GITWORKER_ID": "probe", "PWD": worktree}


def _remove_left(state: str) -> None:
    """Remove the places of commands that were killed long ago."""
    oldest_s = clock.now_ms() / 1000 - LEFT_S
    with os.scandir(state) as entries:
        places = [one for one in entries if one.name.startswith(PREFIX) and one.is_dir()]
    for one in places:
        if one.stat(follow_symlinks=False).st_mtime < oldest_s:
            shutil.rmtree(one.path, ignore_errors=True)
