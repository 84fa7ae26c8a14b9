"""The main job by whole programs, from init to a healthy end, on a repository of any kind."""

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
    """Yield the pid of a process in the place of an agent."""
    agent = subprocess.Popen(["sleep", "600"])
    try:
        yield agent.pid
    finally:
        agent.kill()
        agent.wait()


class Story:
    """One repository, and the commands of its workers."""

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
        """Give a worker a task, start it, and return the worktree."""
        worktree = Path(self.ok("spawn", worker, task))
        self.ok("start", worker, "--pid", str(self.agent_pid))
        return worktree

    def submit(self, worker: str, worktree: Path, files: Mapping[str, Content]) -> None:
        """Commit these files in a worker's worktree and submit them."""
        Repo(worktree).commit(f"Work of {worker}", files)
        self.ok("done", worker)

    def state(self, worker: str) -> str:
        """Return a worker's state as `list` has it."""
        rows = self.read("list")["workers"]
        (row,) = [row for row in rows if row["worker"] == worker]
        return str(row["state"])


def play(root: Path, kind: Kind) -> None:
    """Run the whole story in a repository, and check its result."""
    with an_agent() as pid:
        story = Story(root, kind, pid)
        for step in (set_up, land, meet, withdraw, check):
            step(story)
    assert git(root, "rev-list", "--count", "--merges", "main") == "0"
    kind.landed(root)
    if git(root, "rev-parse", "--is-bare-repository") == "false":
        assert git(root, "status", "--porcelain") == ""


def set_up(story: Story) -> None:
    """Run init and trust the repository's commands."""
    story.ok("init")
    story.ok("trust", "--yes")


def land(story: Story) -> None:
    """Two workers' commits are reviewed, approved, verified and landed, one on the other."""
    before = git(story.root, "rev-parse", "main")
    worktree = story.working("left", "t1")
    assert git(worktree, "status", "--porcelain") == ""
    story.kind.worktree(worktree)
    story.submit("left", worktree, {"README": "line 1\nleft\nline 3\n", **story.kind.edits})
    story.submit("late", story.working("late", "t2"), {"src/late.txt": "late\n"})
    rival = story.working("right", "t3")
    Repo(rival).commit("Right", {"README": "line 1\nright\nline 3\n"})
    assert "README" in story.ok("diff", "left", "--stat")
    story.ok("approve", "left", "late")
    story.ok("merge", "--all")
    assert git(story.root, "rev-parse", "main~2") == before
    assert git(story.root, "ls-tree", "--name-only", "main", "src/late.txt") == "src/late.txt"
    assert story.state("left") == "COMPLETED"
    assert not worktree.exists()


def meet(story: Story) -> None:
    """A worker that changed the same line is sent back, resolves the conflict, and lands."""
    worktree = Path(story.ok("path", "right"))
    story.ok("done", "right")
    answer = run(story.root, "approve", "right")
    assert (answer.status, "README" in answer.err) == (3, True), answer
    assert story.state("right") == "WORKING"
    answer = run(worktree, "sync")
    assert (answer.status, "README" in answer.err) == (3, True), answer
    (worktree / "README").write_text("line 1\nleft and right\nline 3\n")
    git(worktree, "add", "README")
    story.ok("sync", "--continue", cwd=worktree)
    story.ok("done", "right")
    story.ok("approve", "right")
    story.ok("--as", "hq", "merge", "right", cwd=Path(story.ok("spawn", "last", "t5")))
    assert git(story.root, "show", "main:README").splitlines()[1] == "left and right"


def withdraw(story: Story) -> None:
    """undo restores a cancelled worker's files and index, byte by byte."""
    worktree = Path(story.ok("spawn", "dropped", "t4"))
    Repo(worktree).commit("Half", {"src/half.txt": "half\n"})
    Repo(worktree).write({"src/app.py": "print('changed')\n", "src/untracked.txt": "untracked\n"})
    Repo(worktree).write({"src/staged.txt": "staged\n", "src/ignored.o": "ignored\n"})
    git(worktree, "add", "src/staged.txt")
    before = (
        files_of(worktree),
        git(worktree, "status", "--porcelain"),
        git(worktree, "rev-parse", "HEAD"),
    )
    story.ok("cancel", "dropped")
    assert not worktree.exists()
    story.ok("undo")
    now = (
        files_of(worktree),
        git(worktree, "status", "--porcelain"),
        git(worktree, "rev-parse", "HEAD"),
    )
    assert now == before


def files_of(worktree: Path) -> dict[str, bytes]:
    """Return every file of a worktree except git's pointer and our log."""
    return {
        name: content
        for name, content in tree_bytes(worktree).items()
        if name not in (".git", ".worker.log")
    }


def check(story: Story) -> None:
    """The output is complete, and everything is healthy."""
    assert "dropped" in story.ok("status")
    for words in (("doctor",), ("fsck",)):
        answer = run(story.root, *words)
        assert answer.status == 0, answer
