"""The methods of the service for one worker's task: from spawn to the hand-in, and its end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.agents.adapters.agent_call import AgentCall
    from gitworker.agents.detach import DetachedRun
    from gitworker.agents.restart import Restart
    from gitworker.branches.publish_branch import PublishedBranch
    from gitworker.session import Session
    from gitworker.store.workers import Worker
    from gitworker.workers.adopt import Adopted
    from gitworker.workers.cancel import FreedWorker
    from gitworker.workers.spawn import SpawnedWorker
    from gitworker.workers.submit import Submitted
    from gitworker.workers.sync import Synced
    from gitworker.worktrees.commit_work import Committed


class WorkMethods(ServiceBase):
    """A worker's task; `worker` is an id, a task or a branch, None for the caller's own worker.

    Each method imports its use case when it is called, because all of them together cost 150 ms.
    """

    def spawn(
        self,
        worker: str,
        task: str | None = None,
        *,
        title: str = "",
        text: str | bytes | None = None,
        start: str | None = None,
        must_exist: bool = False,
    ) -> SpawnedWorker:
        """Give a worker a task: a branch, a worktree with our hooks, state ASSIGNED.

        Without `task` its id is made of the title, or of the text's first line. `text` is the work
        to do, as text or UTF-8; None keeps that of a known task. `start` is a revision, a remote
        branch, or another worker to build on. With `must_exist` the worker is not created.
        """
        from gitworker.model.ids import parse_task_id, parse_worker_id
        from gitworker.tasks.rules_task_text import parse_task_text
        from gitworker.workers.spawn import SpawnRequest, refill_pool, spawn

        wanted = SpawnRequest(
            parse_worker_id(worker),
            None if task is None else parse_task_id(task),
            title,
            start,
            must_exist,
            None if text is None else parse_task_text(text),
        )
        with self._acting() as session:
            spawned = spawn(session, wanted)
            refill_pool(session)
        return spawned

    def check_command(
        self, words: Sequence[str], *, task: str | None = None, has_words: bool = False
    ) -> None:
        """Refuse an agent's command before anything is made for it.

        `has_words`: the task gets a text or a title; otherwise a known task may have one. Raises
        NotFound for a program that does not exist, Invalid if the command needs a missing prompt.
        """
        from gitworker.agents.command import require_program, require_prompt
        from gitworker.agents.rules_run import uses_prompt
        from gitworker.store.records.runs import find_prompt

        require_program(words[0], os.environ, directory=None)
        if has_words or not uses_prompt(words):
            return
        with self._settled(create=True) as (session, _), session.store.read() as reader:
            prompt = find_prompt(reader, task or "")
            require_prompt(words, prompt, task=task or "the task", exists=False)

    def require_admitted(self, worker: str, task: str | None, *, kind: str | None) -> None:
        """Raise Refused or Conflict if a limit forbids an agent to start on a new assignment.

        `kind` is the name of a known agent; None: a command.
        """
        from gitworker.bus.limits.send_limits import limits_of
        from gitworker.tasks.admission.admit import require_admitted

        kind = kind or "command"
        with self._settled(create=True) as (session, _), session.store.read() as reader:
            limits = limits_of(session.settings).agent_limits
            require_admitted(
                reader, session.paths, worker=worker, task=task or "the task", agent_type=kind,
                type_agents=limits.get(kind), has_begun=False,
            )  # fmt: skip

    def detach(
        self,
        worker: str | None,
        words: Sequence[str],
        *,
        time_limit_s: float | None = None,
        auto_resume: bool | None = None,
        agent: Sequence[str] = (),
    ) -> DetachedRun:
        """Run an agent in a worker's worktree under a detached supervisor.

        Returns once the agent has begun; it survives the end of the caller. Its output goes to
        .worker.log, and its environment is that of the caller's process. `auto_resume` chooses
        whether it is resumed if its work comes back (None: the setting).
        """
        from gitworker.agents.detach import detach

        with self._acting() as session:
            found = self._worker(session, worker)
            return detach(
                session, found, words, time_limit_s=time_limit_s, auto_resume=auto_resume,
                agent=agent,
            )  # fmt: skip

    def prompt_of_return(self, worker: str | None = None) -> str:
        """Return the prompt for an agent whose work was sent back: the reason, and the task."""
        from gitworker.agents.rounds.return_prompt import prompt_of_return

        with self._reading() as session:
            return prompt_of_return(session, self._worker(session, worker))

    def find_agent(
        self,
        name: str,
        *,
        options: Sequence[str] = (),
        prompt: str | None = None,
        continued: str | None = None,
    ) -> AgentCall:
        """Return the call of a known agent, such as claude, with its own options.

        `prompt` replaces the task's text. `continued` names a worker whose task the agent worked
        on last: it continues that session. Raises NotFound if the agent is not known or not
        installed, and Refused if its table is not trusted or there is no session.
        """
        from gitworker.agents.adapters.find_agent import find_agent

        with self._settled(create=True) as (session, _):
            worker = None if continued is None else self._worker(session, continued)
            return find_agent(session, name, options=options, prompt=prompt, continued=worker)

    def adopt(
        self, name: str, worker: str, task: str, *, title: str = "", rename: bool = False
    ) -> Adopted:
        """Make an existing branch, or a worktree by its absolute path, a worker's."""
        from gitworker.model.ids import parse_task_id, parse_worker_id
        from gitworker.workers.adopt import AdoptRequest, adopt

        wanted = AdoptRequest(
            name, parse_worker_id(worker), parse_task_id(task), title=title, rename=rename
        )
        with self._acting() as session:
            return adopt(session, wanted)

    def start(self, worker: str | None = None, *, pid: int | None = None) -> Worker:
        """Record that work has begun; with `pid`, by that process.

        Without `pid` no process is recorded, so liveness depends on heartbeats and commits.
        """
        from gitworker.workers.start import start

        with self._acting() as session:
            return start(session, worker, pid=pid, binds_caller=self._request.is_command)

    def find_restart(self, worker: str | None = None) -> Restart | None:
        """Return the last command of a worker whose agent has ended; None if it is not known.

        None also for the worker itself, which takes its work up on its own.
        """
        from gitworker.agents.restart import find_restart

        with self._reading() as session:
            return find_restart(session, self._taken_over(session, worker))

    def restart(self, worker: str) -> DetachedRun | None:
        """Run the last command of a worker whose agent has ended again, detached.

        A known agent continues its session. None, without a change, as for `find_restart`.
        """
        last = self.find_restart(worker)
        if last is None:
            return None
        agent: list[str] = []
        if last.agent is not None:
            continued = worker if last.has_session else None
            self.find_agent(last.agent, options=last.words, continued=continued)  # refuse early
            message = () if last.prompt is None else ("-m", last.prompt)
            again = ("--continue",) if last.has_session else ()
            agent = ["--agent", last.agent, *message, *again, "--round", str(last.round)]
        return self.detach(
            worker, last.words, time_limit_s=last.time_limit_s, auto_resume=last.auto_resume,
            agent=agent,
        )  # fmt: skip

    def resume(self, worker: str | None = None, *, pid: int | None = None) -> Worker:
        """Take up FAILED, STALE or sent-back work in place; without `pid` as `start`.

        A setup that failed is repeated first.
        """
        from gitworker.workers.start import resume
        from gitworker.worktrees.populate.populate import repeat_setup

        with self._acting() as session:
            repeat_setup(session, self._taken_over(session, worker))
            return resume(session, worker, pid=pid, binds_caller=self._request.is_command)

    def _taken_over(self, session: Session, worker: str | None) -> Worker:
        """Return a worker that is to go on, with its worktree on this machine of a fleet."""
        found = self._worker(session, worker)
        if found.elsewhere is None:
            return found
        from gitworker.fleet.take_over import take_over  # in a fleet only

        return take_over(session, found)

    def repeat_setup(self, worker: str | None = None) -> None:
        """Run the setup commands of a worker's worktree again, if they have failed."""
        from gitworker.worktrees.populate.populate import repeat_setup

        with self._acting() as session:
            repeat_setup(session, self._taken_over(session, worker))

    def submit(
        self,
        worker: str | None = None,
        *,
        note: str = "",
        commit_message: str | None = None,
        pr_url: str | None = None,
    ) -> Submitted:
        """Hand a worker's branch in for review; `commit_message` commits what is uncommitted."""
        from gitworker.workers.submit import Submission, submit

        with self._acting() as session:
            note = self._without_secrets(note)
            pr_url = None if pr_url is None else self._without_secrets(pr_url)
            return submit(session, worker, Submission(note, commit_message, pr_url))

    def choose_remote(self, worker: str | None = None, remote: str | None = None) -> str:
        """Return the remote to which `publish` would push; raise Refused if it is not clear."""
        from gitworker.branches.publish_branch import choose_remote

        with self._acting() as session:
            return choose_remote(session, self._worker(session, worker), remote)

    def publish(self, worker: str | None = None, remote: str | None = None) -> PublishedBranch:
        """Push a worker's branch to a remote; never replace the commits of another user."""
        from gitworker.branches.publish_branch import choose_remote, publish_branch

        with self._acting() as session:
            found = self._worker(session, worker)
            return publish_branch(session, found, choose_remote(session, found, remote))

    def commit(
        self, worker: str | None = None, *, message: str, paths: Sequence[str] = ()
    ) -> Committed:
        """Commit everything in a worker's worktree, or only `paths`; the user's hooks run."""
        from gitworker.worktrees.commit_work import commit_work

        with self._acting() as session:
            return commit_work(session, self._worker(session, worker), message, paths=paths)

    def sync(self, mode: str = "start", *, adds: bool = False) -> Synced:
        """Rebase the caller's branch onto the target by a real `git rebase`.

        `mode` is start, continue, abort, or take: also take over the parent's commits. With `adds`,
        `continue` first adds the files that the caller has resolved. Raises Conflict with the
        files if the rebase stops.
        """
        from gitworker.workers.sync import sync

        with self._acting() as session:
            if adds and mode == "continue":
                from gitworker.worktrees.commit_work import add_resolved

                add_resolved(session, self._worker(session, None))
            return sync(session, mode)

    def fail(self, worker: str | None = None, *, reason: str) -> Worker:
        """Give up a worker's task; branch and worktree stay until `reset`."""
        from gitworker.lifecycle.fail import fail

        with self._acting() as session:
            reason = self._without_secrets(reason)
            return fail(session, worker, reason=reason, on_purpose=True)

    def make_worktree(self, name: str) -> str:
        """Return the path of the worktree that an agent makes for itself, owned by a worker."""
        from gitworker.agents.hooks.make_worktree import make_worktree

        with self._acting() as session:
            return make_worktree(session, name)

    def remove_worktree(self, path: str) -> str:
        """Remove such a worktree if it has no work of its own; return its worker.

        Raises Refused for every other worktree, NotFound if it belongs to no worker.
        """
        from gitworker.agents.hooks.make_worktree import remove_worktree

        with self._acting() as session:
            return remove_worktree(session, path)

    def cancel(self, worker: str) -> FreedWorker:
        """Withdraw a worker's task; its work stays under a rescue ref."""
        from gitworker.workers.cancel import cancel

        with self._acting() as session:
            return cancel(session, worker)

    def reset(self, worker: str) -> FreedWorker:
        """Free a FAILED worker; its work stays under a rescue ref."""
        from gitworker.workers.cancel import reset

        with self._acting() as session:
            return reset(session, worker)

    def recycle(self, worker: str) -> Worker:
        """Make a COMPLETED worker IDLE."""
        from gitworker.workers.cancel import recycle

        with self._acting() as session:
            return recycle(session, worker)

    def recover(self, worker: str) -> Worker:
        """Return a STALE worker to its earlier state."""
        from gitworker.lifecycle.fail import recover
        from gitworker.worktrees.pool.half_made import drop_half_made

        with self._settled(create=False) as (session, _):
            session.store.require_writable()
            drop_half_made(session)
            return recover(session, worker)
