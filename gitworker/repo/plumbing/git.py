"""The only place that runs git: one class that runs plumbing commands in a given repository.

Every call uses the environment of `git_environment`. Settings that the user passed by `git -c` are
kept.
"""

from __future__ import annotations

import os

from gitworker import clock, proc
from gitworker.errors import GitWorkerError, NotFound, Unavailable
from gitworker.model.ids import Oid
from gitworker.paths import follow_git_file, open_regular
from gitworker.repo.plumbing.git_environment import (
    PRIVATE_INDEX,
    clean_environment,
    held_environment,
)
from gitworker.rules_text import quoted

TYPE_CHECKING = False  # on the hot path: `typing` costs 8 ms, `collections` 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CEILINGS = "GIT_CEILING_DIRECTORIES"  # git(1): the search for a repository stops below these
MINIMUM = (2, 39)
# Parts of git's messages if the directory of another worktree is being made or removed at that
# moment: most git commands read the directories of all worktrees.
OTHER_WORKTREES = ("/commondir", "bad object worktrees/")
PROBE_INODES = 16
PROBE_BYTES = 65536  # more than any block: on a full disk a write of this size fails
PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
PROMISED = "from promisor remote"  # git's last line, below all messages of the transport
NAMELESS = "not a git repository: (null)"  # git 2.55 does not name the damaged directory
PROMISED_HINT = "git fetch   # a partial clone lacks some objects: its remote must be reachable"


class GitFailed(GitWorkerError):
    """git exited with a status that the caller did not expect; `detail` is its standard error."""

    code = "git_failed"


