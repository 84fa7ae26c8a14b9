"""An agent's log: its end, and the lines written while it is followed."""

import os
from pathlib import Path

import pytest

from gitworker.observe.logs.tail import (
    BLOCK,
    PAUSE_MS,
    READ_AT_MOST,
    Tail,
    find_agent_log,
    last_lines,
)
from gitworker.session import Session
from tests.unit.observe.scene import spawned


def test_last_lines(tmp_path: Path) -> None:
    """The last lines are read from the end, an unfinished one too, with the file's time."""
    log = tmp_path / "log"
    assert last_lines(str(log), 3) == ([], 0)
    log.write_bytes(b"a\nb\xff\n\nd")
    os.utime(log, ns=(0, 5_000_000_000))
    assert last_lines(str(log), 3) == (["b\ufffd", "", "d"], 5_000)
    log.write_text("a\nb\n")
    assert last_lines(str(log), 9)[0] == ["a", "b"]
    assert [last_lines(str(log), 9, begin=at)[0] for at in (2, 4, 5)] == [["b"], [], ["a", "b"]]
    log.write_text("".join(f"line {number}\n" for number in range(50_000)))
    assert last_lines(str(log), 2)[0] == ["line 49998", "line 49999"]
    assert len(last_lines(str(log), 20_000)[0]) == 20_000
    log.write_text("x" * (READ_AT_MOST + BLOCK))
    assert [len(line) for line in last_lines(str(log), 2)[0]] == [READ_AT_MOST]


def test_following(tmp_path: Path) -> None:
    """Earlier lines are skipped, new ones reported singly, an unfinished line when it ends."""
    log = tmp_path / "log"
    log.write_text("before\nbeg")
    tail = Tail(str(log))
    assert tail.read() == []
    with log.open("a") as file:
        file.write("un\nnext")
    assert tail.read() == ["un"]
    with log.open("a") as file:
        file.write("\n\n")
    assert tail.read() == ["next", ""]
    tail.close()
    tail.close()


def test_a_screen_that_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output of a full-screen program is reported after a pause, other lines at their end only."""
    now_ms = 0
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: now_ms)
    log = tmp_path / "log"
    tail = Tail(str(log))
    log.write_text("\x1b[2J\x1b[HThin")
    assert tail.read() == []
    now_ms = PAUSE_MS - 1
    with log.open("a") as file:
        file.write("king")
    assert tail.read() == []
    now_ms += PAUSE_MS - 1
    assert tail.read() == []
    now_ms += 1
    assert tail.read() == ["\x1b[2J\x1b[HThinking"]
    with log.open("a") as file:
        file.write(" more\nplain")
    assert tail.read() == [" more"]
    now_ms += PAUSE_MS
    assert tail.read() == []
    assert tail.rest() == ["plain"]


def test_a_log_that_appears(tmp_path: Path) -> None:
    """A file that did not exist is reported from its start, even if its directory is new."""
    log = tmp_path / "auth" / "log"
    tail = Tail(str(log))
    assert tail.read() == []
    log.parent.mkdir()
    log.write_text("first\n")
    assert tail.read() == ["first"]


def test_rotation(tmp_path: Path) -> None:
    """A file that was moved away is read to its end, then its successor from its start."""
    log = tmp_path / "log"
    log.write_text("")
    tail = Tail(str(log))
    with log.open("a") as file:
        file.write("one\ntw")
        log.rename(tmp_path / "log.1")
        file.write("o\n")
    log.write_text("three\n")
    found = [tail.read(), tail.read()]
    assert [line for lines in found for line in lines] == ["one", "two", "three"]
    log.unlink()
    assert tail.read() == []
    log.write_text("four\n")
    assert tail.read() == ["four"]


def test_cut_short(tmp_path: Path) -> None:
    """A truncated file is reported from its start again."""
    log = tmp_path / "log"
    log.write_text("a long line\n")
    tail = Tail(str(log))
    log.write_text("new\n")
    assert tail.read() == ["new"]


def test_a_flood(tmp_path: Path) -> None:
    """One read takes a part of a flood, and an endless line comes in parts."""
    log = tmp_path / "log"
    log.write_text("")
    tail = Tail(str(log))
    log.write_text("y" * (READ_AT_MOST + 5) + "\nend\n")
    lengths = [len(line) for line in tail.read() + tail.read()]
    assert lengths == [READ_AT_MOST, 5, 3]


def test_no_regular_file(tmp_path: Path) -> None:
    """A file that is not regular is not read, and does not block."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert Tail(str(pipe)).read() == []
    assert Tail(None).read() == []
    assert Tail(str(tmp_path)).read() == []


def test_the_place_of_the_log(session: Session) -> None:
    """A log is in the worktree, and after the worktree's removal in the state directory."""
    auth = spawned(session, "auth", "skills")
    assert find_agent_log(session.paths.logs, auth) == f"{auth.worktree}/.worker.log"
    without_worktree = auth._replace(worktree=None)
    assert find_agent_log(session.paths.logs, without_worktree) is None
    logs = Path(session.paths.logs)
    for name in ("auth-skills-9.log", "auth-skills-12.log", "auth-skills-12-15.log",
                 "auth-skills.log.1", "auth-skills-13.txt", "docs-skills-14.log"):  # fmt: skip
        (logs / name).write_text("")
    assert find_agent_log(str(logs), without_worktree) == str(logs / "auth-skills-12.log")
    assert find_agent_log(str(logs / "none"), without_worktree) is None
