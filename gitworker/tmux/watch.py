"""watch, attach: a tmux window for a task, its agent's log above, its messages below.

An existing window is used again, and an ended command in it is restarted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import NotFound, Unavailable
from gitworker.observe.logs.tail import find_agent_log
from gitworker.observe.workers.rules_worker import SHOULD_HAVE_WORKTREE
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.states.worker_machine import state_words
from gitworker.store.workers import all_workers
from gitworker.tmux.rules_layout import (
    EVENT_SHARE,
    GRID,
    LOG_PANE,
    PaneSpec,
    TmuxPane,
    choose_window,
    digest,
    log_pane,
    task_panes,
    window_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from gitworker.session import Session
    from gitworker.store.workers import Worker
    from gitworker.tmux.tmux import Tmux


class TaskWindow(NamedTuple):
    """A window that shows a task, or all workers; `panes` are the pane ids by role.

    `left_out` are the workers that do not fit into the window.
    """

    task: str
    session: str
    window: str
    panes: Mapping[str, str]
    is_new: bool
    left_out: tuple[str, ...] = ()


def open_task_window(
    session: Session, tmux: Tmux, worker: Worker, *, select: bool = True
) -> TaskWindow:
    """Return the window of a worker's task; create it if it does not exist.

    Selects it in the current session if `select`. Raises NotFound for a worker without a task,
    Unavailable if tmux refuses.
    """
    task = require_task(worker)
    log = find_agent_log(session.paths.logs, worker) or f"{session.paths.logs}/{task}.log"
    program = (sys.executable, "-P", "-m", "gitworker", "-C", session.main_top)
    wanted = task_panes(task, worker=worker.worker_id, log=log, program=program)
    with _alone(session):
        window, panes, is_new = _window(session, tmux, task, wanted[0], select=select)
        for pane in wanted:
            found = panes.get(pane.role)
            if found is None:
                panes[pane.role] = _split(tmux, next(iter(panes.values()), window), pane)
            elif found.mark != pane.mark:
                tmux.restart(found.pane, pane)
                tmux.mark_pane(found.pane, pane)
    if select and not is_new:
        tmux.select(window.window)
    ids = {role: found.pane for role, found in panes.items()}
    return TaskWindow(task, window.session, window.window, ids, is_new)


def open_grid(session: Session, tmux: Tmux, *, select: bool = True) -> TaskWindow:
    """Return the window with a pane for the log of every worker that has a task.

    Raises NotFound if no worker has one, Unavailable if tmux refuses.
    """
    workers = active_workers(session)
    wanted = [
        log_pane(one.worker_id, worker=one.worker_id, log=log)
        for one in workers
        if (log := find_agent_log(session.paths.logs, one)) is not None
    ]
    if not wanted:
        raise NotFound("no worker has a task", "git worker spawn <worker> <task>")
    with _alone(session):
        window, panes, is_new = _window(session, tmux, GRID, wanted[0], select=select)
        left_out = _fill(tmux, window, panes, wanted)
        roles = {pane.role for pane in wanted}
        for role in [role for role in panes if role not in roles]:
            tmux.end_pane(panes.pop(role).pane)
        tmux.tile(window.window)
    if select and not is_new:
        tmux.select(window.window)
    ids = {role: found.pane for role, found in panes.items()}
    return TaskWindow(GRID, window.session, window.window, ids, is_new, left_out)


def find_task_window(session: Session, tmux: Tmux, task: str) -> TaskWindow:
    """Return the window of a task, in any session; raise NotFound if it does not exist."""
    found = tmux.panes()
    mark = repository_mark(session)
    here = tmux.session or tmux.find_session(mark)
    window = choose_window(found, repository=mark, task=task, session=here)
    if window is None:
        raise NotFound(f"no window shows task {task}", f"git worker watch {task}")
    panes = {one.role: one.pane for one in found if one.window == window and one.mark}
    (place, *_) = sorted(
        {one.session for one in found if one.window == window}, key=lambda one: one != here
    )
    return TaskWindow(task, place, window, panes, is_new=False)


def go_to(tmux: Tmux, room: TaskWindow, *, on_terminal: bool) -> bool:
    """Show a window in our tmux client, or else attach our terminal until its user leaves.

    Returns False without a tmux client and without a terminal.
    """
    if tmux.session is None and not on_terminal:
        return False
    tmux.select(room.window)
    if tmux.session is None:
        status = tmux.attach(room.session)
        if status:
            raise Unavailable(f"tmux attach-session ended with {status}", code="no_tmux")
    elif tmux.session != room.session:
        tmux.switch(room.session)
    return True


def active_workers(session: Session) -> list[Worker]:
    """Return the workers that have a task and a worktree, by name."""
    with session.store.read() as reader:
        workers = all_workers(reader)
    return [one for one in workers if one.state in SHOULD_HAVE_WORKTREE and one.worktree]


def require_task(worker: Worker) -> str:
    """Return a worker's task; raise NotFound if it has none."""
    if worker.task_id is None:
        raise NotFound(
            f"worker {worker.worker_id} {state_words(worker.state)}, so there is nothing to watch",
            f"git worker assign {worker.worker_id} <task>",
        )
    return worker.task_id


def repository_mark(session: Session) -> str:
    """Return the mark that identifies this repository's windows on a server."""
    return digest(session.paths.root)


def _alone(session: Session) -> AbstractContextManager[None]:
    """Stop two concurrent commands from creating two windows for one task."""
    return hold(f"{session.paths.locks}/tmux", name="tmux", timeout_s=20)


def _window(
    session: Session, tmux: Tmux, task: str, first: PaneSpec, *, select: bool
) -> tuple[TmuxPane, dict[str, TmuxPane], bool]:
    """Find or create the window; return one pane, all panes by role, and whether it is new."""
    found = tmux.panes()
    mark = repository_mark(session)
    here = tmux.session
    visible = [one for one in found if one.session == here] if here else found
    outside = here or tmux.find_session(mark)
    window = choose_window(visible, repository=mark, task=task, session=outside)
    if window is not None:
        ours = [one for one in visible if one.window == window]
        return ours[0], {one.role: one for one in ours if one.mark}, False
    made = tmux.make_window(window_name(task), first, repository=mark, select=select)
    tmux.mark_window(made.window, repository=mark, task=task)
    title = first.role if task == GRID else None
    tmux.mark_pane(made.pane, first, title=title)
    return made, {first.role: made._replace(mark=first.mark)}, True


def _split(tmux: Tmux, other: TmuxPane, pane: PaneSpec) -> TmuxPane:
    """Add the missing pane of a task's window, with its share of the height."""
    is_log = pane.role == LOG_PANE
    share = 100 - EVENT_SHARE if is_log else EVENT_SHARE
    made = tmux.split(other.pane, pane, share=share, above=is_log)
    tmux.mark_pane(made, pane)
    return other._replace(pane=made, mark=pane.mark)


def _fill(
    tmux: Tmux, window: TmuxPane, panes: dict[str, TmuxPane], wanted: Sequence[PaneSpec]
) -> tuple[str, ...]:
    """Add a pane for each worker without one; return the workers that do not fit."""
    left_out = []
    for pane in wanted:
        if pane.role in panes:
            continue
        other = next(iter(panes.values()), window)
        try:
            made = tmux.split(other.pane, pane)
        except Unavailable:  # no space for another pane
            left_out.append(pane.role)
            continue
        tmux.mark_pane(made, pane, title=pane.role)
        panes[pane.role] = other._replace(pane=made, mark=pane.mark)
        tmux.tile(window.window)
    return tuple(left_out)
