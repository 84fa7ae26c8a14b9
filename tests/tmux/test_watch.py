"""Control rooms on a real tmux: creation, reuse and the switch to them."""

import os
import shutil
import subprocess

import pytest

from gitworker.bus.publish import Outgoing, publish
from gitworker.errors import NotFound, Unavailable
from gitworker.session import Session
from gitworker.tmux.tmux import open_tmux
from gitworker.tmux.watch import (
    find_task_window,
    go_to,
    open_grid,
    open_task_window,
    repository_mark,
)
from tests.cli.kit import DEADLINE_S, wait_until
from tests.cli.terminal import on_terminal
from tests.tmux.conftest import TASK, Server, Spawn, write_log


def test_a_room(server: Server, session: Session, give: Spawn) -> None:
    """A task's window has its log above on 70 per cent and its events below on 30."""
    worker = give()
    write_log(worker, "the agent spoke\n")
    room = open_task_window(session, open_tmux(session.main_top), worker)
    assert (room.task, room.is_new, set(room.panes)) == (TASK, True, {"log", "events"})
    assert server.windows() == [f"gitworker w:{TASK}"]
    above, below = server.heights(room.window)
    assert 0.68 <= above / (above + below) <= 0.72
    top, _ = server.tmux("list-panes", "-t", room.window, "-F", "#{pane_id}").splitlines()
    assert top == room.panes["log"]
    server.wait_for(room.panes["log"], f"auth: {worker.worktree}/.worker.log")
    server.wait_for(room.panes["log"], "the agent spoke")


def test_a_log_that_comes_later(server: Server, session: Session, give: Spawn) -> None:
    """A log that appears later, and one that takes the place of another, is followed."""
    worker = give()
    room = open_task_window(session, open_tmux(session.main_top), worker)
    server.wait_for(room.panes["log"], "auth: ")
    write_log(worker, "first\n")
    server.wait_for(room.panes["log"], "first")
    assert worker.worktree is not None
    os.rename(f"{worker.worktree}/.worker.log", f"{worker.worktree}/.worker.log.1")
    write_log(worker, "second\n")
    server.wait_for(room.panes["log"], "second")


def test_no_process_lives_in_the_worktree(server: Server, session: Session, give: Spawn) -> None:
    """Server and panes run in the main checkout, so they occupy no worktree."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("where a process lives is read from /proc")
    worker = give()
    assert worker.worktree is not None
    os.chdir(worker.worktree)
    room = open_task_window(session, open_tmux(session.main_top), worker)
    pids = server.tmux("list-panes", "-t", room.window, "-F", "#{pane_pid} #{pid}").split()
    wait_until(lambda: {os.readlink(f"/proc/{pid}/cwd") for pid in pids} == {session.main_top})


def test_a_second_call_uses_the_window_again(server: Server, session: Session, give: Spawn) -> None:
    """The window is used again under any name, and its ended panes are restored."""
    worker = give()
    tmux = open_tmux(session.main_top)
    first = open_task_window(session, tmux, worker)
    server.tmux("rename-window", "-t", first.window, "mine")
    again = open_task_window(session, tmux, worker)
    assert (again.window, again.panes, again.is_new) == (first.window, first.panes, False)
    server.tmux("kill-pane", "-t", first.panes["log"])
    mended = open_task_window(session, tmux, worker)
    assert (mended.window, mended.panes["events"]) == (first.window, first.panes["events"])
    above, below = server.heights(first.window)
    assert 0.66 <= above / (above + below) <= 0.74
    assert server.windows() == ["gitworker mine"]


def test_a_window_without_our_panes(server: Server, session: Session, give: Spawn) -> None:
    """If only the user's own panes are left in the window, ours are restored beside them."""
    worker = give()
    tmux = open_tmux(session.main_top)
    room = open_task_window(session, tmux, worker)
    server.tmux("split-window", "-d", "-t", room.window, "cat")
    for pane in room.panes.values():
        server.tmux("kill-pane", "-t", pane)
    again = open_task_window(session, tmux, worker)
    assert (again.window, len(server.heights(room.window))) == (room.window, 3)


