"""The methods of the service for the repository itself: set-up, ways back, clean-up, repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import GitWorkerError, Invalid
from gitworker.progress import Notice
from gitworker.service.open_for_call import ServiceBase
from gitworker.service.request import open_quickly, open_without_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.agents.doctor.diagnose import AgentDoctor
    from gitworker.agents.hooks.attach import AttachedAgent
    from gitworker.bus.files.logs_in_git import LogCommit
    from gitworker.bus.files.retention import PrunePlan, PruneResult
    from gitworker.fsck.doctor import Doctor
    from gitworker.fsck.finding import Finding
    from gitworker.fsck.fsck import FsckReport, RepairReport
    from gitworker.journal.gc.gc import CollectedItems
    from gitworker.journal.settled import Settled
    from gitworker.journal.undo.records import ListedRecord
    from gitworker.journal.undo.undo import Undone
    from gitworker.session import Session
    from gitworker.settings.change_setting import ChangedSetting
    from gitworker.settings.effective_settings import SettingList, SettingValue
    from gitworker.settings.gather import SettingsPlace

ANNOUNCE_FROM = 50_000  # this many messages take some seconds
FILL_TIMEOUT_S = 600.0  # while another process fills the pool


class Initialised(NamedTuple):
    """A repository that is set up: its state directory and the target's branch."""

    state: str
    target: str


class ExportedLogs(NamedTuple):
    """The paths of the log files, and their commit if they were committed."""

    bus: str
    transitions: str
    commit: LogCommit | None


