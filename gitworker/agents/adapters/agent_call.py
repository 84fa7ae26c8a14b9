"""One run of a known agent: its words, its prompt and its variables."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gitworker.agents.adapters.rules_adapter import Adapter, named_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.agents.adapters.transcript import Transcript
    from gitworker.paths import StatePaths
    from gitworker.store.workers import Worker

ACP_CLIENT = (sys.executable, "-P", "-m", "gitworker.cli.hot.acp")
BRIEF = """\


You work in a git worktree of your own, on branch {branch}. If only a person can decide, run
`git worker ask 'QUESTION'`: it waits and prints the answer. Commit your work there with git: it is
handed in for review when you end. Do not push, and do not switch branches.
`git worker help agent` explains how to reach the other workers.
"""


class AgentCall:
    """A known agent with the options of one run.

    `prompt` replaces the task's text; `session` continues an earlier conversation. `prices` are
    those of the settings.
    """

    __slots__ = ("_attached", "adapter", "options", "prices", "prompt", "session")

    def __init__(
        self,
        adapter: Adapter,
        *,
        options: Sequence[str] = (),
        prompt: str | None = None,
        session: str | None = None,
        prices: Sequence[str] = (),
    ) -> None:
        self.adapter = adapter
        self.prices = tuple(prices)
        self.options = tuple(options)
        self.prompt = prompt
        self.session = session
        self._attached: Mapping[str, str] = {}

    @property
    def recorded(self) -> list[str]:
        """Return the short form of the command, as it is recorded and shown."""
        options = ["--", *self.options] if self.options else []
        return ["--agent", self.adapter.name, *options]

    def words(self, paths: StatePaths, worker: Worker, *, left: int | None = None) -> list[str]:
        """Return the words of the run; the placeholders of every command remain in them.

        Our MCP server and our hooks are attached; `variables` are then those of this run. `left`
        are the tokens that the task may still use (None: any number).
        """
        from gitworker.agents.adapters.attach_run import attach_run  # 15 ms, for known agents only

        places = {
            "git_dir": worker.admin_dir or "", "common_dir": os.path.dirname(paths.root),
        }  # fmt: skip
        run = attach_run(self.adapter.attach, worker, self.options, os.environ)
        self._attached = run.variables
        words = self.adapter.words(
            options=run.options, session=self.session, paths=places, attached=run.words,
            budget_usd=self._budget_usd(left),
        )  # fmt: skip
        if not self.adapter.speaks_acp:
            return words
        return [*ACP_CLIENT, *self.adapter.client_options(self.session), "--", *words]

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the variables of the agent, and those that attach us."""
        return {**self.adapter.variables(), **env, **self._attached}

    def _budget_usd(self, left: int | None) -> float | None:
        """Return the most that these tokens can cost; None without a limit or a price.

        The tokens decide when an agent is stopped. This is a second limit, for an agent that runs
        on although we were killed, so it is never the lower one.
        """
        if left is None or not (self.adapter.budget and self.prices):
            return None
        from gitworker.model.tokens.prices import find_price, most_usd, parse_prices

        price = find_price(
            parse_prices(self.prices), agent=self.adapter.name, model=named_model(self.options)
        )
        return None if price is None else most_usd(price, left)

    @property
    def prompt_words(self) -> list[str]:
        """Return the program and its words, with the prompt if it is the standard input."""
        words = self.adapter.words(options=self.options, session=None, paths={})
        return [*words, "{prompt}"] if self.adapter.reads_input else words

    def prompt_for(self, text: str, worker: Worker) -> str:
        """Return the prompt: the task's text with our brief, or the prompt of this run alone."""
        if self.prompt is not None:
            return self.prompt
        return text.rstrip("\n") + BRIEF.format(branch=worker.branch) if text else ""

    def transcript(self) -> Transcript:
        """Return a new reader of the agent's output."""
        from gitworker.agents.adapters.transcript import Transcript  # 5 ms, once it begins

        return Transcript(self.adapter.stream)