def test_a_log_that_moved(server: Server, session: Session, give: Spawn) -> None:
    """If the worktree has changed, the pane follows the new log."""
    worker = give()
    tmux = open_tmux(session.main_top)
    room = open_task_window(session, tmux, worker)
    moved = worker._replace(worktree=f"{worker.worktree}@auth")
    again = open_task_window(session, tmux, moved)
    assert again.panes == room.panes
    server.wait_for(room.panes["log"], f"{worker.worktree}@auth/.worker.log")


def test_other_repositories(server: Server, session: Session, give: Spawn) -> None:
    """Another repository's window of a task with the same id is not ours, nor is its session."""
    worker = give()
    tmux = open_tmux(session.main_top)
    room = open_task_window(session, tmux, worker)
    server.tmux("set-option", "-w", "-t", room.window, "@gitworker-repository", "another")
    assert open_task_window(session, tmux, worker).window != room.window
    name = f"gitworker-it-s-a---repo---{repository_mark(session)[:4]}"
    assert server.windows() == [f"gitworker w:{TASK}", f"{name} w:{TASK}"]
    assert find_task_window(session, tmux, TASK).window != room.window
    assert not open_task_window(session, tmux, worker).is_new


def test_inside(
    server: Server, session: Session, give: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside tmux the window opens in the session one is in and is shown, a second time too."""
    worker = give()
    outside = open_task_window(session, open_tmux(session.main_top), worker)
    pane = server.begin("work")
    server.begin("play")
    for name, value in server.inside(pane).items():
        monkeypatch.setenv(name, value)
    tmux = open_tmux(session.main_top)
    assert tmux.session is not None
    room = open_task_window(session, tmux, worker)
    assert (room.is_new, room.window != outside.window) == (True, True)
    assert server.current("work") == room.window
    server.tmux("select-window", "-t", "work:0")
    assert open_task_window(session, tmux, worker).window == room.window
    assert server.current("work") == room.window
    assert go_to(tmux, room, on_terminal=False)


def test_in_another_session(
    server: Server, session: Session, give: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the window is in another session, a user in tmux is switched to that session."""
    room = open_task_window(session, open_tmux(session.main_top), give())
    pane = server.begin("work")
    with on_terminal("/", "attach-session", "-t", "work", program="tmux"):

        def shown() -> str:
            return server.tmux("list-clients", "-F", "#{session_name}")

        wait_until(lambda: shown() == "work")
        for name, value in server.inside(pane).items():
            monkeypatch.setenv(name, value)
        tmux = open_tmux(session.main_top)
        found = find_task_window(session, tmux, TASK)
        assert found.window == room.window
        assert go_to(tmux, found, on_terminal=True)
        assert shown() == "gitworker"


def test_many_at_once(server: Server, session: Session, give: Spawn) -> None:
    """Several commands at once make one window between them."""
    give()
    words = ["git-worker", "watch", TASK]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4)]
    assert [
        process.communicate(timeout=DEADLINE_S) and process.returncode for process in running
    ] == [0] * 4
    assert server.windows() == [f"gitworker w:{TASK}"]


def test_attaching_fails(server: Server, session: Session, give: Spawn) -> None:
    """If tmux cannot attach, an error is reported."""
    tmux = open_tmux(session.main_top)
    room = open_task_window(session, tmux, give())
    with pytest.raises(Unavailable, match="tmux attach-session ended with 1"):
        go_to(tmux, room, on_terminal=True)  # which it is not


