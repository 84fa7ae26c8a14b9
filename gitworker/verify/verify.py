"""Verification: run the configured commands on exactly one commit, and remember the verdicts.

A verdict holds for a tree, the commands and the environment that they declare: a tree that passed
does not run again, whichever commit has it. Runs are recorded after they have ended, never before.
"""

import os
import select
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, NotFound, Unavailable, as_gitworker_error
from gitworker.model.ids import RESERVED, Oid
from gitworker.progress import RunProgress, VerificationNotice, Verifying
from gitworker.repo.plumbing.git_environment import LOCAL_ENV
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.commits.verify_runs import (
    VerifyRun,
    find_verify_run,
    find_verify_run_of_commit,
    record_verify_run,
)
from gitworker.verify.rules_verify import (
    command_environment,
    declared_environment,
    header_text,
    run_key,
    verdict_text,
)
from gitworker.verify.trust import require_trusted
from gitworker.verify.verify_job import VerifyJob
from gitworker.verify.verify_repair import sparse_patterns
from gitworker.verify.verify_run import CommandRun, RunLog, RunResult, require_space
from gitworker.verify.verify_worktree import Lend, Slot, require_outside, take_slot

__all__ = ["NoVerdict", "Verdict", "Verifier", "require_trusted"]
TICK_MS = 500  # a shell that is killed alone sends nothing, so it is polled


class Verdict(NamedTuple):
    """The verdict on a commit; if `log` is empty, nothing ran."""

    passed: bool
    cached: bool
    flaky: bool
    reason: str
    log: str
    duration_ms: int


Note = Callable[[Writer, Oid, Verdict], None]


class NoVerdict(Unavailable):
    """A commit cannot be checked out, or its commands fill the disk; its worker may be at fault."""

    def __init__(self, commit: Oid, error: GitWorkerError) -> None:
        super().__init__(error.message, error.hint, code=error.code, detail=error.detail)
        self.commit = commit


NOTHING_TO_RUN = Verdict(passed=True, cached=False, flaky=False, reason="", log="", duration_ms=0)


