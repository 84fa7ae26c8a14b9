"""Views that continue: frames as they happen, from several threads, freed by their close."""

import os
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from gitworker import clock
from gitworker.bus.following.follow_messages import MessageFilter
from gitworker.model.outcome import Landed
from gitworker.observe.logs.events import Event
from gitworker.observe.workers.status import StatusScreen
from gitworker.service import Service, open_repository, to_json
from gitworker.service.live.watch import Pause
from tests.workers.world import World

AT_ONCE = Pause(0.0)
SOON = Pause(0.1)
VIEWS: dict[str, Callable[[Service, Pause], Generator[Any]]] = {
    "status": lambda service, pause: service.watch_status(pause=pause),
    "log": lambda service, pause: service.follow_log(pause=pause),
    "messages": lambda service, pause: service.follow(pause=pause),
    "queue": lambda service, pause: service.watch_queue(pause=pause),
}


@pytest.fixture
def service(world: World) -> Service:
    """The service of a repository with one worker."""
    world.spawn("auth", "login")
    return open_repository(str(world.root))


def descriptors(root: Path) -> list[str]:
    """Return the inotify watches and the files of a repository that this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the descriptor of the listing itself
            continue
    return sorted(one for one in found if "inotify" in one or one.startswith(str(root)))


def until(frames: Generator[Any], wanted: Callable[[Any], bool]) -> Any:
    """Return the first frame that is wanted; pauses pass by."""
    return next(one for one in frames if one is not None and wanted(one))


@pytest.mark.parametrize("view", VIEWS)
def test_a_close_frees_the_watch(service: Service, world: World, view: str) -> None:
    """A view that is closed has neither a watch nor a file of the repository open."""
    before = descriptors(world.root)
    frames = VIEWS[view](service, AT_ONCE)
    next(frames)
    assert any("inotify" in one for one in descriptors(world.root))
    frames.close()
    assert descriptors(world.root) == before


@pytest.mark.parametrize("view", VIEWS)
def test_a_deleted_directory_ends_a_view(service: Service, world: World, view: str) -> None:
    """A view ends when the state directory disappears."""
    frames = VIEWS[view](service, AT_ONCE)
    next(frames)
    world.state_dir.rename(world.root / "away")
    assert len(list(frames)) <= 3  # the past events of the log
    assert next(frames, "ended") == "ended"


def test_two_threads_follow_at_once(service: Service, world: World) -> None:
    """Threads that follow through one service get the same messages, each in order."""
    heard: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    begun = threading.Barrier(3)

    def listen(number: int) -> None:
        frames = service.follow(MessageFilter(type="x-note"), pause=SOON)
        next(frames)  # a pause: it follows now
        begun.wait(30)
        for message in frames:
            if message is not None:
                heard[number].append(message)
            if len(heard[number]) == 3:
                break
        frames.close()

    threads = [threading.Thread(target=listen, args=(number,)) for number in heard]
    for thread in threads:
        thread.start()
    begun.wait(30)
    sent = [service.send("x-note", f'{{"n": {number}}}') for number in range(3)]
    for thread in threads:
        thread.join(30)
    assert [one["id"] for one in heard[1]] == [one["id"] for one in heard[2]] == sent


def test_each_view_in_a_thread_of_its_own(service: Service, world: World) -> None:
    """Status, log and messages follow one change at the same time."""
    seen: dict[str, Any] = {}
    begun = threading.Barrier(4)
    wanted: dict[str, Callable[[Any], bool]] = {
        "status": lambda one: "x-now" in {event.name for event in one.events},
        "log": lambda one: one.name == "x-now",
        "messages": lambda one: one["type"] == "x-now",
    }

    def listen(view: str) -> None:
        frames = VIEWS[view](service, SOON)
        next(frames)
        begun.wait(30)
        seen[view] = until(frames, wanted[view])
        frames.close()

    threads = [threading.Thread(target=listen, args=(view,)) for view in wanted]
    for thread in threads:
        thread.start()
    begun.wait(30)
    service.send("x-now")
    for thread in threads:
        thread.join(30)
    assert isinstance(seen["status"], StatusScreen)
    assert isinstance(seen["log"], Event)
    assert to_json(seen["log"])["type"] == to_json(seen["messages"])["type"] == "x-now"
    assert [one["worker"] for one in to_json(seen["status"])["workers"]] == ["auth"]


def test_the_status_is_yielded_after_changes_only(service: Service, world: World) -> None:
    """A read without a change is a pause; a change by another process is a frame."""
    frames = service.watch_status(every_s=0.01, pause=AT_ONCE)
    first = next(frames)
    assert first is not None
    assert [next(frames) for _ in range(3)] == [None] * 3
    world.commit("auth", {"a": "1\n"})
    changed: StatusScreen = until(
        frames,
        lambda one: one.workers[0].tip is not None and one.workers[0].news != first.workers[0].news,
    )
    assert changed.workers[0].tip is not None


def test_the_status_is_read_after_a_delay(service: Service) -> None:
    """A status that waits for the end of a change is read so much later, and has the change."""
    frames = service.watch_status(delay_s=0.3)
    first = next(frames)
    begun_ms = clock.monotonic_ms()
    service.send_note("auth", "hello")
    changed = next(frames)
    assert clock.monotonic_ms() - begun_ms >= 300
    assert first is not None
    assert changed is not None
    assert changed.events != first.events


def test_the_queue_lands_approved_work(service: Service, world: World) -> None:
    """Work that is approved while the queue waits lands, and its result is a frame."""
    frames = service.watch_queue(pause=AT_ONCE)
    assert next(frames) is None
    world.approved("docs", "guide", {"a": "1\n"})
    landed = until(frames, lambda one: True)
    assert isinstance(landed, Landed)
    assert to_json(landed)["worker"] == "docs"
    assert world.tip() == landed.commit


def test_a_queue_that_cannot_land_goes_on(service: Service, world: World) -> None:
    """An obstacle of the whole queue is a frame, and the next attempt lands."""
    world.git("config", "worker.merge.remote", "missing")
    world.approved("docs", "guide", {"a": "1\n"})
    frames = service.watch_queue(every_s=0.01)
    stopped = to_json(next(frames))
    assert (stopped["landed"], bool(stopped["error"]["code"])) == (False, True)
    world.git("config", "--unset", "worker.merge.remote")
    assert isinstance(until(frames, lambda one: isinstance(one, Landed)), Landed)
