"""A worker's last verdict and its log in `show` and `log`."""

import pytest

from gitworker.lifecycle.moves import advance
from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.observe.logs.events import Event, event_text
from gitworker.observe.workers.show import read_show
from gitworker.observe.workers.show_text import json_show, render_show
from gitworker.session import Session
from gitworker.verify.verify_once import verify_once
from gitworker.workers.cancel import cancel
from tests.unit.observe.conftest import Clock
from tests.unit.observe.scene import in_review, landed, worker, working


def lines(session: Session, name: str) -> list[str]:
    """Return the lines about verification on the screen of a worker."""
    text = render_show(read_show(session, worker(session, name)), width=60, color=False)
    shown = text.replace("\n" + " " * 10, " ").splitlines()  # continued lines, joined
    return [line for line in shown if line.startswith(("verify ", "log "))]


def verify(session: Session, commit: Oid, command: str) -> str:
    """Run a command on a commit and return the log's path."""
    settings = session.settings._replace(verify_commands=(command,))
    return verify_once(session._replace(settings=settings), commit, label="it").log


def send_back(session: Session, metadata: dict[str, str]) -> None:
    """Send a worker back with the findings of verification."""
    auth = worker(session, "auth")
    with session.store.write() as writer:
        advance(writer, auth, WorkerEvent.VERIFY_FAILED, actor="hq", metadata=metadata)


def tip(session: Session, branch: str | None) -> Oid:
    """Return a branch's commit."""
    assert branch is not None
    return session.git.require_oid(ref_of(Branch(branch)))


def test_the_verdict_on_the_branch(session: Session, clock: Clock) -> None:
    """The newest verdict on the branch's present commit is shown with its log's path, uncut."""
    auth = in_review(session, "auth", "skills")
    commit = tip(session, auth.branch)
    assert lines(session, "auth") == []
    assert json_show(read_show(session, auth))["verify"] is None
    log = verify(session, commit, "false")
    clock.ms += 65_000
    assert lines(session, "auth") == [
        f"verify    failed 1m ago, {commit[:10]}: `false` ended with status 1",
        f"log       {log}",
    ]
    log = verify(session, commit, "true")
    assert lines(session, "auth") == [f"verify    passed 0s ago, {commit[:10]}", f"log       {log}"]
    found = json_show(read_show(session, auth))["verify"]
    assert found.pop("at").endswith("Z")
    assert found == {"verdict": "passed", "commit": commit, "reason": "", "log": log}


def test_work_without_a_verify_run(session: Session) -> None:
    """Work in review that no run has verified names the command, if there are verify commands."""
    in_review(session, "auth", "skills")
    working(session, "docs", "guide")
    assert lines(session, "auth") == []
    settings = session.settings._replace(verify_commands=("true",))
    session = session._replace(settings=settings)
    missing = "verify    no verify run on this commit: git worker verify auth"
    assert lines(session, "auth") == [missing]
    assert lines(session, "docs") == []
    verify(session, tip(session, worker(session, "auth").branch), "true")
    assert missing not in lines(session, "auth")


def test_the_failure_that_sent_it_back(session: Session, clock: Clock) -> None:
    """A failed window with the worker's commits is shown, although no branch is at its commit."""
    in_review(session, "auth", "skills")
    clock.ms += 1000
    metadata = {"commit": "a" * 40, "reason": "`make` ended with status 2", "log": "/logs/x.log"}
    send_back(session, metadata)
    assert lines(session, "auth") == [
        "verify    failed 0s ago, aaaaaaaaaa: `make` ended with status 2",
        "log       /logs/x.log",
    ]
    shown = render_show(read_show(session, worker(session, "auth")), width=None, color=False)
    assert "by hq: `make` ended with status 2  log: /logs/x.log" in shown


def test_of_this_task_only(session: Session, clock: Clock) -> None:
    """A failure of an earlier task is not shown for the present one."""
    in_review(session, "auth", "skills")
    metadata = {"commit": "a" * 40, "reason": "why", "log": "/logs/x.log"}
    send_back(session, metadata)
    assert lines(session, "auth") != []
    cancel(session, "auth")
    clock.ms += 1000
    working(session, "auth", "other")
    assert lines(session, "auth") == []


def test_landed_work(session: Session, clock: Clock) -> None:
    """For landed work the verdict on the new commit of the target is shown."""
    landed(session, "auth", "skills")
    commit = session.git.require_oid("main")
    log = verify(session, commit, "true")
    assert lines(session, "auth") == [f"verify    passed 0s ago, {commit[:10]}", f"log       {log}"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"reason": "why", "log": "/x.log"}', "auth  note: why  log: /x.log"),
        ('{"reason": "why", "log": 1}', "auth  note: why"),
        ('{"log": "/x\\u001b.log", "verdict": "v"}', "auth  note: v  log: /x\\x1b.log"),
    ],
)
def test_events_name_the_log(body: str, text: str) -> None:
    """An event that carries the path of a log shows it."""
    assert event_text(Event(3_000, 3, "message", "auth", "note", body=body)) == text
