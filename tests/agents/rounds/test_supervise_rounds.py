"""An agent is resumed with the reason if its work comes back, without a person."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.supervised import COMMIT, SupervisedWorker, end_runs, is_alive
from tests.cli.kit import DEADLINE_S, PROGRAM, ok, run
from tests.workers.world import World, wait_until

# Writes its line to a file that all agents write; a resumed agent does as its prompt says.
AGENT = """\
prompt=$(cat "$GITWORKER_PROMPT_FILE")
case $prompt in
*"git worker sync"*)
    git worker sync 2>/dev/null || {
        sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>/d' lines
        git add lines && GIT_EDITOR=true git worker sync --continue
    } ;;
*"verify commands failed"*) echo good >"$GITWORKER_ID.ok"; git add . && git commit -qm Repair ;;
*) echo "$GITWORKER_ID" >>lines; git add lines && git commit -qm "Add $GITWORKER_ID" ;;
esac
"""


@contextlib.contextmanager
def supervisor(
    auth: SupervisedWorker, script: str, *options: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Give a supervisor whose agents may be short; it is ended afterwards, however it went."""
    process = subprocess.Popen(
        [PROGRAM, "exec", "auth", *options, "--", "sh", "-c", script], cwd=auth.world.root,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(DEADLINE_S)


def test_requested_changes_reach_the_agent(auth: SupervisedWorker) -> None:
    """The agent runs again with the note, and a run without a new commit hands nothing in."""
    script = 'cat "$GITWORKER_PROMPT_FILE"; test -e done || { touch done; git add done; %s; }'
    commit = "git commit -qm Work"
    with supervisor(auth, script % commit, "--auto-resume") as process:
        wait_until(lambda: auth.state() == "IN_REVIEW")
        ok(auth.world.root, "reject", "auth", "-m", "A test is missing")
        assert process.wait(60) == 0
    assert "changes were requested.\n\nA test is missing" in auth.log.read_text()
    assert auth.state() == "WORKING"
    assert len(auth.runs()) == 2
    assert ("info", "auto_resume", "round 1 of 3: its work was sent back") in auth.logs()


def test_a_reject_names_no_resume_while_a_supervisor_waits(auth: SupervisedWorker) -> None:
    """The supervisor starts the agent again; without one, and after its rounds, a person does."""
    auth.world.git("config", "worker.agents.rounds", "1")
    with supervisor(auth, "git commit -q --allow-empty -m Work", "--auto-resume") as process:
        wait_until(lambda: auth.state() == "IN_REVIEW")
        wait_until(lambda: auth.runs()[0]["ended_at_ms"] is not None)
        rejected = ok(auth.world.root, "reject", "auth", "-m", "A test is missing")
        assert rejected == "auth waits for its author\nnext: git worker wait auth"
        assert process.wait(60) == 0
    rejected = ok(auth.world.root, "reject", "auth", "-m", "More")
    assert rejected == "auth waits for its author\nnext: git worker resume auth"


def test_a_stop_ends_a_supervisor_that_waits(auth: SupervisedWorker) -> None:
    """After a stop no further round begins."""
    with supervisor(auth, "git commit -q --allow-empty -m Work", "--auto-resume") as process:
        wait_until(lambda: auth.state() == "IN_REVIEW")
        wait_until(lambda: auth.runs()[0]["ended_at_ms"] is not None)
        told = ok(auth.world.root, "stop", "auth")
        assert told == "sent stop to the agent of auth; next: git worker show auth"
        assert process.wait(60) == 0
        ok(auth.world.root, "reject", "auth", "-m", "More")
    assert "so nothing was sent" in ok(auth.world.root, "stop", "auth")
    assert len(auth.runs()) == 1


def test_what_a_failed_test_leaves_is_ended(auth: SupervisedWorker) -> None:
    """The fixture of the real agents ends an agent at work, and a supervisor between two rounds."""
    root = auth.world.root
    ok(root, "exec", "auth", "-d", "--auto-resume", "--", "sh", "-c", COMMIT)
    wait_until(lambda: auth.state() == "IN_REVIEW")
    ok(root, "spawn", "docs", "t2")
    ok(root, "exec", "docs", "-d", "--", "sleep", "600")
    rows = auth.world.query("SELECT supervisor_pid, pid FROM runs ORDER BY id")
    waiting, _ = rows[0]
    assert all(map(is_alive, (waiting, *rows[1])))
    end_runs(root / ".git/worker-state")
    assert not any(map(is_alive, (waiting, *rows[1])))


def test_the_rounds_are_counted(auth: SupervisedWorker) -> None:
    """After `agents.rounds` rounds the agent is not resumed again, and its supervisor ends."""
    auth.world.git("config", "worker.agents.rounds", "1")
    auth.world.git("config", "worker.agents.auto-resume", "true")
    with supervisor(auth, "git commit -q --allow-empty -m Work") as process:
        for number in (1, 2):
            wait_until(lambda number=number: len(auth.runs()) == number)  # type: ignore[misc]
            wait_until(lambda: auth.state() == "IN_REVIEW")
            if number == 1:
                ok(auth.world.root, "reject", "auth", "-m", "More")
        assert process.wait(60) == 0
    assert len(auth.runs()) == 2


def test_without_the_setting_nothing_waits(auth: SupervisedWorker) -> None:
    """By default `exec` ends with its agent, and a withdrawn task ends a supervisor that waits."""
    assert auth.exec("git commit -q --allow-empty -m Work").status == 0
    assert auth.state() == "IN_REVIEW"
    ok(auth.world.root, "reject", "auth", "-m", "More")
    script = "git commit -q --allow-empty -m Work"
    with supervisor(auth, script, "--auto-resume") as process:
        wait_until(lambda: auth.state() == "IN_REVIEW")
        ok(auth.world.root, "cancel", "auth")
        assert process.wait(60) == 0


@pytest.mark.slow
def test_three_agents_on_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conflicts and failed verification are repaired by the agents; all land without a person."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.advance({"lines": "first\n"})
    world.git("config", "worker.task.retry-delay-s", "0")
    verify = 'for name in $(sed 1d lines); do test -e "$name.ok" || exit 1; done'
    world.git("config", "worker.verify.commands", verify)
    world.git("config", "worker.agents.auto-resume", "true")
    names = ("a", "b", "c")
    for name in names:
        words = ("-d", "-m", "Add a line", "--", "sh", "-c", AGENT)
        ok(world.root, "spawn", name, f"t-{name}", *words)
    rounds = 0
    while left := [name for name in names if world.worker(name).state != "COMPLETED"]:
        rounds += 1
        assert rounds <= 8, [world.worker(name) for name in left]
        wait_until(
            lambda left=left: all(  # type: ignore[misc]
                world.worker(name).state in ("IN_REVIEW", "APPROVED") for name in left
            )
        )
        run(world.root, "approve", "--all")
        run(world.root, "merge", "--all")
    assert sorted(world.show("lines").splitlines()) == ["a", "b", "c", "first"]
    world.require_sound()
    subprocess.run(["git", "-C", str(world.root), "fsck", "--strict"], check=True)
