"""run: a queue of tasks, scripted agents, and one command that lands everything."""

import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.automations.change import add as add_automation
from gitworker.automations.rules_automation import Draft
from gitworker.errors import Invalid, NotFound, Refused
from gitworker.model.task import VerificationType
from gitworker.model.task_spec import TaskSpec
from gitworker.orchestrator.carry_out import AgentCommand
from gitworker.orchestrator.facts import read_picture
from gitworker.orchestrator.results import LISTED_MAX, RunSummary, json_summary, render_summary
from gitworker.orchestrator.run import RunOrder, plan_run, run
from gitworker.processes.table import all_processes
from gitworker.progress import Event, Notice, Progress, ignore
from gitworker.questions.reply import reply
from gitworker.store.records.task_needs import change_needs
from gitworker.store.records.task_specs import insert_task_spec
from gitworker.tasks.queue.add_task import promote_if_free
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tasks.queue.rules_needs import parse_needs
from gitworker.workers.task_verbs.change import edit_task
from gitworker.workstreams.change import NewWorkstream, create
from tests.agents.rounds.test_limits import AGENT as LIMITED
from tests.cli.kit import run as run_program
from tests.cli.kit import running
from tests.workers.world import World, wait_until

# Each task is a script for its agent; the prompt of a later round begins with "Your work on".
AGENT = """\
#!/bin/sh
echo "$GITWORKER_ID $GITWORKER_TASK $(head -1 "$GITWORKER_PROMPT_FILE")" >>"$GITWORKER_STATE/seen"
case "$(cat "$GITWORKER_PROMPT_FILE")" in
"Review the change"*)
    test -e "$GITWORKER_STATE/void" && exit
    result=FAIL; test -e again.txt && result=PASS
    printf 'A file is missing.\\nCOMMAND: ls\\nSTATUS: 0\\nVERDICT: %s\\n' "$result" ;;
*"A file is missing."*) touch again.txt; git add -A; git commit -q -m Again ;;
*"it conflicts with"*)
    git worker sync; echo both >README; git add README; GIT_EDITOR=true git worker sync --continue
    git commit -q --allow-empty -m "Both" ;;
*"test commands of the task failed"*) echo 2 >tested; git add -A; git commit -q -m "Repair" ;;
*"verify commands failed"*) rm -f bad; git add -A; git commit -q -m "Repair" ;;
*) eval "$(head -1 "$GITWORKER_PROMPT_FILE")" ;;
esac
"""
COMMIT = 'echo "$GITWORKER_TASK" >"$GITWORKER_TASK.txt"; git add -A; git commit -q -m Work'
CRASH_ONCE = (
    f'test -e "$GITWORKER_STATE/crashed" && {{ {COMMIT}; }} '
    '|| { touch "$GITWORKER_STATE/crashed"; kill -9 $$; }'
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a repository with an agent's script and fast retries."""
    world = World.make(tmp_path / "r")
    world.git("config", "worker.task.retry-delay-s", "0")
    world.git("config", "worker.verify.commands", "test ! -e bad")
    script = tmp_path / "agent.sh"
    script.write_text(AGENT)
    script.chmod(0o755)
    world.session()
    return world


def agent_of(world: World) -> str:
    """Return the path of the agent's script."""
    return str(world.root.parent / "agent.sh")


def add(
    world: World,
    task: str,
    text: str = COMMIT,
    *,
    needs: Iterable[str] = (),
    tests: str = "",
    verify: VerificationType = VerificationType.AUTO_TEST,
) -> None:
    """Add a task to the queue; it is READY unless it needs others."""
    with world.session().store.write() as writer:
        spec = TaskSpec(
            task, text=text, max_retries=2, test_commands=(tests,) if tests else (),
            verification_type=verify,
        )  # fmt: skip
        insert_task_spec(writer, spec, clock.now_ms())
        change_needs(writer, task, parse_needs(needs))
        promote_if_free(writer, task, actor="hq")


def order(world: World, *, agents: int = 2, lands: bool = True, **more: object) -> RunOrder:
    """Return the order of a run with the scripted agent."""
    command = AgentCommand(None, (agent_of(world),))
    return RunOrder(command, agents, lands=lands)._replace(**more)


def carry(world: World, *, report: Progress = ignore, **more: object) -> RunSummary:
    """Run to the end in this process."""
    return run(world.session(report=report), order(world, **more))  # type: ignore[arg-type]


def results(summary: RunSummary) -> dict[str, str]:
    """Return the result of each task."""
    return {one.task: one.result.value for one in summary.results}


def seen(world: World) -> list[str]:
    """Return one line for each start of an agent: worker, task, first line of the prompt."""
    path = world.state_dir / "seen"
    return path.read_text().splitlines() if path.exists() else []


def test_everything_lands(world: World) -> None:
    """A conflict, a failed verification and a crash are repaired by the agents themselves."""
    add(world, "plain")
    add(world, "next", needs=["plain"])
    add(world, "stacked", f"test -e next.txt && {COMMIT}", needs=["next:done"])
    add(world, "one", "echo 1 >README; git add -A; git commit -q -m One")
    add(world, "two", "echo 2 >README; git add -A; git commit -q -m Two")
    add(world, "bad", f"touch bad; {COMMIT}")
    add(world, "crash", CRASH_ONCE)
    said: list[str] = []

    def report(event: Event) -> None:
        if isinstance(event, Notice):
            said.append(event.text)

    summary = carry(world, report=report, agents=3)
    assert set(results(summary).values()) == {"landed"}, (summary, said)
    assert summary.status == 0
    assert (world.show("README"), world.show("crash.txt")) == ("both", "crash")
    assert any(line.startswith("two came back (") for line in said), said
    assert "plain has landed (command-1)" in said
    assert [line.split()[1] for line in seen(world)].count("plain") == 1
    assert world.task("crash").retry_count == 1
    world.require_sound()


def test_files_that_are_not_committed(world: World) -> None:
    """A run says which files an agent has left, and so does the prompt of the next attempt."""
    told = "grep -q 'junk is not [c]ommitted' \"$GITWORKER_PROMPT_FILE\""
    add(world, "junk", f"if {told}; then rm junk; else {COMMIT}; touch junk; fi")
    add(world, "never", f"{COMMIT}; touch a$$ b$$ c$$ d$$")
    summary = carry(world)
    assert results(summary) == {"junk": "landed", "never": "failed"}
    assert world.task("junk").retry_count == 1
    (never,) = [one for one in summary.results if one.task == "never"]
    assert re.search(r": a\d+, b\d+, c\d+ and 1 more are not committed", never.detail)


def test_a_landed_task_keeps_its_worker(world: World) -> None:
    """The summary names the worker of a task also if it has another task by now."""
    add(world, "first")
    add(world, "second", needs=["first"])
    summary = carry(world, agents=1)
    assert {one.task: one.worker for one in summary.results} == {
        "first": "command-1", "second": "command-1",
    }  # fmt: skip


def test_a_plan_is_one_command(world: World) -> None:
    """The tasks of a plan land in their order, and the same command again has nothing to do."""
    plan = world.root.parent / "plan.md"
    plan.write_text("- [ ] a: First\n- [ ] b: Second (needs: a)\n")
    (world.root.parent / "agent.sh").write_text(f"#!/bin/sh\n{COMMIT}\n")
    words = ("run", str(plan), "--land", "--", agent_of(world))
    first, again = run_program(world.root, *words), run_program(world.root, *words)
    assert first.out == "a\tlanded\tcommand-1\t\nb\tlanded\tcommand-1\t\n", first
    assert (again.status, again.out) == (0, first.out), again
    assert world.git("log", "--format=%s", "-3").splitlines() == ["Work", "Work", "Start"]


def test_a_run_without_consent_to_land_stops_at_review(world: World) -> None:
    """Without `lands` the work waits for a person, and so does work that requires an approval."""
    add(world, "t1")
    summary = carry(world, lands=False)
    assert (results(summary), summary.status) == ({"t1": "in review"}, 0)
    assert summary.next_command == "git worker land --all"
    assert world.states("command-1", "t1") == ("IN_REVIEW", "VERIFYING")


def test_an_agent_that_does_nothing_is_tried_again(world: World) -> None:
    """An agent that hands nothing in fails its task, and a program that cannot start, too."""
    add(world, "idle", ":")
    summary = carry(world)
    assert (results(summary), summary.status) == ({"idle": "failed"}, 1)
    assert len(seen(world)) == 3
    assert world.states("command-1", "idle") == ("FAILED", "BLOCKED")
    assert "without handing in any work" in summary.results[0].detail
    world.require_sound()


def test_the_tests_of_a_task_decide(world: World) -> None:
    """Work whose tests fail goes back to its agent with their output, and lands once they pass."""
    add(world, "t1", f"echo 1 >tested; {COMMIT}", tests="cat tested; grep -q 2 tested")
    summary = carry(world)
    assert results(summary) == {"t1": "landed"}
    (request, approval) = world.messages("review_result")
    assert "$ cat tested; grep -q 2 tested\n1\nended with status 1" in request["note"]
    assert len(seen(world)) == 2


def test_the_output_of_tests_has_no_secret(world: World) -> None:
    """A secret in the output of failed tests is not recorded in the request to the author."""
    tests = "cat tested; sed s/^/sk-ant-abcdefghijklmnop/ tested; grep -q 2 tested"
    add(world, "t1", f"echo 1 >tested; {COMMIT}", tests=tests)
    carry(world)
    (request, _) = world.messages("review_result")
    assert "\n1\n[redacted]\nended with status 1" in request["note"]
    assert "sk-ant-abcdefghijklmnop1" not in str(world.messages("review_result"))


def test_a_broken_run_leaves_no_standby(world: World) -> None:
    """A run that ends with an error ends the process that it keeps for starts."""

    kept: set[int] = set()

    def report(event: object) -> None:
        kept.update(standbys())
        if "t2" in str(event):
            raise OSError("the terminal is closed")

    def standbys() -> list[int]:
        found = all_processes() or []
        return [one.pid for one in found if (one.arguments or ())[-1:] == ("--standby",)
                and one.parent == os.getpid()]  # fmt: skip

    add(world, "t1")
    add(world, "t2")
    with pytest.raises(OSError, match="the terminal is closed") as caught:
        carry(world, report=report)
    assert kept, "the run keeps no process for starts"
    assert not kept.intersection(standbys()), caught
    ended = "SELECT count(*) FROM runs WHERE ended_at_ms IS NOT NULL"
    wait_until(lambda: world.query(ended) == [(1,)])


DAMAGES = {
    "lost-git-file": "rm .git",
    "removed": "cd ..; git worktree remove -f -f t1",
    "other-branch": "git checkout -q -b other",
    "own-repository": "rm .git; git init -q .",
}


@pytest.mark.parametrize("verify", [VerificationType.AUTO_TEST, VerificationType.QA_AGENT])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_worktree_is_not_tested(
    world: World, damage: str, verify: VerificationType
) -> None:
    """Outside its worker's own worktree nothing tests the work, which waits for a person."""
    is_tested = verify is VerificationType.AUTO_TEST
    tests = f"git commit -q --allow-empty -m Wrong; touch {world.root}/ran" if is_tested else ""
    add(world, "t1", f"{COMMIT}; git worker done >/dev/null; {DAMAGES[damage]}",
        tests=tests, verify=verify)  # fmt: skip
    said: list[Event] = []
    summary = carry(world, report=said.append)
    assert results(summary) == {"t1": "failed" if is_tested else "in review"}
    assert world.worker("command-1").state == "IN_REVIEW"
    assert any(isinstance(one, Notice) and "t1 could not be" in one.text for one in said)
    assert not (world.root / "ran").exists()
    assert len(seen(world)) == 1
    assert "Wrong" not in world.git("log", "--all", "--format=%s")


def test_a_killed_agent_is_recovered(world: World) -> None:
    """If agent and supervisor were killed, the worker continues its task at once."""
    add(world, "t1", f"test -e x && {{ {COMMIT}; }} || {{ touch x; kill -9 $PPID $$; }}")
    assert results(carry(world)) == {"t1": "landed"}
    assert (len(seen(world)), world.task("t1").retry_count) == (2, 0)
    world.require_sound()


def test_a_run_that_cannot_work_is_refused(world: World) -> None:
    """An unknown agent, a missing program and a worker's own run are refused before any change."""
    add(world, "t1")
    commands = (AgentCommand("nobody", ()), AgentCommand(None, ("/does/not/exist",)))
    for command in commands:
        with pytest.raises(NotFound):
            run(world.session(), RunOrder(command, 1))
    with pytest.raises(Invalid, match="no agent to run"):
        run(world.session(), RunOrder(AgentCommand(None, ()), 1))
    with pytest.raises(Refused, match="cannot run other agents"):
        run(world.session(identity="auth"), order(world))
    (start,) = plan_run(world.session(), order(world)).actions
    assert (start.worker, start.task, start.is_new) == ("command-1", "t1", True)
    assert world.task("t1").status == "READY"


def test_a_killed_run_is_continued(world: World) -> None:
    """After kill -9 the same command takes living agents over, and a second one shares them."""
    gate = world.root.parent / "gate"
    for task in ("t1", "t2", "t3"):
        add(world, task, f"while ! test -e {gate}; do sleep 0.05; done; {COMMIT}")
    words = ("run", "-j", "2", "--land", "--", agent_of(world))
    with running(world.root, *words) as first:
        wait_until(lambda: len(seen(world)) == 2)
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert {world.task(task).status.value for task in ("t1", "t2")} == {"IN_PROGRESS"}
    with running(world.root, *words) as second:
        gate.touch()
        third = run_program(world.root, *words)  # it lists only tasks that are open at its start
        assert (second.wait(), third.status) == (0, 0)
    assert {world.task(task).status.value for task in ("t1", "t2", "t3")} == {"COMPLETED"}, third
    assert sorted(line.split()[1] for line in seen(world)) == ["t1", "t2", "t3"]
    world.require_sound()


def test_an_interrupted_run_is_continued(world: World) -> None:
    """The second interrupt stops the agents without counting an attempt; a new run goes on."""
    add(world, "t1", f"test -e x && {{ {COMMIT}; }} || {{ touch x; exec sleep 60; }}")
    words = ("run", "--land", "--", agent_of(world))
    with running(world.root, *words) as first:
        wait_until(lambda: (world.root / "worktrees" / "t1" / "x").exists())
        first.send_signal(signal.SIGINT)
        first.send_signal(signal.SIGTERM)
        assert first.wait() == 130
    assert world.states("command-1", "t1") == ("FAILED", "READY")
    answer = run_program(world.root, *words)
    assert (answer.status, answer.out) == (0, "t1\tlanded\tcommand-1\t\n")
    assert world.task("t1").retry_count == 0
    world.require_sound()


def limited(world: World) -> AgentCommand:
    """Return an agent that meets a limit of one second."""
    program = Path(agent_of(world))
    program.write_text(LIMITED)
    for name, value in (("command", str(program)), ("resume", str(program)), ("input", "prompt"),
                        ("stream", "claude")):  # fmt: skip
        world.git("config", f"worker.agents.own.{name}", value)
    add(world, "t1", "Go")
    return AgentCommand("own", ())


def test_a_limit_is_waited_for(world: World) -> None:
    """After a limit of its model a known agent continues its session, and no attempt is counted."""
    command = limited(world)
    summary = carry(world, command=command)
    assert results(summary) == {"t1": "landed"}
    assert "The limit of your model has ended." in (world.state_dir / "seen").read_text()
    assert (world.task("t1").retry_count, len(world.messages("agent_started"))) == (0, 2)
    world.require_sound()


def test_a_plan_as_output(world: World) -> None:
    """A task whose agent brings a plan into the queue gets subtasks, and the run does them."""
    lines = "- [ ] form: Build it\\n- [ ] styles: Style it (needs: form)\\n"
    imports = "git worker task import --parent epic plan.md"
    add(world, "epic", f"printf %b '{lines}' >plan.md && {imports} && rm plan.md && {COMMIT}")
    script = Path(agent_of(world))
    script.write_text(f"#!/bin/sh\ncase $GITWORKER_TASK in epic) ;; *) {COMMIT}; exit ;; esac\n"
                      + AGENT.removeprefix("#!/bin/sh\n"))  # fmt: skip
    summary = carry(world)
    assert results(summary) == {"epic": "landed", "form": "landed", "styles": "landed"}, summary
    rows = world.query("SELECT id, parent_task_id, is_plan_subtask FROM tasks ORDER BY id")
    assert rows == [("epic", None, 0), ("form", "epic", 1), ("styles", "epic", 1)]
    world.require_sound()


def test_a_workstream_is_validated_at_the_end(world: World) -> None:
    """A run validates the workstream of its tasks, and cancels the rest of one that has failed."""
    for name, commands in (("good", ("test -e a.txt",)), ("bad", ())):
        create(world.session(), NewWorkstream(name, validation=commands))
    for task, name, text in (("a", "good", COMMIT), ("b", "bad", "exit 1"), ("c", "bad", COMMIT)):
        add(world, task, text, needs=["b"] if task == "c" else ())
        edit_task(world.session(), task, TaskFields(workstream_id=name, max_retries=0))
    said: list[str] = []
    summary = carry(world, report=lambda event: said.append(str(event)))
    assert results(summary)["a"] == "landed", summary
    assert world.task("c").status == "CANCELLED"
    rows = world.query("SELECT id, state, archived_at_ms IS NOT NULL FROM workstreams ORDER BY id")
    assert rows == [("bad", "failed", 1), ("good", "completed", 1)], said
    world.require_sound()


def test_a_branch_lands_at_the_end(world: World) -> None:
    """A run that lands work lands the branch of a workstream, once its tasks have landed on it."""
    create(world.session(), NewWorkstream("whole", validation=("test -e a.txt",), has_branch=True))
    for task in ("a", "b"):
        add(world, task, COMMIT, needs=["a"] if task == "b" else ())
        edit_task(world.session(), task, TaskFields(workstream_id="whole"))
    start = world.tip()
    said: list[str] = []
    carry(world, report=lambda event: said.append(str(event)))
    rows = world.query("SELECT state, landed_oid FROM workstreams")
    assert rows == [("completed", world.tip())], said
    assert world.git("diff", "--name-only", start, "main") == "a.txt\nb.txt"
    landings = world.query("SELECT DISTINCT target_ref FROM landings")
    assert landings == [("refs/heads/ws/whole",)]
    world.require_sound()


def test_a_limit_may_wait_for_a_person(world: World) -> None:
    """Without automatic resumption, and in quiet hours, a run leaves the task paused."""
    summary = carry(world, command=limited(world), resumes=False)
    assert results(summary) == {"t1": "waiting"}
    assert world.states("own-1", "t1") == ("WORKING", "PAUSED")
    hour = int(clock.local_seconds(clock.now_ms())[11:13])
    quiet = f"{hour:02}:00-{(hour + 3) % 24:02}:00"
    world.git("config", "worker.orchestrator.quiet-hours", quiet)
    picture = read_picture(world.session(), "own", agents=1, skipped={}, refused={}, tested={})
    (slot,) = picture.facts.slots
    assert (slot.wait_until_ms or 0) > clock.now_ms() + 3_600_000
    assert len(world.messages("agent_started")) == 1
    world.require_sound()


def test_a_run_fires_automations(world: World) -> None:
    """A run fires an automation on the landing of a task, and does the task that it adds."""
    draft = Draft("follow", events=("COMPLETED",), task="Follow", prompt=COMMIT)
    add_automation(world.session(), draft)
    add(world, "first")
    summary = carry(world)
    assert results(summary) == {"first": "landed", "follow": "landed"}, summary
    (ran,) = world.query("SELECT trigger_reason, status FROM automation_runs ORDER BY id LIMIT 1")
    assert ran == ("event:task_completed", "completed")
    world.require_sound()


def test_a_failed_workstream_stops_its_agents(world: World) -> None:
    """The agent of another task is stopped once, and its work is kept."""
    create(world.session(), NewWorkstream("bad"))
    waits = f'{COMMIT}; touch "$GITWORKER_STATE/begun"; sleep 60'
    fails = 'while test ! -e "$GITWORKER_STATE/begun"; do :; done; exit 1'
    for task, text in (("long", waits), ("short", fails)):
        add(world, task, text)
        edit_task(world.session(), task, TaskFields(workstream_id="bad", max_retries=0))
    carry(world)
    assert world.task("long").status == "CANCELLED"
    assert world.query("SELECT archived_at_ms IS NOT NULL FROM workstreams") == [(1,)]
    assert len([one for one in world.messages("cmd") if one["command"] == "stop"]) == 1
    assert any("/rescue/" in name for name in world.refs())
    world.require_sound()


OPEN = "until git worker questions | grep -q port; do timeout 3 git worker ask 'Which port?'; done"
LATE = "git worker ask 'Which port?' --timeout 0; true"


@pytest.mark.parametrize("ask", [OPEN, LATE])
def test_an_answer_lets_a_task_go_on(world: World, ask: str) -> None:
    """A run names the open question; after the answer the agent starts again and has it."""
    known = 'grep -q "answer: 80[8]0" "$GITWORKER_PROMPT_FILE"'
    add(world, "port", f"if {known}; then {COMMIT}; else {ask}; fi")
    carry(world, is_single=True)
    wait_until(lambda: world.query("SELECT COUNT(*) FROM runs WHERE outcome = 'waiting'") == [(1,)])
    waits = world.task("port").status.value
    assert waits == ("WAITING_INPUT" if ask is OPEN else "PAUSED")
    if ask is OPEN:
        summary = carry(world, resumes=False)
        assert summary.next_command == "git worker reply port <text>"
        assert [(one.result.value, one.detail) for one in summary.results] == [
            ("waiting", "asks: Which port?")
        ]
    assert reply(world.session(), "port", "8080").next == "git worker resume command-1"
    assert results(carry(world, resumes=False)) == {"port": "landed"}
    world.require_sound()


def test_the_summary_is_bounded(world: World) -> None:
    """A run lists the first open tasks and its own ones; it counts the others."""
    lines = "".join(f"- [ ] t{number}: Wait\n" for number in range(LISTED_MAX + 20))
    (world.root / "plan.md").write_text(lines)
    add(world, "zz")
    edit_task(world.session(), "zz", TaskFields(priority=1))
    summary = carry(world, agents=1, begins=1, plan=str(world.root / "plan.md"))
    assert results(summary)["zz"] == "landed"
    assert len(summary.results) == LISTED_MAX + 1
    others = json_summary(summary)["others"]
    assert sum(others.values()) == 20
    text = render_summary(summary, width=80, color=False)
    assert text.splitlines()[-1].startswith("1 landed, ")
