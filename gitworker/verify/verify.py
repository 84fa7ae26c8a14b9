"""Verify: the configured commands, run on exactly one commit, and what was already found out.

A verdict holds for a tree, the commands and the environment that they declare: a tree that passed
never runs again, whatever commit carries it. Runs are recorded when they have ended, never before.
"""

import json
import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, NotFound, Unavailable, error_of
from gitworker.model.ids import RESERVED, Oid
from gitworker.repo.plumbing.git_environment import LOCAL_ENV
from gitworker.session import Session
from gitworker.store.api import Row
from gitworker.verify.rules_verify import (
    command_environment,
    declared_environment,
    header_text,
    run_key,
    verdict_text,
)
from gitworker.verify.trust import require_trusted
from gitworker.verify.verify_job import Job, Progress
from gitworker.verify.verify_repair import sparse_patterns
from gitworker.verify.verify_run import Ended, Run, RunLog, require_space
from gitworker.verify.verify_worktree import Lend, Slot, require_outside, take_slot

__all__ = ["NoVerdict", "Progress", "Verdict", "Verifier", "require_trusted"]
TICK_MS = 500  # a shell that was killed alone tells nothing: somebody has to look


class Verdict(NamedTuple):
    """What is known about a commit; nothing ran where `log` is empty."""

    passed: bool
    cached: bool
    flaky: bool
    reason: str
    log: str
    duration_ms: int


class NoVerdict(Unavailable):
    """A commit cannot be checked out, or its commands fill the disk: its own fault, or nobody's."""

    def __init__(self, commit: Oid, error: GitWorkerError) -> None:
        super().__init__(error.message, error.hint, code=error.code, detail=error.detail)
        self.commit = commit


NOTHING_TO_RUN = Verdict(passed=True, cached=False, flaky=False, reason="", log="", duration_ms=0)


