"""Known agents and agents of the user's own, run by `--agent`."""

import json
import os
import re
import subprocess
from pathlib import Path

from tests.agents.supervised import SupervisedWorker, is_alive
from tests.cli.kit import PROGRAM, ok, run
from tests.conftest import git
from tests.hints.following import note
from tests.workers.world import wait_until

SCRIPT = """\
#!/bin/sh
cat >"$GITWORKER_STATE/seen"
printf '%s\\n' "$@" "$OWN_MODE" >"$GITWORKER_STATE/words"
echo '{"type": "system", "session_id": "s1"}'
echo '{"type": "assistant", "message": {"content": [{"type": "text", "text": "I begin."}]}}'
if test "$1" = --fail; then
    echo '{"type": "result", "is_error": true, "api_error_status": 401, "result": "no key"}'
    exit "$2"
fi
test "$1" = --idle || git commit -q --allow-empty -m Work
echo '{"type": "result", "usage": {"input_tokens": 3, "output_tokens": 4}, "total_cost_usd": 0.5}'
"""


def own_agent(auth: SupervisedWorker) -> Path:
    """Make `own` a known agent of the user, and return its program."""
    root = auth.world.root
    program = root / ".git" / "own-agent"
    program.write_text(SCRIPT)
    program.chmod(0o755)
    fields = {
        "command": f"{program}\n{{options}}", "resume": f"{program}\n--resume\n{{session}}",
        "input": "prompt", "stream": "claude", "env": "OWN_MODE=quiet",
    }  # fmt: skip
    for name, value in fields.items():
        git(root, "config", f"worker.agents.own.{name}", value)
    return program


def test_agent_of_the_user(auth: SupervisedWorker) -> None:
    """An agent gets prompt, options and variables; its text is shown and its facts are recorded."""
    own_agent(auth)
    root = auth.world.root
    answer = run(
        root, "spawn", "docs", "t2", "--agent", "own", "-m", "Do {it}", "--", "-x", "{task}"
    )
    assert answer.status == 0, answer
    assert answer.out == "I begin.\n= 3 tokens in, 4 out, $0.5000\n"
    state = root / ".git" / "worker-state"
    assert (state / "words").read_text() == "-x\nt2\nquiet\n"
    assert (state / "seen").read_text().startswith("Do {it}\n\nYou work in a git worktree")
    assert "branch docs/t2" in (state / "seen").read_text()
    shown = run(root, "show", "docs", "--json").document["run"]
    assert shown["command"] == "--agent own -- -x '{task}'"
    assert (shown["outcome"], shown["session"], shown["cost_usd"]) == ("handed_in", "s1", 0.5)
    assert "usage     own: 3 tokens in, 4 out, $0.50" in ok(root, "show", "docs")
    assert ok(root, "project", "list").split("\t")[5] == "7"
    task = run(root, "task", "show", "t2", "--json").document
    assert task["tokens_used"] == 7
    assert [(one["agent"], one["outcome"], one["output_tokens"]) for one in task["runs"]] == [
        ("own", "handed_in", 4)
    ]
    assert re.search(
        r"^run .*Z  own, handed in, \d+s, 7 tokens, \$0\.50$", ok(root, "task", "show", "t2"), re.M
    )
    for by, name in (("task", "t2"), ("project", "default"), ("agent", "own")):
        (used,) = run(root, "stats", "--by", by, "--json").document["usage"]
        assert (used["name"], used["runs"], used["retries"], used["failed"]) == (name, 1, 0, 0)
        assert (used["input_tokens"], used["output_tokens"], used["cost_usd"]) == (3, 4, 0.5)


def test_continued_session(auth: SupervisedWorker) -> None:
    """A sent-back agent continues its session with this run's prompt alone."""
    own_agent(auth)
    root = auth.world.root
    refused = run(root, "exec", "auth", "--agent", "own", "--continue", "-m", "More")
    assert (refused.status, "has no session of own" in refused.err) == (1, True)
    ok(root, "exec", "auth", "--agent", "own", "-m", "First")
    note("git worker exec auth --agent own -m <text>", refused.err)
    ok(root, "reject", "auth", "-m", "More")
    ok(root, "exec", "auth", "--agent", "own", "--continue", "-m", "More")
    state = root / ".git" / "worker-state"
    assert (state / "words").read_text() == "--resume\ns1\nquiet\n"
    assert (state / "seen").read_text() == "More"


def test_resume(auth: SupervisedWorker) -> None:
    """`resume` runs a known agent again, in its own session."""
    own_agent(auth)
    root = auth.world.root
    run(root, "exec", "auth", "--agent", "own", "-m", "Go", "--", "--fail", "3")
    git(root, "config", "worker.agents.own.resume", f"{root}/.git/own-agent\n{{session}}")
    assert run(root, "resume", "auth").status == 0
    state = root / ".git" / "worker-state"
    assert (state / "words").read_text() == "s1\nquiet\n"
    assert (state / "seen").read_text().startswith("Continue your task.")


