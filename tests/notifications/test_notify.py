"""Each event that needs a person reaches a real server once, and a failure to send is reported."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.bus.files.retention import PruneRequest, prune
from gitworker.errors import Conflict, Invalid, NotFound, Unavailable
from gitworker.fsck.finding import Finding, Level
from gitworker.fsck.quick.notify_checks import check_notifications
from gitworker.lifecycle.fail import fail
from gitworker.model.ids import TaskId, WorkerId
from gitworker.notifications.send import KILLED, send_new_events, send_test
from gitworker.notifications.start_job import start_notify_job
from gitworker.processes.jobs import BACKGROUND
from gitworker.questions.ask import ask
from gitworker.questions.reply import reply
from gitworker.review.comments.send import reject
from gitworker.service.service import open_repository
from gitworker.store.scheduling.projects import charge_project
from gitworker.tasks.projects.change_project import add_project, edit_project
from gitworker.tasks.projects.rules_project import ProjectFields
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.workers.cancel import cancel
from gitworker.workers.spawn import SpawnRequest, spawn
from gitworker.workers.start import start
from gitworker.workers.submit import Submission, submit
from tests.cli.kit import run
from tests.hints.following import Printed, follow, note
from tests.notifications.conftest import SECRET, Receiver
from tests.workers.world import World, unchanged, wait_until

pytest.importorskip("apprise", reason="pip install 'gitworker[notify]'")


def asking(world: World, worker: str = "auth", text: str = "Which port?") -> None:
    """Ask as a worker, and wait no time."""
    with suppress(Conflict):
        ask(world.session(identity=worker), text, wait_s=0)


def send(world: World, *, is_final: bool = False) -> list[str]:
    """Send the new events as the job does; return the failures."""
    failures: list[str] = []
    send_new_events(world.session(), is_final=is_final, failed=failures.append)
    return failures


def doctor(world: World) -> list[Finding]:
    """Return doctor's findings on notifications."""
    return list(check_notifications(world.session()))


@pytest.fixture
def quiet(world: World, receiver: Receiver) -> World:
    """A world in which the test itself sends the events: the commands have no target."""
    world.git("config", "--unset", "worker.notify.urls")
    return world


def switch_on(world: World, receiver: Receiver, *urls: str) -> None:
    """Set the targets."""
    world.git("config", "worker.notify.urls", "\n".join(urls or [receiver.url()]))


def four_events(world: World) -> None:
    """A question, a failure, a review, and a project that has used its budget."""
    world.working("auth", "login", {"a": "1\n"})
    asking(world, text="Which port? token=abcdef123456")
    world.in_review("docs", "guide", {"g": "1\n"})
    world.working("web", "pages", {"w": "1\n"})
    fail(world.session(), "web", reason="it ended with status 3")
    session = world.session()
    add_project(session, "shop", ProjectFields(budget=1000))
    open_repository(str(world.root)).add_task("cart", TaskFields(project_id="shop"))
    with session.store.write() as writer:
        charge_project(writer, "shop", 1000)


def test_each_event_is_sent_once(quiet: World, receiver: Receiver) -> None:
    """A question, a failure, a review and a used budget are sent with a command, each once."""
    four_events(quiet)
    switch_on(quiet, receiver)
    assert (send(quiet), send(quiet)) == ([], [])
    assert receiver.titles == [
        "auth asks about login", "guide of docs waits for its review", "web failed at pages",
        "project shop has used its budget",
    ]  # fmt: skip
    bodies = [message for _, _, message in receiver.arrived]
    assert "Which port? token=[redacted]" in bodies[0]
    assert "it ended with status 3" in bodies[2]
    commands = [body.splitlines()[-1] for body in bodies]
    assert commands == [
        "git worker reply login <text>", "git worker show docs", "git worker show web",
        "git worker project edit shop --budget <number>",
    ]  # fmt: skip
    for command in commands:
        assert follow(Printed([], str(quiet.root)), command) is None
        note(command, str(bodies))
    listed = open_repository(str(quiet.root)).notifications()
    assert [one.error for one in listed.sent] == [None] * 4


def test_old_events_are_forgotten(quiet: World, receiver: Receiver) -> None:
    """Retention deletes old events, but none that is current: it would be sent once more."""
    four_events(quiet)
    switch_on(quiet, receiver)
    send(quiet)
    session = quiet.session()
    old = PruneRequest(clock.now_ms() + 1, frozenset(), 0, archiving=False)
    prune(session.store, session.paths, old)
    assert len(quiet.query("SELECT key FROM notifications")) == 4
    send(quiet)
    assert len(receiver.titles) == 4
    reply(session, "login", "8080")
    reject(session, "docs", note="More")
    cancel(session, "web")
    edit_project(session, "shop", ProjectFields(budget=5000))
    prune(session.store, session.paths, old._replace(cutoff_ms=1))
    assert len(quiet.query("SELECT key FROM notifications")) == 4
    prune(session.store, session.paths, old)
    assert quiet.query("SELECT key FROM notifications") == []


