"""The hints about damage, obstacles and copies help in the state in which they are printed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import apsw
import pytest

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.model.ids import HQ
from gitworker.model.message import MessageType
from gitworker.model.worker import WorkerState
from gitworker.verify.verify_worktree import verify_root
from tests.cli.test_hint_walk import approved, failed, in_review
from tests.hints.case import Case, by, check, two_workers
from tests.hints.following import Printed, follow, hints_of, note, perform
from tests.hints.test_rare_hints import behind
from tests.hints.test_repository_hints import of_the_main_checkout, other_link
from tests.hints.test_usage_hints import W, _fresh, _working
from tests.hints.test_worker_hints import anonymous
from tests.workers.planting import unowned_worktree
from tests.workers.world import World, wait_until


def locked_and_unowned(world: World) -> None:
    """Have a locked worktree with the mark of a worker that does not exist."""
    _working(world)
    unowned_worktree(world)
    world.git("worktree", "lock", str(world.root / "worktrees/knows"))


def without_admin(world: World) -> None:
    """Delete git's directory of a worktree, and its file .git."""
    _working(world)
    place = world.path("auth")
    shutil.rmtree(world.git("rev-parse", "--absolute-git-dir", cwd=place))
    (place / ".git").unlink()


def without_admin_and_branch(world: World) -> None:
    """Delete git's directory of a worktree, and the branch."""
    _working(world)
    shutil.rmtree(world.git("rev-parse", "--absolute-git-dir", cwd=world.path("auth")))
    world.git("branch", "-q", "-D", "auth/login")


def half_merged(world: World) -> None:
    """Kill a landing, and git in the middle of its checkout."""
    world.approved("docs", "guide", {"guide": "1\n"})
    approved(world)
    died = world.drive("merge", "auth", GITWORKER_CRASH_AT="forward-checked")
    assert died.returncode == -9, died
    (world.root / "a").write_text("1\n")
    (world.root / ".git" / "index.lock").touch()


def no_git_runs(world: World) -> None:
    """Delete the lock of the killed git, as the next hint says."""
    (world.root / ".git" / "index.lock").unlink(missing_ok=True)


def depends_meanwhile(world: World) -> None:
    """Let a task get a dependency while its worktree is made."""
    by(W + "task add other -m x", W + "task add login -m x")(world)
    hook = world.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    command = "git worker task depend login --on other"
    hook.write_text(f"#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE\ncd '{world.root}' && {command}\n")
    hook.chmod(0o755)


def target_that_moves(world: World) -> None:
    """Have verify commands that commit on the target eleven times."""
    approved(world)
    world.advance({"count": ""})
    once = "echo >>count; git add count; git commit -q -m More"
    command = f"cd '{world.root}'; test $(cat count | wc -l) -gt 10 || {{ {once}; }}"
    world.git("config", "worker.verify.commands", command)


def returned(world: World) -> None:
    """Send the work of an agent that has ended back for a conflict."""
    script = "echo mine >README; git commit -qam Work"
    by(f'{W}spawn auth login -d -- sh -c "{script}"')(world)
    wait_until(lambda: world.worker("auth").state is WorkerState.IN_REVIEW)
    world.advance({"README": "theirs\n"})
    perform(W + "approve auth", Printed([], str(world.root)))


def for_approval(world: World) -> None:
    """Have a task that a person approves."""
    by(W + "task add login -m words --requires-approval")(world)


def without_retries(world: World) -> None:
    """Have a task with one attempt."""
    by(W + "task add login -m words --max-retries 0")(world)


def interrupted(world: World) -> None:
    """Kill a spawn."""
    world.session()
    assert world.drive("spawn", "auth", "login", GITWORKER_CRASH_AT="spawn.hooks").returncode == -9


def file_for_verify(world: World) -> None:
    """Have a file where the worktrees of the verify commands belong."""
    _working(world)
    world.git("config", "worker.verify.commands", "true")
    Path(verify_root(world.session())).write_text("mine\n")


def damaged_shallow(world: World) -> None:
    """Damage the file that makes a clone shallow."""
    in_review(world)
    (world.root / ".git" / "shallow").write_text("garbage\n")


