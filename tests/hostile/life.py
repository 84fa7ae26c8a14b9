"""One life of a repository under given settings and variables, and everything visible of it."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fixtures.repos import Content, Repo, tree_bytes
from gitworker.cli.command_list import SUBCOMMANDS
from tests.cli.kit import Answer, plain, read_line, run, running

Seen = dict[str, object]  # each answer, branch and other result by its name

SETTINGS = """\
[verify]
commands = ["test ! -e broken"]
"""
START: Mapping[str, Content] = {
    "README": "line 1\nline 2\nline 3\n",
    "src/app.py": "print('hello')\n",
    "src/old.txt": "".join(f"line {number}\n" for number in range(20)),
    "a[b]*.txt": "brackets\n",
    "SRC/app.py": "print('capital')\n",
    ".gitignore": "*.o\n",
    ".gitattributes": "*.txt diff=hostile\n",
    ".gitworker.toml": SETTINGS,
}
OURS = {
    "src/app.py": "print('auth')   \n",
    "src/new.txt": "".join(f"line {number}\n" for number in range(19)),
    "src/old.txt": None,
    "ä\t:(icase)src": "odd name\n",
    "a[b]*.txt": "brackets of auth\n",
}
FORMAT = "%s%n%b|%an|%ae|%T"
VOLATILE = (
    (re.compile(r"\b[0-9a-f]{7,12}\b"), "<short>"),
    (re.compile(r"\d{8}T\d{6}Z|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "<time>"),
    (re.compile(r"\d+\.\d (s|KiB|MiB)"), "<amount>"),
    (re.compile(r"\b\d+:\d\d:\d\d\b"), "<duration>"),
    (re.compile(r"/rescue/(\S+)/\d+"), r"/rescue/\1"),
    (re.compile(r" +"), " "),  # columns are as wide as the ages in them
)
# Only the status is compared. gc counts the worktrees that the background deletion left, and that
# keeps one, for safety, if git writes anything to standard error (trace2 to a descriptor, warnings
# of deprecated settings). Messages, agents and reviews show times and pids; doctor names dropped
# variables.
STATUS_ONLY = (
    "gc", "agents", "doctor", "exec", "help", "msg", "inbox", "review", "send", "pause", "continue",
    "stop", "wait",
)  # fmt: skip
NOTE = ("send", "x-note", '{"text": "hello"}')
# Every verb that the story of the life does not need; the test holds all of them to the real list.
REST: tuple[tuple[str, ...], ...] = (
    ("agents", "list"), ("agents", "doctor"), ("agent", "install", "claude"),
    ("agent", "uninstall", "claude"), ("hook", "Stop"), ("mcp",),
    ("assign", "auth", "t20"), ("attach", "unknown"), ("watch", "unknown"),
    ("cancel", "auth"), ("completion", "bash"), ("doctor",), ("help", "landing"),
    ("notify",), ("ui",), ("fleet", "status"), ("fleet", "join", "nowhere"), ("fleet", "leave"),
    ("fleet", "edit", "--capability", "gpu"),
    ("hooks", "status"), ("hooks", "uninstall"), ("hooks", "install"), ("pool",),
    ("pool", "--empty"), ("recover",), ("recycle", "docs"), ("spawn", "run", "t21"),
    ("exec", "run", "--", "true"), ("claim", "take", "paths:src"), ("claim", "list"),
    ("claim", "renew", "paths:src"), ("claim", "release", "paths:src"), ("msg", *NOTE),
    ("msg", *NOTE, "--to", "hq"), ("msg", "poll"), ("msg", "ack", "1"), ("msg", "show", "1"),
    ("msg", "stats"), ("msg", "search", "hello"), ("msg", "export", "--git"), ("msg", "prune"),
    ("msg", "request", "x-ask", "{}", "--to", "run", "--timeout", "0"),
    ("validate", ".git/worker-state/transitions.jsonl"), ("verify", "main"),
    ("config",), ("config", "gc.days", "9"), ("shell-init", "bash"), ("switch", "run"),
    ("inbox",), ("ask", "Why?", "--timeout", "0"), ("questions",), ("reply", "run", "So"),
    ("send", "run", "Hello"), ("pause", "run"), ("continue", "run"), ("stop", "run"),
    ("wait", "run", "--timeout", "0"), ("resume", "run"), ("task", "list"), ("task", "text", "t21"),
    ("land", "run"), ("task", "add", "a1", "-m", "First"), ("task", "add", "a2", "--needs", "a1"),
    ("task", "add", "a3"), ("task", "depend", "a2", "--on", "a3"),
    ("task", "depend", "a3", "--on", "a2"), ("task", "edit", "a1", "--priority", "5"),
    ("task", "hold", "a1"), ("task", "release", "a1"), ("task", "ready"), ("task", "show", "a2"),
    ("project", "add", "web", "--budget", "2M"), ("project", "edit", "web", "--weight", "3"),
    ("project", "pause", "web"), ("project", "resume", "web"), ("project", "archive", "web"),
    ("agent", "add", "ada", "--type", "command", "--command", "true"), ("agent", "list"),
    ("agent", "show", "ada"), ("agent", "pause", "ada"), ("agent", "resume", "ada"),
    ("agent", "remove", "ada"), ("project", "list"), ("project", "show", "web"),
    ("task", "why", "a2"), ("stats",), ("task", "graph"), ("task", "import", "plan.md"),
    ("automation", "add", "o1", "--every", "900", "--command", "true"), ("automation", "list"),
    ("automation", "show", "o1"), ("automation", "run", "o1"), ("automation", "history", "o1"),
    ("automation", "disable", "o1"), ("automation", "enable", "o1"), ("automation", "remove", "o1"),
    ("workstream", "create", "w1", "--title", "One"), ("workstream", "add", "w1", "a3"),
    ("workstream", "list"), ("workstream", "show", "w1"), ("workstream", "validate", "w1"),
    ("run", "--dry-run", "--", "true"), ("task", "skip", "a3"), ("task", "stop", "a1"),
    ("task", "restart", "a1"), ("task", "cancel", "a2"),
    ("workstream", "cancel", "w1"), ("workstream", "archive", "w1"),
)  # fmt: skip


class Life:
    """A repository whose user and agents have clean settings; our program has hostile ones."""

    def __init__(self, root: Path, config: str, variables: Mapping[str, str], pid: int) -> None:
        self.root = root
        self.pid = pid
        home = root.parent / f"{root.name}-home"
        home.mkdir()
        (home / ".gitconfig").write_text(
            (Path(os.environ["HOME"]) / ".gitconfig").read_text() + config
        )
        self._env = {
            **variables,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "GITWORKER_POOL_SIZE": "0",
            "GITWORKER_GC_DAILY": "no",
            "GITWORKER_TASK_RETRY_DELAY_S": "3600",  # no retry becomes due in a slow life
        }
        self.answers: Seen = {}
        self.verbs: set[str] = set()

    def do(self, *words: str, cwd: Path | None = None) -> Answer:
        """Run our program and record its answer, with volatile text made the same."""
        done = run(cwd or self.root, *words, env=self._env)
        out, err = (self._same(text) for text in (done.out, done.err))
        if words[0] in STATUS_ONLY:
            out = err = ""
        self.verbs.add(" ".join(words[: 2 if words[0] in SUBCOMMANDS else 1]))
        name = self._same(" ".join((f"{len(self.answers):02}", *words)))
        self.answers[name] = Answer(done.status, out, err)
        return done

    def _same(self, text: str) -> str:
        """Return output with times, sizes and ids made the same, its lines in a fixed order."""
        text = re.sub(rf"\b{self.pid}\b", "<pid>", plain(text, self.root))
        for pattern, word in VOLATILE:
            text = pattern.sub(word, text)
        return "\n".join(sorted(set(text.splitlines())))

    def spawn(self, worker: str, task: str) -> Repo:
        """Give a worker a task, begin it, and return the worktree."""
        place = Path(self.do("spawn", worker, task).out.strip())
        assert place.is_dir(), list(self.answers.items())[-1]
        self.do("start", worker, "--pid", str(self.pid))
        return Repo(place)

    def play(self) -> Seen:
        """Play the whole life; return commits, branches, files and answers."""
        Repo.make(self.root).commit("Start", START)
        self.do("init")
        self.do("trust", "--yes")
        self._land()
        self._conflict()
        self._withdraw()
        self._queue()
        self.do("log")
        for words in REST:  # the log of these holds pids and times
            self.do(*words)
        self._follow()
        self._serve()
        for words in (("gc", "--older-than", "0"), ("list",), ("fsck",)):
            self.do(*words)
        return self.seen()

    def _follow(self) -> None:
        """Read one message of a command that runs until it is interrupted."""
        words = ("msg", "follow", "--since", "0")
        env = {**os.environ, **self._env}
        with running(self.root, *words, env=env) as process:
            read_line(process)
            process.send_signal(signal.SIGINT)
            self.verbs.add("msg follow")
            self.answers["follow"] = process.wait(timeout=60)

    def _serve(self) -> None:
        """Open the page and end it again."""
        env = {**os.environ, **self._env}
        with running(self.root, "web", "--no-open", env=env) as process:
            assert "/open?" in read_line(process)
            process.send_signal(signal.SIGINT)
            self.verbs.add("web")
            self.answers["web"] = process.wait(timeout=60)

    def _review(self) -> None:
        """Comment on the work of docs, which answers; comment 1 is the note to auth."""
        place = Path(self.do("path", "docs").out.strip())
        for words in (
            ("comment", "docs", "docs/x:1", "-m", "Why?"), ("edit", "2", "-m", "Why x?"),
            ("comment", "docs", "docs/x:1", "-m", "Dropped"), ("drop", "3"), ("list", "docs"),
            ("show", "docs"), ("viewed", "docs"), ("send", "docs", "--comment"),
        ):  # fmt: skip
            self.do("review", *words)
        self.do("review", "handled", "2", "-m", "Because", cwd=place)
        for words in (("resolve", "2"), ("reopen", "2", "-m", "No"), ("resolve", "2")):
            self.do("review", *words)
        self.do("review", "diff", "docs")

    def _land(self) -> None:
        auth = self.spawn("auth", "t1")
        auth.commit("Write it\n\nIn detail.", OURS)
        auth.git("commit", "-q", "--allow-empty", "--author", "Eve <eve@e.org>", "-m", "Empty")
        auth.write({"late.txt": "late\n", "src/app.py": "print('later')\n"})
        self.do("heartbeat", "auth")
        self.do("done", "auth", "--commit", "-m", "# Late\n\n# work")
        docs = self.spawn("docs", "t2")
        docs.commit("Docs", {"src/app.py": "print('docs')\n", "docs/x": "x\n"})
        for words in (
            ("status",), ("show", "auth"), ("diff", "auth"), ("diff", "auth", "--stat"),
            ("conflicts",), ("path", "auth"), ("done", "docs"), ("reject", "auth", "-m", "Again"),
        ):  # fmt: skip
            self.do(*words)
        self._review()
        for words in (
            ("done", "auth", "-m", "Answered"), ("approve", "auth"), ("diff", "auth"),
            ("merge", "auth"), ("undo",),
        ):  # fmt: skip
            self.do(*words)
        landed = self.do("merge", "auth")
        assert landed.status == 0, landed
        self.do("approve", "docs")

    def _conflict(self) -> None:
        place = Path(self.do("path", "docs").out.strip())
        self.do("sync", cwd=place)
        self.do("sync", "--abort", cwd=place)
        self.do("sync", cwd=place)
        Repo(place).write({"src/app.py": "print('both')\n"})
        Repo(place).git("add", "--", "src/app.py")
        self.do("sync", "--continue", cwd=place)
        self.do("done", "docs")
        Repo(self.root).commit("By the user", {"README": "line 1\nline 2\nuser\n"})
        self.do("sync", cwd=place)
        self.do("approve", "docs")
        self.do("merge", "docs")

    def _withdraw(self) -> None:
        gone = self.spawn("gone", "t3")
        gone.commit("Half", {"half.txt": "half\n"})
        gone.write({"src/app.py": "print('changed')\n", "untracked.txt": "untracked\n"})
        gone.write({"staged.txt": "staged\n", "ignored.o": "ignored\n"})
        gone.git("add", "staged.txt")
        before = _bytes(gone.root), gone.git("status", "--porcelain")
        self.do("cancel", "gone")
        self.do("undo")
        assert (_bytes(gone.root), gone.git("status", "--porcelain")) == before
        self.do("done", "gone")
        self.do("fail", "gone", "-m", "No")
        self.do("reset", "gone")

    def _queue(self) -> None:
        for number, worker in enumerate(("one", "two", "three")):
            files = {"src/q.txt" if number < 2 else "README": f"{worker}\n"}
            self.spawn(worker, f"q{number}").commit(
                worker, {"broken": "1\n"} if worker == "three" else files
            )
            self.do("done", worker)
            self.do("approve", worker)
        self.do("verify", "one")
        self.do("queue")
        self.do("merge", "--all")
        made = self.root.parent / f"{self.root.name}-made"
        Repo(self.root).worktree(made, "-b", "by-hand").commit("By hand", {"hand": "1\n"})
        self.do("adopt", "--rename", "by-hand", "hand", "t9")
        self.do("cancel", "two")

    def seen(self) -> Seen:
        """Return everything that must not depend on settings."""
        repo = Repo(self.root)
        branches = repo.git("for-each-ref", "--format=%(refname)", "refs/heads")
        return {
            **self.answers,
            "branches": branches,
            "verbs": sorted(self.verbs),
            **{name: repo.git("log", f"--format={FORMAT}", name) for name in branches.split()},
            "status": repo.git("status", "--porcelain", "--untracked-files=all", "--ignored"),
            "files": _bytes(self.root),
        }


def _bytes(root: Path) -> dict[str, bytes]:
    """Return the files of a checkout without those of git and ours."""
    found = tree_bytes(root)
    return {
        name: content
        for name, content in found.items()
        if not name.startswith((".git/", "worktrees/")) and name not in (".git", ".worker.log")
    }


def live(root: Path, config: str, variables: Mapping[str, str]) -> Seen:
    """Play the life in a new repository, with a process in the place of every agent."""
    agent = subprocess.Popen(["sleep", "600"])
    try:
        return Life(root, config, variables, agent.pid).play()
    finally:
        agent.kill()
        agent.wait()