class Git:
    """Runs git in one directory (`-C`) or, for a bare or detached view, on one git directory.

    `at(path)` returns a Git for another worktree; `holding(lock)` one whose processes keep a flock,
    so that it is taken until they have ended, also after our death. Only git's version is cached.
    """

    _version: tuple[int, ...] | None = None

    def __init__(self, directory: str, *, git_dir: str | None = None, is_top: bool = False) -> None:
        self.directory = directory
        self.git_dir = git_dir
        self._is_top = is_top
        self._lock: int | None = None

    def at(self, directory: str) -> Git:
        """Return a Git that runs in `directory`, the top of a worktree of any repository.

        git does not search the parent directories from there: in a worktree without its `.git`
        file git must fail instead of using the repository around it.
        """
        return Git(directory, is_top=True).holding(self._lock)

    def holding(self, lock: int | None) -> Git:
        """Return a Git for the same directory whose processes inherit the flock `lock`."""
        git = Git(self.directory, git_dir=self.git_dir, is_top=self._is_top)
        git._lock = lock
        return git

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        ok: Sequence[int] = (0,),
        settings: Sequence[str] = (),
        timeout_s: float | None = None,
    ) -> proc.Completed:
        """Run `git ARGS` and return status and output.

        `env` is added to the cleaned environment; `settings` become `-c NAME=VALUE`. Raises
        GitFailed if the exit status is not in `ok`. A failure caused by the half-made directory of
        another worktree is first retried for about 1.5 s.
        """
        environment = self._environment(env)
        pauses_s = iter(PAUSES_S)
        while True:
            done = proc.run(
                [*self._command(settings, env), *args],
                env=environment,
                stdin=stdin,
                timeout_s=timeout_s,
                inherit_fd=self._lock,
                on_silence=self._explain_silence,
            )
            if done.status in ok:
                return done
            pause_s = next(pauses_s, None)
            if pause_s is None or not _meets_another_worktree(args, done):
                raise failure_of(args, done)
            clock.sleep(pause_s)

    def run_to_end(
        self,
        *args: str,
        env: Mapping[str, str],
        settings: Sequence[str] = (),
        lock_fd: int | None = None,
    ) -> proc.Completed:
        """Run `git ARGS` so that it survives the death of this process; return any exit status.

        `lock_fd` is a flock that stays held until git has ended.
        """
        return proc.run_to_end(
            [*self._command(settings), *args], env=self._environment(env), lock_fd=lock_fd
        )

    def start(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> proc.Running:
        """Start `git ARGS` and return at once; `finish` waits for it. `env` is as in `run`."""
        words, environment = [*self._command((), env), *args], self._environment(env)
        return proc.start(words, env=environment, stdin=stdin, inherit_fd=self._lock)

    def finish(self, running: proc.Running, args: Sequence[str]) -> proc.Completed:
        """Wait for the process that `start(*args)` began; raise GitFailed if it failed."""
        return _checked(running.finish(on_silence=self._explain_silence), args, (0,))

    def _explain_silence(self) -> GitWorkerError | None:
        """Return an error if git may be waiting for a FIFO at the path of a file that it reads.

        The search walks through the directory, so it runs only for a git that has written nothing
        for seconds.
        """
        from gitworker.repo.plumbing.disk import find_fifo  # rare

        fifo = find_fifo(self.directory, self.git_dir)
        if fifo is None:
            return None
        message = f"{fifo} is a FIFO; every git that reads it waits for ever"
        failure = GitFailed(message, f"rm {quoted(fifo)}", code="place_taken")
        failure.status = 1
        return failure

    def _environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        environment = {**clean_environment(), **held_environment()}
        if self._is_top:
            environment[CEILINGS] = _parent_of(self.directory)
        if env:
            environment.update(env)
        return environment

    def _command(self, settings: Sequence[str], env: Mapping[str, str] | None = None) -> list[str]:
        argv = ["git", "-C", self.directory]
        if self.git_dir is not None:
            argv.append(f"--git-dir={self.git_dir}")
        private = PRIVATE_INDEX if env and "GIT_INDEX_FILE" in env else ()
        for setting in (*private, *settings):
            argv += ["-c", setting]
        return argv

    def text(self, *args: str, ok: Sequence[int] = (0,)) -> str:
        """Return the standard output of git without the last newline."""
        return self.run(*args, ok=ok).text.rstrip("\n")

    def find_oid(self, revision: str, kind: str = "commit") -> Oid | None:
        """Return the object that `revision` names, peeled to `kind`; None if it does not exist."""
        done = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{{kind}}}",
            ok=(0, 1, 128),
        )  # fmt: skip
        return Oid(done.text.strip()) if done.status == 0 else None

    def require_oid(self, revision: str, label: str = "revision") -> Oid:
        """Return the commit id that `revision` names; raise NotFound if it names no commit."""
        oid = self.find_oid(revision)
        if oid is None:
            raise NotFound(f"{label} {revision!r} names no commit in this repository", "git branch")
        return oid

    def version(self, *, cache: str | None = None) -> tuple[int, ...]:
        """Return git's version as numbers; raise Unavailable below the minimum.

        The answer is kept in the file `cache` as long as the git on PATH is the same file, so that
        a command that only checks the version starts no process.
        """
        if Git._version is None:
            identity = _program_identity()
            text = _read_answer(cache, identity) if cache else None
            if text is None:
                text = self.run("version").text
                Git._version = require_version(text)
                if cache:
                    _keep_answer(cache, identity, text)
            Git._version = require_version(text)
        return Git._version


def _parent_of(directory: str) -> str:
    """Return the parent directory, or "" if its name cannot occur in a list of paths."""
    parent = os.path.dirname(os.path.realpath(directory))
    return "" if ":" in parent else parent


def _program_identity() -> str:
    """Return a text that changes if another git is installed or comes first on PATH."""
    for directory in os.environ.get("PATH", os.defpath).split(":"):
        path = f"{directory or '.'}/git"
        if os.access(path, os.X_OK):
            stat = os.stat(path)  # not the path: inside git, PATH begins with its libexec copy
            return f"{stat.st_size} {stat.st_mtime_ns}"
    return ""