def locked_branch(world: World) -> None:
    """Leave git's lock of a branch."""
    behind(world)
    (world.root / ".git/refs/heads/auth/login.lock").touch()


def refusing_rebase(world: World) -> None:
    """Have a hook that refuses each rebase."""
    _working(world)
    world.advance({"README": "changed\n"})
    hook = world.root / ".git" / "hooks" / "pre-rebase"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2; exit 1\n")
    hook.chmod(0o755)


def damaged_new_ref(world: World) -> None:
    """Have a damaged rescue ref that no operation has recorded."""
    _working(world)
    by(W + "cancel auth")(world)
    (ref,) = [name for name in world.refs() if "/rescue/" in name]
    (world.root / ".git" / ref).with_name("9").write_text("garbage\n")


def lost_need(world: World) -> None:
    """Let a foreign program make a task wait for one that does not exist."""
    by(W + "task add guide -m x")(world)
    connection = apsw.Connection(f"{world.state_dir}/bus.db")
    connection.execute("INSERT INTO task_dependencies (task_id, depends_on) VALUES ('guide', 'x')")
    connection.close()


def freed(world: World) -> None:
    """Free a worker that failed."""
    failed(world)
    by(W + "reset auth")(world)


def warned(world: World) -> None:
    """Warn a worker that another one changes the same files."""
    two_workers(world)
    payload = {"with": "docs", "with_task": "guide", "with_branch": "docs/guide", "files": ["a"]}
    warning = Outgoing(MessageType.CONFLICT_WARNING, sender=HQ, to="auth", payload=payload)
    with world.session().store.write() as writer:
        publish(writer, warning, now=clock.now_ms())


