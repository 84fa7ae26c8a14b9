"""The events of the agents' streams: each becomes lines for people, and facts about the run.

Another version of an agent may send other events; an unknown event makes no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitworker.agents.adapters.stream_facts import StreamFacts
from gitworker.model.run_outcome import BUDGET

Event = Mapping[str, Any]
RESULT_LINES = 5
LINE_MAX = 400
CLAUDE_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
CLAUDE_MODEL_USAGE = {
    "input_tokens": "inputTokens", "cache_creation_input_tokens": "cacheCreationInputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens", "output_tokens": "outputTokens",
}  # fmt: skip
COMMANDS = ("command", "cmd", "file_path", "filePath", "absolute_path", "path", "pattern", "query")


def read_claude(event: Event, facts: StreamFacts) -> Iterator[str]:
    """Read an event of Claude Code, or of Qwen Code."""
    kind = event.get("type")
    if event.get("session_id"):
        facts.session = str(event["session_id"])
    if kind == "assistant" and not event.get("is_api_error_message"):  # the result repeats that
        message = _table(event.get("message"))
        facts.name_model(message.get("model"))
        if usage := _table(message.get("usage")):
            facts.add_step(
                message.get("id"), _claude_input(usage), usage.get("output_tokens"),
                usage.get("cache_read_input_tokens"),
            )  # fmt: skip
        for block in _tables(message.get("content")):
            if block.get("type") == "text":
                yield from _text(block.get("text"))
            elif block.get("type") == "tool_use":
                yield _tool(facts, block.get("name"), block.get("input"))
        if message.get("stop_reason") == "refusal":
            facts.fail("", kind="refusal")
    elif kind == "user":
        for block in _tables(_table(event.get("message")).get("content")):
            if block.get("type") == "tool_result":
                is_error = bool(block.get("is_error"))
                yield from result_lines(block.get("content"), is_error=is_error)
    elif kind == "rate_limit_event":
        info = _table(event.get("rate_limit_info"))
        if info.get("status") == "rejected":
            resets = info.get("resetsAt")
            at_ms = resets * 1000 if isinstance(resets, int) else None
            facts.fail("", kind="usage_limit", resets_at_ms=at_ms)
    elif kind == "result":
        yield from _claude_result(event, facts)


def _claude_result(event: Event, facts: StreamFacts) -> Iterator[str]:
    usage = _claude_totals(event)
    facts.input_tokens = facts.output_tokens = None  # the totals of the run
    facts.cached_tokens = facts.cost_usd = None
    facts.add_usage(
        _claude_input(usage), usage.get("output_tokens"),
        cached=usage.get("cache_read_input_tokens"), cost=event.get("total_cost_usd"),
    )  # fmt: skip
    if event.get("is_error"):
        error = event.get("error")
        text = event.get("result") or (_table(error).get("message") or error)
        text = text or ", ".join(map(str, event.get("errors") or ())) or "it failed"
        is_spent = event.get("subtype") == "error_max_budget_usd"
        kind = BUDGET if is_spent else ""
        facts.fail(str(text), status=event.get("api_error_status"), kind=kind)
        yield f"! {_short(str(text))}"
    yield end_line(facts)


def _claude_totals(event: Event) -> Event:
    """Return the tokens of a run; at the end by a budget only the sums of each model have them."""
    usage, models = _table(event.get("usage")), _table(event.get("modelUsage"))
    if any(usage.get(name) for name in (*CLAUDE_INPUT, "output_tokens")) or not models:
        return usage
    return {
        name: _total(*(_table(one).get(key) for one in models.values()))
        for name, key in CLAUDE_MODEL_USAGE.items()
    }


def _claude_input(usage: Event) -> int:
    """Return the tokens that the model was given, those of the cache included."""
    return _total(*(usage.get(name) for name in CLAUDE_INPUT))


def read_codex(event: Event, facts: StreamFacts) -> Iterator[str]:
    """Read an event of Codex."""
    kind, item = event.get("type"), _table(event.get("item"))
    if kind == "thread.started":
        facts.session = str(event.get("thread_id"))
    elif kind == "item.started" and item.get("type") == "command_execution":
        yield _tool(facts, "$", {"command": item.get("command")})
    elif kind == "item.completed":
        yield from _codex_item(item, facts)
    elif kind == "turn.completed":
        usage = _table(event.get("usage"))
        facts.add_usage(
            usage.get("input_tokens"), usage.get("output_tokens"),
            cached=usage.get("cached_input_tokens"),
        )  # fmt: skip
        facts.failure = None  # errors before it were retried
        yield end_line(facts)
    elif kind in ("error", "turn.failed"):
        error = event.get("error")
        text = str(event.get("message") or _table(error).get("message") or error)
        facts.fail(text)
        yield f"! {_short(text)}"


def _codex_item(item: Event, facts: StreamFacts) -> Iterator[str]:
    kind = item.get("type")
    if kind == "agent_message":
        yield from _text(item.get("text"))
    elif kind == "command_execution":
        failed = item.get("exit_code") not in (0, None)
        yield from result_lines(item.get("aggregated_output"), is_error=failed)
    elif kind == "mcp_tool_call":
        yield _tool(facts, f"{item.get('server')}.{item.get('tool')}", item.get("arguments"))
    elif kind == "file_change":
        for change in _tables(item.get("changes")):
            yield _tool(facts, change.get("kind"), {"path": change.get("path")})
    elif kind == "error":
        yield f"! {_short(str(item.get('message')))}"


def read_gemini(event: Event, facts: StreamFacts) -> Iterator[str]:
    """Read an event of Gemini CLI, whose texts arrive in parts."""
    kind = event.get("type")
    if kind == "message" and event.get("role") == "assistant" and event.get("delta"):
        facts.partial += str(event.get("content") or "")
        return
    if facts.partial:
        yield from _text(facts.partial)
        facts.partial = ""
    if kind == "init":
        facts.session = str(event.get("session_id"))
        facts.name_model(event.get("model"))
    elif kind == "message" and event.get("role") == "assistant":
        yield from _text(event.get("content"))
    elif kind == "tool_use":
        yield _tool(facts, event.get("tool_name"), event.get("parameters"))
    elif kind == "tool_result":
        failed = event.get("status") not in ("success", None)
        yield from result_lines(event.get("output"), is_error=failed)
    elif kind in ("error", "result"):
        error = _table(event.get("error"))
        text = str(error.get("message") or event.get("message") or "it failed")
        if kind == "error" or event.get("status") == "error":
            facts.fail(text)
            yield f"! {_short(text)}"
        if kind == "result":
            stats = _table(event.get("stats"))
            facts.add_usage(
                stats.get("input_tokens"), stats.get("output_tokens"), cached=stats.get("cached")
            )
            yield end_line(facts)


def read_opencode(event: Event, facts: StreamFacts) -> Iterator[str]:
    """Read an event of OpenCode."""
    kind, part = event.get("type"), _table(event.get("part"))
    if event.get("sessionID"):
        facts.session = str(event["sessionID"])
    if kind == "text":
        yield from _text(part.get("text"))
    elif kind == "tool_use":
        state = _table(part.get("state"))
        yield _tool(facts, part.get("tool"), state.get("input"))
        failed = state.get("status") == "error"
        yield from result_lines(
            state.get("error") if failed else state.get("output"), is_error=failed
        )
    elif kind == "step_finish":
        tokens = _table(part.get("tokens"))
        cache = _table(tokens.get("cache"))
        facts.add_usage(
            _total(tokens.get("input"), cache.get("read"), cache.get("write")),
            tokens.get("output"), cached=cache.get("read"), cost=part.get("cost"),
        )  # fmt: skip
    elif kind == "error":
        error = _table(event.get("error"))
        data = _table(error.get("data"))
        text = str(data.get("message") or error.get("name") or "it failed")
        facts.fail(text, status=data.get("statusCode"))
        yield f"! {_short(text)}"


def read_pi(event: Event, facts: StreamFacts) -> Iterator[str]:
    """Read an event of pi; it repeats a message with each of its parts, and once at the end."""
    kind = event.get("type")
    if kind == "session":
        facts.session = str(event.get("id"))
    elif kind == "message_end":
        message = _table(event.get("message"))
        if message.get("role") == "assistant":
            yield from _pi_message(message, facts)
    elif kind == "tool_execution_start":
        yield _tool(facts, event.get("toolName"), event.get("args"))
    elif kind == "tool_execution_end":
        content = _table(event.get("result")).get("content")
        yield from result_lines(content, is_error=bool(event.get("isError")))


def _pi_message(message: Event, facts: StreamFacts) -> Iterator[str]:
    for block in _tables(message.get("content")):
        if block.get("type") == "text":
            yield from _text(block.get("text"))
    facts.name_model(message.get("model"))
    usage = _table(message.get("usage"))
    facts.add_usage(
        _total(*(usage.get(name) for name in ("input", "cacheRead", "cacheWrite"))),
        usage.get("output"), cached=usage.get("cacheRead"),
        cost=_table(usage.get("cost")).get("total"),
    )  # fmt: skip
    if message.get("stopReason") == "error":
        text = str(message.get("errorMessage") or "it failed")
        facts.fail(text)
        yield f"! {_short(text)}"
    else:
        facts.failure = None  # errors before it were retried


def read_acp(event: Event, facts: StreamFacts) -> Iterator[str]:
    """Read an event of our client of the Agent Client Protocol; texts arrive in parts."""
    kind, update = event.get("type"), _table(event.get("update"))
    if update.get("sessionUpdate") == "agent_message_chunk":
        facts.partial += str(_table(update.get("content")).get("text") or "")
        return
    if facts.partial:
        yield from _text(facts.partial)
        facts.partial = ""
    if kind == "session":
        facts.session = str(event.get("session"))
    elif kind == "update":
        yield from _acp_update(update, facts)
    elif kind == "prompt":
        yield from (f"< {line}" for line in str(event.get("text")).splitlines())
    elif kind == "permission":
        asked = "asked hq" if event.get("decision") == "ask" else "denied"
        yield f"! {asked}: {_short(str(event.get('title')))}"
    elif kind == "turn":
        usage = _table(event.get("usage"))
        facts.add_usage(
            usage.get("inputTokens"), usage.get("outputTokens"),
            cached=usage.get("cachedReadTokens"),
        )  # fmt: skip
        if event.get("reason") == "cancelled":
            yield "! the turn was cancelled"
        elif event.get("reason") != "end_turn":
            reason = str(event.get("reason"))
            facts.fail(f"the turn ended: {reason}", kind=reason)
    elif kind == "error":
        facts.fail(str(event.get("message")))
        yield f"! {_short(str(event.get('message')))}"


def _acp_update(update: Event, facts: StreamFacts) -> Iterator[str]:
    kind, given = update.get("sessionUpdate"), _table(update.get("rawInput"))
    if kind == "tool_call":
        is_shell = update.get("kind") == "execute" and given.get("command")
        title = {"command": given["command"]} if is_shell else {}
        yield _tool(facts, "$" if is_shell else update.get("title"), title)
    elif kind == "tool_call_update" and update.get("status") in ("completed", "failed"):
        texts = [_table(one.get("content")) for one in _tables(update.get("content"))]
        yield from result_lines(texts, is_error=update.get("status") == "failed")
    elif kind == "usage_update":
        cost = _table(update.get("cost"))
        if cost.get("currency") == "USD" and isinstance(cost.get("amount"), int | float):
            facts.cost_usd = float(cost["amount"])  # of the whole session


DIALECTS: dict[str, Callable[[Event, StreamFacts], Iterator[str]]] = {
    "claude": read_claude, "codex": read_codex, "gemini": read_gemini, "opencode": read_opencode,
    "pi": read_pi, "acp": read_acp,
}  # fmt: skip


def tool_line(name: object, arguments: object) -> str:
    """Return a tool call as a line: `$ COMMAND` for a shell, `> NAME ARGUMENT` for other tools."""
    given = _table(arguments)
    value = next((str(given[key]) for key in COMMANDS if given.get(key)), "")
    if given.get("command") or given.get("cmd"):
        return f"$ {_short(value)}"
    return f"> {name} {_short(value)}".rstrip()


def result_lines(content: object, *, is_error: bool) -> Iterator[str]:
    """Yield the first lines of a tool's result, indented; an error is marked."""
    if isinstance(content, list):
        content = "\n".join(str(one.get("text", "")) for one in _tables(content))
    lines = [line for line in str(content or "").splitlines() if line.strip()]
    mark = "!" if is_error else " "
    for line in lines[:RESULT_LINES]:
        yield f"{mark} {_short(line)}"
    if len(lines) > RESULT_LINES:
        yield f"{mark} … {len(lines) - RESULT_LINES} more lines"


def end_line(facts: StreamFacts) -> str:
    """Return the tokens and the cost of a run as a line."""
    text = f"= {facts.input_tokens or 0} tokens in, {facts.output_tokens or 0} out"
    return f"{text}, ${facts.cost_usd:.4f}" if facts.cost_usd else text


def _tool(facts: StreamFacts, name: object, arguments: object) -> str:
    """Count a tool call, and keep the command of a shell; return it as a line."""
    given = _table(arguments)
    if command := given.get("command") or given.get("cmd"):
        facts.commands.append(str(command))
    line = tool_line(name, arguments)
    facts.tools.add(line)
    return line


def _total(*tokens: object) -> int:
    """Return the sum of those values that are numbers."""
    return sum(one for one in tokens if isinstance(one, int))


def _text(value: object) -> Iterator[str]:
    if value and str(value).strip():
        yield str(value).strip("\n")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_MAX else line[: LINE_MAX - 1] + "…"


def _table(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def _tables(value: object) -> list[Event]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
