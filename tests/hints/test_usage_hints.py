"""The hint of each usage error is a command that works in the place where it is printed."""

import pytest

from gitworker.cli.command_list import SUGGESTIONS
from tests.cli.test_hint_walk import approved, failed, in_review
from tests.hints.case import Case, check
from tests.hints.following import Printed, follow, hints_of, note, perform
from tests.workers.world import World


def _fresh(_world: World) -> None:
    """Leave the repository as it is."""


def _working(world: World) -> None:
    """Let auth work on login, with one commit."""
    world.working("auth", "login", {"a": "1\n"})


def _uncommitted(world: World) -> None:
    """Let auth work on login, with an uncommitted change."""
    _working(world)
    (world.path("auth") / "a").write_text("2\n")


def _with_remote(world: World) -> None:
    """Let auth work in a repository with a remote."""
    _working(world)
    world.git("init", "-q", "--bare", str(world.root.parent / "origin.git"))
    world.git("remote", "add", "origin", str(world.root.parent / "origin.git"))


W = "git worker "
CASES = {
    "approve": Case(in_review, W + "approve", W + "inbox"),
    "approve-at": Case(
        in_review, W + "approve --at HEAD --all", W + "approve --at <commit> <worker>",
    ),
    "land": Case(in_review, W + "land", W + "inbox"),
    "merge": Case(approved, W + "merge", W + "inbox"),
    "diff": Case(in_review, W + "diff auth --stat --name-only", W + "diff -h"),
    "log": Case(_working, W + "log --agent-log 3", W + "log --agent-log 20 <worker>"),
    "log-since": Case(_working, W + "log --since whenever", W + "log --since 2h"),
    "status": Case(_working, W + "status --every 5", W + "status --watch --every 5"),
    "switch": Case(_working, W + "switch -c -", W + "switch -h"),
    "switch-new": Case(_working, W + "switch -c docs guide", 'cd "$({})"'),
    "switch-to": Case(_working, W + "switch auth", "cd {}"),
    "pool-fill": Case(_fresh, W + "pool fill", W + "{} {}", instead=True),
    "pool": Case(_fresh, W + "pool --fill --empty", W + "pool --help"),
    "undo-list": Case(approved, W + "undo -n 3", W + "undo --list -n {}"),
    "undo-number": Case(approved, W + "undo --list 2", W + "undo {}"),
    "unset": Case(_fresh, W + "config --unset", W + "config --unset <key>"),
    "hook": Case(_working, W + "hook install", W + "hooks {}"),
    "words": Case(_fresh, W + "spawn 'Build the form'", W + "spawn {} {}"),
    "worker-id": Case(_fresh, W + "spawn A", W + "spawn auth my-task"),
    "task-id": Case(_fresh, W + "spawn auth .x", W + "spawn auth my-task"),
    "done-commit": Case(
        _uncommitted, W + "done --commit", W + "done --commit -m <text>", at="auth"
    ),
    "done-commit-elsewhere": Case(
        _uncommitted, W + "done auth --commit", W + "done {} --commit -m <text>"
    ),
    "done-remote": Case(
        _with_remote, W + "done --remote origin", W + "done --push --remote {}", at="auth"
    ),
    "done-remote-elsewhere": Case(
        _with_remote, W + "done auth --remote origin", W + "done {} --push --remote {}"
    ),
    "exec": Case(_working, W + "exec auth -m words", W + "exec -h"),
    "exec-nothing": Case(_working, W + "exec auth", W + "exec <worker> -- <command>"),
    "spawn-detach": Case(_fresh, W + "spawn docs guide -d", W + "{} -d -- <command>"),
    "resume-detach": Case(failed, W + "resume auth -d", W + "{} -d -- <command>"),
    "heartbeat-every": Case(
        _working, W + "heartbeat --every 10", W + "heartbeat --every 10 --pid $$", at="auth"
    ),
    "heartbeat-every-elsewhere": Case(
        _working, W + "heartbeat auth --every 10", W + "heartbeat {} --every 10 --pid $$"
    ),
    "heartbeat-process": Case(
        _working, W + "heartbeat auth --every 10 --pid 999999999",
        W + "heartbeat {} --every 10 --pid $$",
    ),
    "heartbeat-progress": Case(
        _working, W + "heartbeat --progress 2", W + "heartbeat --progress 0.5", at="auth"
    ),
    "heartbeat-progress-elsewhere": Case(
        _working, W + "heartbeat auth --progress 2", W + "heartbeat {} --progress 0.5"
    ),
    "start-process": Case(
        _working, W + "start auth --pid 999999999", W + "start {} --pid $$"
    ),
    "start-system-process": Case(
        _working, W + "start auth --pid 1", W + "start {} --pid $$", instead=True
    ),
    "spawn-cd": Case(_fresh, W + "spawn auth login --cd", 'cd "$(git worker spawn {})"'),
    "spawn-cd-agent": Case(_fresh, W + "spawn auth login --cd -- true", W + "spawn -h"),
    "inbox": Case(_working, W + "inbox --count --wait 3", W + "inbox --wait 600"),
    "wait": Case(in_review, W + "wait --for x auth", W + "wait --for verdict <worker>"),
    "claim-kind": Case(_fresh, W + "claim take X:y", W + "claim take 'path:src/**'"),
    "claim-path": Case(_fresh, W + "claim take path:../x", W + "claim take 'path:src/**'"),
    "claim-glob": Case(_fresh, W + "claim take 'src/*'", W + "claim take {}"),
    "claim-lease": Case(_fresh, W + "claim take x:y --ttl 0", W + "claim take --ttl 60 <name>"),
    "claim-epoch": Case(
        lambda world: perform_in(world, W + "claim take x:y"), W + "claim renew x:y",
        W + "claim {} {} --epoch <epoch>",
    ),
    "claim-task": Case(_fresh, W + "claim take nothing", W + "claim take {}", instead=True),
    "msg-type": Case(_working, W + "msg send 'A b'", W + "msg send status '{\"progress\": 0.5}'"),
    "msg-heartbeat": Case(_working, W + "msg send heartbeat", W + "heartbeat", at="auth"),
    "msg-unknown": Case(_working, W + "msg send nonsense", W + "msg send {}{}"),
    "msg-cmd": Case(_working, W + "msg send cmd '{\"command\": \"stop\"}'", W + "stop <worker>"),
    "msg-word": Case(
        _working, W + "msg send log '{\"level\": \"loud\"}'",
        W + "msg send {} '{\"{}\": \"{}\"}'",
    ),
    "msg-search": Case(_working, W + "msg search ''", W + "msg search login 'exit status' pars*"),
    "msg-prune": Case(
        lambda world: world.git("config", "worker.retention.days", "0"), W + "msg prune",
        W + "msg prune --older-than 30",
    ),
    "gc": Case(
        lambda world: world.git("config", "worker.gc.days", "0"), W + "gc",
        W + "gc --older-than 30",
    ),
    "typo": Case(_working, W + "shwo auth", W + "{}"),
    "worker-as-command": Case(_working, W + "auth", W + "show {}"),
    "setting": Case(_fresh, W + "config review.slef", W + "config {}"),
    "setting-values": Case(_fresh, W + "config review.self true false", W + "config {} {}"),
    "target": Case(_fresh, W + "config target mian", W + "config target {}"),
    "target-new": Case(
        _fresh, W + "config target release", "git branch {} && git worker config target {}"
    ),
    "merge-remote": Case(_fresh, W + "config merge.remote up", "git remote add {} <url>"),
    "agent": Case(_working, W + "exec auth --agent nobody", W + "agents doctor"),
    "task-word": Case(_fresh, W + "spawn auth TASK", W + "spawn {} <task>"),
}  # fmt: skip