CASES = {
    "locked-unowned": Case(
        locked_and_unowned, W + "fsck", "git worktree unlock {} && git worktree remove {}"
    ),
    "no-admin": Case(without_admin, W + "fsck", "mv {} {}.old"),
    "no-admin-no-branch": Case(without_admin_and_branch, W + "fsck", "mv {} {}.old"),
    "half-merged": Case(
        half_merged, W + "merge auth", "rm {}/index.lock && git worker recover"
    ),
    "unfinished": Case(
        half_merged, W + "exec auth -- true", W + "recover", meets=no_git_runs
    ),
    "open-merge": Case(half_merged, W + "merge docs", W + "recover", meets=no_git_runs),
    "meanwhile": Case(depends_meanwhile, W + "spawn auth login", W + "task why {}"),
    "moves": Case(target_that_moves, W + "merge auth", W + "merge --all"),
    "returned": Case(
        returned, W + "wait auth --for landed", W + "resume {}", instead=True
    ),
    "run-review": Case(
        for_approval, W + "run --land -- git commit -q --allow-empty -m Work", W + "land {}"
    ),
    "run-failed": Case(without_retries, W + "run -- false", W + "show {}"),
    "state-file": Case(other_link, W + "doctor", "mv {} {}.found && git worker init"),
    "identity": Case(
        anonymous, W + "agents doctor",
        "git config user.name <name> && git config user.email <mail>",
    ),
    "no-answer": Case(
        _working, W + "msg request x-ask --to auth --timeout 0.1",
        W + "msg request {} --timeout 600",
    ),
    "interrupted": Case(interrupted, W + "doctor", W + "recover"),
    "file-for-verify": Case(file_for_verify, W + "verify", "mv {} {}.found"),
    "shallow": Case(
        damaged_shallow, W + "approve auth",
        'mv "$(git -C {} rev-parse --path-format=absolute --git-path shallow)" shallow.damaged',
    ),
    "locked-branch": Case(locked_branch, W + "approve auth", "rm {}"),
    "refusing-rebase": Case(refusing_rebase, W + "sync --as auth", "git -C {} status"),
    "rescue-ref": Case(damaged_new_ref, W + "fsck", "mv {} {}.damaged"),
    "copy": Case(
        of_the_main_checkout, W + "done", "cd {} && git worker fsck --repair",
        at="../copy/worktrees/login",
    ),
    "unset": Case(
        _working, W + "config", "unset {}", env={"GITWORKER_WORKTREE_POOL": "many"}
    ),
    "lost-need": Case(
        lost_need, W + "task why guide --json", W + "task depend {} --on {} --drop"
    ),
    "watch-idle": Case(freed, W + "watch auth", W + "assign {} <task>"),
    "no-text": Case(_fresh, W + "spawn docs guide -F nowhere/text", "ls -l {}"),
    "no-agent": Case(
        by("git config worker.agents.own.command nowhere-at-all", W + "spawn auth login"),
        W + "exec auth --agent own -m words", "git config worker.agents.{}.command <command>",
    ),
    "agent-in-one-line": Case(
        by("git config worker.agents.own.command 'echo {prompt}'", W + "spawn auth login"),
        W + "exec auth --agent own -m words",
        "git config --replace-all {} \"$(printf '%s\\n' {})\"",
    ),
    "own-verdict": Case(
        in_review, W + "msg send review_result '{\"verdict\": \"approved\"}'",
        W + "wait --for verdict", at="auth",
    ),
    "overlap": Case(warned, W + "inbox --json --no-ack", "git diff HEAD...{}", at="auth"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_damage_helps(quiet: World, name: str) -> None:
    """A refusal because of damage or an obstacle names a command that works."""
    check(quiet, CASES[name])


def test_a_long_message(quiet: World) -> None:
    """`show` and `inbox` name the command that prints a message that is too long for them."""
    _working(quiet)
    by(W + "send auth " + "x" * 70_000)(quiet)
    for command, place in ((W + "show auth", quiet.root), (W + "inbox", quiet.path("auth"))):
        shown = perform(command, Printed([], str(place)))
        (hint,) = re.findall(W + r"msg show \d+", shown.out)
        assert follow(Printed([], str(place)), hint) is None
        note(hint, shown.out)


def test_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    """A repository at a path that SQLite cannot open works after a move."""
    place = tmp_path / os.fsdecode(b"r\xff")
    World.make(place)
    refused = perform(W + "spawn auth login", Printed([], str(place)))
    (hint,) = hints_of(refused.out, refused.err)
    assert (refused.status, hint) == (1, "mv <directory> <new-place>")
    place.rename(tmp_path / "plain")
    done = perform(W + "spawn auth login", Printed([], str(tmp_path / "plain")))
    assert done.status == 0, done
    note(hint, refused.err)


def test_a_directory_that_does_not_exist(quiet: World) -> None:
    """A shell in a deleted directory works again after `cd`."""
    script = "mkdir x && cd x && rmdir ../x; git worker list; cd .. && git worker list"
    done = subprocess.run(
        ["sh", "-c", script], cwd=quiet.root, check=False, capture_output=True, text=True
    )
    assert (done.returncode, "hint: cd <directory>\n" in done.stderr) == (0, True), done
    note("cd <directory>", done.stderr)


def test_a_bus_that_is_in_use(quiet: World) -> None:
    """The bus of another program is adopted once the program has closed it."""
    _working(quiet)
    (quiet.root / ".worker-state").unlink()
    quiet.state_dir.rename(quiet.root / ".worker-state")
    other = apsw.Connection(str(quiet.root / ".worker-state" / "bus.db"))
    other.execute("BEGIN IMMEDIATE")
    printed = Printed([], str(quiet.root))
    refused = perform(W + "init", printed)
    (hint,) = hints_of(refused.out, refused.err)
    assert (refused.status, hint) == (3, W + "init"), refused
    other.close()
    done = perform(hint, printed)
    assert done.status == 0, done
    note(hint, refused.err)


def test_an_agent_without_its_program(quiet: World) -> None:
    """`agents doctor` names the setting for the program of an agent of the user's own."""
    key = "git config worker.agents.own.command "
    by(key + "nowhere-at-all", W + "spawn auth login")(quiet)
    printed = Printed([], str(quiet.root))
    done = perform(W + "agents doctor", printed)
    assert key + "<command>" in done.out, done
    assert follow(printed, key + "<command>") is None
    assert perform(W + "exec auth --agent own -m words", printed).status != 4
    note(key + "<command>", done.out)