def test_two_questions_of_a_task(quiet: World, receiver: Receiver) -> None:
    """The command for one of several questions names it."""
    quiet.working("auth", "login", {"a": "1\n"})
    asking(quiet)
    asking(quiet, text="Why?")
    switch_on(quiet, receiver)
    send(quiet)
    commands = [message.splitlines()[-1] for _, _, message in receiver.arrived]
    assert commands == [f"git worker reply -q {number} login <text>" for number in (1, 2)]
    assert follow(Printed([], str(quiet.root)), commands[1]) is None
    note(commands[1], str(receiver.arrived))


def test_a_command_starts_the_job(world: World, receiver: Receiver) -> None:
    """The command that asks starts a job that sends the question, without waiting for it."""
    world.working("auth", "login", {"a": "1\n"})
    asking(world)
    wait_until(lambda: receiver.titles == ["auth asks about login"])
    wait_until(lambda: world.query("SELECT error FROM notifications WHERE ended_at_ms > 0") != [])
    assert not start_notify_job(world.session())


def test_a_project_has_its_own_target(quiet: World, receiver: Receiver) -> None:
    """The URL of a project replaces those of the settings, and other events are not sent."""
    four_events(quiet)
    open_repository(str(quiet.root)).edit_project(
        "shop", ProjectFields(notify=receiver.url("shop"))
    )
    send(quiet)
    assert [path for path, _, _ in receiver.arrived] == ["/shop"]
    switch_on(quiet, receiver)
    quiet.git("config", "worker.notify.events", "question\nbudget")
    send(quiet)
    assert [path for path, _, _ in receiver.arrived] == ["/shop", "/all"]


def test_a_failure_to_send(quiet: World, receiver: Receiver) -> None:
    """A target that refuses is named by doctor and in the log until a test arrives."""
    quiet.working("auth", "login", {"a": "1\n"})
    asking(quiet)
    switch_on(quiet, receiver)
    receiver.status = 500
    job = [sys.executable, *BACKGROUND, "notify", f"{quiet.root}/.git"]
    assert subprocess.run(job, check=False).returncode == 0
    reason = "json://…: it answered with status 500"
    log = (quiet.state_dir / "logs" / "background.log").read_text()
    assert f"notify: auth asks about login: {reason}" in log
    (found,) = doctor(quiet)
    assert (found.level, found.hint) == (Level.WARN, "git worker notify --test")
    assert found.message == f"1 event was not sent: auth asks about login: {reason}"
    with pytest.raises(Unavailable) as caught:
        send_test(quiet.session())
    hint = "git worker config notify.urls <url>"
    assert (caught.value.hint, reason in caught.value.message) == (hint, True)
    receiver.status = 200
    assert follow(Printed([], str(quiet.root)), found.hint) is None
    note(found.hint, found.message)
    assert [one.level for one in doctor(quiet)] == [Level.OK]
    assert receiver.titles == ["a test"], "the event is not sent again"


def test_a_target_that_does_not_answer(quiet: World, receiver: Receiver) -> None:
    """An unreachable target and an unknown kind of URL are named, and the others get the event."""
    quiet.working("auth", "login", {"a": "1\n"})
    asking(quiet)
    switch_on(quiet, receiver, "json://127.0.0.1:1/x", "unknown://x", receiver.url())
    failures = send(quiet)
    assert [one.partition(": ")[2] for one in failures] == [
        "json://…: it could not be reached", "unknown://…: Apprise does not know this kind of URL",
    ]  # fmt: skip
    assert receiver.titles == ["auth asks about login"]
    assert "does not know the target unknown://…" in doctor(quiet)[0].message


def test_an_event_that_reached_nothing(quiet: World, receiver: Receiver) -> None:
    """An event is sent again later if no target was reached, such as from a sandbox."""
    quiet.working("auth", "login", {"a": "1\n"})
    asking(quiet)
    for _ in range(2):
        switch_on(quiet, receiver, "json://127.0.0.1:1/x")
        assert len(send(quiet)) == 1
    switch_on(quiet, receiver)
    assert (send(quiet), send(quiet)) == ([], [])
    assert receiver.titles == ["auth asks about login"]
    assert doctor(quiet)[0].level is Level.OK