def perform_in(world: World, command: str) -> None:
    """Run a command in the main checkout, as another user did before."""
    done = perform(command, Printed([], str(world.root)))
    assert done.status == 0, done


@pytest.mark.parametrize("name", CASES)
def test_the_hint_of_a_usage_error_helps(quiet: World, name: str) -> None:
    """A usage error names a command that works."""
    check(quiet, CASES[name])


def with_agent(world: World) -> None:
    """Run an agent in the background."""
    _working(world)
    perform_in(world, "git worker exec auth -d -- sleep 60")


def paused(world: World) -> None:
    """Pause an agent."""
    with_agent(world)
    perform_in(world, "git worker pause auth")


def staged(world: World) -> None:
    """Stage a change in the worktree."""
    _uncommitted(world)
    world.git("add", "a", cwd=world.path("auth"))


# The state in which the suggestion for a word is followed; without one, auth is at work.
STATES = {
    "comment": in_review, "accept": in_review, "deny": in_review, "ship": in_review,
    "restart": failed, "reopen": failed, "kill": with_agent, "unpause": paused,
    "commit": staged, "push": _with_remote,
}  # fmt: skip
AGENT_WORDS = ("agent attach", "agent detach")
WITH_AGENT = ("unpause", "kill")


# One word of those with the same suggestion.
DISTINCT = {hint: word for word, hint in reversed(SUGGESTIONS.items())}


@pytest.mark.parametrize("word", DISTINCT.values())
def test_the_suggestion_for_a_word_works(quiet: World, word: str) -> None:
    """The command that is suggested for another word works in the worker's worktree."""
    STATES.get(word, _working)(quiet)
    name = "claude" if word in AGENT_WORDS else "auth"
    is_outside = word == "comment" or "cancel" in SUGGESTIONS[word]
    printed = Printed([], str(quiet.root if is_outside else quiet.path("auth")))
    done = perform(f"git worker {word} {name}", printed)
    assert done.status == 2, done
    (hint,) = hints_of(done.out, done.err)
    try:
        why = follow(printed, hint)
    finally:
        if word in WITH_AGENT:
            perform("git worker stop auth", Printed([], str(quiet.root)))
    if word not in ("checkout", "goto", "open"):  # they need the shell's integration
        assert why is None, why
    note(hint, done.err)
