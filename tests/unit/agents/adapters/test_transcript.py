"""The streams of agents become text and facts."""

import json
from typing import Any

from gitworker.agents.adapters.transcript import Transcript

CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s1"},
    {"type": "assistant", "message": {"content": [
        {"type": "text", "text": "I look.\n"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "git  status\n-s"}},
        {"type": "tool_use", "name": "Read", "input": {"file_path": "a.py"}},
    ]}},
    {"type": "user", "message": {"content": [
        {"type": "tool_result", "content": [{"type": "text", "text": "1\n2\n3\n\n4\n5\n6\n7"}]},
        {"type": "tool_result", "content": "denied", "is_error": True},
    ]}},
    {"type": "result", "total_cost_usd": 0.25, "result": "done", "is_error": False, "usage": {
        "input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 7}},
]  # fmt: skip
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "item.started", "item": {"type": "command_execution", "command": "ls"}},
    {"type": "item.completed", "item": {
        "type": "command_execution", "exit_code": 2, "aggregated_output": "no file"}},
    {"type": "item.completed", "item": {
        "type": "mcp_tool_call", "server": "gw", "tool": "done", "arguments": {}}},
    {"type": "item.completed", "item": {
        "type": "file_change", "changes": [{"kind": "add", "path": "a.py"}]}},
    {"type": "item.completed", "item": {"type": "error", "message": "odd"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
    {"type": "error", "message": "Reconnecting... (429)"},
    {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 4}},
]  # fmt: skip
GEMINI: list[dict[str, Any]] = [
    {"type": "init", "session_id": "g1"},
    {"type": "message", "role": "user", "content": "Go"},
    {"type": "message", "role": "assistant", "content": "I ", "delta": True},
    {"type": "message", "role": "assistant", "content": "look.", "delta": True},
    {"type": "tool_use", "tool_name": "run_shell_command", "parameters": {"command": "ls"}},
    {"type": "tool_result", "status": "error", "output": "no"},
    {"type": "message", "role": "assistant", "content": "Done."},
    {"type": "result", "status": "success", "stats": {"input_tokens": 3, "output_tokens": 4}},
]
OPENCODE: list[dict[str, Any]] = [
    {"type": "step_start", "sessionID": "o1", "part": {}},
    {"type": "tool_use", "part": {"tool": "bash", "state": {
        "status": "completed", "input": {"command": "ls"}, "output": "a.py"}}},
    {"type": "tool_use", "part": {"tool": "edit", "state": {
        "status": "error", "input": {"filePath": "a.py"}, "error": "no match"}}},
    {"type": "text", "part": {"text": "Done."}},
    {"type": "step_finish", "part": {"tokens": {"input": 3, "output": 4}, "cost": 0.5}},
    {"type": "error", "error": {"name": "APIError", "data": {
        "message": "key", "statusCode": 401}}},
]  # fmt: skip


def read(stream: str, events: list[dict[str, Any]], *, size: int = 7) -> tuple[Transcript, str]:
    """Return the transcript of events that arrive in small pieces, and its text."""
    data = "".join(f"{json.dumps(event)}\n" for event in events).encode()
    transcript = Transcript(stream)
    pieces = [transcript.output(data[at : at + size]) for at in range(0, len(data), size)]
    return transcript, b"".join([*pieces, transcript.output(None)]).decode()


def test_claude() -> None:
    """Texts, tool calls, the beginning of results, errors and the sum are lines."""
    transcript, text = read("claude", CLAUDE)
    assert text == (
        "I look.\n$ git status -s\n> Read a.py\n  1\n  2\n  3\n  4\n  5\n  … 2 more lines\n"
        "! denied\n= 25 tokens in, 7 out, $0.2500\n"
    )
    facts = transcript.facts
    assert (facts.session, facts.input_tokens, facts.output_tokens) == ("s1", 25, 7)
    assert (facts.cached_tokens, facts.cost_usd, transcript.failure) == (20, 0.25, None)


