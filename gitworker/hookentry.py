"""The entry point of background jobs, which the hooks and `start` start: light and silent.

    python -EP -m gitworker.hookentry drain COMMON_DIR
    python -EP -m gitworker.hookentry refresh-hooks COMMON_DIR
    python -EP -m gitworker.hookentry upkeep COMMON_DIR
    python -EP -m gitworker.hookentry radar COMMON_DIR
    python -EP -m gitworker.hookentry pool COMMON_DIR
    python -EP -m gitworker.hookentry notify COMMON_DIR [final]
    python -EP -m gitworker.hookentry begin COMMON_DIR WORKER [PID START]
    python -EP -m gitworker.hookentry beat STATE_DIR SECONDS
    python -EP -m gitworker.hookentry link STATE_DIR
    python -EP -m gitworker.hookentry follow COMMON_DIR
    python -EP -m gitworker.hookentry push-commits COMMON_DIR
    python -EP -m gitworker.hookentry delete-landed COMMON_DIR REF…
    python -EP -m gitworker.hookentry compare COMMON_DIR TRASH_ENTRY COMMIT

Errors are appended to `logs/background.log`. Only the exit status of `compare` is read: 0 if a
fresh checkout of the commit would have every byte of the removed worktree.
"""

import os
import sys
import traceback
from contextlib import suppress

from gitworker import clock
from gitworker.paths import open_regular, open_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.session import Session

LOG_NAME = "background.log"
LOG_MAX_BYTES = 1024 * 1024


def main(arguments: list[str]) -> int:
    """Run one background job and return its exit status."""
    open_streams()
    os.environ.pop("GITWORKER_HELD", None)  # inherited through a hook; a job may wait
    job, place, *rest = arguments
    state = place if job in ("beat", "link") else f"{place}/worker-state"
    with suppress(OSError):  # leave the hook's process group, which may be killed
        os.setsid()
    try:
        return JOBS[job](place, *rest)
    except Exception:  # noqa: BLE001 - the outermost frame of a background process
        log_failure(state, f"{job}: {traceback.format_exc()}")
        return 70


def _drain(common_dir: str) -> int:
    from gitworker.bus.jobs.upkeep_job import start_upkeep_job
    from gitworker.lifecycle.take_up import publish_commits
    from gitworker.worktrees.pool.pool import refill_pool

    session = _open(common_dir)
    publish_commits(
        session,
        skipped=lambda ref, error: log_failure(session.paths.root, f"drain: {ref}: {error}"),
    )
    _show(session)
    if session.settings.fleet_push_commits and session.store.fleet_machine is not None:
        from gitworker.fleet.push_commits import start_push_job  # 20 ms, only with the setting

        start_push_job(session)
    start_upkeep_job(session.store, common_dir)
    refill_pool(session)
    if os.path.exists(session.paths.search):
        from gitworker.bus.search.search_messages import (
            index_some,  # 10 ms, only if a search index exists
        )

        index_some(session.store, session.paths)
    return 0


def _upkeep(common_dir: str) -> int:
    from gitworker.journal.gc.upkeep import run_upkeep

    run_upkeep(_open(common_dir))
    return 0


def _pool(common_dir: str) -> int:
    from gitworker.worktrees.pool.keep_ready import keep_pool

    keep_pool(_open(common_dir))
    return 0


def _radar(common_dir: str) -> int:
    from gitworker.radar.radar_watch import watch_branches

    watch_branches(_open(common_dir))
    return 0


def _notify(common_dir: str, *words: str) -> int:
    from gitworker.notifications.send import send_new_events

    session = _open(common_dir)
    send_new_events(
        session,
        is_final=bool(words),
        failed=lambda text: log_failure(session.paths.root, f"notify: {text}"),
    )
    return 0


def _begin(common_dir: str, worker: str, *process: str) -> int:
    from gitworker.agents.hooks.begin_work import begin_work

    session = _open(common_dir, worker)
    refusal = begin_work(session, worker, *process)
    if refusal:
        log_failure(session.paths.root, f"begin: {refusal}")
    _show(session)
    return 0


