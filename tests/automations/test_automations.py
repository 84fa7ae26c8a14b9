"""Automations: they fire by time and by events, once each, and leave a record of every run."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.automations.capped_run import run_capped
from gitworker.automations.carry_out import carry_out
from gitworker.automations.change import add, enable, remove
from gitworker.automations.fire import FAR, fire_due, fire_now, life_of
from gitworker.automations.rules_automation import Draft
from gitworker.automations.schedule import next_time_ms
from gitworker.automations.show import (
    json_automation,
    json_history,
    json_list,
    json_run,
    read_history,
    read_list,
    read_one,
    render_automation,
    render_history,
    render_list,
    render_run,
)
from gitworker.bus.publish import Outgoing, publish
from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused
from gitworker.liveness.life_lock import LifeLock
from gitworker.store.planning.automations import (
    Automation,
    Claim,
    claim_firing,
    find_automation,
    find_automation_run,
    take_run,
)
from tests.hints.following import Printed, follow, note
from tests.tasks.test_queue import add as add_task
from tests.workers.world import World, unchanged, wait_until


def make(world: World, name: str = "nightly", **wanted: object) -> Automation:
    """Add an automation that runs `true` every minute, unless it is wanted otherwise."""
    given = {"command": "true", **wanted}
    if not {"events", "cron"} & given.keys():
        given.setdefault("every_s", 60)
    return add(world.session(), Draft(name, **given))  # type: ignore[arg-type]


def statuses(world: World, name: str = "nightly") -> list[tuple[str, str]]:
    """Return the reason and the status of each run, oldest first."""
    runs = read_history(world.session(), name, 50).runs
    return [(run.trigger_reason, run.status) for run in reversed(runs)]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Give the seconds by which the clock is ahead, to be changed."""
    ahead = [0]
    real = clock.now_ms
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: real() + ahead[0] * 1000)
    return ahead


def due(world: World) -> list[str]:
    """Fire the automations that are due; return their names."""
    return [one.automation for one in fire_due(world.session())]


def test_a_period(world: World, later: list[int]) -> None:
    """A period fires at its end, once after a long sleep, and not while its last run is open."""
    make(world)
    assert due(world) == []
    later[0] = 61
    (fired,) = fire_due(world.session())
    assert due(world) == []
    later[0] = 130
    assert due(world) == []
    assert statuses(world) == [("periodic", "running"), ("periodic", "skipped")]
    assert carry_out(world.session(), fired.run).status == "completed"
    later[0] = 8 * 3600
    assert due(world) == ["nightly"]
    assert due(world) == []
    found = read_one(world.session(), "nightly")
    assert found.next_at_ms is not None
    assert 0 < found.next_at_ms - clock.now_ms() <= 60_000


def test_two_processes_fire_once(world: World, later: list[int]) -> None:
    """Of two claims of the same version one wins; without the run the schedule stays."""
    stale = make(world)
    later[0] = 61
    assert due(world) == ["nightly"]
    claim = Claim("other", "periodic", "running", None, 0, 0)
    with world.session().store.write() as writer:
        assert not claim_firing(writer, stale, claim, now=clock.now_ms())
        current = find_automation(writer, "nightly")
    assert current is not None
    bad = claim._replace(status="unknown")
    with pytest.raises(GitWorkerError, match="CHECK"), world.session().store.write() as writer:
        claim_firing(writer, current, bad, now=clock.now_ms())
    assert read_one(world.session(), "nightly") == current


def test_steps_prompt_and_event(world: World) -> None:
    """A step's output and the event are texts of the prompt, and no shell evaluates them."""
    make(
        world, "triage", events=("COMPLETED", "task_failed"), steps=("echo one; exit 3",),
        prompt="{{step_0}}|{{event}}", command='printf %s "$GITWORKER_PROMPT" >seen',
    )  # fmt: skip
    assert due(world) == []
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    (fired,) = fire_due(world.session())
    done = carry_out(world.session(), fired.run)
    assert (done.trigger_reason, done.status) == ("event:task_completed", "completed")
    shown = json_run(done)
    assert shown["context_results"] == [{"status": 3, "output": "one\n"}]
    assert shown["event_data"]["task"] == "login"
    assert (world.root / "seen").read_text() == done.prompt_sent
    assert shown["actions_taken"][0]["status"] == 0
    assert due(world) == []


