"""Every hint of a refusal is run in the state in which it is printed, and helps.

A hint is a command that changes the state, so that the refused command gets further when it is
repeated, or one that only reads.
"""

import contextlib
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.__main__ import main
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.review.comments.send import reject
from gitworker.store.workers import forget_process
from gitworker.workers.cancel import cancel
from tests.cli.kit import Answer, run
from tests.cli.stages import stale, stale_in_review
from tests.hints.following import note
from tests.workers.world import World, without_heartbeat_daemon

FILES = {"a": "1\n"}


def idle(world: World) -> None:
    """Withdraw the task."""
    world.spawn("auth", "login")
    cancel(world.session(), "auth")


def assigned(world: World) -> None:
    """Assign a task that is not begun."""
    world.spawn("auth", "login")


def in_review(world: World) -> None:
    """Hand the work in."""
    world.in_review("auth", "login", FILES)


def approved(world: World) -> None:
    """Approve the work."""
    world.approved("auth", "login", FILES)


def landed(world: World) -> None:
    """Land the work."""
    approved(world)
    world.land("auth")


def failed(world: World) -> None:
    """Fail at work."""
    world.working("auth", "login", FILES)
    fail(world.session(), "auth", reason="stuck")


def rejected(world: World) -> None:
    """Request changes."""
    in_review(world)
    reject(world.session(), "auth", note="more tests")


STATES: tuple[Callable[[World], None], ...] = (idle, assigned, in_review, landed, failed, rejected)
VERBS = (
    ("start", "auth"), ("done", "auth"), ("approve", "auth"), ("reject", "auth", "-m", "again"),
    ("merge", "auth"), ("reset", "auth"), ("recover", "auth"), ("resume", "auth"),
    ("assign", "auth", "login"), ("spawn", "auth", "next"), ("undo",),
)  # fmt: skip
# Words that a user replaces.
NAMES = {
    "<new-name>": "renamed", "<worker>": "auth", "<task>": "next", "<text>": "words",
    "<commit>": "HEAD", "<reason>": "words", "<command>": "git commit -q --allow-empty -m More",
}  # fmt: skip
READS = ("status", "list", "show", "log", "diff", "help", "agents", "path", "undo --list", "inbox")


def hints(answer: Answer) -> Iterator[str]:
    """Yield the commands that a refusal names, without the remarks behind them."""
    for line in answer.err.splitlines():
        if line.startswith("hint: "):
            yield line.removeprefix("hint: ").partition("   # ")[0]


def is_reading(command: str) -> bool:
    """Return whether a command of a hint only reads."""
    words = command.removeprefix("git worker ")
    is_git = command.startswith(("git log", "git branch", "git worktree list", "git status"))
    return words.startswith(READS) or command.endswith(" -h") or is_git


def follow(world: World, command: str) -> Answer:
    """Run a command of a hint in the main checkout, with a user's words for the placeholders."""
    if "git commit" in command:  # the author works first
        Repo(world.path("auth")).write({"README": "changed\n"})
    for name, word in NAMES.items():
        command = command.replace(name, word)
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=world.root, check=False, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)


def useless(world: World, verb: tuple[str, ...]) -> list[str]:
    """Return the hints of a refused verb that fail, or after which it is refused as before."""
    refused = run(world.root, *verb)
    if refused.status == 0:
        return []
    found = []
    for command in hints(refused):
        followed = follow(world, command)
        if followed.status != 0:
            found.append(f"{' '.join(verb)}: {refused.err}{command} fails: {followed.err}")
        elif not is_reading(command):
            again = run(world.root, *verb)
            if (again.status, again.err) == (refused.status, refused.err):
                found.append(f"{' '.join(verb)}: {refused.err}{command} does not help")
        note(command, refused.err)
    return found


