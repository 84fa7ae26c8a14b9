"""Let a second agent review handed-in work, and read its verdict."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.agents.adapters.find_agent import find_agent
from gitworker.agents.command import prepare_command
from gitworker.bus.publish import log_message, publish
from gitworker.errors import GitWorkerError
from gitworker.model.ids import VERIFIER, Oid
from gitworker.orchestrator.jobs.output_job import OutputJob
from gitworker.orchestrator.jobs.review_place import require_review_place
from gitworker.orchestrator.jobs.rules_verdict import (
    QaVerdict,
    evidence_text,
    flaw_of_verdict,
    no_verdict_text,
    parse_verdict,
    qa_prompt,
)
from gitworker.repo.history.walk import read_diff
from gitworker.repo.status.checkout_status import read_status
from gitworker.store.records.runs import find_prompt
from gitworker.store.scheduling.usage import RunOwner, Usage, charge_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.workers import Worker

SCRIPT = 'exec 2>&1; if test -n "$QA_INPUT"; then exec "$@" <"$QA_INPUT"; fi; exec "$@" </dev/null'


class QaJob(OutputJob):
    """A running review of a worker's work by another agent; `version` is that of the worker's row.

    Its verdict counts only if it names a command that it ran, and the work is unchanged.
    """

    def __init__(
        self, session: Session, worker: Worker, name: str | None, words: Sequence[str]
    ) -> None:
        """Start the agent; raise Refused unless the worktree is the worker's own."""
        place = require_review_place(session, worker)
        self.version = worker.version
        self.usage = Usage()
        self.flaw = ""
        self._session, self._worker = session, worker
        self.agent = name or os.path.basename(words[0])
        self._tree = self._find_tree()
        with session.store.read() as reader:
            text = find_prompt(reader, worker.task)
        diff = read_diff(session.git, base=worker.base_oid or Oid(""), tip=worker.ref)
        prompt = qa_prompt(worker.task, text, diff)
        call = None if name is None else find_agent(session, name, options=words, prompt=prompt)
        self._transcript = None if call is None else call.transcript()
        argv, env = prepare_command(
            session.store, session.paths, worker,
            list(words) if call is None else call.words(session.paths, worker),
            prompt=prompt, agent=call,
        )  # fmt: skip
        is_input = call is not None and call.adapter.reads_input
        own = {
            "GITWORKER_ID": VERIFIER,
            "QA_INPUT": env["GITWORKER_PROMPT_FILE"] if is_input else "",
        }
        super().__init__(
            ["/bin/sh", "-c", SCRIPT, "sh", *argv], cwd=place,
            limit_s=session.settings.verify_timeout_s, env={**env, **own},
        )  # fmt: skip

    def verdict(self) -> QaVerdict | None:
        """Return the valid verdict of an ended review, or None; publish its evidence, or its flaw.

        Its `usage` is then known, and counts for the task and its project.
        """
        data = bytes(self.output)
        commands = None
        if self._transcript is not None:
            data = self._transcript.output(data) + self._transcript.output(None)
            self.usage, commands = self._transcript.facts.usage, self._transcript.commands
            owner = RunOwner(VERIFIER, self._worker.task, self.agent)
            with self._session.store.write() as writer:
                charge_usage(writer, self.usage, owner)
        answer = data.decode(errors="replace")
        self.flaw = flaw_of_verdict(answer, commands)
        if not self._tree or self._find_tree() != self._tree:
            self.flaw = "the work or its worktree has changed"
        found = None if self.flaw else parse_verdict(answer)
        if found is None:
            self._publish("qa_no_verdict", no_verdict_text(self.flaw, agent=self.agent))
            return None
        self._publish("qa_verdict", evidence_text(found, agent=self.agent, tree=self._tree))
        return found

    def _publish(self, event: str, text: str) -> None:
        with self._session.store.write() as writer:
            entry = log_message(self._worker.worker_id, self._worker.task, event, text)
            publish(writer, entry, now=clock.now_ms())

    def _find_tree(self) -> str:
        """Return the tree of the work, "" if the worktree has uncommitted changes or is lost."""
        try:
            git = self._session.git.at(require_review_place(self._session, self._worker))
        except GitWorkerError:
            return ""
        if not read_status(git, untracked=False).is_clean:
            return ""
        return git.find_oid(self._worker.ref, "tree") or ""
