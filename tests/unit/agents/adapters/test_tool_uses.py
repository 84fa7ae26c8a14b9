"""Tool calls are counted, and the newest are kept until they are published."""

from gitworker.agents.adapters.tool_uses import CALLS_SHOWN, ToolUses


def test_they_are_counted_and_bounded() -> None:
    """Every call counts, and only the newest are kept as lines."""
    tools = ToolUses()
    assert tools.pending == (0, [])
    for number in range(500):
        tools.add(f"$ echo {number}")
    number, lines = tools.pending
    assert (number, len(lines), lines[-1]) == (500, CALLS_SHOWN, "$ echo 499")


def test_calls_during_a_publication_remain() -> None:
    """Calls that come while others are published belong to the next message."""
    tools = ToolUses()
    tools.add("$ one")
    tools.add("$ two")
    published, _ = tools.pending
    tools.add("$ three")
    tools.settle(published)
    assert tools.pending == (1, ["$ three"])
    tools.settle(1)
    assert tools.pending == (0, [])
