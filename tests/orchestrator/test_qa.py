"""A second agent verifies the work of the first, with the command that it ran as evidence."""

import json

import pytest

from gitworker.model.task import VerificationType
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.progress import Event, Notice
from tests.orchestrator.test_run import add, carry, results, seen, world
from tests.workers.world import World

__all__ = ["world"]


def test_another_agent_verifies(world: World) -> None:
    """Its reasons go back to the author, and work that passes with evidence lands."""
    add(world, "t1", verify=VerificationType.QA_AGENT)
    assert results(carry(world)) == {"t1": "landed"}
    assert world.show("again.txt") == ""
    entries = [one["message"] for one in world.messages("log") if one.get("event") == "qa_verdict"]
    assert [text.partition(";")[0] for text in entries] == [
        "verified by agent.sh: failed", "verified by agent.sh: passed"
    ]  # fmt: skip
    assert "`ls` ended with status 0 on tree " in entries[1]


def test_a_verdict_without_evidence_is_left_to_a_person(world: World) -> None:
    """The work waits for a person if the agent names no command."""
    (world.state_dir / "void").touch()
    add(world, "t1", verify=VerificationType.QA_AGENT)
    said: list[Event] = []
    assert results(carry(world, report=said.append)) == {"t1": "in review"}
    assert len(seen(world)) == 2
    flaw = "its answer ends without PASS or FAIL"
    text = f"command-1 has no valid verdict, so its work waits for a person: {flaw}"
    assert text in [one.text for one in said if isinstance(one, Notice)]
    (entry,) = (one for one in world.messages("log") if one.get("event") == "qa_no_verdict")
    assert entry["message"] == f"no valid verdict by agent.sh: {flaw}"


# It commits; as a reviewer it runs `ls` or nothing, and says that it ran `ls`.
STREAMED = """\
#!/bin/sh
case "$(cat "$GITWORKER_PROMPT_FILE")" in
"Review the change"*)
    test -e "$GITWORKER_STATE/lies" || cat "$GITWORKER_STATE/call"
    cat "$GITWORKER_STATE/answer" ;;
*) echo x >x; git add x; git commit -q -m Work ;;
esac
"""


@pytest.mark.parametrize("lies", [False, True])
def test_the_named_command_must_be_one_that_ran(world: World, lies: bool) -> None:
    """The output of a known agent shows its commands, and the verdict must name one of them."""
    program = world.root.parent / "streamed.sh"
    program.write_text(STREAMED)
    program.chmod(0o755)
    world.git("config", "worker.agents.own.command", str(program))
    world.git("config", "worker.agents.own.stream", "claude")
    blocks = (
        ("call", {"type": "tool_use", "name": "Bash", "input": {"command": "cd . && ls"}}),
        ("answer", {"type": "text", "text": "COMMAND: ls\nSTATUS: 0\nVERDICT: PASS"}),
    )
    for name, block in blocks:
        event = {"type": "assistant", "message": {"content": [block]}}
        (world.state_dir / name).write_text(json.dumps(event) + "\n")
    if lies:
        (world.state_dir / "lies").touch()
    add(world, "t1", verify=VerificationType.QA_AGENT)
    summary = carry(world, command=AgentCommand("own", ()))
    assert results(summary) == {"t1": "in review" if lies else "landed"}
    flaws = [one["message"] for one in world.messages("log") if one.get("event") == "qa_no_verdict"]
    wanted = "no valid verdict by own: it names a command that it did not run"
    assert flaws == ([wanted] if lies else [])


def test_the_verifying_agent_waits_for_its_turn(world: World) -> None:
    """At the limit of agents it starts as soon as another one has ended."""
    world.git("config", "worker.agents.limits", "command=1")
    for task in ("t1", "t2"):
        add(world, task, verify=VerificationType.QA_AGENT)
    assert results(carry(world, agents=1)) == {"t1": "landed", "t2": "landed"}