def test_events_are_data(world: World) -> None:
    """The text of an event cannot run a command, and cannot name the output of a step."""
    make(world, "echo", events=("note",), prompt="{{event}}", command="cat /dev/null")
    text = "$(touch hacked); `touch hacked`; {{step_0}}"
    with world.session().store.write() as writer:
        publish(writer, Outgoing("note", sender="hq", payload={"t": text}), now=clock.now_ms())
        publish(writer, Outgoing("note", sender="hq", payload={"t": "two"}), now=clock.now_ms())
    (fired,) = fire_due(world.session())
    done = carry_out(world.session(), fired.run)
    assert done.prompt_sent is not None
    assert "{{step_0}}" in done.prompt_sent
    assert len(json.loads(done.event_data or "")) == 2, "several events fire it once"
    assert not (world.root / "hacked").exists()


def test_cooldown(world: World, later: list[int]) -> None:
    """An event within the cooldown is recorded as skipped, with the reason."""
    make(world, "triage", events=("READY",))
    add_task(world, "one")
    (fired,) = fire_due(world.session())
    carry_out(world.session(), fired.run)
    add_task(world, "two")
    assert due(world) == []
    later[0] = 4000
    add_task(world, "three")
    assert due(world) == ["triage"]
    found = read_history(world.session(), "triage", 9)
    assert statuses(world, "triage")[1] == ("event:task_ready", "skipped")
    assert "cooldown: " in render_history(found, width=None, color=False)
    assert json_history(found)["runs"][1]["skipped_reason"].startswith("cooldown: ")


def test_actions(world: World) -> None:
    """A run fails with its command; a task gets the prompt as its text."""
    make(world, command="echo no; exit 7")
    done = carry_out(world.session(), fire_now(world.session(), "nightly").run)
    assert (done.trigger_reason, done.status, done.has_succeeded) == ("manual", "failed", False)
    assert render_run(done, width=None, color=False) == (
        "nightly failed: the command ended with status 7"
    )
    make(world, "plan", command=None, task="Look after it", prompt="Look")
    for wanted in ("plan", "plan-2"):
        run = fire_now(world.session(), "plan").run
        done = carry_out(world.session(), run)
        assert json_run(done)["actions_taken"] == [{"type": "task", "task": wanted}]
        assert world.task(wanted).title == "Look after it"


def test_a_run_is_carried_out_once(world: World, later: list[int]) -> None:
    """A second process is refused; a run whose process was killed has failed."""
    make(world)
    run = fire_now(world.session(), "nightly").run
    later[0] = 50
    assert due(world) == []
    later[0] = 5
    carry_out(world.session(), run)
    with pytest.raises(Refused) as refused:
        carry_out(world.session(), run)
    follow_hint(world, refused.value.hint)
    lost = fire_now(world.session(), "nightly").run
    later[0] = 200
    fire_due(world.session())
    with world.session().store.read() as reader:
        ended = find_automation_run(reader, lost)
    assert ended is not None
    assert (ended.status, ended.skipped_reason) == ("failed", "its process was killed")


def test_a_run_that_is_interrupted(world: World, later: list[int]) -> None:
    """Ctrl-C ends the command of a run, and the next tick records that, not the next day."""
    make(world, command="echo $$ >pid; : >started; sleep 600")
    run = fire_now(world.session(), "nightly").run
    words = ("automation", "run", "nightly", "--run", run)
    process = subprocess.Popen(["git-worker", *words], cwd=world.root, stdout=-3, stderr=-3)
    wait_until((world.root / "started").exists)
    process.send_signal(signal.SIGINT)
    process.wait(30)
    wait_until(lambda: not is_alive(world))
    later[0] = 1
    fire_due(world.session())
    assert statuses(world) == [("manual", "failed")]


def is_alive(world: World) -> bool:
    """Return whether the command of the run still runs."""
    return Path(f"/proc/{(world.root / 'pid').read_text().strip()}").exists()