def test_failures(auth: SupervisedWorker) -> None:
    """A reported failure is the reason, also of an agent that ends with 0; the status is 1."""
    own_agent(auth)
    root = auth.world.root
    ok(root, "spawn", "docs", "t2")
    for worker, status in (("auth", "3"), ("docs", "0")):
        words = ("exec", worker, "--agent", "own", "-m", "Go", "--json", "--", "--fail", status)
        answer = run(root, *words)
        assert (answer.status, answer.document["outcome"]) == (1, "failed")
        shown = run(root, "show", worker, "--json").document["run"]
        assert (shown["exit_status"], shown["failure"]) == (int(status), "authentication")
    inbox = ok(root, "inbox")
    assert inbox.count("authentication failed: no key\n") == 2


def test_idle_agent(auth: SupervisedWorker) -> None:
    """An agent that ends well without a commit has status 1 and an outcome of its own."""
    own_agent(auth)
    words = ("exec", "auth", "--agent", "own", "-m", "Go", "--json", "--", "--idle")
    answer = run(auth.world.root, *words)
    assert (answer.status, answer.document["outcome"]) == (1, "nothing_handed_in")


def test_detached_agent(auth: SupervisedWorker) -> None:
    """A detached agent gets the same prompt and options."""
    own_agent(auth)
    root = auth.world.root
    ok(root, "exec", "auth", "-d", "--agent", "own", "-m", "Go", "--", "-x")
    wait_until(lambda: auth.state() == "IN_REVIEW")
    assert (root / ".git/worker-state/words").read_text() == "-x\nquiet\n"
    assert (root / ".git/worker-state/seen").read_text() == "Go"


def test_agents_of_the_repository(auth: SupervisedWorker) -> None:
    """An agent of the target's file runs once it is trusted, and no known one needs that."""
    program = own_agent(auth)
    root = auth.world.root
    git(root, "config", "--remove-section", "worker.agents.own")
    text = f"[agents.own]\ncommand = {json.dumps([str(program)])}\ninput = 'prompt'\n"
    (root / ".gitworker.toml").write_text(text)
    git(root, "add", ".gitworker.toml")
    git(root, "commit", "-qm", "Add an agent")
    words = ("exec", "auth", "--agent", "own", "-m", "Go")
    refused = run(root, *words)
    assert (refused.status, "are not trusted yet" in refused.err) == (1, True)
    ok(root, "trust", "--yes")
    assert run(root, *words).status == 0


def test_refusals(auth: SupervisedWorker, tmp_path: Path) -> None:
    """An unknown or missing agent is refused before anything is made for it."""
    root = auth.world.root
    unknown = run(root, "spawn", "docs", "t2", "--agent", "clade", "-m", "Go")
    assert (unknown.status, "did you mean claude?" in unknown.err) == (4, True)
    path = f"{Path(os.environ['PATH'].split(':')[0])}:/usr/bin:/bin"
    missing = run(root, "spawn", "docs", "t2", "--agent", "pi", "-m", "Go", env={"PATH": path})
    assert (missing.status, "agent pi is not installed" in missing.err) == (4, True)
    assert run(root, "exec", "auth", "-m", "Go", "--", "true").status == 2
    own_agent(auth)
    no_prompt = run(root, "exec", "auth", "--agent", "own")
    assert (no_prompt.status, "neither text nor title" in no_prompt.err) == (2, True)
    assert not (root / "worktrees" / "t2").exists()


ROUND = """\
#!/bin/sh
cat >"$GITWORKER_STATE/seen"
printf '%s\\n' "$@" >>"$GITWORKER_STATE/words"
echo '{"type": "system", "session_id": "s1"}'
while test -e "$GITWORKER_STATE/wait"; do sleep 0.05; done
git commit -q --allow-empty -m Work
"""


def test_session_and_rounds_survive_the_supervisor(auth: SupervisedWorker) -> None:
    """After kill -9 of the supervisor `resume` continues the session for the remaining rounds."""
    root, state = auth.world.root, auth.world.root / ".git" / "worker-state"
    own_agent(auth).write_text(ROUND)
    git(root, "config", "worker.agents.rounds", "1")
    (state / "wait").touch()
    words = (PROGRAM, "exec", "auth", "--agent", "own", "--auto-resume", "-m", "Go")
    supervisor = subprocess.Popen(words, cwd=root, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: auth.world.query("SELECT session FROM runs") == [("s1",)])
    finally:
        supervisor.kill()
        supervisor.wait()
    (state / "wait").unlink()
    wait_until(lambda: not is_alive(auth.runs()[0]["pid"]))
    ok(root, "done", "auth", "--as", "auth")
    ok(root, "reject", "auth", "-m", "A test is missing")
    ok(root, "resume", "auth", "-d")
    wait_until(lambda: auth.state() == "IN_REVIEW")
    assert (state / "words").read_text() == "\n--resume\ns1\n"
    assert "A test is missing" in (state / "seen").read_text()
    ok(root, "reject", "auth", "-m", "Another one")
    assert len(auth.runs()) == 2
    (fields,) = auth.world.query("SELECT request FROM runs ORDER BY id DESC LIMIT 1")
    assert (json.loads(fields[0])["auto_resume"], json.loads(fields[0])["round"]) == (True, 1)