def _refresh_hooks(common_dir: str) -> int:
    from gitworker.paths import require_repository
    from gitworker.repo.hooks.shims import refresh_shims
    from gitworker.repo.plumbing.git import Git

    os.chdir(common_dir)  # a commit waits for it, so no session is opened
    refresh_shims(Git(common_dir), require_repository(common_dir, {}), force=True)
    return 0


def _send_heartbeats(root: str, every_s: str) -> int:
    from gitworker.agents.orphans import OrphanSupervisor
    from gitworker.liveness.heartbeat_daemon import run_heartbeat_daemon

    def open_session() -> "Session":
        session = _open(os.path.dirname(root))
        os.chdir("/")  # a long-lived process must not keep a directory in use
        return session

    return run_heartbeat_daemon(root, float(every_s), OrphanSupervisor(open_session).attend)


def _follow(common_dir: str) -> int:
    from gitworker.fleet.follow import follow

    follow(_open(common_dir))
    return 0


def _delete_landed(common_dir: str, *refs: str) -> int:
    from gitworker.fleet.landed_branches import delete_landed

    delete_landed(_open(common_dir), refs)
    return 0


def _push_commits(common_dir: str) -> int:
    from gitworker.fleet.push_commits import push_commits

    push_commits(_open(common_dir))
    return 0


def _link(root: str) -> int:
    from gitworker.store.fleet.link_lock import take_lock

    lock = take_lock(root)  # before the driver is loaded, which takes most of the start
    if lock < 0:
        return 0
    from gitworker.link.serve import run_link
    from gitworker.paths import StatePaths

    os.chdir("/")  # a long-lived process must not keep a directory in use
    return run_link(StatePaths(root), lock)


def _compare(common_dir: str, entry: str, commit: str) -> int:
    from gitworker.model.ids import Oid
    from gitworker.repo.plumbing.git import Git
    from gitworker.repo.rescue.unsaved import find_unsaved

    unsaved = find_unsaved(Git(common_dir), entry, Oid(commit), common_dir=common_dir)
    return 1 if unsaved else 0


def _open(common_dir: str, identity: str = "hq") -> "Session":
    from gitworker.app import open_session
    from gitworker.repo.plumbing.git_environment import LOCAL_ENV, SETTINGS_ENV

    for name in (*LOCAL_ENV, *SETTINGS_ENV):  # set by git for the hook, not by the user
        os.environ.pop(name, None)
    os.chdir(common_dir)
    return open_session(identity=identity, create=False, attended=False)


def _show(session: "Session") -> None:
    """Update the log files and wake the followers."""
    from gitworker.bus.files.export import export_logs
    from gitworker.bus.following.notify_followers import notify_followers

    with suppress(OSError):  # the next command brings them up to date
        export_logs(session.store, session.paths)
    notify_followers(session.paths.bell)


def log_failure(state: str, text: str) -> None:
    """Append a text to the log of background jobs; ignore a failure."""
    path = f"{state}/logs/{LOG_NAME}"
    try:
        if os.path.exists(path) and os.path.getsize(path) > LOG_MAX_BYTES:
            os.replace(path, f"{path}.1")
        with open(path, "a", encoding="utf-8", opener=open_regular) as file:
            file.write(f"{clock.iso_utc(clock.now_ms())} {text}\n")
    except OSError:
        return


JOBS: "dict[str, Callable[..., int]]" = {
    "drain": _drain,
    "refresh-hooks": _refresh_hooks,
    "upkeep": _upkeep,
    "radar": _radar,
    "pool": _pool,
    "notify": _notify,
    "begin": _begin,
    "beat": _send_heartbeats,
    "link": _link,
    "follow": _follow,
    "push-commits": _push_commits,
    "delete-landed": _delete_landed,
    "compare": _compare,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
