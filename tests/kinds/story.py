"""The main job as whole programs, from init to a healthy end, on a repository of any kind."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fixtures.repos import Content, Repo, tree_bytes
from tests.cli.kit import ok, run
from tests.conftest import git
from tests.kinds.builders import Kind


@contextmanager
def an_agent() -> Iterator[int]:
    """Give the pid of a process that plays the agent."""
    agent = subprocess.Popen(["sleep", "600"])
    try:
        yield agent.pid
    finally:
        agent.kill()
        agent.wait()


class Story:
    """One repository, and the acts of its workers."""

    def __init__(self, root: Path, kind: Kind, agent_pid: int) -> None:
        self.root = root
        self.kind = kind
        self.agent_pid = agent_pid

    def ok(self, *words: str, cwd: Path | None = None) -> str:
        """Run a command that must succeed and return what it prints."""
        return ok(cwd or self.root, *words)

    def read(self, *words: str) -> Any:
        """Run a command that must succeed and return its JSON document."""
        return json.loads(self.ok(*words, "--json"))

    def working(self, worker: str, task: str) -> Path:
        """Give a worker a task and begin; return the worktree."""
        seat = Path(self.ok("spawn", worker, task))
        self.ok("start", worker, "--pid", str(self.agent_pid))
        return seat

    def submit(self, worker: str, seat: Path, files: Mapping[str, Content]) -> None:
        """Commit these files in a worker's worktree and hand them in."""
        Repo(seat).commit(f"Work of {worker}", files)
        self.ok("done", worker)

    def state(self, worker: str) -> str:
        """Return a worker's state as `list` has it."""
        rows = self.read("list")["workers"]
        (row,) = [row for row in rows if row["worker"] == worker]
        return str(row["state"])


def tell(root: Path, kind: Kind) -> None:
    """Tell the whole story in a repository, and look at what it leaves."""
    with an_agent() as pid:
        story = Story(root, kind, pid)
        for act in (set_up, land, meet, withdraw, look):
            act(story)
    assert git(root, "rev-list", "--count", "--merges", "main") == "0"
    kind.landed(root)
    if git(root, "rev-parse", "--is-bare-repository") == "false":
        assert git(root, "status", "--porcelain") == ""


def set_up(story: Story) -> None:
    """Init and trust what the repository brings."""
    story.ok("init")
    story.ok("trust", "--yes")


def land(story: Story) -> None:
    """Two workers' commits are looked at, approved, verified and landed, one on the other."""
    before = git(story.root, "rev-parse", "main")
    seat = story.working("left", "t1")
    assert git(seat, "status", "--porcelain") == ""
    story.kind.seat(seat)
    story.submit("left", seat, {"README": "line 1\nleft\nline 3\n", **story.kind.edits})
    story.submit("late", story.working("late", "t2"), {"src/late.txt": "late\n"})
    rival = story.working("right", "t3")
    Repo(rival).commit("Right", {"README": "line 1\nright\nline 3\n"})
    assert "README" in story.ok("diff", "left", "--stat")
    story.ok("approve", "left", "late")
    story.ok("merge", "--all")
    assert git(story.root, "rev-parse", "main~2") == before
    assert git(story.root, "ls-tree", "--name-only", "main", "src/late.txt") == "src/late.txt"
    assert story.state("left") == "COMPLETED"
    assert not seat.exists()


def meet(story: Story) -> None:
    """A worker who changed the same line is sent back, resolves the conflict, and lands."""
    seat = Path(story.ok("path", "right"))
    story.ok("done", "right")
    answer = run(story.root, "approve", "right")
    assert (answer.status, "README" in answer.err) == (3, True), answer
    assert story.state("right") == "WORKING"
    answer = run(seat, "sync")
    assert (answer.status, "README" in answer.err) == (3, True), answer
    (seat / "README").write_text("line 1\nleft and right\nline 3\n")
    git(seat, "add", "README")
    story.ok("sync", "--continue", cwd=seat)
    story.ok("done", "right")
    story.ok("approve", "right")
    story.ok("--as", "hq", "merge", "right", cwd=Path(story.ok("spawn", "last", "t5")))
    assert git(story.root, "show", "main:README").splitlines()[1] == "left and right"


def withdraw(story: Story) -> None:
    """A cancelled worker's files and index come back, byte by byte, by undo."""
    seat = Path(story.ok("spawn", "gone", "t4"))
    Repo(seat).commit("Half", {"src/half.txt": "half\n"})
    Repo(seat).write({"src/app.py": "print('changed')\n", "src/untracked.txt": "untracked\n"})
    Repo(seat).write({"src/staged.txt": "staged\n", "src/ignored.o": "ignored\n"})
    git(seat, "add", "src/staged.txt")
    before = files_of(seat), git(seat, "status", "--porcelain"), git(seat, "rev-parse", "HEAD")
    story.ok("cancel", "gone")
    assert not seat.exists()
    story.ok("undo")
    now = files_of(seat), git(seat, "status", "--porcelain"), git(seat, "rev-parse", "HEAD")
    assert now == before


def files_of(seat: Path) -> dict[str, bytes]:
    """Return every file of a worktree but git's pointer and our log."""
    return {
        name: content
        for name, content in tree_bytes(seat).items()
        if name not in (".git", ".worker.log")
    }


def look(story: Story) -> None:
    """What is shown is whole, and everything is healthy."""
    assert "gone" in story.ok("status")
    for words in (("doctor",), ("fsck",)):
        answer = run(story.root, *words)
        assert answer.status == 0, answer
