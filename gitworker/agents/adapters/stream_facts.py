"""Facts that an agent's output has shown so far: session, tokens, cost, failure, tool calls."""

from __future__ import annotations

from collections import deque

from gitworker import clock
from gitworker.agents.adapters.rules_failure import Failure, classify, find_moment, find_wait_s
from gitworker.agents.adapters.tool_uses import ToolUses
from gitworker.store.scheduling.usage import Usage

LAST_MS = 253_402_300_799_000  # the year 9999: a stream may contain any number
TOKENS_MAX = 1 << 53
MODEL_MAX = 200  # characters of the name of a model
COMMANDS_KEPT = 1000  # of one run
NO_TOKENS = (0, 0, 0)


class StreamFacts:
    """Facts about one run; tokens, cost and model are None until the agent has reported them.

    `cached_tokens` are those of the input that the model's vendor has read from its cache.
    """

    __slots__ = (
        "_steps", "cached_tokens", "commands", "cost_usd", "failure", "input_tokens", "model",
        "output_tokens", "partial", "session", "tools",
    )  # fmt: skip

    def __init__(self) -> None:
        self.session: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.model: str | None = None
        self.cost_usd: float | None = None
        self.failure: Failure | None = None
        self.partial = ""  # a text that arrives in parts
        self.tools = ToolUses()
        self.commands: deque[str] = deque(maxlen=COMMANDS_KEPT)  # that it ran in a shell
        self._steps: dict[str, tuple[int, int, int]] = {}

    @property
    def usage(self) -> Usage:
        """Return the tokens and the cost so far."""
        return Usage(
            self.input_tokens, self.output_tokens, self.cached_tokens, self.cost_usd, self.model
        )

    def name_model(self, model: object) -> None:
        """Keep the name of the model that the agent reports; the first one counts."""
        if isinstance(model, str) and model and self.model is None:
            self.model = model[:MODEL_MAX]

    def add_step(
        self, step: object, input_tokens: object, output_tokens: object, cached: object = None
    ) -> None:
        """Add the tokens of one step; a later report of the same step replaces the earlier one."""
        now = tuple(_sum(0, one) or 0 for one in (input_tokens, output_tokens, cached))
        before = self._steps.get(step, NO_TOKENS) if isinstance(step, str) else NO_TOKENS
        given, made, read = (new - old for new, old in zip(now, before, strict=True))
        self.add_usage(given, made, cached=read)
        if isinstance(step, str):
            self._steps[step] = (now[0], now[1], now[2])

    def add_usage(
        self,
        input_tokens: object,
        output_tokens: object,
        *,
        cached: object = None,
        cost: object = None,
    ) -> None:
        """Add the tokens and the cost of one step; values that are no numbers count as absent."""
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)
        self.cached_tokens = _sum(self.cached_tokens, cached)
        if isinstance(cost, int | float):
            self.cost_usd = (self.cost_usd or 0.0) + cost

    def fail(
        self, text: str, *, status: object = None, kind: str = "", resets_at_ms: int | None = None
    ) -> None:
        """Record a failure; a later one replaces it, unless it says less about its kind."""
        found = classify(text, status=status if isinstance(status, int) else None, kind=kind)
        before = self.failure
        if before is not None and before.kind != "error" and found.kind == "error":
            return
        resets = resets_at_ms or found.resets_at_ms or (before.resets_at_ms if before else None)
        if resets is not None and not 0 < resets < LAST_MS:
            resets = None
        self.failure = with_end(found._replace(resets_at_ms=resets))


def with_end(failure: Failure) -> Failure:
    """Return a limit with the time of its end, if its words have it; any other failure as it is."""
    if failure.resets_at_ms is not None or not failure.is_limit:
        return failure
    now = clock.now_ms()
    wait_s, moment = find_wait_s(failure.text), find_moment(failure.text)
    if wait_s is not None:
        return failure._replace(resets_at_ms=now + int(wait_s * 1000))
    return failure._replace(resets_at_ms=clock.find_next_ms(moment, now)) if moment else failure


def _sum(before: int | None, more: object) -> int | None:
    return (before or 0) + more if isinstance(more, int) and abs(more) < TOKENS_MAX else before
