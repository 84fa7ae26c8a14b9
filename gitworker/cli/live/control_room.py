"""watch, attach and `spawn --tmux` on the command line: in tmux if possible, else as text."""

from typing import Any

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.follow_log import follow_log
from gitworker.errors import GitWorkerError, NotFound, Refused, Unavailable
from gitworker.observe.last_run import read_last_run
from gitworker.observe.logs.log import json_log, render_log
from gitworker.session import Session
from gitworker.store.workers import Worker
from gitworker.tmux.rules_layout import GRID, window_name
from gitworker.tmux.tmux import CODE, Tmux, open_tmux
from gitworker.tmux.watch import (
    TaskWindow,
    find_task_window,
    go_to,
    open_grid,
    open_task_window,
    require_task,
)

IN = 0
PLAIN_LINES = 20


def show_room(call: CommandLine, session: Session, worker: Worker) -> None:
    """Show a worker's task in tmux, or as plain text without a usable tmux."""
    require_task(worker)
    try:
        tmux = open_tmux(session.main_top)
        room = open_task_window(session, tmux, worker)
    except Unavailable as error:
        _show_plainly(call, worker, error)
        return
    _enter(call, tmux, room)


def show_grid(call: CommandLine, session: Session) -> None:
    """Show every worker that has a task in one window, or as plain text without tmux."""
    try:
        tmux = open_tmux(session.main_top)
        room = open_grid(session, tmux)
    except Unavailable as error:
        _show_plainly(call, None, error)
        return
    if room.left_out:
        names = ", ".join(room.left_out)
        output.narrate(f"warning: the window has no room for {names}\nhint: git worker status")
    _enter(call, tmux, room)


def open_aside(session: Session, worker: Worker) -> None:
    """Open a worker's window in the background; report a failure and continue."""
    try:
        room = open_task_window(session, open_tmux(session.main_top), worker, select=False)
    except GitWorkerError as error:
        output.complain(error, about="no window")
    else:
        output.narrate(f"{window_name(room.task)} is open: {_how_to_attach(room)}")


def attach(call: CommandLine, session: Session, worker: Worker) -> None:
    """Go to the window of a worker's task; open one for a worker whose agent has run.

    Raises Unavailable without tmux, Refused without a terminal; the hint follows the agent's log.
    """
    task = require_task(worker)
    follow = f"git worker log {worker.worker_id} -f"
    try:
        tmux = open_tmux(session.main_top)
    except Unavailable as error:
        error.hint = follow
        raise
    try:
        room = find_task_window(session, tmux, task)
    except NotFound:
        if not _has_run(session, worker):
            raise
        if tmux.session is None and not _is_on_terminal():
            raise Refused(
                f"the log of {worker.worker_id} can be shown in tmux from a terminal only",
                follow,
                code="no_terminal",
            ) from None
        room = open_task_window(session, tmux, worker)
    fields = _fields(tmux, room)
    if not go_to(tmux, room, on_terminal=_is_on_terminal()):
        raise Refused(
            "the window can only be shown in a terminal or inside tmux",
            f"tmux attach-session -t '{room.session}'   # in a terminal",
            code="no_terminal",
        )
    if call.as_json:
        output.document(fields)


def _has_run(session: Session, worker: Worker) -> bool:
    with session.store.read() as reader:
        return read_last_run(session, reader, worker) is not None


def _enter(call: CommandLine, tmux: Tmux, room: TaskWindow) -> None:
    """Go to a window, or print its place; with --json, print it without attaching."""
    fields = _fields(tmux, room)
    is_there = go_to(tmux, room, on_terminal=_is_on_terminal() and not call.as_json)
    if call.as_json:
        output.document(fields)
    elif not is_there:
        name, session = fields["name"], fields["session"]
        output.answer(f"{name} is open in the tmux session {session}: {_how_to_attach(room)}")


def _fields(tmux: Tmux, room: TaskWindow) -> dict[str, Any]:
    return {
        "task": None if room.task == GRID else room.task, "name": window_name(room.task),
        "session": tmux.session_name(room.session), "window": room.window,
        "panes": dict(room.panes), "new": room.is_new, "left_out": list(room.left_out),
    }  # fmt: skip


def _is_on_terminal() -> bool:
    return output.is_terminal(output.OUT) and output.is_terminal(IN)


def _how_to_attach(room: TaskWindow) -> str:
    if room.task == GRID:
        return f"tmux attach-session -t '{room.session}'"
    return f"git worker attach {room.task}"


def _show_plainly(call: CommandLine, worker: Worker | None, error: Unavailable) -> None:
    """Report the reason for the missing window; follow the log, or print it once."""
    if error.code != CODE:
        raise error
    output.complain(error)
    name = None if worker is None else worker.worker_id
    lines = PLAIN_LINES if worker else 0
    if output.is_terminal(output.OUT) and not call.as_json:
        output.narrate("following the log instead; press Ctrl-C to stop")
        follow_log(call, name, limit=PLAIN_LINES, agent_lines=lines)
    else:
        log = call.service().log(name, limit=PLAIN_LINES, agent_lines=lines)
        call.render(log, render_log, json_log)
