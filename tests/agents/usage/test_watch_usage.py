"""A task over its budget is stopped while its agent works, and all of its work is kept."""

import os
import re
from pathlib import Path

from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import ok, run
from tests.conftest import git
from tests.hints.following import note
from tests.workers.world import wait_until

# Each step reports 100 tokens, the second one twice. Without a budget it would hand in at the end.
AGENT = """\
#!/bin/sh
cat >>"$GITWORKER_STATE/seen"
echo "$1" >>"$GITWORKER_STATE/words"
step() {
    printf '{"type": "assistant", "message": {"id": "%s", "usage": {"input_tokens": 60, ' "$1"
    echo '"cache_read_input_tokens": 30, "output_tokens": 10}}}'
}
echo '{"type": "system", "session_id": "s1"}'
if test "$1" != --resume; then
    echo one >one; git add one; git commit -q -m One
    echo two >two
    step a; step b; step b; step c
    sleep 60; step d; touch "$GITWORKER_STATE/late"
fi
git add -A; git commit -q -m Two
step e
"""
WORDS = "task t1 has used 300 of its 250 tokens"
EDIT = "git worker task edit t1 --budget <number>"


def own_agent(auth: SupervisedWorker, tmp_path: Path) -> None:
    """Make `own` a known agent that reports its tokens step by step."""
    program = tmp_path / "agent"
    program.write_text(AGENT)
    program.chmod(0o755)
    for name, value in (("command", str(program)), ("input", "prompt"), ("stream", "claude"),
                        ("resume", f"{program}\n--resume\n{{session}}")):  # fmt: skip
        git(auth.world.root, "config", f"worker.agents.own.{name}", value)


def test_a_task_over_its_budget_is_paused(auth: SupervisedWorker, tmp_path: Path) -> None:
    """Nothing is lost, the views name the budget, and the printed commands continue the session."""
    own_agent(auth, tmp_path)
    root = auth.world.root
    ok(root, "task", "edit", "t1", "--budget", "250")
    ended = run(root, "exec", "auth", "--agent", "own", "-m", "Go", "--json")
    assert (ended.status, ended.document["outcome"]) == (1, "out_of_budget"), ended
    assert auth.world.states("auth", "t1") == ("WORKING", "PAUSED")
    task = auth.world.task("t1")
    assert (task.tokens_used, task.retry_count, task.resume_after_ms is None) == (300, 0, False)
    assert not (auth.world.state_dir / "late").exists()
    assert git(auth.path, "log", "-1", "--format=%s") == "One"
    assert (auth.path / "two").read_text() == "two\n"
    why = ok(root, "task", "why", "t1")
    assert why == f"t1: it is paused: {WORDS}: {EDIT}"
    assert f"{WORDS}: {EDIT}\n" in ok(root, "task", "show", "t1")
    assert re.search(
        f"own, out of budget, \\d+s, 300 tokens, {WORDS}", ok(root, "task", "show", "t1")
    )
    inbox = ok(root, "inbox")
    assert inbox.startswith("blocked auth ")
    assert f": {WORDS}\n    {EDIT}" in inbox
    items = run(root, "inbox", "--json").document["items"]
    assert [(one["kind"], one["source"]) for one in items] == [("blocked", "auth")]
    assert WORDS in ok(root, "show", "auth")
    waited = run(root, "wait", "auth", "--for", "verdict")
    assert f"its agent ended and has no tokens left: {WORDS}" in waited.err, waited
    refused = run(root, "resume", "auth")
    assert f"{WORDS}, so no agent starts on it" in refused.err, refused
    ok(root, "task", "edit", "t1", "--budget", "1k")
    note(EDIT, why)
    again = ok(root, "task", "why", "t1")
    assert again == f"t1: it is paused: its agent was stopped: {WORDS}: git worker resume auth"
    ok(root, "resume", "auth")
    note("git worker resume auth", again)
    wait_until(lambda: auth.state() == "IN_REVIEW")
    assert (auth.world.state_dir / "words").read_text() == "\n--resume\n"
    assert auth.world.task("t1").tokens_used == 400
    auth.world.require_sound()


def test_prices_give_a_view_and_a_second_limit(auth: SupervisedWorker, tmp_path: Path) -> None:
    """Tokens without a reported cost have one by the prices; the agent gets its own limit."""
    own_agent(auth, tmp_path)
    root = auth.world.root
    program = tmp_path / "agent"
    git(root, "config", "worker.agents.own.command", f"{program}\n{{budget}}\n{{options}}")
    git(root, "config", "worker.agents.own.budget", "--most\n{usd}")
    ok(root, "config", "agents.prices", "own=1000/5000/100")
    ok(root, "task", "edit", "t1", "--budget", "250")
    run(root, "exec", "auth", "--agent", "own", "-m", "Go")
    assert (auth.world.state_dir / "words").read_text() == "--most\n"
    # 3 steps of 60 new and 30 cached tokens of input, and 10 of output
    usd = 3 * (60 * 1000 + 30 * 100 + 10 * 5000) / 1_000_000
    used = {"cost_usd": usd, "estimated_usd": usd}
    shown = run(root, "show", "auth", "--json").document["run"]
    assert used.items() <= shown.items()
    assert shown["cached_tokens"] == 90
    task = run(root, "task", "show", "t1", "--json").document
    assert used.items() <= task.items()
    assert used.items() <= task["runs"][0].items()
    assert "tokens     300 of 250, ~$0.34\n" in ok(root, "task", "show", "t1")
    assert "usage     own: 270 tokens in, 30 out, ~$0.34" in ok(root, "show", "auth")
    for by in ("task", "project", "agent"):
        stats = run(root, "stats", "--by", by, "--json").document
        assert used.items() <= stats["usage"][0].items()
        assert used.items() <= stats["total"].items()
    (budget,) = run(root, "status", "--json").document["budgets"]
    assert used.items() <= budget.items()
    assert used.items() <= run(root, "project", "show", "default", "--json").document.items()
    ok(root, "config", "--unset", "agents.prices")
    assert run(root, "show", "auth", "--json").document["run"]["cost_usd"] is None
    assert run(root, "status", "--json").document["budgets"] == []


def test_a_killed_supervisor_has_recorded_the_tokens(
    auth: SupervisedWorker, tmp_path: Path
) -> None:
    """Tokens count as soon as they are reported, for the task and for its project."""
    own_agent(auth, tmp_path)
    root = auth.world.root
    ok(root, "exec", "auth", "-d", "--agent", "own", "-m", "Go")
    wait_until(lambda: auth.world.task("t1").tokens_used == 300)
    assert ok(root, "project", "list").split("\t")[5] == "300"
    ((supervisor, agent),) = auth.world.query("SELECT supervisor_pid, pid FROM runs")
    os.kill(supervisor, 9)
    os.killpg(agent, 9)
    wait_until(lambda: ok(root, "task", "show", "t1") is not None)
    assert auth.world.task("t1").tokens_used == 300
