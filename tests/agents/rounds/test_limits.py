"""A limit of the model's vendor pauses a task; it neither fails it nor costs a round."""

from pathlib import Path

from gitworker import clock
from gitworker.agents.adapters.report import RunReport
from gitworker.agents.adapters.rules_failure import Failure
from gitworker.agents.finish import Ending, finish
from gitworker.agents.launch import AgentRun
from gitworker.agents.record_start import record_start
from gitworker.observe.inbox.read_inbox import read_inbox
from gitworker.store.scheduling.usage import Usage
from gitworker.store.tasks import find_task
from gitworker.workers.start import resume
from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import ok, run
from tests.conftest import git
from tests.hints.following import Printed, note, perform

END_MS = 1_900_000_000_000
AGENT = """\
#!/bin/sh
cat >>"$GITWORKER_STATE/seen"
echo '{"type": "system", "session_id": "s1"}'
if test ! -e "$GITWORKER_STATE/limited"; then
    touch "$GITWORKER_STATE/limited"
    printf '{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", '
    echo '"resetsAt": '$(($(date +%s) + 1))'}}'
    echo '{"type": "result", "is_error": true, "api_error_status": 429, "result": "limit"}'
    exit 1
fi
git commit -q --allow-empty -m Work
"""


def limited_run(auth: SupervisedWorker, failure: Failure, *, code: int = 1) -> str:
    """Record a run of `claude` that ends with a failure; return its outcome."""
    session = auth.world.session()
    worker = auth.world.worker("auth")
    with session.store.write() as writer:
        record, after = record_start(
            writer, session.paths, worker, actor="hq", lease_ms=60_000, pid=2**22 - 3, command="x"
        )
    ending = Ending(code)
    ending.report = RunReport("claude", "s1", Usage(), failure)
    started = AgentRun(record, auth.world.worker("auth"), pid=2**22 - 3, after=after)
    return finish(session, started, ending, is_attended=False).kind


def test_a_limit_pauses_the_task(auth: SupervisedWorker) -> None:
    """No attempt is counted, and the views name the limit, its end and the next command."""
    assert limited_run(auth, Failure("usage_limit", "limit", END_MS)) == "waiting"
    session = auth.world.session()
    with session.store.read() as reader:
        task = find_task(reader, "t1")
    assert task is not None
    assert (auth.state(), task.status, task.retry_count) == ("WORKING", "PAUSED", 0)
    assert abs((task.resume_after_ms or 0) - END_MS) < 60_000
    words = f"usage limit of claude until {clock.local_minutes(END_MS, clock.now_ms())}"
    (item,) = read_inbox(session).items
    assert (item.kind, item.text, item.command) == ("blocked", words, "git worker resume auth")
    shown = ok(auth.world.root, "show", "auth")
    assert f"trouble   {words}" in shown
    assert shown.endswith("next: git worker resume auth")
    status = ok(auth.world.root, "status")
    assert words in status
    assert "→ git worker resume auth" in status
    document = run(auth.world.root, "show", "auth", "--json").document["run"]
    assert (document["failure"], document["resets_at"]) == ("usage_limit", clock.iso_utc(END_MS))


def test_the_next_start_continues(auth: SupervisedWorker) -> None:
    """A paused task continues with the next start of its worker, and stays the same attempt."""
    assert limited_run(auth, Failure("rate_limit", "busy"), code=0) == "waiting"
    session = auth.world.session()
    resume(session, "auth", binds_caller=False)
    with session.store.read() as reader:
        task = find_task(reader, "t1")
    assert task is not None
    assert (task.status, task.retry_count) == ("IN_PROGRESS", 0)
    assert task.resume_after_ms is None
    assert read_inbox(session).items == ()


def test_other_failures_fail(auth: SupervisedWorker) -> None:
    """A failure that does not pass by time fails the task."""
    assert limited_run(auth, Failure("authentication", "no key")) == "failed"
    assert auth.state() == "FAILED"


def configure_agent(root: Path, program: Path) -> None:
    """Make an agent `own` known, whose first run ends by a limit, and whose next one commits."""
    program.write_text(AGENT)
    program.chmod(0o755)
    for name, value in (("command", str(program)), ("resume", str(program)), ("input", "prompt"),
                        ("stream", "claude")):  # fmt: skip
        git(root, "config", f"worker.agents.own.{name}", value)
    git(root, "config", "worker.agents.rounds", "0")


def test_the_printed_command_continues_after_a_limit(
    auth: SupervisedWorker, tmp_path: Path
) -> None:
    """The end of the run and the views name one command, and it runs the agent again."""
    root = auth.world.root
    configure_agent(root, tmp_path / "agent")
    command = "git worker resume auth"
    answer = run(root, "exec", "auth", "--agent", "own", "-m", "Go")
    assert f"hint: {command}\n" in answer.err
    assert run(root, "show", "auth", "--json").document["trouble"]["command"] == command
    done = perform(command, Printed([], str(root)))
    assert (done.status, auth.state()) == (0, "IN_REVIEW"), done
    note(command, answer.err)


def test_auto_resume_waits_for_the_end(auth: SupervisedWorker, tmp_path: Path) -> None:
    """The agent continues its session after the limit, without a person and without a round."""
    root = auth.world.root
    configure_agent(root, tmp_path / "agent")
    answer = run(root, "exec", "auth", "--agent", "own", "--auto-resume", "-m", "Go")
    assert auth.state() == "IN_REVIEW", answer
    assert len(auth.runs()) == 2
    seen = (root / ".git/worker-state/seen").read_text()
    assert seen.startswith("GoThe limit of your model has ended.")
    assert ("info", "auto_resume", "the limit of its model is over") in auth.logs()
