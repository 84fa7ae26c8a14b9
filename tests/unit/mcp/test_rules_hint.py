"""The tool for a hint."""

import pytest

from gitworker.mcp.rules_hint import tool_of

WORKER = ("commit", "done", "progress", "sync")
HQ = ("resume", "merge", "send")


@pytest.mark.parametrize(
    ("hint", "tools", "tool"),
    [
        ("cd /w && git commit -am 'What I did'", WORKER, "commit"),
        ("git worker done m1 --commit -m <text>", WORKER, "done"),
        ("cd /w && git worker sync --continue   # or: --abort", WORKER, "sync"),
        ("git worker start m1", WORKER, "progress"),
        ("git worker resume m1", HQ, "resume"),
        ("git worker land m1", HQ, "merge"),
        ("git worker gc && git worker send hq x", HQ, "send"),
        ("git commit -am x", HQ, None),
        ("git worker gc   # then git worker done", WORKER, None),
        ("git status", WORKER, None),
    ],
)
def test_tool_of(hint: str, tools: tuple[str, ...], tool: str | None) -> None:
    """The first command that has a tool decides; a remark does not count."""
    assert tool_of(hint, tools) == tool
