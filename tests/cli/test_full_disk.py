"""Commands of the bus on a disk that is full, or read-only."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import ok, run
from tests.conftest import git
from tests.store.disks import fill, read_only, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    with small_disk(tmp_path / "disk", size_kib=8192) as place:
        yield place


@pytest.fixture
def root(disk: Path) -> Path:
    """A repository on that disk, with one message on its bus."""
    place = disk / "repo"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    git(place, "commit", "-q", "--allow-empty", "-m", "Start")
    ok(place, "msg", "send", "x-note", '"kept"')
    return place


def test_sending_to_a_full_disk(root: Path, disk: Path) -> None:
    """A message that has no room is refused by name, and the bus works on when there is some."""
    filler = fill(disk)
    statuses = []
    while not statuses or (statuses[-1] == 0 and len(statuses) < 50):
        answer = run(root, "msg", "send", "x-note", '"' + "x" * 4000 + '"')
        statuses.append(answer.status)
    assert statuses[-1] == 1
    assert answer.err.startswith("error: cannot write ")
    assert answer.err.endswith("hint: df -h\n")
    large = run(root, "msg", "send", "x-note", '"' + "x" * 5000 + '"')
    assert large.status == 1
    assert large.err.startswith("error: cannot store the payload in ")
    filler.unlink()
    sent = ok(root, "msg", "send", "x-note", '"after"')
    messages = run(root, "msg", "poll").lines
    assert [messages[0]["payload"], messages[-1]["id"]] == ["kept", sent]
    assert len(messages) == 1 + statuses.count(0) + 1


def test_polling_on_a_full_disk(root: Path, disk: Path) -> None:
    """Messages that cannot be acknowledged are printed, and the error says that they come again."""
    ok(root, "msg", "send", "x-note", '"second"')
    filler = fill(disk)
    for number in range(200):
        answer = run(root, "msg", "poll", "--as", f"reader-{number}")
        assert len(answer.out.splitlines()) == 2
        if answer.status:
            break
    assert answer.status == 1
    assert answer.err.startswith("error: the printed messages will come again: cannot write ")
    assert str(root) in answer.err
    filler.unlink()
    again = [len(run(root, "msg", "poll", "--as", f"reader-{number}").lines) for _ in range(2)]
    assert again == [2, 0]


def test_a_read_only_disk(root: Path, disk: Path) -> None:
    """On a read-only disk reading works, and every error of a writer names the place."""
    with read_only(disk):
        assert run(root, "msg", "stats").status == 0
        assert len(run(root, "msg", "poll", "--no-ack").lines) == 1
        for words in (("send", "x-note"), ("ack", "1"), ("poll",)):
            answer = run(root, "msg", *words)
            assert (answer.status, answer.out) == (1, ""), words
            assert str(root) in answer.err
            assert "error: " in answer.err
    assert [m["payload"] for m in run(root, "msg", "poll").lines] == ["kept"]


def test_a_view_without_room(disk: Path, repository: Path) -> None:
    """A heartbeat whose state file has no space reports it, and operations still succeed."""
    ok(repository, "spawn", "auth", "t1")
    views = repository / ".git" / "worker-state" / "workers"
    shutil.move(views, disk / "workers")
    views.symlink_to(disk / "workers")
    filler = fill(disk)
    answer = run(repository, "heartbeat", "auth")
    assert answer.status == 1
    assert answer.err.startswith(f"error: cannot write {views}/auth.json")
    assert answer.err.endswith(": No space left on device\nhint: df -h\n")
    assert run(repository, "start", "auth", "--pid", str(os.getpid())).status == 0
    answer = run(repository, "list")
    assert answer.out == "auth\tWORKING\tt1\tauth/t1\n"
    assert answer.err.startswith(
        f"warning: views and logs are not up to date: cannot write {views}"
    )
    filler.unlink()
    assert run(repository, "list").err == ""
    assert '"WORKING"' in (disk / "workers" / "auth.json").read_text()