class CareMethods(ServiceBase):
    """Set-up, undo, clean-up and repair; see `WorkMethods` for the imports."""

    def init(self) -> Initialised:
        """Set up gitworker in the repository; safe to repeat."""
        from gitworker.app import prepare_state

        with self._acting() as session:
            if session.paths.is_uninstalled:
                from gitworker.workers.worktree_hooks import install_hooks  # 10 ms, rare

                install_hooks(session)
            prepare_state(session.paths, session.repository, session.main_top)
            return Initialised(session.paths.root, session.target_name)

    def install_hooks(self) -> list[str]:
        """Install the hooks in every worker's worktree; return those worktrees."""
        from gitworker.workers.worktree_hooks import install_hooks

        with self._acting() as session:
            return install_hooks(session)

    def uninstall_hooks(self) -> str:
        """Remove the hooks, excludes and link; return the state directory, which stays."""
        from gitworker.agents.hooks.attach import detach_all
        from gitworker.workers.worktree_hooks import uninstall_everything

        with self._acting() as session:
            detach_all(session)  # before their excludes: git would show the files
            uninstall_everything(session)
            return session.paths.root

    def attach_agent(self, agent: str, *, user: Mapping[str, str] | None = None) -> AttachedAgent:
        """Attach our hooks to an agent in the main checkout and the workers' worktrees.

        With `user`, the environment of a user, attach them in its own settings instead. Raises
        Refused if the agent's local file is tracked, Invalid if a file cannot be extended.
        """
        from gitworker.agents.hooks.attach import attach_for_user, attach_here, require_program

        program = require_program()
        if user is not None:
            return attach_for_user(agent, program, user)
        with self._acting() as session:
            return attach_here(session, agent, program)

    def detach_agent(self, agent: str, *, user: Mapping[str, str] | None = None) -> AttachedAgent:
        """Remove our hooks from an agent's settings in this repository, or from a user's own."""
        from gitworker.agents.hooks.attach import detach_for_user, detach_here

        if user is not None:
            return detach_for_user(agent, user)
        with self._acting() as session:
            return detach_here(session, agent)

    def recover_interrupted(self) -> Settled:
        """Finish or roll back every interrupted operation; ask remotes about interrupted pushes.

        Starts the heartbeat daemon if it was killed.
        """
        from gitworker.landing.pushing import recover_pushes
        from gitworker.liveness.unserved import start_missing_daemon
        from gitworker.worktrees.pool.half_made import drop_half_made

        with self._settled(create=False) as (session, settled):
            session.store.require_writable()
            drop_half_made(session)
            start_missing_daemon(session)
            if any(error.code == "push_unknown" for _, error in settled.left):
                return recover_pushes(session)
            return settled

    def settings(self) -> SettingList:
        """Return every setting with its origin, and the errors in the sources."""
        from gitworker.settings.effective_settings import effective_settings

        return effective_settings(self._settings_place().sources)

    def setting(self, key: str) -> SettingValue:
        """Return one setting with its origin; raise Invalid for an unknown key."""
        from gitworker.settings.change_setting import find_value, require_setting

        name = require_setting(key)
        return find_value(self._settings_place(), name)

    def change_setting(self, key: str, values: Sequence[str] | None) -> ChangedSetting:
        """Set a setting in the repository's git config, or unset it with None.

        Raises Invalid for an unknown key or a wrong value, Refused for a worker.
        """
        from gitworker.settings.change_setting import (
            ChangedSetting,
            find_value,
            require_setting,
            set_setting,
            unset_setting,
        )

        name = require_setting(key, values or ())
        place = self._settings_place()
        if values is None:
            unset_setting(place, name)
        else:
            if name == "notify_urls":
                from gitworker.notifications.send import require_known_urls

                require_known_urls(values)
            set_setting(place, name, values)
        return ChangedSetting(find_value(place, name), find_value(self._settings_place(), name))

    def _settings_place(self) -> SettingsPlace:
        from gitworker.settings.gather import gather_settings

        request = self._request
        return gather_settings(request.directory, request.identity, request.environment)

    def undo(self, number: int | None = None) -> Undone:
        """Undo the newest destructive operation, or the one with a number."""
        from gitworker.journal.undo.undo import undo

        with self._settled(create=True) as (session, settled):
            session.store.require_writable()
            return undo(session, number, settled=settled.ended)

    def undo_records(self, *, limit: int = 20) -> list[ListedRecord]:
        """Return the newest destructive operations, and whether each can be undone."""
        from gitworker.journal.undo.records import list_records

        with self._reading() as session:
            return list_records(session, limit=limit)

    def gc(
        self,
        *,
        days: int | None = None,
        max_bytes: int | None = None,
        unlanded: bool = False,
        dry_run: bool = False,
    ) -> CollectedItems:
        """Delete old rescue refs, removed worktrees and logs that nothing needs.

        `days` and `max_bytes` are by default those of the settings. `unlanded` deletes work that
        exists nowhere else, too. Raises Invalid if neither an age nor a size is set.
        """
        from gitworker.journal.gc.gc import gc, gc_request, preview_gc

        with self._acting() as session:
            wanted = gc_request(session, days=days, max_bytes=max_bytes, unlanded=unlanded)
            if wanted.days is None and wanted.max_bytes is None:
                raise Invalid(
                    "gc.days and gc.max_bytes are 0, so gc deletes nothing",
                    "git worker gc --older-than 30",
                )
            return preview_gc(session, wanted) if dry_run else gc(session, wanted)

    def plan_prune(self, *, days: int | None = None) -> PrunePlan:
        """Return the messages that `prune` would remove."""
        from gitworker.journal.gc.upkeep import preview_prune, prune_request

        with self._acting() as session:
            chosen = _require_days(session, days)
            return preview_prune(session, prune_request(session, days=chosen, archiving=False))

    def prune(self, *, days: int | None = None, archive: bool = True) -> PruneResult:
        """Archive messages older than `days` that every living agent has read, and remove them."""
        from gitworker.journal.gc.upkeep import prune_bus, prune_request

        def announce(plan: PrunePlan) -> None:
            if plan.messages >= ANNOUNCE_FROM:
                self._request.report(Notice(f"pruning {plan.messages} messages…"))

        with self._acting() as session:
            chosen = _require_days(session, days)
            archiving = session.settings.retention_archive and archive
            request = prune_request(session, days=chosen, archiving=archiving)
            return prune_bus(session, request, announce=announce)

    def export_logs(self, *, in_git: bool = False) -> ExportedLogs:
        """Update bus.jsonl and transitions.jsonl; with `in_git`, commit them to refs/worker/log."""
        from gitworker.bus.files.export import require_export

        with self._reading() as session:
            commit = None
            if in_git:
                from gitworker.bus.files.logs_in_git import commit_logs  # 3 ms, only if wanted

                commit = commit_logs(session)
            else:
                require_export(session.store, session.paths)
            return ExportedLogs(session.paths.bus_log, session.paths.transition_log, commit)

    def fill_pool(self) -> None:
        """Fill the pool of parked worktrees and update it to the target."""
        from gitworker.worktrees.pool.keep_ready import keep_pool

        with self._acting() as session:
            keep_pool(session, timeout_s=FILL_TIMEOUT_S)

    def empty_pool(self) -> int:
        """Remove all parked worktrees; return their number."""
        from gitworker.worktrees.pool.keep_ready import empty_pool

        with self._acting() as session:
            return empty_pool(session)

    def doctor(self) -> Doctor:
        """Return every finding of the quick checks; a damaged database is one of them."""
        from gitworker.fsck.doctor import read_doctor, read_doctor_without_session
        from gitworker.paths import require_repository

        try:
            with self._quickly() as session:
                return read_doctor(session)
        except GitWorkerError as error:
            directory, environment = self._request.directory, self._request.environment
            return read_doctor_without_session(require_repository(directory, environment), error)

    def agent_doctor(self) -> AgentDoctor:
        """Return the known agents: installed or not, version, commit and bus from their shell."""
        from gitworker.agents.doctor.diagnose import diagnose_agents

        with self._acting() as session:
            return diagnose_agents(session)

    def fsck(self) -> FsckReport:
        """Return every finding of all checks; nothing is changed."""
        from gitworker.fsck.fsck import FsckReport, run_fsck

        session, aside = self._open_readable(repair=False)
        if session is None:
            return FsckReport(0, 0, tuple(aside))
        try:
            return run_fsck(session)
        finally:
            session.store.close()

    def repair(self) -> RepairReport:
        """Repair every finding that can be repaired without loss, then check again."""
        from gitworker.fsck.fsck import run_repair

        session, aside = self._open_readable(repair=True)
        assert session is not None  # only a check without repair does without a session
        try:
            return run_repair(session, before=aside)
        finally:
            session.store.close()

    def _open_readable(self, *, repair: bool) -> tuple[Session | None, list[Finding]]:
        """Open the repository; a command also repairs what prevents that.

        Those repairs find the repository by the working directory, which only a command has.
        """
        if not self._request.is_command:
            return self._open_quickly(), []
        from gitworker.fsck.checks.missing_objects import open_readable

        return open_readable(self._open_quickly, self._open_damaged, repair=repair)

    def _open_quickly(self) -> Session:
        return open_quickly(self._take_request())

    def _open_damaged(self) -> Session:
        return open_without_settings(self._take_request())


def _require_days(session: Session, days: int | None) -> int:
    """Return the age in days from which messages are pruned; raise Invalid if none is set."""
    chosen = session.settings.retention_days if days is None else days
    if days is None and chosen == 0:
        raise Invalid(
            "retention.days is 0, so no message is old enough",
            "git worker msg prune --older-than 30",
        )
    return chosen
