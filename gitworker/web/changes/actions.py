"""The changes that a page can ask for: each is one call of the service, as on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Invalid, NotFound
from gitworker.service.outcome_words import landing_outcome, order_outcome, restart_outcome
from gitworker.web.changes import review
from gitworker.web.changes.forms import NUMBER_DIGITS, done, require_number, require_text
from gitworker.web.jobs import Notice
from gitworker.web.request import NEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitworker.service.outcome_words import Outcome
    from gitworker.web.request import Site


def land(site: Site, worker: str, form: Mapping[str, str]) -> Notice:
    """Land approved work; with a commit that the page has shown, approve that one first.

    `seen` is the commit of the round on a page that has shown approved work.
    """
    if form.get("at"):
        review.approve(site, worker, form)
        return _shown(landing_outcome(site.service.merge([worker])))
    return _shown(landing_outcome(site.service.land_seen(worker, form.get("seen") or None)))


def land_all(site: Site, _name: str, _form: Mapping[str, str]) -> Notice:
    """Land all approved work."""
    return _shown(landing_outcome(site.service.merge(everything=True)))


def undo(site: Site, number: str, _form: Mapping[str, str]) -> Notice:
    """Undo the recorded operation with this number."""
    if not number.isdecimal():
        raise Invalid("the operation to undo has no number")
    if len(number) > NUMBER_DIGITS:
        raise NotFound(f"there is no operation {number}")
    return done(site.service.undo(int(number)).message)


def restart(site: Site, worker: str, _form: Mapping[str, str]) -> Notice:
    """Start the agent of a worker again, with its last command."""
    return _shown(restart_outcome(site.service, worker))


def order(command: str) -> Callable[[Site, str, Mapping[str, str]], Notice]:
    """Return the change that sends an agent the order stop, pause or resume."""

    def change(site: Site, worker: str, form: Mapping[str, str]) -> Notice:
        return _shown(order_outcome(site.service, worker, command, reason=form.get("note", "")))

    return change


def reply(site: Site, name: str, form: Mapping[str, str]) -> Notice:
    """Answer the question of a worker that the page has shown."""
    text, number = require_text(form, "text"), require_number(form, "question")
    site.service.reply(name, text, number=number)
    return done(f"{name} has your answer")


def send(site: Site, name: str, form: Mapping[str, str]) -> Notice:
    """Send a text, perhaps as the answer to a message."""
    site.service.send_note(name, require_text(form, "text"), reply_to=form.get("reply_to") or None)
    return done(f"sent to {name}")


def acknowledge(site: Site, seq: str, _form: Mapping[str, str]) -> Notice:
    """Acknowledge messages up to a position; the open pages read the inbox again."""
    if not seq.isdecimal() or len(seq) > NUMBER_DIGITS:
        raise Invalid("the message has no position")
    site.service.ack(int(seq))
    site.hub.forget(NEEDS)  # it changes no worker
    return done(f"messages up to #{seq} are read")


def agent(*, is_paused: bool) -> Callable[[Site, str, Mapping[str, str]], Notice]:
    """Return the change that pauses a registered agent, or lets it take tasks again."""

    def change(site: Site, name: str, _form: Mapping[str, str]) -> Notice:
        state = site.service.change_agent(name, is_paused=is_paused)
        return done(f"{name} is {state}")

    return change


def hold(*, held: bool) -> Callable[[Site, str, Mapping[str, str]], Notice]:
    """Return the change that keeps a task from being started, or releases it."""

    def change(site: Site, task: str, _form: Mapping[str, str]) -> Notice:
        site.service.hold_task(task, held=held)
        return done(f"{task} is {'held' if held else 'released'}")

    return change


def task_verb(verb: str, words: str) -> Callable[[Site, str, Mapping[str, str]], Notice]:
    """Return the change by one of the service's methods that take a task."""

    def change(site: Site, task: str, _form: Mapping[str, str]) -> Notice:
        getattr(site.service, f"{verb}_task")(task)
        return done(f"{task} {words}")

    return change


def address(site: Site, _name: str, _form: Mapping[str, str]) -> Notice:
    """Make an address that opens a session in one more browser."""
    path = f"/open?token={site.access.new_token()}"
    return done(f"open once, in another browser: {site.address}{path}")


# The part of the path behind the kind and the name → the change.
CHANGES: Mapping[str, Callable[[Site, str, Mapping[str, str]], Notice]] = {
    "workers/approve": review.approve,
    "workers/land": land,
    "workers/restart": restart,
    "workers/pause": order("pause"),
    "workers/continue": order("resume"),
    "workers/stop": order("stop"),
    "workers/reply": reply,
    "workers/send": send,
    "queue/land": land_all,
    "undo/undo": undo,
    "messages/ack": acknowledge,
    "agents/pause": agent(is_paused=True),
    "agents/resume": agent(is_paused=False),
    "tasks/hold": hold(held=True),
    "tasks/release": hold(held=False),
    "tasks/restart": task_verb("restart", "is in the queue again"),
    "tasks/stop": task_verb("stop", "is stopped"),
    "tasks/skip": task_verb("skip", "is recorded as completed"),
    "tasks/cancel": task_verb("cancel", "is cancelled"),
    "settings/address": address,
    **{f"workers/{verb}": change for verb, change in review.CHANGES.items()},
}
LONG = frozenset({"land"})
DECISIONS = frozenset({"workers/approve", "workers/land"})
# The changes that a script answers with the changed part of the review.
PARTS = frozenset(f"workers/{verb}" for verb in review.CHANGES)
# The page that a browser without scripts shows after a change.
PAGES: Mapping[str, str] = {
    "workers": "/workers/{}", "queue": "/queue", "undo": "/queue", "messages": "/messages",
    "agents": "/agents", "tasks": "/tasks/{}", "settings": "/settings",
}  # fmt: skip


def _shown(found: Outcome) -> Notice:
    """Return the outcome of a change as a notice."""
    if found.is_refused:
        return Notice("refused", found.text, found.hint, 409)
    return done(found.text)
