"""Automations: which are valid, when they fire, and their prompts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.automations.rules_automation import (
    Draft,
    action_of,
    capped,
    cooldown_of,
    next_period_ms,
    over_budget,
    parse_name,
    render_prompt,
    require_placeholders,
    skip_reason,
    split_events,
    trigger_of,
    trigger_text,
)
from gitworker.errors import Invalid


@pytest.mark.parametrize(
    ("draft", "trigger", "text"),
    [
        (Draft("a", every_s=5), {"type": "periodic", "interval_seconds": 5}, "every 5 s"),
        (Draft("a", cron="1 * * * *"), {"type": "cron", "expression": "1 * * * *"},
         "cron 1 * * * *"),
        (Draft("a", events=("READY", "x-a")), {"type": "event", "events": ["READY", "x-a"]},
         "on READY, x-a"),
    ],
)  # fmt: skip
def test_triggers(draft: Draft, trigger: dict[str, object], text: str) -> None:
    """An automation has one trigger: a period, a cron expression, or events."""
    assert trigger_of(draft) == trigger
    assert trigger_text(trigger) == text
    assert cooldown_of(draft) == (3600 if draft.events else 0)
    assert cooldown_of(draft._replace(cooldown_s=7)) == 7
    assert split_events(["READY", "x-a"]) == (["x-a"], ["READY"])


@pytest.mark.parametrize(
    "draft",
    [
        Draft("a"),
        Draft("a", every_s=5, cron="*"),
        Draft("a", every_s=0),
        Draft("a", events=("A b",)),
    ],
)
def test_bad_triggers(draft: Draft) -> None:
    """No trigger, two, a period of 0, and an unknown event are refused."""
    with pytest.raises(Invalid):
        trigger_of(draft)


def test_actions() -> None:
    """An automation has one action; an agent needs a prompt, and steps must exist."""
    assert action_of(Draft("a", command="x")) == {"type": "command", "command": "x"}
    assert action_of(Draft("a", task="T")) == {"type": "task", "title": "T"}
    assert action_of(Draft("a", agent="c", prompt="p")) == {"type": "agent", "agent": "c"}
    for bad in (Draft("a"), Draft("a", command="x", task="T"), Draft("a", agent="c")):
        with pytest.raises(Invalid):
            action_of(bad)
    require_placeholders("{{event}} {{ step_1 }} {{other}}", ("a", "b"))
    with pytest.raises(Invalid, match=r"names \{\{step_2\}\}"):
        require_placeholders("{{step_2}}", ("a", "b"))
    with pytest.raises(Invalid, match="is not the name of an automation"):
        parse_name("a b")


@given(st.integers(0, 10**6), st.integers(1, 1000), st.integers(0, 10**6))
def test_a_missed_period_fires_once(before: int, interval: int, now: int) -> None:
    """The next time is after now by one interval at most, in step with the times before."""
    following = next_period_ms(before, interval, now)
    assert now < following <= now + interval * 1000
    if before <= now:
        assert (following - before) % (interval * 1000) == 0
    assert next_period_ms(None, interval, now) == now + interval * 1000


def test_skips() -> None:
    """A run is skipped while the last one is open, and during the cooldown."""
    assert skip_reason(last_run_at_ms=None, cooldown_s=9, is_running=False, now=5) is None
    assert skip_reason(last_run_at_ms=0, cooldown_s=9, is_running=False, now=9000) is None
    found = skip_reason(last_run_at_ms=0, cooldown_s=9, is_running=False, now=8500)
    assert found == "cooldown: 1 s left"
    assert skip_reason(last_run_at_ms=None, cooldown_s=0, is_running=True, now=5) is not None
    assert skip_reason(last_run_at_ms=9, cooldown_s=9, is_running=False, now=5) is None


def test_prompts() -> None:
    """A value is text: a placeholder in it stays; unknown names stay as well."""
    values = {"event": "{{step_0}}", "step_0": "out"}
    assert render_prompt("{{event}} {{ step_0 }} {{x}}{{step_9}}", values) == "{{step_0}} out {{x}}"
    assert capped("abc", 3) == "abc"
    assert capped("abcd", 3) == "abc\n[1 characters were left out]\n"
    assert capped("a\0", 4) == "a\N{REPLACEMENT CHARACTER}"
    assert capped("äöü", 5) == "äö\n[1 characters were left out]\n"


def test_budgets() -> None:
    """A run is over its budget above the limit only."""
    assert over_budget(5, None) is None
    assert over_budget(5, 5) is None
    assert over_budget(6, 5) == "it has used 6 of at most 5 tokens"