@pytest.mark.parametrize("state", STATES, ids=lambda state: str(state.__name__))
def test_every_hint_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Callable[[World], None]
) -> None:
    """No verb that a state refuses names a command that fails, or that changes nothing."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    found: list[str] = []
    for number, verb in enumerate(VERBS):
        world = World.make(tmp_path / f"{number}" / "repo")
        with without_heartbeat_daemon(world):
            state(world)
            found += useless(world, verb)
    assert found == [], "\n".join(found)


def conflicting(world: World) -> None:
    """Send the work back for a conflict with the target."""
    world.in_review("auth", "login", {"README": "the worker's\n"})
    world.advance({"README": "the target's\n"})
    assert run(world.root, "approve", "auth").status == 3


def rebasing(world: World) -> None:
    """Stop a rebase at a conflict."""
    conflicting(world)
    assert run(world.root, "sync", "--as", "auth").status == 3


def withdrawn(world: World) -> None:
    """Undo an approval."""
    approved(world)
    undo(world.session())


def unverified(world: World) -> None:
    """Fail the verify commands."""
    world.in_review("auth", "login", {"README": "broken\n"})
    world.git("config", "worker.verify.commands", "! grep broken README")
    assert run(world.root, "land", "auth").status == 1


def unverified_without_agent(world: World) -> None:
    """Fail the verify commands after the agent has ended."""
    unverified(world)
    with world.session().store.write() as writer:
        forget_process(writer, "auth")


def overdue(world: World) -> None:
    """Let a worker at work become stale."""
    stale(world, "auth", "login")


def overdue_review(world: World) -> None:
    """Let a worker in review become stale."""
    stale_in_review(world, "auth", "login")


WAYS = (
    in_review, approved, failed, rejected, conflicting, rebasing, withdrawn, overdue,
    overdue_review, unverified, unverified_without_agent,
)  # fmt: skip
STEPS = 8


def moved(world: World) -> None:
    """Move the worktree by hand."""
    world.path("auth").rename(world.root.parent / "elsewhere")


def removed(world: World) -> None:
    """Remove the directory of the worktree."""
    shutil.rmtree(world.path("auth"))


def removed_by_git(world: World) -> None:
    """Remove the worktree as git does."""
    world.git("worktree", "remove", "--force", "--force", str(world.path("auth")))


def switched(world: World) -> None:
    """Commit on another branch in the worktree."""
    world.git("switch", "-q", "-c", "side", cwd=world.path("auth"))
    world.commit("auth", {"beside": "1\n"})


def detached(world: World) -> None:
    """Detach HEAD in the worktree."""
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))


DAMAGES = (moved, removed, removed_by_git, switched, detached)


class Walk:
    """Runs the commands of hints inside this process and keeps the answers."""

    def __init__(self, world: World, capfd: pytest.CaptureFixture[str]) -> None:
        self.world = world
        self.walked: list[str] = []
        self.answer = Answer(0, "", "")
        self._capfd = capfd

    def perform(self, command: str) -> Answer:
        """Run a command in the main checkout; only a shell runs several, and those of git."""
        for name, word in NAMES.items():
            command = command.replace(name, word)
        if not command.startswith("git worker ") or {"&", "|", ";"} & set(command):
            return follow(self.world, command)
        self._capfd.readouterr()
        with contextlib.chdir(self.world.root):
            status = main(shlex.split(command)[2:])
        return Answer(status, *self._capfd.readouterr())

    def next_command(self) -> str:
        """Return the next command of `show`; `status` names no other one for the worker."""
        shown: str = self.perform("git worker show auth --json").document["next"]
        lines = (line.strip() for line in self.perform("git worker status").out.splitlines())
        named = [line for line in lines if line.startswith("→")]  # below it, those of the tasks
        assert named[:1] in ([], [f"→ {shown}"])
        return shown

    def to_the_landing(self) -> None:
        """Follow the named commands until the work has landed; a refusal's hint leads on."""
        while self.world.worker("auth").state != "COMPLETED":
            assert len(self.walked) < STEPS, "\n".join(self.walked)
            if self._step(self.next_command()).status != 0:
                self._author()
                refused = self.answer
                assert self._step(next(hints(refused))).status == 0, "\n".join(self.walked)

    def _step(self, command: str) -> Answer:
        if command == "git worker wait auth":
            self._author_goes_on()
        self.answer = self.perform(command)
        self.walked.append(f"{command}: {self.answer.err}")
        note(command, "")
        self._author()
        return self.answer

    def _author_goes_on(self) -> None:
        """Follow the next commands of the author, with the commits they ask for, to the hand-in."""
        while self.world.worker("auth").state == "WORKING":
            assert len(self.walked) < STEPS, "\n".join(self.walked)
            shown = run(self.world.path("auth"), "show", "--json").document["next"]
            command, _, remark = shown.partition("   # ")
            if remark:
                assert remark == "after your next commit"
                self.world.commit("auth", {"more": "1\n"})
            answer = self.perform(command)
            self.walked.append(f"{command}: {answer.err}")
            if answer.status != 0:
                self._author()
                assert self.perform(next(hints(answer))).status == 0, "\n".join(self.walked)

    def _author(self) -> None:
        """Resolve the conflict of a stopped rebase, and repair work that fails, as the author."""
        place = Path(self.world.worker("auth").worktree or "")
        if not (place / "README").is_file():
            return
        text = (place / "README").read_text()
        if text.startswith("<<<<<<<"):
            Repo(place).write({"README": "both\n"})
            self.world.git("add", "README", cwd=place)
        elif text.startswith("broken") and self.world.worker("auth").state == "WORKING":
            self.world.commit("auth", {"README": "repaired\n"})


@pytest.fixture
def walk(quiet: World, capfd: pytest.CaptureFixture[str]) -> Walk:
    """A walk in a repository without hooks."""
    return Walk(quiet, capfd)


@pytest.mark.parametrize("state", WAYS, ids=lambda state: str(state.__name__))
def test_the_named_commands_lead_to_the_landing(walk: Walk, state: Callable[[World], None]) -> None:
    """The next command of `show` and `status`, repeated, lands the work."""
    state(walk.world)
    walk.to_the_landing()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.__name__))
@pytest.mark.parametrize("state", [in_review, approved], ids=lambda state: str(state.__name__))
def test_damaged_work_lands_by_the_named_commands(
    walk: Walk, state: Callable[[World], None], damage: Callable[[World], None]
) -> None:
    """Work in review lands although its worktree was moved, removed or switched meanwhile."""
    state(walk.world)
    damage(walk.world)
    walk.to_the_landing()
    assert walk.world.show("a") == "1"


def test_a_worker_can_follow_its_own_next_command(quiet: World) -> None:
    """In its own worktree a worker in review is not sent to the approval of its own work."""
    quiet.in_review("auth", "login", FILES)
    shown = run(quiet.path("auth"), "show", "--json").document["next"]
    assert shown == "git worker wait auth --for verdict"


def test_an_empty_repository_names_its_first_commands(tmp_path: Path) -> None:
    """Without workers, without a commit and in a bare repository each screen names a command."""
    Repo.make(tmp_path / "fresh")
    Repo.make(tmp_path / "bare", "--bare")
    for place in ("fresh", "bare"):
        refused = run(tmp_path / place, "spawn", "auth", "login")
        assert refused.status != 0
        (hint,) = hints(refused)
        done = subprocess.run(
            ["/bin/sh", "-c", hint], cwd=tmp_path / place, check=False, capture_output=True,
        )  # fmt: skip
        again = run(tmp_path / place, "spawn", "auth", "login")
        assert (done.returncode, again.status) == (0, 0) or again.err != refused.err, hint
        note(hint, refused.err)