def test_claude_reports_tokens_before_its_end() -> None:
    """Each message counts once, a later report of it replaces the earlier one; so does the sum."""
    steps = [
        {"type": "assistant", "message": {"id": name, "usage": usage}}
        for name, usage in (
            ("a", {"input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 1}),
            ("a", {"input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 3}),
            (None, {"input_tokens": 2, "output_tokens": "many"}),
        )
    ]
    reports: list[int] = []
    transcript = Transcript("claude")
    transcript.on_usage = lambda: reports.append(transcript.facts.usage.tokens)
    for event in (*steps, {"type": "assistant"}, {"type": "result", "usage": {"input_tokens": 9}}):
        transcript.output(f"{json.dumps(event)}\n".encode())
    assert reports == [16, 18, 20, 9]


def test_cached_tokens_and_models() -> None:
    """The input contains the cached tokens of every agent; the first model that is named counts."""
    message = {"id": "a", "model": "sonnet", "usage": {
        "input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}  # fmt: skip
    for stream, events, found in (
        ("claude", [{"type": "assistant", "message": message}], (15, 1, 5, None, "sonnet")),
        ("claude", [{"type": "assistant", "message": message}] * 2, (15, 1, 5, None, "sonnet")),
        ("codex", [{"type": "turn.completed", "usage": {
            "input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}}],
         (9, 2, 4, None, None)),
        ("gemini", [{"type": "init", "model": "pro"}, {"type": "init", "model": "flash"},
                    {"type": "result", "stats": {
                        "input_tokens": 9, "output_tokens": 2, "cached": 3}}],
         (9, 2, 3, None, "pro")),
        ("opencode", [{"type": "step_finish", "part": {"cost": 0.5, "tokens": {
            "input": 3, "output": 4, "cache": {"read": 6, "write": 1}}}}], (10, 4, 6, 0.5, None)),
        ("pi", [{"type": "message_end", "message": {"role": "assistant", "model": "m", "usage": {
            "input": 3, "cacheRead": 2, "cacheWrite": 1, "output": 4}}}], (6, 4, 2, None, "m")),
        ("acp", [{"type": "turn", "reason": "end_turn", "usage": {
            "inputTokens": 9, "outputTokens": 1, "cachedReadTokens": 2}}], (9, 1, 2, None, None)),
    ):  # fmt: skip
        transcript, _ = read(stream, events)
        assert transcript.facts.usage == found, stream


def test_claude_stops_at_its_own_budget() -> None:
    """The end at `--max-budget-usd` is a failure of its own kind, with the tokens of all models."""
    event = {
        "type": "result", "subtype": "error_max_budget_usd", "is_error": True,
        "errors": ["Reached maximum budget ($0.1)"], "total_cost_usd": 0.2,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "modelUsage": {
            "large": {"inputTokens": 5, "cacheReadInputTokens": 3, "outputTokens": 2},
            "small": {"inputTokens": 1, "cacheCreationInputTokens": 4, "outputTokens": 1},
        },
    }  # fmt: skip
    transcript, text = read("claude", [event])
    assert transcript.failure is not None
    assert transcript.failure.is_budget
    assert text.startswith("! Reached maximum budget ($0.1)\n")
    assert transcript.facts.usage == (13, 3, 3, 0.2, None)


def test_claude_limit() -> None:
    """A rejected limit has its end; the later words about it add no other kind."""
    info = {"status": "rejected", "resetsAt": 1_900_000_000}
    transcript, text = read("claude", [
        {"type": "rate_limit_event", "rate_limit_info": info},
        {"type": "assistant", "is_api_error_message": True, "message": {"content": [
            {"type": "text", "text": "twice"}]}},
        {"type": "result", "is_error": True, "result": "twice"},
    ])  # fmt: skip
    assert text.startswith("! twice\n")
    assert transcript.failure is not None
    assert transcript.failure.kind == "usage_limit"
    assert transcript.failure.resets_at_ms == 1_900_000_000_000


def test_claude_refusal() -> None:
    """A refusal of the model is a failure."""
    refused = {"type": "assistant", "message": {"stop_reason": "refusal", "content": []}}
    transcript, _ = read("claude", [refused])
    assert transcript.failure is not None
    assert transcript.failure.kind == "refusal"


def test_codex() -> None:
    """Commands, other tools, changes and messages are lines; an error that passed is no failure."""
    transcript, text = read("codex", CODEX)
    assert text == (
        "$ ls\n! no file\n> gw.done\n> add a.py\n! odd\nDone.\n! Reconnecting... (429)\n"
        "= 3 tokens in, 4 out\n"
    )
    assert (transcript.facts.session, transcript.failure) == ("t1", None)


def test_codex_failure() -> None:
    """The same error twice is one line, and the failure."""
    transcript, text = read("codex", [
        {"type": "error", "message": "401 Unauthorized"},
        {"type": "turn.failed", "error": {"message": "401 Unauthorized"}},
    ])  # fmt: skip
    assert text == "! 401 Unauthorized\n"
    assert transcript.failure is not None
    assert transcript.failure.kind == "authentication"


def test_gemini() -> None:
    """A text that arrives in parts is one line."""
    transcript, text = read("gemini", GEMINI)
    assert text == "I look.\n$ ls\n! no\nDone.\n= 3 tokens in, 4 out\n"
    assert transcript.facts.session == "g1"
    failed, _ = read("gemini", [{"type": "result", "status": "error", "error": {"message": "x"}}])
    assert failed.failure is not None


def test_acp() -> None:
    """Parts of a text are one line, tools and their results are lines, prompts are marked."""
    chunk = {"sessionUpdate": "agent_message_chunk"}
    call: dict[str, Any] = {"sessionUpdate": "tool_call", "title": "Read a.py", "kind": "read"}
    shell = {**call, "kind": "execute", "rawInput": {"command": "ls"}}
    result = {"type": "content", "content": {"type": "text", "text": "a.py"}}
    updates: list[dict[str, Any]] = [
        {**chunk, "content": {"type": "text", "text": "I "}},
        {**chunk, "content": {"type": "text", "text": "look."}},
        call,
        shell,
        {"sessionUpdate": "tool_call_update", "status": "completed", "content": [result]},
        {"sessionUpdate": "usage_update", "cost": {"amount": 0.5, "currency": "USD"}},
        {"sessionUpdate": "plan", "entries": []},
    ]
    transcript, text = read("acp", [
        {"type": "session", "session": "s1"},
        *({"type": "update", "update": update} for update in updates),
        {"type": "permission", "decision": "ask", "title": "rm"},
        {"type": "permission", "decision": "deny", "title": "rm"},
        {"type": "prompt", "text": "#1 x-note from hq: Stop\nnow"},
        {"type": "turn", "reason": "refusal", "usage": {"inputTokens": 3, "outputTokens": 4}},
    ])  # fmt: skip
    assert text == (
        "I look.\n> Read a.py\n$ ls\n  a.py\n! asked hq: rm\n! denied: rm\n"
        "< #1 x-note from hq: Stop\n< now\n= 3 tokens in, 4 out, $0.5000\n"
    )
    facts = transcript.facts
    assert (facts.session, facts.tools.pending) == ("s1", (2, ["> Read a.py", "$ ls"]))
    assert transcript.failure is not None
    assert transcript.failure.kind == "refusal"
    failed, text = read("acp", [{"type": "error", "message": "Authentication required"}])
    assert text == "! Authentication required\n"
    assert failed.failure is not None
    assert failed.failure.kind == "authentication"


def test_opencode() -> None:
    """Tools with their results are lines, and the sum is the last one."""
    transcript, text = read("opencode", OPENCODE)
    assert text == (
        "$ ls\n  a.py\n> edit a.py\n! no match\nDone.\n! key\n= 3 tokens in, 4 out, $0.5000\n"
    )
    assert transcript.failure is not None
    assert (transcript.facts.session, transcript.failure.kind) == ("o1", "authentication")


def test_other_lines() -> None:
    """Lines that are no events stay as they are, and events of unknown shape do no harm."""
    data = b'warning: \xff\n[1]\n{"type": "assistant", "message": 5}\n{"type": "user"}\n\nend'
    transcript = Transcript("claude")
    text = transcript.output(data) + transcript.output(None)
    assert text.decode() == "warning: \ufffd\n[1]\nend\n"


def test_strange_values() -> None:
    """Numbers out of range, deep nesting and values of other types do no harm."""
    strange: list[dict[str, Any]] = [
        {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 10**30}},
        {"type": "result", "usage": {"input_tokens": 10**30, "output_tokens": 4}},
        {"type": ["result"], "message": []},
    ]
    transcript, text = read("claude", strange)
    assert (text, transcript.facts.output_tokens) == ("= 0 tokens in, 4 out\n", 4)
    assert transcript.failure is not None
    assert transcript.failure.resets_at_ms is None
    deep = b"[" * 100_000
    assert transcript.output(deep + b"\n") == deep + b"\n"


def test_huge_event() -> None:
    """An event that is too long is dropped, and the next one is read."""
    transcript = Transcript("claude")
    assert transcript.output(b"{" + b"x" * (9 << 20)) == b""
    assert transcript.output(b"}\nnext\n") == "… a longer event\nnext\n".encode()


def test_plain_output() -> None:
    """The output of an agent without events is not changed; its words may report a failure."""
    transcript = Transcript("text")
    assert transcript.output(b"litellm.AuthenticationError: 401\n") == (
        b"litellm.AuthenticationError: 401\n"
    )
    assert transcript.error(b"bye\n") == b"bye\n"
    assert transcript.output(None) + transcript.error(None) == b""
    transcript.wait_end(1)
    assert transcript.failure is not None
    assert transcript.failure.kind == "authentication"


def test_pi() -> None:
    """A message is read at its end alone, and an answer ends the errors that were retried."""
    usage = {"input": 3, "cacheRead": 2, "cacheWrite": 1, "output": 4, "cost": {"total": 0.25}}
    said = {"role": "assistant", "usage": usage, "content": [{"type": "text", "text": "Done."}]}
    failed = {"role": "assistant", "stopReason": "error", "errorMessage": "429 usage limit"}
    result = {"content": [{"type": "text", "text": "a.py"}]}
    events: list[dict[str, Any]] = [
        {"type": "session", "id": "p1"},
        {"type": "message_end", "message": {"role": "user", "content": [{"text": "Go"}]}},
        {"type": "message_end", "message": failed},
        {"type": "tool_execution_start", "toolName": "bash", "args": {"command": "ls"}},
        {"type": "tool_execution_end", "toolName": "bash", "result": result, "isError": False},
        {"type": "message_update", "message": said},
        {"type": "message_end", "message": said},
    ]
    transcript, text = read("pi", events)
    assert text == "! 429 usage limit\n$ ls\n  a.py\nDone.\n= 6 tokens in, 4 out, $0.2500\n"
    assert (transcript.facts.session, transcript.failure) == ("p1", None)
    transcript, _ = read("pi", events[:3])
    assert transcript.failure is not None
    assert transcript.failure.kind == "usage_limit"