class Verifier:
    """Runs the verify commands, at most `merge.parallel` at once; for one thread, in a `with`.

    On exit it kills the remaining runs and releases the worktrees. Reports each start and end, and
    during `wait` the current runs.
    """

    def __init__(self, session: Session, *, lend: Lend | None = None) -> None:
        self._session = session
        self._lend = lend
        self._trees: dict[Oid, str] = {}
        self._jobs: dict[Oid, VerifyJob] = {}
        self.follow(session)

    def __enter__(self) -> "Verifier":
        """Return the verifier itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all runs, each even if stopping another raises an error."""
        with ExitStack() as stack:
            for commit in self._jobs:
                stack.callback(self.cancel, commit)

    def follow(self, session: Session) -> None:
        """Use the settings of this session, since the target has new ones; nothing runs.

        Untrusted commands are refused at the next start.
        """
        self._session = session
        self._declared = declared_environment(session.settings.verify_env, os.environ)
        self._is_trusted = False

    @property
    def running(self) -> dict[Oid, RunProgress]:
        """Return the runs that have been requested and have not ended, in order."""
        return {commit: job.progress() for commit, job in self._jobs.items()}

    def known(self, commit: Oid) -> Verdict | None:
        """Return a recorded pass, or a pass because there are no commands; else None.

        No process is started for a commit that was verified or looked up before.
        """
        if not self._session.settings.verify_commands:
            return NOTHING_TO_RUN
        row = self._newest(commit)
        if row is None or row.verdict != "passed":
            return None
        return _verdict(row)

    def known_failure(self, commit: Oid) -> Verdict | None:
        """Return the newest verdict on a commit's tree if it is a failure; else None."""
        if not self._session.settings.verify_commands:
            return None
        row = self._newest(commit)
        return _verdict(row) if row is not None and row.verdict == "failed" else None

    def key_of(self, commit: Oid) -> str:
        """Return the inputs of a run on a commit: its tree, the commands, their environment."""
        declared = self._declared
        sparse = sparse_patterns(self._session.repository.common_dir)
        if sparse:  # files that are not checked out are not verified
            declared = {**declared, "": sparse}
        return run_key(self._tree(commit), self._session.settings.verify_commands, declared)

    def start(self, commit: Oid, *, label: str = "") -> None:
        """Start a run on a commit, or queue it if `merge.parallel` runs are in progress.

        Raises Refused if the commands are not trusted or if a verify command is the caller,
        NoVerdict if the commit cannot be checked out, other Unavailable if a disk is full; nothing
        is recorded then.
        """
        if not self._is_trusted:
            require_outside(self._session)
            require_trusted(self._session)
            self._is_trusted = True
        if commit not in self._jobs:
            self._jobs[commit] = VerifyJob(commit, label)
            self._start_waiting()

    def wait(
        self, timeout_s: float | None = None, *, note: Note | None = None
    ) -> tuple[Oid, Verdict] | None:
        """Wait for the next run to end, and record it; `note` records more in the transaction.

        Return None if nothing was started, or nothing has ended after `timeout_s`. Raises the
        errors of `start`, and NoVerdict for a run that has filled the disk; that run is discarded
        without a record.
        """
        deadline = None if timeout_s is None else clock.monotonic_ms() + int(timeout_s * 1000)
        while self._jobs:
            self._start_waiting()
            for commit, job in list(self._jobs.items()):
                if job.run is None:
                    continue
                ended = self._check(job, job.run)
                if ended is not None:
                    return self._finish(commit, job, ended, note)
            remaining = None if deadline is None else deadline - clock.monotonic_ms()
            if remaining is not None and remaining <= 0:
                return None
            self._sleep(remaining)
        return None

    def cancel(self, commit: Oid) -> None:
        """Kill the run on a commit; nothing is recorded. Does nothing without a run."""
        job = self._jobs.pop(commit, None)
        if job is not None:
            job.stop()

    def require_checkout(self, commit: Oid) -> None:
        """Check a commit out in a worktree and run nothing; raise as `start` does."""
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

    def _newest(self, commit: Oid) -> VerifyRun | None:
        """Return the newest run on a commit's tree that is valid for the caller.

        A run by a worker is valid for that worker only: its shell may be set up to pass.
        """
        key = self.key_of(commit)
        with self._session.store.read() as reader:
            return find_verify_run(reader, key, actors=[*RESERVED, self._session.actor])

    def _tree(self, commit: Oid) -> str:
        """Return the tree of a commit: cached, recorded by a run, or read by git."""
        if commit not in self._trees:
            with self._session.store.read() as reader:
                run = find_verify_run_of_commit(reader, commit)
            tree = run.tree_oid if run else self._session.git.find_oid(commit, "tree")
            if tree is None:
                raise NotFound(f"commit {commit} does not exist", "git fsck   # lists lost objects")
            self._trees[commit] = tree
        return self._trees[commit]

    def _start_waiting(self) -> None:
        waiting = [job for job in self._jobs.values() if job.run is None]
        free_slots = self._session.settings.merge_parallel - len(self._jobs) + len(waiting)
        for job in waiting[: max(0, free_slots)]:
            with self._cancel_on_error(job):
                self._start_run(job)

    @contextmanager
    def _cancel_on_error(self, job: VerifyJob) -> Iterator[None]:
        """Remove a job that raises an error, and release its worktree and log."""
        try:
            yield
        except BaseException as error:
            self.cancel(job.commit)
            if isinstance(error, OSError):
                raise as_gitworker_error(error) from error
            raise

    def _start_run(self, job: VerifyJob) -> None:
        """Take a worktree, check the commit out, start the commands; also for a second try."""
        session, settings = self._session, self._session.settings
        if job.log is None:
            tree, now_ms = self._tree(job.commit), clock.now_ms()
            job.slot = take_slot(session)
            job.log = RunLog(f"{session.paths.logs}/verify", tree=tree, now_ms=now_ms)
            job.slot.log = job.log.path
            job.log.write(
                header_text(
                    commit=job.commit, tree=tree, label=job.label, started=clock.iso_utc(now_ms),
                    commands=settings.verify_commands,
                )
            )  # fmt: skip
        assert job.slot is not None
        job.key = self.key_of(job.commit)  # the sparse checkout may have changed when it ends
        self._prepare(job.slot, job.commit)
        crash_point("verify-prepared")
        job.run = CommandRun(
            job.slot,
            job.log.descriptor,
            commands=settings.verify_commands,
            env=command_environment(
                os.environ, self._declared, tree=job.slot.tree, scrubbed=LOCAL_ENV
            ),
            timeout_s=settings.verify_timeout_s,
        )
        if not job.is_second:
            self._notify(f"verifying {job.name}")

    def _check(self, job: VerifyJob, run: CommandRun) -> RunResult | None:
        """Return how a run ended; None while it runs, or if it starts a second time."""
        session = self._session
        if run.has_ended():
            ended = run.end()
        elif run.time_left_ms() == 0 or run.has_flooded:
            ended = run.kill()
        else:
            return None
        job.run = None
        job.duration_ms += ended.duration_ms
        if ended.reason:
            with self._cancel_on_error(job):
                self._require_room(job)
                if session.settings.verify_retry_flaky and not job.is_second:
                    self._retry(job, ended.reason)
                    return None
        return ended

    def _require_room(self, job: VerifyJob) -> None:
        """Raise Unavailable if a run failed because a disk is full, which is no verdict."""
        assert job.slot is not None
        try:
            require_space(job.slot.tree, self._session.paths.logs)
        except Unavailable as error:
            job.slot.discard()  # otherwise it would stay full of the commands' output
            require_space(os.path.dirname(job.slot.tree), self._session.paths.logs)
            raise NoVerdict(job.commit, error) from error

    def _retry(self, job: VerifyJob, reason: str) -> None:
        assert job.log is not None
        job.is_second = True
        job.log.write(f"\n{verdict_text('failed', job.duration_ms, reason)}; once more\n")
        self._notify(f"{job.name}: {reason}; running it once more")
        self._start_run(job)

    def _finish(
        self, commit: Oid, job: VerifyJob, ended: RunResult, note: Note | None
    ) -> tuple[Oid, Verdict]:
        """Record the end of a run, and release its worktree."""
        assert job.log is not None
        self._jobs.pop(commit)
        passed = not ended.reason
        flaky = passed and job.is_second
        outcome = ("passed the second time" if flaky else "passed") if passed else "failed"
        verdict = Verdict(
            passed=passed, cached=False, flaky=flaky, reason=ended.reason, log=job.log.path,
            duration_ms=job.duration_ms,
        )  # fmt: skip
        try:
            job.log.close(outcome, job.duration_ms, ended.reason)
            crash_point("verify-ended")
            run = VerifyRun(
                key=job.key, tree_oid=self._tree(commit), commit_oid=commit,
                verdict="passed" if passed else "failed", flaky=flaky, reason=ended.reason,
                log=job.log.path, duration_ms=job.duration_ms, ts_ms=clock.now_ms(),
            )  # fmt: skip
            with self._session.store.write() as writer:
                record_verify_run(writer, run, actor=self._session.actor)
                if note is not None:
                    note(writer, commit, verdict)
            crash_point("verify-recorded")
        finally:
            job.stop()
        self._notify(f"{job.name}: {verdict_text(outcome, job.duration_ms, ended.reason)}")
        return commit, verdict

    def _sleep(self, left_ms: int | None) -> None:
        """Wait until a shell reports a change, or until the next check is due."""
        poll = select.poll()
        pause_ms = TICK_MS if left_ms is None else min(TICK_MS, left_ms)
        for job in self._jobs.values():
            if job.run is not None:
                poll.register(job.run, select.POLLIN)
                pause_ms = min(pause_ms, job.run.time_left_ms())
        poll.poll(pause_ms)
        self._session.report(Verifying(list(self.running.values())))

    def _notify(self, text: str) -> None:
        self._session.report(VerificationNotice(text))


def _verdict(run: VerifyRun) -> Verdict:
    """Return a recorded verdict."""
    return Verdict(
        passed=run.verdict == "passed", cached=True, flaky=run.flaky, reason=run.reason,
        log=run.log, duration_ms=run.duration_ms,
    )  # fmt: skip