def _read_answer(cache: str, identity: str) -> str | None:
    try:
        with open(cache, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            known, _, text = file.read().partition("\n")
    except OSError:
        return None
    return text if identity and known == identity and text else None


def _keep_answer(cache: str, identity: str, text: str) -> None:
    partial = f"{cache}.{os.getpid()}.tmp"
    try:
        with open(
            partial, "w", encoding="utf-8", errors="surrogateescape", opener=open_regular
        ) as file:
            file.write(f"{identity}\n{text}")
        os.replace(partial, cache)
    except OSError:  # only a cache: the next command asks git
        return


def require_version(text: str) -> tuple[int, ...]:
    """Return the version in `git version` output; raise Unavailable if it is older than 2.39."""
    words = text.split()
    numbers = tuple(int(part) for part in words[2].split(".")[:3] if part.isdigit())
    if numbers < MINIMUM:
        raise Unavailable(
            f"git {words[2]} is too old: gitworker needs 2.39 or later (for merge-tree)",
            "git --version",
            code="git_too_old",
        )
    return numbers


def _meets_another_worktree(args: Sequence[str], done: proc.Completed) -> bool:
    """Return whether git failed only because another worktree is being made or removed.

    False for `worktree add`, which may have made files already: its callers clean up and retry.
    """
    if args[:2] == ("worktree", "add"):
        return False
    return any(mark in done.complaint for mark in OTHER_WORKTREES)


def _checked(done: proc.Completed, args: Sequence[str], ok: Sequence[int]) -> proc.Completed:
    if done.status not in ok:
        raise failure_of(args, done)
    return done


def failure_of(args: Sequence[str], done: proc.Completed) -> GitFailed:
    """Return the error for a failed git: the cause or git's first complaint; the rest as detail."""
    if PROMISED in done.complaint:
        return GitFailed(_headline(args, done), PROMISED_HINT, detail=done.complaint)
    from gitworker.repo.plumbing.rules_git_errors import (
        explain_unwritten,
        find_cause,  # regular expressions: 5 ms, rare
        find_unwritten,
    )

    directory = done.argv[2] if done.argv[1:2] == ("-C",) else "."
    complaint = done.complaint
    if NAMELESS in complaint:
        admin_dir = follow_git_file(f"{directory}/.git") or "(null)"
        complaint = complaint.replace(NAMELESS, NAMELESS.replace("(null)", admin_dir))
    cause = find_cause(complaint, directory)
    if cause is None:
        path = find_unwritten(done.complaint, directory)
        if path is not None:
            place = _place_above(path)
            cause = explain_unwritten(path, _why_unwritable(place), place)
    if cause is None:
        return GitFailed(_headline(args, done), None, detail=done.complaint)
    failure = GitFailed(cause.message, cause.hint, code=cause.code, detail=done.complaint)
    failure.status = cause.status
    return failure


def _place_above(path: str) -> str:
    """Return `path`, or the nearest directory above it that exists."""
    while path and not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _why_unwritable(directory: str) -> str:
    """Try to write a file into a directory; return the reason of a failure, "" if it works.

    git may have removed the files for which no inode was left.
    """
    probe = f"{directory}/.gitworker-probe-{os.getpid()}"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return error.strerror or ""
    try:
        os.write(descriptor, bytes(PROBE_BYTES))
        os.fsync(descriptor)
        disk = os.fstatvfs(descriptor)
        few = disk.f_files > 0 and disk.f_favail < PROBE_INODES  # some systems have no limit
        return "No space left on device" if few else ""
    except OSError as error:
        return error.strerror or ""
    finally:
        os.close(descriptor)
        os.unlink(probe)


def _headline(args: Sequence[str], done: proc.Completed) -> str:
    """Return one line about the failure: the subcommand, the status, git's first complaint."""
    complaint = done.complaint.splitlines()
    first = next((line for line in complaint if PROMISED in line), None) or next(
        (line for line in complaint if line.startswith(("fatal:", "error:"))), None
    )
    first = first or (complaint[0] if complaint else "")
    return f"git {args[0]} failed with status {done.status}" + (f": {first}" if first else "")
