"""`status --watch` on a real terminal emulator, under a shell with job control."""

from tests.cli.conftest import Scene, scene
from tests.cli.kit import ok, wait_until
from tests.tmux.conftest import Server

__all__ = ["scene"]  # the fixture


def test_stopped_and_continued(server: Server, scene: Scene) -> None:
    """Ctrl-Z gives the terminal back to the shell, and the screen comes again afterwards."""
    scene.spawn("auth", "t1")
    pane = server.begin("work")
    server.tmux("send-keys", "-t", pane, f"cd {scene.root} && echo be''fore", "Enter")
    server.tmux("send-keys", "-t", pane, "git-worker status --watch", "Enter")
    server.wait_for(pane, "waits for its agent to start")
    assert "before" not in server.screen(pane)
    server.tmux("send-keys", "-t", pane, "C-z")
    server.wait_for(pane, "before")
    wait_until(lambda: "waits for its agent to start" not in server.screen(pane))
    ok(scene.root, "start", "auth", "--pid", str(scene.agent_pid))
    server.tmux("send-keys", "-t", pane, "fg", "Enter")
    server.wait_for(pane, "auth    t1    at work")
    server.tmux("send-keys", "-t", pane, "q")
    server.wait_for(pane, "before")
    server.tmux("send-keys", "-t", pane, "echo sta''tus $?", "Enter")
    server.wait_for(pane, "status 0")


def test_a_smaller_window(server: Server, scene: Scene) -> None:
    """After a change of size no text of the larger screen is left."""
    for number in range(2):
        scene.spawn(f"w{number}", f"a-task-of-some-length-{number}")
    pane = server.begin("work")
    server.tmux("send-keys", "-t", pane, f"cd {scene.root} && git-worker status -w", "Enter")
    server.wait_for(pane, "waits for its agent to start")
    server.tmux("resize-window", "-t", pane, "-x", "50", "-y", "6")
    server.wait_for(pane, "more lines")

    def is_whole() -> bool:
        lines = server.screen(pane).splitlines()
        workers = sum(line.startswith("w") for line in lines)
        is_begun = lines[:1] != [] and lines[0].startswith("target main")
        return is_begun and (len(lines), workers) == (6, 2) and max(map(len, lines)) <= 50

    wait_until(is_whole)