class Verifier:
    """Runs the verify commands, at most `merge.parallel` at once; one thread's, in a `with`.

    Leaving it kills what still runs and gives the worktrees back. `tell` gets a line on each
    beginning and end; `show`, while somebody waits, twice a second what is running.
    """

    def __init__(
        self,
        session: Session,
        *,
        tell: Callable[[str], None] | None = None,
        show: Callable[[Sequence[Progress]], None] | None = None,
        lend: Lend | None = None,
    ) -> None:
        self._session = session
        self._tell = tell or (lambda _: None)
        self._show = show or (lambda _: None)
        self._lend = lend
        self._trees: dict[Oid, str] = {}
        self._jobs: dict[Oid, Job] = {}
        self.follow(session)

    def __enter__(self) -> "Verifier":
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever runs, each even where another one's end is an error."""
        with ExitStack() as stack:
            for commit in self._jobs:
                stack.callback(self.cancel, commit)

    def follow(self, session: Session) -> None:
        """Go on with the settings of this session, since the target brought others; nothing runs.

        Commands that nobody has agreed to are refused at the next start.
        """
        self._session = session
        self._declared = declared_environment(session.settings.verify_env, os.environ)
        self._is_trusted = False

    @property
    def running(self) -> dict[Oid, Progress]:
        """Return what has been started and has not ended, in order; some may still wait."""
        return {commit: job.progress() for commit, job in self._jobs.items()}

    def known(self, commit: Oid) -> Verdict | None:
        """Return a pass that is known already, or that nothing is to be run; else None.

        No process is started for a commit that was verified or asked for before.
        """
        if not self._session.settings.verify_commands:
            return NOTHING_TO_RUN
        row = self._newest(commit)
        if row is None or row["verdict"] != "passed":
            return None
        return _verdict(row)

    def has_failed(self, commit: Oid) -> bool:
        """Tell whether the newest verdict on a commit's tree is that it fails."""
        if not self._session.settings.verify_commands:
            return False
        row = self._newest(commit)
        return row is not None and row["verdict"] == "failed"

    def start(self, commit: Oid, *, label: str = "") -> None:
        """Begin a run on a commit, or line it up where `merge.parallel` are running.

        Raises Refused where the commands are not trusted, or ask for it themselves, NoVerdict where
        the commit cannot be checked out, other Unavailable where a disk is full; nothing is
        recorded then.
        """
        if not self._is_trusted:
            require_outside(self._session)
            require_trusted(self._session)
            self._is_trusted = True
        if commit not in self._jobs:
            self._jobs[commit] = Job(commit, label)
            self._begin_some()

    def wait(self, timeout_s: float | None = None) -> tuple[Oid, Verdict] | None:
        """Wait for the next run to end; it is recorded by then.

        None where nothing was started, or nothing has ended after `timeout_s`. Raises what `start`
        raises, and NoVerdict for a run that has filled the disk: it is gone, nothing recorded.
        """
        deadline = None if timeout_s is None else clock.monotonic_ms() + int(timeout_s * 1000)
        while self._jobs:
            self._begin_some()
            for commit, job in list(self._jobs.items()):
                if job.run is None:
                    continue
                ended = self._look(job, job.run)
                if ended is not None:
                    return self._finish(commit, job, ended)
            left = None if deadline is None else deadline - clock.monotonic_ms()
            if left is not None and left <= 0:
                return None
            self._sleep(left)
        return None

    def cancel(self, commit: Oid) -> None:
        """Kill the run on a commit; nothing is recorded. Nothing happens where none runs."""
        job = self._jobs.pop(commit, None)
        if job is not None:
            job.stop()

    def require_checkout(self, commit: Oid) -> None:
        """Bring a worktree to a commit and run nothing; raise as `start` does."""
        slot = take_slot(self._session)
        try:
            self._prepare(slot, commit)
        finally:
            slot.release()

    def _prepare(self, slot: Slot, commit: Oid) -> None:
        try:
            slot.prepare(commit, lend=self._lend)
        except GitWorkerError as error:
            require_space(os.path.dirname(slot.tree), self._session.paths.logs)
            raise NoVerdict(commit, error) from error

    def _key(self, commit: Oid) -> str:
        declared = self._declared
        sparse = sparse_patterns(self._session.repository.common_dir)
        if sparse:  # what is not checked out is not verified
            declared = {**declared, "": sparse}
        return run_key(self._tree(commit), self._session.settings.verify_commands, declared)

    def _newest(self, commit: Oid) -> Row | None:
        """Return the newest run on a commit's tree that counts for whoever asks.

        A worker's shell may be what its commands need to pass: what it ran counts for itself alone.
        """
        key = self._key(commit)
        actors = json.dumps([*RESERVED, self._session.actor])
        with self._session.store.read() as reader:
            return reader.row("verify.latest_of_key", key=key, actors=actors)

    def _tree(self, commit: Oid) -> str:
        """Return the tree of a commit: as asked before, as verified before, or as git says."""
        if commit not in self._trees:
            with self._session.store.read() as reader:
                row = reader.row("verify.latest_of_commit", commit_oid=commit)
            tree = row["tree_oid"] if row else self._session.git.find_oid(commit, "tree")
            if tree is None:
                raise NotFound(f"there is no commit {commit}", "git fetch")
            self._trees[commit] = tree
        return self._trees[commit]

    def _begin_some(self) -> None:
        waiting = [job for job in self._jobs.values() if job.run is None]
        room = self._session.settings.merge_parallel - len(self._jobs) + len(waiting)
        for job in waiting[: max(0, room)]:
            with self._dropping(job):
                self._begin(job)

    @contextmanager
    def _dropping(self, job: Job) -> Iterator[None]:
        """Forget a job that cannot go on, and give back what it has."""
        try:
            yield
        except BaseException as error:
            self.cancel(job.commit)
            if isinstance(error, OSError):
                raise error_of(error) from error
            raise

    def _begin(self, job: Job) -> None:
        """Take a worktree, bring it to the commit, start the commands; again for a second try."""
        session, settings = self._session, self._session.settings
        if job.log is None:
            tree, now_ms = self._tree(job.commit), clock.now_ms()
            job.slot = take_slot(session)
            job.log = RunLog(f"{session.paths.logs}/verify", tree=tree, now_ms=now_ms)
            job.log.write(
                header_text(
                    commit=job.commit, tree=tree, label=job.label, started=clock.iso_utc(now_ms),
                    commands=settings.verify_commands,
                )
            )  # fmt: skip
        assert job.slot is not None
        job.key = self._key(job.commit)  # what is checked out may be another choice when it ends
        self._prepare(job.slot, job.commit)
        crash_point("verify-prepared")
        job.run = Run(
            job.slot,
            job.log.descriptor,
            commands=settings.verify_commands,
            env=command_environment(
                os.environ, self._declared, tree=job.slot.tree, scrubbed=LOCAL_ENV
            ),
            timeout_s=settings.verify_timeout_s,
        )
        if not job.is_second:
            self._tell(f"verifying {job.name}")

    def _look(self, job: Job, run: Run) -> Ended | None:
        """Return how a run has ended, None where it goes on, maybe for a second time."""
        session = self._session
        if run.has_ended():
            ended = run.end()
        elif run.time_left_ms() == 0 or run.is_too_loud:
            ended = run.kill()
        else:
            return None
        job.run = None
        job.duration_ms += ended.duration_ms
        if ended.reason:
            with self._dropping(job):
                self._require_room(job)
                if session.settings.verify_retry_flaky and not job.is_second:
                    self._repeat(job, ended.reason)
                    return None
        return ended

    def _require_room(self, job: Job) -> None:
        """Raise Unavailable where a run has failed on a full disk, which is no verdict."""
        assert job.slot is not None
        try:
            require_space(job.slot.tree, self._session.paths.logs)
        except Unavailable as error:
            job.slot.discard()  # else it would stay full of what the commands have written
            require_space(os.path.dirname(job.slot.tree), self._session.paths.logs)
            raise NoVerdict(job.commit, error) from error

    def _repeat(self, job: Job, reason: str) -> None:
        assert job.log is not None
        job.is_second = True
        job.log.write(f"\n{verdict_text('failed', job.duration_ms, reason)}; once more\n")
        self._tell(f"{job.name}: {reason}; running it once more")
        self._begin(job)

    def _finish(self, commit: Oid, job: Job, ended: Ended) -> tuple[Oid, Verdict]:
        """Record the end of a run, and give its worktree back."""
        assert job.log is not None
        self._jobs.pop(commit)
        passed = not ended.reason
        flaky = passed and job.is_second
        what = ("passed the second time" if flaky else "passed") if passed else "failed"
        try:
            job.log.close(what, job.duration_ms, ended.reason)
            crash_point("verify-ended")
            self._session.store.write_one(
                "verify.record",
                key=job.key, tree_oid=self._tree(commit), commit_oid=commit,
                verdict="passed" if passed else "failed", flaky=int(flaky), reason=ended.reason,
                log=job.log.path, duration_ms=job.duration_ms, actor=self._session.actor,
                now=clock.now_ms(),
            )  # fmt: skip
            crash_point("verify-recorded")
        finally:
            job.stop()
        self._tell(f"{job.name}: {verdict_text(what, job.duration_ms, ended.reason)}")
        return commit, Verdict(
            passed=passed, cached=False, flaky=flaky, reason=ended.reason, log=job.log.path,
            duration_ms=job.duration_ms,
        )  # fmt: skip

    def _sleep(self, left_ms: int | None) -> None:
        """Wait until a shell has something to tell, or it is time to look."""
        poll = select.poll()
        pause_ms = TICK_MS if left_ms is None else min(TICK_MS, left_ms)
        for job in self._jobs.values():
            if job.run is not None:
                poll.register(job.run, select.POLLIN)
                pause_ms = min(pause_ms, job.run.time_left_ms())
        poll.poll(pause_ms)
        self._show(list(self.running.values()))


def _verdict(row: Row) -> Verdict:
    """Return a pass that was recorded."""
    return Verdict(
        passed=True, cached=True, flaky=bool(row["flaky"]), reason="", log=row["log"],
        duration_ms=row["duration_ms"],
    )  # fmt: skip
