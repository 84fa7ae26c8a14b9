"""The screens of a machine in a fleet name the machines of workers."""

from collections.abc import Iterator

import pytest

from gitworker.observe.queue.board_filter import parse_filter
from gitworker.service.service import open_repository
from gitworker.tui.rows.agent_rows import agent_rows
from gitworker.tui.rows.board_rows import board_rows
from tests.cli.kit import ok, read_lines, run, running
from tests.store.machines import psql
from tests.web.kit import serving
from tests.workers.world import World, wait_until


@pytest.fixture
def joined(world: World, location: str) -> Iterator[World]:
    """A machine with a worker, whose worktree was moved to another machine."""
    world.session()
    ok(world.root, "fleet", "join", location, "--name", "one")
    world.spawn("auth", "login")
    with psql(location) as connection:
        connection.execute("UPDATE workers SET machine = 'beta'")
    wait_until(lambda: world.query("SELECT machine FROM workers") == [("beta",)])
    world.spawn("docs", "pages")
    yield world
    ok(world.root, "cancel", "docs")


def test_machines_on_text_screens(joined: World) -> None:
    """`status`, `list` and `show` name the machine, and show those of one machine on request."""
    for verb in ("status", "list"):
        found = {
            one["worker"]: one["machine"]
            for one in run(joined.root, verb, "--json").document["workers"]
        }
        assert found == {"auth": "beta", "docs": "one"}
        (one,) = run(joined.root, verb, "--machine", "beta", "--json").document["workers"]
        assert one["worker"] == "auth"
    for words in (("list",), ("status",), ("status", "--watch")):
        answer = run(joined.root, *words, "--machine", "nope")
        assert (answer.status, answer.out) == (4, ""), words
        assert answer.err.startswith("error: the fleet has no machine 'nope'\n"), words
    with running(joined.root, "status", "--watch", "--machine", "beta", "--json") as watch:
        (line,) = read_lines(watch, 1)
        assert [one["worker"] for one in line["workers"]] == ["auth"]
    assert "beta" in ok(joined.root, "status", "--machine", "beta")
    assert "beta" in ok(joined.root, "show", "auth")
    assert run(joined.root, "show", "docs", "--json").document["elsewhere"] is None


def test_what_is_fit_for_a_task(joined: World) -> None:
    """The page and the terminal name capabilities, and the machine that an agent is pinned to."""
    pytest.importorskip("starlette", reason="needs the extra `web`")
    service = open_repository(str(joined.root))
    service.register_agent("ada", "command", command=["true"], capabilities=["gpu"], machine="one")
    ok(joined.root, "task", "add", "train", "--title", "Train", "--capability", "gpu")
    rows = agent_rows(service.agents(), service.list_registered())
    assert any("with gpu, on one only" in str(one) for one in rows)
    with serving(joined) as page:
        assert "with gpu, on one only" in page.see("/agents")
        assert "<dt>capability</dt><dd>gpu</dd>" in page.see("/tasks/train")


def test_machines_on_the_boards(joined: World) -> None:
    """The cards of the page and of the terminal name the machine, as does the page of a worker."""
    pytest.importorskip("starlette", reason="needs the extra `web`")
    frame = open_repository(str(joined.root)).status()
    rows = board_rows(frame, {}, now_ms=frame.now_ms, every=False, chosen=parse_filter(""))
    shown = [str(one) for one in rows]
    assert any("on beta" in one for one in shown)
    assert any("on one" in one for one in shown)
    with serving(joined) as page:
        assert "on beta" in page.see("/")
        assert "<dt>machine</dt><dd>beta</dd>" in page.see("/workers/auth")
