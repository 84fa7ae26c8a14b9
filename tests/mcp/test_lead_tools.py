"""The tools of a directing agent: it spawns, looks, reviews, judges and lands."""

from fixtures.repos import Repo
from gitworker.mcp.tool import TEXT_MAX
from tests.mcp.kit import connected
from tests.workers.world import World

NAMES = [
    "spawn", "status", "inbox", "send", "diff", "comments", "approve", "reject", "merge", "queue",
    "resume", "show", "questions", "reply", "cancel", "stop", "undo", "wait",
]  # fmt: skip


def test_a_task_from_spawn_to_landed(world: World) -> None:
    """Work is given, returned once, approved and landed by tools alone."""
    with connected(world.root) as hq:
        assert hq.names() == NAMES
        place = hq.call("spawn", worker="auth", task="login", text="Build it")["path"]
        with connected(world.path("auth")) as auth:
            Repo(world.path("auth")).write({"form.py": "1\n"})
            auth.call("commit", message="Add the form")
            auth.call("done", note="please look")
            assert hq.call("wait", worker="auth")["state"] == "IN_REVIEW"
            assert "form.py" in hq.call("diff", worker="auth", stat=True)["diff"]
            hq.call("reject", worker="auth", note="A test is missing")
            (verdict,) = [
                item["payload"] for item in auth.call("inbox")["items"]
                if item["kind"] == "review_result"
            ]  # fmt: skip
            assert verdict["note"] == "A test is missing"
            Repo(world.path("auth")).write({"test_form.py": "1\n"})
            auth.call("commit", message="Add a test")
            auth.call("done")
        assert "test_form" in hq.call("diff", worker="auth", since="review")["diff"]
        assert "A test is missing" in str(hq.call("comments", worker="auth"))
        assert hq.call("approve")["results"][0]["approved"] is True
        assert [one["worker_id"] for one in hq.call("queue")["queue"]] == ["auth"]
        assert [one["worker"] for one in hq.call("merge", dry_run=True)["plan"]] == ["auth"]
        (landed,) = hq.call("merge", workers=["auth"])["results"]
        assert landed["commit"] == world.tip()
        assert hq.call("wait", worker="auth", **{"for": "landed"})["has_landed"] is True
        assert hq.call("status")["workers"][0]["state"] == "COMPLETED"
    assert place.endswith("worktrees/login")


def test_refusals_are_results(world: World) -> None:
    """Several workers: each failure is a line of the result; one worker: an error with its code."""
    world.spawn("auth", "login")
    with connected(world.root) as hq:
        (result,) = hq.call("approve", workers=["auth"])["results"]
        assert result["error"]["code"]
        assert hq.fail("diff", worker="nobody")["code"] == "not_found"
        assert hq.fail("wait", worker="auth", timeout_s=0)["code"] == "timeout"
        assert hq.fail("wait", worker="auth", **{"for": "lunch"})["code"] == "usage"
        assert hq.fail("spawn", worker="auth", task="other")["code"]
        hq.call("merge")
        with connected(world.path("auth")) as auth:
            auth.call("fail", reason="no")
        assert hq.call("resume", worker="auth")["state"] == "WORKING"


def test_a_task_is_withdrawn_and_brought_back(world: World) -> None:
    """Show, cancel, undo and stop work by tools; an error names the tool that helps."""
    world.in_review("auth", "login", {"a": "1\n"})
    with connected(world.root) as hq:
        assert hq.call("show", worker="auth")["task"]["id"] == "login"
        assert hq.call("cancel", worker="auth")["rescue"]
        assert hq.call("undo")["undone"] == "cancel"
        assert hq.call("approve", worker="auth")["results"][0]["approved"] is True
        assert [one["worker"] for one in hq.call("merge", worker="auth", dry_run=True)["plan"]] == [
            "auth"
        ]
        assert hq.call("stop", worker="auth", reason="later")["worker"] == "auth"
    with connected(world.path("auth")) as auth:
        Repo(world.path("auth")).write({"a": "2\n"})
        assert auth.fail("done")["tool"] in ("commit", "done")


def test_agents_in_the_background(world: World) -> None:
    """`spawn` starts a known agent, and `resume` starts it again after a rejection."""
    script = "git commit -q --allow-empty -m Work"
    world.git("config", "worker.agents.own.command", f"sh\n-c\n{script}")
    with connected(world.root) as hq:
        error = hq.fail("spawn", worker="docs", text="Go", agent="clade")
        assert error["code"] == "not_found"
        begun = hq.call("spawn", worker="auth", task="login", text="Go", agent="own")
        assert (begun["run"]["worker"], begun["run"]["task"]) == ("auth", "login")
        assert hq.call("wait", worker="auth", **{"for": "in_review"})["state"] == "IN_REVIEW"
        hq.call("reject", worker="auth", note="Once more")
        again = hq.call("resume", worker="auth")
        assert again["run"]["command"] == "--agent own"
        assert hq.call("wait", worker="auth", **{"for": "in_review"})["state"] == "IN_REVIEW"
    assert world.git("rev-list", "--count", "main..auth/login") == "2"


def test_an_agent_beyond_the_limit(world: World) -> None:
    """Its `spawn` makes no worker; a worker without an agent gets one by `resume`."""
    world.git("config", "worker.agents.own.command", "sh\n-c\nsleep 600")
    world.git("config", "worker.agents.limits", "own=1")
    with connected(world.root) as hq:
        hq.call("spawn", worker="auth", task="login", text="Go", agent="own")
        assert hq.fail("spawn", worker="ui", text="Go", agent="own")["code"] == "agent_limit"
        assert [one["worker"] for one in hq.call("status")["workers"]] == ["auth"]
        hq.call("spawn", worker="ui", task="form", text="Go")
        assert hq.fail("resume", worker="ui", agent="own")["code"] == "agent_limit"
        hq.call("stop", worker="auth")
        hq.call("wait", worker="auth", **{"for": "failed"})
        assert hq.call("resume", worker="ui", agent="own")["run"]["command"] == "--agent own"
        hq.call("stop", worker="ui")
        hq.call("wait", worker="ui", **{"for": "failed"})


def test_an_empty_list_is_not_all(world: World) -> None:
    """Verdicts, landings and commits of an empty list are refused."""
    world.in_review("auth", "login", {"a": "1\n"})
    with connected(world.root) as hq, connected(world.path("auth")) as auth:
        for client, name in ((hq, "approve"), (hq, "merge")):
            words = f"the argument workers of {name} is empty"
            assert client.fail(name, workers=[])["message"] == words
        words = "the argument paths of commit is empty"
        assert auth.fail("commit", message="Work", paths=[])["message"] == words
    assert world.worker("auth").state == "IN_REVIEW"


def test_a_long_diff_is_cut(world: World) -> None:
    """A diff above the size that a model can read is cut, and the answer names the rest."""
    world.in_review("auth", "login", {"big.txt": "line\n" * 40_000})
    with connected(world.root) as hq:
        text = hq.call("diff", worker="auth")["diff"]
    assert len(text) < TEXT_MAX + 100
    assert text.splitlines()[-1].startswith("… cut: ")