def test_aside(
    server: Server, session: Session, give: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window that is only opened does not take the place of the current one."""
    pane = server.begin("work")
    for name, value in server.inside(pane).items():
        monkeypatch.setenv(name, value)
    before = server.current("work")
    tmux = open_tmux(session.main_top)
    room = open_task_window(session, tmux, give(), select=False)
    assert server.current("work") == before
    found = find_task_window(session, tmux, TASK)
    assert (found.window, found.panes) == (room.window, room.panes)
    assert go_to(tmux, found, on_terminal=False)
    assert server.current("work") == room.window


def test_the_session_has_ended(
    server: Server, session: Session, give: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the tmux session of the caller has ended, the caller counts as outside of tmux."""
    monkeypatch.setenv("TMUX", f"{server.directory}/tmux-0/gone,1,0")
    monkeypatch.setenv("TMUX_PANE", "%7")
    tmux = open_tmux(session.main_top)
    assert tmux.session is None
    room = open_task_window(session, tmux, give())
    assert server.windows() == [f"gitworker w:{TASK}"]
    assert not go_to(tmux, room, on_terminal=False)


def test_no_room_to_go_to(server: Server, session: Session, give: Spawn) -> None:
    """A task without a window and a worker without a task are reported as such."""
    worker = give()
    tmux = open_tmux(session.main_top)
    with pytest.raises(NotFound, match=f"no window shows task {TASK}"):
        find_task_window(session, tmux, TASK)
    with pytest.raises(NotFound, match="worker auth .* so there is nothing to watch"):
        open_task_window(session, tmux, worker._replace(task_id=None))


def test_events(server: Server, session: Session, give: Spawn) -> None:
    """The pane below shows the task's messages as they come, and no other's."""
    room = open_task_window(session, open_tmux(session.main_top), give())
    below = room.panes["events"]

    def shown() -> bool:
        with session.store.write() as writer:
            for task, text in (("t9", "other"), (TASK, "half way")):
                said = Outgoing("status", correlation_id=task, payload={"phase": text})
                publish(writer, said, now=0)
        return "half way" in server.screen(below)

    wait_until(shown)
    assert "other" not in server.screen(below)


def test_the_grid(server: Server, session: Session, give: Spawn) -> None:
    """The grid has a pane for every active worker, under its name, as workers come and leave."""
    tmux = open_tmux(session.main_top)
    with pytest.raises(NotFound, match="no worker has a task"):
        open_grid(session, tmux)
    workers = [give(f"w{number}", f"t{number}") for number in range(4)]
    write_log(workers[2], "here\n")
    room = open_grid(session, tmux)
    assert (room.is_new, list(room.panes), room.left_out) == (True, ["w0", "w1", "w2", "w3"], ())
    assert server.windows() == ["gitworker w:all"]
    titles = server.tmux("list-panes", "-t", room.window, "-F", "#{pane_title}").splitlines()
    assert sorted(titles) == ["w0", "w1", "w2", "w3"]
    server.wait_for(room.panes["w2"], "here")
    give("w4", "t4")
    with session.store.write() as writer:
        writer.run("workers.set_worktree", worker="w0", worktree=None, admin_dir=None)
    again = open_grid(session, tmux)
    assert (again.window, set(again.panes)) == (room.window, {"w1", "w2", "w3", "w4"})
    assert {role: again.panes[role] for role in ("w1", "w2", "w3")} == {
        role: room.panes[role] for role in ("w1", "w2", "w3")
    }
    assert len(server.heights(room.window)) == 4


def test_a_grid_without_space(server: Server, session: Session, give: Spawn) -> None:
    """Workers that the window has no space for are named; the others are shown."""
    for number in range(8):
        give(f"w{number}", f"t{number}")
    server.tmux("new-session", "-d", "-s", "gitworker", "-x", "12", "-y", "5", "cat")
    room = open_grid(session, open_tmux(session.main_top))
    assert room.left_out
    assert set(room.panes) | set(room.left_out) == {f"w{number}" for number in range(8)}


def test_no_server_to_be_had(
    server: Server, session: Session, give: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no server can be started, the error says so."""
    worker = give()
    with open(f"{server.directory}/tmux-{os.getuid()}", "w"):
        pass  # if tmux requires a directory for its sockets
    tmux = open_tmux(session.main_top)
    with pytest.raises(Unavailable, match="tmux new-session failed") as caught:
        open_task_window(session, tmux, worker)
    assert caught.value.code == "no_tmux"


def test_no_tmux(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tmux, or with an old one, the error names the required version."""
    git = shutil.which("git")
    assert git is not None
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="tmux cannot be used: cannot run tmux") as caught:
        open_tmux(session.main_top)
    assert caught.value.hint == "install tmux 3.1 or later"


def test_old_tmux(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old tmux is recognised by its version."""
    program = os.path.join(session.paths.root, "tmux")
    with open(program, "w") as file:
        file.write("#!/bin/sh\necho tmux 2.9a\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv("PATH", f"{session.paths.root}:{os.environ['PATH']}")
    with pytest.raises(Unavailable, match="tmux 2.9a is too old"):
        open_tmux(session.main_top)