def test_a_clock_that_was_set_back(world: World, later: list[int]) -> None:
    """Firing goes on with the next period, and a cooldown of the future counts no more."""
    make(world)
    make(world, "reviewer", events=["x-ping"], every_s=None)
    later[0] = 365 * 86_400
    publish_ping(world)
    for fired in fire_due(world.session()):
        carry_out(world.session(), fired.run)
    later[0] = 0
    publish_ping(world)
    assert due(world) == ["reviewer"]
    assert ("periodic", "skipped") in statuses(world)
    later[0] = 61
    assert due(world) == ["nightly"]


def publish_ping(world: World) -> None:
    """Publish a message for which an automation waits."""
    with world.session().store.write() as writer:
        publish(writer, Outgoing("x-ping", sender="hq", payload={}), now=clock.now_ms())


def test_cron_in_the_repeated_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second half past two of an autumn night, the next time is not the first one."""
    pytest.importorskip("cronsim")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    now = 1_792_890_900_000  # 2026-10-25 02:15 CET, the second time
    try:
        found = next_time_ms({"type": "cron", "expression": "30 2 * * *"}, before_ms=None, now=now)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found is not None
    assert found > now


@pytest.mark.parametrize(
    ("lock", "after_s", "status"),
    [("held", 99_999, "running"), ("free", 1, "failed"), ("lost", 1, "running"),
     ("lost", 99_999, "failed")],
)  # fmt: skip
def test_a_process_that_cannot_be_seen(
    world: World, later: list[int], lock: str, after_s: int, status: str
) -> None:
    """A run lives while its process holds a lock, also if no such pid exists in our namespace."""
    make(world)
    run = fire_now(world.session(), "nightly").run
    life = LifeLock(world.session().paths, life_of(run))
    if lock != "lost":
        life.take()
    with world.session().store.write() as writer:
        assert take_run(writer, run, pid=2**22 + 1, start="1", boot_id="another")
    if lock == "free":
        life.release()
    later[0] = after_s
    fire_due(world.session())
    with world.session().store.read() as reader:
        found = find_automation_run(reader, run)
    assert found is not None
    assert found.status == status
    life.end()
    assert list(Path(world.session().paths.alive).glob("automation.*")) == []


def test_a_process_that_stays_behind(world: World) -> None:
    """A command ends with its shell, although a process that it started holds the output open."""
    make(world, command="echo started; setsid sleep 600 & echo $! >pid")
    run = fire_now(world.session(), "nightly").run
    done = carry_out(world.session(), run)
    os.kill(int((world.root / "pid").read_text()), signal.SIGKILL)
    assert done.status == "completed"
    assert json_run(done)["actions_taken"][0]["output"] == "started\n"
    assert list(Path(world.session().paths.alive).glob("automation.*")) == []


def test_enabled_and_removed(world: World, later: list[int]) -> None:
    """A disabled automation does not fire; enabled again, only later times and events count."""
    make(world)
    make(world, "triage", events=("READY",))
    for name in ("nightly", "triage"):
        enable(world.session(), name, enabled=False)
    add_task(world, "one")
    later[0] = 100
    assert due(world) == []
    for name in ("nightly", "triage"):
        assert enable(world.session(), name, enabled=True).enabled
    assert due(world) == []
    later[0] = 161
    assert due(world) == ["nightly"]
    remove(world.session(), "nightly")
    assert statuses(world) == [("periodic", "running")]
    with pytest.raises(NotFound):
        read_one(world.session(), "nightly")
    with pytest.raises(NotFound):
        read_history(world.session(), "lost", 1)


def test_cron(world: World, later: list[int]) -> None:
    """A cron expression has its next time in local time; a bad one is refused."""
    pytest.importorskip("cronsim")
    found = make(world, cron="*/5 * * * *")
    assert found.next_at_ms is not None
    assert 0 < found.next_at_ms - clock.now_ms() <= 300_000
    later[0] = 3600
    assert due(world) == ["nightly"]
    assert due(world) == []
    for bad in ("* * *", "61 * * * *", "0 0 31 2 *"):
        with pytest.raises(Invalid, match="is not a cron expression"):
            make(world, "bad", cron=bad)


def test_only_a_person_adds_automations(world: World) -> None:
    """A worker is refused, because the commands run outside of its worktree."""
    world.spawn("auth", "login")
    session = world.session()._replace(actor="auth")
    with pytest.raises(Refused, match="cannot change automations"):
        add(session, Draft("x", every_s=5, command="true"))
    make(world)
    with unchanged(world, "automation_exists") as refused:
        make(world)
    follow_hint(world, refused.value.hint)


def follow_hint(world: World, hint: str | None) -> None:
    """Run a hint as its reader does, and record that it helped."""
    assert hint is not None
    assert follow(Printed([hint], str(world.root)), hint) is None
    note(hint, "")


def test_views(world: World) -> None:
    """The list and the details show trigger, action and times."""
    assert render_list(read_list(world.session()), width=80, color=False) == (
        "there are no automations"
    )
    made = make(world, title="Nightly", steps=("date",), prompt="{{step_0}}", max_tokens=5)
    text = render_automation(made, width=80, color=False)
    assert "trigger    every 60 s\nstep       date\n" in text
    assert "tokens     5 a run" in text
    assert json_automation(made)["cooldown_seconds"] == 0
    rows = render_list(read_list(world.session()), width=None, color=False)
    assert rows.startswith("nightly\tyes\tevery 60 s\tcommand true\t")
    assert len(json_list(read_list(world.session()))["automations"]) == 1
    assert render_history(read_history(world.session(), "nightly", 3), width=80, color=False) == (
        "no run yet"
    )


def test_a_search_for_events_moves_on(world: World) -> None:
    """A long stretch without an event of an automation is searched once."""
    make(world, "triage", events=("x-never",))
    with world.session().store.write() as writer:
        for _ in range(FAR + 1):
            publish(writer, Outgoing("x-other", sender="hq", payload={}), now=clock.now_ms())
    assert due(world) == []
    found = read_one(world.session(), "triage")
    assert (found.message_seq > FAR, found.transition_seq) == (True, 0)


AGENT = """\
#!/bin/sh
cat >/dev/null
echo '{"type": "system", "session_id": "s1"}'
echo one >one; git add one; git commit -q -m Work
echo '{"type": "result", "result": "done", "usage": {"input_tokens": 40, "output_tokens": 2}}'
"""


def test_an_agent(world: World, tmp_path: Path) -> None:
    """An agent works on a new task in a worktree of its own, within the tokens of a run."""
    program = tmp_path / "agent"
    program.write_text(AGENT)
    program.chmod(0o755)
    for name, value in (("command", str(program)), ("input", "prompt"), ("stream", "claude")):
        world.git("config", f"worker.agents.own.{name}", value)
    make(world, "look", command=None, agent="own", prompt="Look", max_tokens=10)
    done = carry_out(world.session(), fire_now(world.session(), "look").run)
    (action,) = json_run(done)["actions_taken"]
    assert (action["worker"], action["task"]) == ("auto-look", "look"), done
    assert (done.status, done.tokens_used) == ("failed", 42), done
    assert done.skipped_reason == "it has used 42 of at most 10 tokens"
    assert world.show("one", "auto-look/look") == "one"


def test_an_agent_over_its_tokens_is_stopped_at_work(world: World, tmp_path: Path) -> None:
    """The tokens of a step count before the agent ends, and its work is kept."""
    step = '{"type": "assistant", "message": {"id": "a", "usage": {"input_tokens": 40}}}'
    program = tmp_path / "agent"
    program.write_text(
        f"#!/bin/sh\ncat >/dev/null\necho one >one; git add one; git commit -q -m Work\n"
        f"echo two >two; echo '{step}'\nsleep 60; touch late\n"
    )
    program.chmod(0o755)
    for name, value in (("command", str(program)), ("input", "prompt"), ("stream", "claude")):
        world.git("config", f"worker.agents.own.{name}", value)
    make(world, "look", command=None, agent="own", prompt="Look", max_tokens=10)
    done = carry_out(world.session(), fire_now(world.session(), "look").run)
    assert (done.status, done.tokens_used) == ("failed", 40), done
    assert world.show("one", "auto-look/look") == "one"
    assert (world.path("auto-look") / "two").read_text() == "two\n"
    assert not (world.path("auto-look") / "late").exists()


def test_a_command_without_output_has_a_limit(tmp_path: Path) -> None:
    """A command that has closed its output and goes on is killed after its time limit."""
    argv = ("/bin/sh", "-c", "exec >/dev/null 2>&1; exec sleep 1000")
    assert run_capped(argv, cwd=str(tmp_path), variables={}, limit_s=0.5).status == 124
