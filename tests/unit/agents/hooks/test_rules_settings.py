"""The settings that attach our hooks: the form that each agent documents."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.agents.hooks.rules_dialects import EVENTS
from gitworker.agents.hooks.rules_settings import (
    AGENTS,
    MARK,
    SOURCES,
    WORKTREE_EVENTS,
    attached,
    detached,
    hook_settings,
    is_attached,
)
from gitworker.errors import Invalid

PROGRAM = "/opt/my tools/git-worker"
JSON_AGENTS = [name for name, files in AGENTS.items() if files.events]
FOREIGN = {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "mine"}]}]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("agent", JSON_AGENTS)
def test_the_documented_form(agent: str) -> None:
    """Each event, or source of one, has one command hook with a limit, in the agent's unit."""
    settings = hook_settings(agent, PROGRAM)["hooks"]
    assert set(settings) == set(AGENTS[agent].events)
    for name, entry in ((name, entry) for name, entries in settings.items() for entry in entries):
        ((hook),) = entry["hooks"]
        sources = SOURCES.get((agent, name))
        event = name if sources is None else sources[entry["matcher"]]
        assert event in EVENTS or event in WORKTREE_EVENTS
        assert hook["type"] == "command"
        assert shlex.split(hook["command"], comments=True)[:3] == [PROGRAM, "hook", event]
        seconds = hook["timeout"] / (1000 if agent == "gemini" else 1)
        assert seconds == (600 if event in WORKTREE_EVENTS else 20)
        is_filtered = name == "Notification" and agent != "gemini"
        assert ("matcher" in entry) == (is_filtered or sources is not None)


def test_sources_of_gemini() -> None:
    """A conversation that is lost calls the silent hook, any other start the introduction."""
    hooks = hook_settings("gemini", PROGRAM)["hooks"]
    called = {
        (event, entry["matcher"]): shlex.split(entry["hooks"][0]["command"])[2]
        for event in ("SessionStart", "PreCompress")
        for entry in hooks[event]
    }
    assert called == {
        ("SessionStart", "startup"): "SessionStart", ("SessionStart", "resume"): "SessionStart",
        ("SessionStart", "clear"): "PreCompress", ("PreCompress", "manual"): "PreCompress",
    }  # fmt: skip


@pytest.mark.parametrize("agent", ["claude", "qwen"])
def test_notifications_that_need_a_person(agent: str) -> None:
    """A permission, a question and an idle prompt call our hook; other notifications do not."""
    (entry,) = hook_settings(agent, PROGRAM)["hooks"]["Notification"]
    kinds = entry["matcher"].split("|")
    assert {"permission_prompt", "agent_needs_input", "idle_prompt"} <= {*kinds}
    assert not {"auth_success", "agent_completed", "elicitation_complete"} & {*kinds}


def test_only_a_missing_worktree_stops_the_agent() -> None:
    """A failure of our program is hidden from the agent, except for its worktrees."""
    for event, (entry,) in hook_settings("claude", PROGRAM)["hooks"].items():
        command = entry["hooks"][0]["command"]
        assert ("|| :" in command) == (event not in WORKTREE_EVENTS)


@given(st.dictionaries(st.text().filter(lambda key: key != "hooks"), VALUES))
def test_other_settings_stay(settings: dict[str, object]) -> None:
    """Attaching and detaching keeps every other setting and hook of the user."""
    before = {**settings, "hooks": FOREIGN}
    text = attached(json.dumps(before), "claude", PROGRAM)
    found = json.loads(text)
    assert found["hooks"]["Stop"][0] == FOREIGN["Stop"][0]
    assert {key: value for key, value in found.items() if key != "hooks"} == settings
    assert is_attached(text, PROGRAM)
    left = detached(text, "claude")
    assert left is not None
    assert json.loads(left) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_attaching_twice_changes_nothing(agent: str) -> None:
    """An attached file stays as it is, and without our hooks nothing is left of a new one."""
    text = attached(None, agent, PROGRAM)
    assert attached(text, agent, PROGRAM) == text
    assert is_attached(text, PROGRAM.replace('"', ""))
    assert detached(text, agent) is None


def test_a_new_program_replaces_the_old_one() -> None:
    """After a move of our program, its old path is in no hook."""
    text = attached(attached(None, "codex", "/old/git-worker"), "codex", PROGRAM)
    assert "/old/" not in text
    assert text.count(MARK) == len(AGENTS["codex"].events)


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"hooks": []}', '{"hooks": {"Stop": 1}}', '{"hooks": {"Stop": null}}',
     "{} // comment", "7", '{"a": "\\ud800"}', "[" * 99_999],
)  # fmt: skip
def test_other_forms_are_refused(text: str) -> None:
    """A file that we cannot extend without loss is refused."""
    with pytest.raises(Invalid):
        attached(text, "gemini", PROGRAM)


def test_a_command_beside_ours_stays() -> None:
    """A command that the user has added to an entry of ours stays there."""
    settings = json.loads(attached(None, "claude", PROGRAM))
    mine = {"type": "command", "command": "make lint"}
    settings["hooks"]["Stop"][0]["hooks"].append(mine)
    left = detached(json.dumps(settings), "claude")
    assert left is not None
    assert json.loads(left) == {"hooks": {"Stop": [{"hooks": [mine]}]}}
    for odd in ('{"hooks": {"Stop": null}}', '{"hooks": {"Stop": [1, {"hooks": 2}]}}'):
        assert detached(odd, "claude") == odd


def test_a_foreign_plugin_is_refused() -> None:
    """A plugin of another author is neither replaced nor removed."""
    with pytest.raises(Invalid):
        attached("export const Mine = 1", "opencode", PROGRAM)
    assert detached("export const Mine = 1", "opencode") == "export const Mine = 1"


def test_a_file_without_our_hooks_stays() -> None:
    """Detaching returns the very text of a file in which nothing is ours."""
    text = '{ "hooks": {"Stop": []} , "a":1}'
    assert detached(text, "claude") == text


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"model": "best"}'])
def test_a_file_without_hooks(text: str) -> None:
    """Nothing is removed from a file that has no hooks of ours, whatever its form is."""
    assert detached(text, "claude") == text