def test_no_secret_is_shown(world: World, receiver: Receiver) -> None:
    """No command, file or message shows more of a URL than its scheme."""
    receiver.status = 500
    world.working("auth", "login", {"a": "1\n"})
    service = open_repository(str(world.root))
    service.add_project("shop", ProjectFields(notify=receiver.url("shop")))
    asking(world)
    wait_until(lambda: world.query("SELECT error FROM notifications WHERE ended_at_ms > 0") != [])
    for words in (
        "config", "config notify.urls", "config --json", "project show shop", "project list",
        "project show shop --json", "notify", "notify --json", "notify --test", "doctor",
        f"config notify.urls {receiver.url('other')}", "config --unset notify.urls", "inbox",
    ):  # fmt: skip
        answer = run(world.root, *words.split())
        assert SECRET not in answer.out + answer.err, words
    files = [path for path in world.state_dir.rglob("*") if path.is_file()]
    kept = [path.name for path in files if SECRET.encode() in path.read_bytes()]
    of_git = {"shared-before", "shared-after"}  # copies of git's own configuration
    assert all(name.startswith("bus.db") or name in of_git for name in kept), kept
    assert not [row for row in world.query("SELECT * FROM messages") if SECRET in str(row)]


def test_an_unknown_kind_of_url_is_refused(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target to which Apprise cannot send is refused, if it is installed."""
    service = open_repository(str(world.root))
    with unchanged(world, kind=Invalid) as caught:
        service.change_setting("notify.urls", [receiver.url(), "foo://secret"])
    assert caught.value.message == "Apprise does not know the target foo://…"
    with pytest.raises(Invalid, match="has a line that is not a URL"):
        service.change_setting("notify.urls", ["words"])
    service.change_setting("notify.urls", [receiver.url()])
    monkeypatch.setitem(sys.modules, "apprise", None)
    service.change_setting("notify.urls", ["foo://secret"])


def test_without_apprise(quiet: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra nothing is started, and doctor names the command that installs it."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    quiet.working("auth", "login", {"a": "1\n"})
    asking(quiet)
    assert doctor(quiet) == []
    with pytest.raises(NotFound) as without:
        send_test(quiet.session())
    switch_on(quiet, receiver)
    assert not start_notify_job(quiet.session())
    (found,) = doctor(quiet)
    assert (found.level, found.hint) == (Level.WARN, "pip install 'gitworker[notify]'")
    with pytest.raises(Unavailable) as caught:
        send_test(quiet.session())
    assert caught.value.hint == found.hint
    hint = without.value.hint or ""
    assert follow(Printed([], str(quiet.root)), hint) is None
    note(hint, without.value.message)


def test_a_killed_job(quiet: World, receiver: Receiver) -> None:
    """An event whose sending was killed is not sent again, but reported; the next one is sent."""
    quiet.working("auth", "login", {"a": "1\n"})
    asking(quiet)
    switch_on(quiet, receiver)
    env = {**os.environ, "GITWORKER_CRASH_AT": "notification-begun"}
    job = [sys.executable, *BACKGROUND, "notify", f"{quiet.root}/.git"]
    assert subprocess.run(job, env=env, check=False).returncode == -9
    asking(quiet, text="Why?")
    wait_until(lambda: len(receiver.arrived) == 1)
    assert "Why?" in receiver.arrived[0][2]
    rows = quiet.query("SELECT error FROM notifications ORDER BY begun_at_ms")
    assert rows[0] == (KILLED,)


def test_work_of_a_run_is_left_to_it(quiet: World, receiver: Receiver) -> None:
    """A review that a run may end by itself is sent only if the run ends before it."""
    session = quiet.session()._replace(actor="orchestrator")
    open_repository(str(quiet.root)).add_task("login")
    spawn(session, SpawnRequest(WorkerId("command-1"), TaskId("login")))
    start(quiet.session(), "command-1", pid=os.getpid())
    quiet.commit("command-1", {"a": "1\n"})
    submit(quiet.session(), "command-1", Submission())
    switch_on(quiet, receiver)
    send(quiet)
    assert receiver.titles == []
    send(quiet, is_final=True)
    assert receiver.titles == ["login of command-1 waits for its review"]


def test_a_commit_sets_no_target(world: World, receiver: Receiver, tmp_path: Path) -> None:
    """A committed file that names a target sends nothing anywhere."""
    world.git("config", "--unset", "worker.notify.urls")
    world.advance({".gitworker.toml": f'[notify]\nurls = ["{receiver.url()}"]\n'})
    world.working("auth", "login", {"a": "1\n"})
    asking(world)
    session = world.session()
    assert session.settings.notify_urls == ()
    assert not start_notify_job(session)
    (fault,) = session.settings.file_faults
    assert "cannot set notify.urls" in fault
    assert SECRET not in fault
