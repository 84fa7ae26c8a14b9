"""The control room's layout, and the arguments for tmux."""

import pytest

from gitworker.tmux.rules_layout import (
    GRID,
    PaneSpec,
    TmuxPane,
    choose_session,
    choose_window,
    digest,
    environment,
    escaped,
    is_usable,
    parse_panes,
    session_name,
    task_panes,
    window_name,
)


@pytest.mark.parametrize(
    ("version", "usable"),
    [
        ("tmux 3.3a", True), ("tmux 3.1", True), ("tmux 3.1c\n", True), ("tmux 10.0", True),
        ("tmux next-3.5", True), ("tmux master", True), ("tmux openbsd-7.4", True),
        ("tmux 3.0a", False), ("tmux 2.9", False), ("tmux 1.8", False), ("", True),
        ("tmux 3.x", True),
    ],
)  # fmt: skip
def test_versions(version: str, usable: bool) -> None:
    """tmux 3.1 and later is usable; a version without a number counts as new."""
    assert is_usable(version) is usable


def test_semicolons() -> None:
    """A semicolon at the end of a word does not begin another command."""
    assert escaped(["a;", "b;c", ";", ""]) == ["a\\;", "b;c", "\\;", ""]


def test_names() -> None:
    """A window has the name of its task, dots included."""
    assert (window_name("a.b-c_d"), window_name(GRID)) == ("w:a.b-c_d", "w:all")


def test_panes_of_a_task() -> None:
    """The log's path is an argument of the script, not part of it; the events are followed."""
    path = "/x y/it's $(touch z);/.worker.log"
    log, events = task_panes("a.b", worker="auth", log=path, program=("git-worker", "-C", "/x y"))
    assert (log.role, log.command[3:]) == ("log", ("sh", f"auth: {path}", path))
    assert path not in log.command[2]
    assert events == PaneSpec(
        "events", ("git-worker", "-C", "/x y", "msg", "follow", "--task", "a.b")
    )
    assert log.mark == f"log {digest(*log.command)}"
    other, _ = task_panes("a.b", worker="auth", log="/y", program=())
    assert other.mark != log.mark
    assert (other.mark + "|").isprintable()


def test_environment() -> None:
    """A server that outlives us gets neither our identity nor git's variables of a repository."""
    env = {"PATH": "/bin", "GITWORKER_ID": "auth", "GIT_DIR": "/r", "GIT_AUTHOR_NAME": "Ada"}
    assert environment(env, ["GIT_DIR"]) == {"PATH": "/bin", "GIT_AUTHOR_NAME": "Ada"}


PANES = """\
$0|@0|%0||||
$0|@1|%1|repo|a.b|log 12
$0|@1|%2|repo|a.b|
$1|@2|%3|repo|a.b|events 13
$1|@3|%4|other|a.b|log 12
no pane
$1|@4|%5|repo|*|auth 14
$1|@5|%6|||
"""


def test_parsing() -> None:
    """Panes are read with their options; lines of another form are skipped."""
    panes = parse_panes(PANES)
    assert [pane.pane for pane in panes] == ["%1", "%2", "%3", "%4", "%5", "%6"]
    assert panes[0] == TmuxPane("$0", "@1", "%1", "repo", "a.b", "log 12")
    assert [pane.role for pane in panes] == ["log", "", "events", "log", "auth", ""]


@pytest.mark.parametrize(
    ("repository", "task", "session", "window"),
    [
        ("repo", "a.b", "$0", "@1"), ("repo", "a.b", "$1", "@2"), ("repo", "a.b", None, "@1"),
        ("other", "a.b", "$0", "@3"), ("repo", GRID, "$0", "@4"), ("repo", "a", "$0", None),
        ("else", "a.b", None, None),
    ],
)  # fmt: skip
def test_choice(repository: str, task: str, session: str | None, window: str | None) -> None:
    """A window is found by repository and task, the preferred session first."""
    panes = parse_panes(PANES)
    found = choose_window(panes, repository=repository, task=task, session=session)
    assert found == window


def test_sessions() -> None:
    """Each repository has a session of its own: `gitworker` if no other repository shows there."""
    place = {"directory": "/src/my.app", "repository": "ab12cd"}
    shared = {"gitworker": "$1"}
    own = "gitworker-my-app-ab12"
    assert session_name({}, **place) == "gitworker"
    assert session_name(shared, **place) == own
    ours = TmuxPane("$1", "@1", "%1", "ab12cd", "t1", "")
    assert choose_session({}, [], **place) is None
    assert choose_session(shared, [ours], **place) == "$1"
    assert choose_session(shared, [ours._replace(repository="")], **place) == "$1"
    others = [ours._replace(repository="ffff")]
    assert choose_session(shared, others, **place) is None
    assert choose_session({**shared, own: "$2"}, others, **place) == "$2"
