"""Users, agents and our verbs at random, and an oracle of its own: no byte is ever lost."""

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from tests.cli.kit import Answer, run
from tests.hostile.oracle import Oracle, tokens_below, tokens_in
from tests.workers.world import is_at_work, wait_until

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
SEED = int(os.environ.get("GITWORKER_TEST_SEED", "7"))
WALKS = 2 if SCALE <= 1 else int(2 * SCALE)
STEPS = 70
WORKERS = ("auth", "docs", "web")


class Walk:
    """A main checkout, three workers, and everything that people do there, in a random order."""

    def __init__(self, root: Path, seed: int, pid: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        self.pid = pid
        self.oracle = Oracle(root)
        self.tasks = 0
        self.history: list[str] = []
        start = {"shared": "start\n", ".gitignore": "*.o\n", "src/old.txt": "old\n"}
        Repo.make(root).commit("Start", start)
        self.verb("init")

    # ------------------------------------------------------------------ our verbs
    def verb(self, *words: str, cwd: Path | None = None) -> Answer:
        """Run a command of ours; any outcome but a fault of ours is allowed."""
        answer = run(cwd or self.root, *words)
        self.history.append(f"{answer.status} {' '.join(words)}: {answer.err.strip()[:300]}")
        assert answer.status in (0, 1, 2, 3, 4), self.history[-10:]
        return answer

    def spawn(self) -> None:
        """Give a worker a task, and begin it."""
        worker = self.chance.choice(WORKERS)
        self.tasks += 1
        if self.verb("spawn", worker, f"t{self.tasks}").status == 0:
            self.verb("start", worker, "--pid", str(self.pid))

    def run_verb(self) -> None:
        """Run one verb on one worker."""
        worker = self.chance.choice(WORKERS)
        verb = self.chance.choice((
            ("done", worker), ("done", worker), ("done", worker, "--commit", "-m", "Late work"),
            ("approve", worker), ("approve", worker), ("reject", worker, "-m", "Again"),
            ("merge", worker), ("merge", "--all"), ("merge", "--keep", worker),
            ("cancel", worker), ("fail", worker, "-m", "No"), ("reset", worker),
            ("recover",), ("recycle", worker), ("undo",), ("undo",), ("conflicts",),
            ("diff", worker), ("show", worker), ("status",), ("fsck",), ("doctor",),
        ))  # fmt: skip
        self.verb(*verb)

    def land(self) -> None:
        """Take one worker the whole way."""
        worker = self.chance.choice(WORKERS)
        for verb in ("done", "approve", "merge"):
            self.verb(verb, worker)

    def gc(self) -> None:
        """Let go of everything old: that deletes the ignored files of removed worktrees."""
        self.verb("gc", "--older-than", "0")
        self._await_deletions()
        there = tokens_below(self.root)
        ignored = {token for token, how in self.oracle.written.items() if how == "ignored"}
        self.oracle.give_up(ignored - there)

    def sync(self) -> None:
        """Rebase a worker's branch; at a conflict, keep both sides or abort."""
        place = self._a_worktree()
        if place is None or self.verb("sync", cwd=place).status != 3:
            return
        if self.chance.random() < 0.4:
            self.verb("sync", "--abort", cwd=place)
            return
        for _ in range(9):
            text = (place / "shared").read_bytes()
            kept = [
                line for line in text.split(b"\n") if not line.startswith((b"<<", b"==", b">>"))
            ]
            (place / "shared").write_bytes(b"\n".join(kept))
            Repo(place).run("add", "shared")
            if self.verb("sync", "--continue", cwd=place).status != 3:
                return

    # ------------------------------------------------------------------ people
    def write(self) -> None:
        """Add a token to a file: new, ignored or tracked."""
        place = self._a_place()
        name, how = self.chance.choice((
            ("notes", "untracked"), ("deep/er/notes", "untracked"), ("cache.o", "ignored"),
            ("src/old.txt", "unstaged"), ("shared", "unstaged"), ("odd [n]ame", "untracked"),
        ))  # fmt: skip
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{self.oracle.new(how)}\n")

    def stage(self) -> None:
        """Stage everything, and go on writing in some of it."""
        place = self._a_place()
        self._add_all(place)
        if self.chance.random() < 0.5:
            self.write()

    def commit(self) -> None:
        """Commit everything that is not ignored."""
        place = self._a_place()
        self._add_all(place)
        self._commit(place)

    def commit_shared(self) -> None:
        """Commit a change at the top of a file that all workers change."""
        place = self._a_place()
        path = place / "shared"
        if path.is_file() and not Repo(place).git("status", "--porcelain", "--", "shared"):
            path.write_text(f"{self.oracle.new('commit')}\n{path.read_text()}")
            self._commit(place, "--", "shared")

    def delete(self) -> None:
        """Delete a file that only its directory has: a person gives it up."""
        place = self._a_place()
        for name in ("notes", "cache.o"):
            if Repo(place).run("ls-files", "--error-unmatch", name).returncode:
                tokens = tokens_in(place / name)
                (place / name).unlink(missing_ok=True)
                self.oracle.give_up(tokens - tokens_below(self.root))

    def collect(self) -> None:
        """Have git delete every object that no ref, reflog or index leads to."""
        Repo(self.root).run("reflog", "expire", "--expire=now", "--all")
        Repo(self.root).run("gc", "--prune=now", "--quiet")

    # ------------------------------------------------------------------ the walk
    def step(self) -> None:
        """Take one step."""
        steps: list[tuple[int, Callable[[], None]]] = [
            (4, self.spawn), (12, self.run_verb), (3, self.land), (1, self.gc), (2, self.sync),
            (8, self.write), (2, self.stage), (6, self.commit), (4, self.commit_shared),
            (1, self.delete), (1, self.collect),
        ]  # fmt: skip
        weights, moves = zip(*steps, strict=True)
        (chosen,) = self.chance.choices(moves, weights)
        self.history.append(chosen.__name__)
        chosen()

    def end(self) -> None:
        """Finish every open operation and require that everything is still there."""
        self.verb("recover")
        self._await_deletions()
        lost = self.oracle.lost()
        assert not lost, (lost, self.history[-40:])

    def _await_deletions(self) -> None:
        wait_until(lambda: not is_at_work(self.root / "worktrees/.trash"))

    def _commit(self, place: Path, *paths: str) -> None:
        subject = self.oracle.new("commit message")
        if Repo(place).run("commit", "-qm", f"Work {subject}", *paths).returncode:
            self.oracle.give_up({subject.encode()})

    def _add_all(self, place: Path) -> None:
        Repo(place).run("add", "--all")

    def _a_worktree(self) -> Path | None:
        places = [
            path
            for path in sorted((self.root / "worktrees").glob("*"))
            if (path / ".git").is_file()
        ]
        return self.chance.choice(places) if places else None

    def _a_place(self) -> Path:
        place = self._a_worktree()
        return self.root if place is None or self.chance.random() < 0.2 else place


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED, SEED + WALKS))
def test_no_byte_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Commits, staged, unstaged, untracked and ignored bytes stay until a person deletes them."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    agent = subprocess.Popen(["true"])
    agent.wait()
    walk = Walk(tmp_path / "repo", seed, agent.pid)
    for number in range(STEPS):
        walk.step()
        if number % 20 == 19:
            walk.end()
    walk.end()
    assert run(walk.root, "fsck").status == 0


def test_the_oracle_finds_a_loss(tmp_path: Path) -> None:
    """A deleted file, a dropped index and a dropped branch are each reported as lost."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("Start", {"f": "1\n"})
    oracle = Oracle(repo.root)
    tokens = [oracle.new(how) for how in ("untracked", "staged", "commit")]
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("Topic", {"g": tokens[2]})
    repo.git("checkout", "-q", "main")
    repo.write({"u": tokens[0], "s": tokens[1]})
    repo.git("add", "s")
    assert oracle.lost() == {}
    (repo.root / "u").unlink()
    repo.git("rm", "-q", "-f", "s")
    repo.git("branch", "-q", "-D", "topic")
    assert sorted(oracle.lost().values()) == ["commit", "staged", "untracked"]
