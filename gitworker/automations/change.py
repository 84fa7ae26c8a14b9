"""automation add, enable, disable and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.automations.rules_automation import (
    AGENT,
    Draft,
    action_of,
    cooldown_of,
    parse_name,
    require_placeholders,
    trigger_of,
)
from gitworker.automations.schedule import next_time_ms
from gitworker.errors import NotFound, Refused
from gitworker.session import require_person
from gitworker.store.planning.automations import (
    Automation,
    find_automation,
    insert_automation,
    positions,
    remove_automation,
    set_automation_enabled,
)

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader

LIST = "git worker automation list"
SUBJECT = "automations, which run commands of the user"


def add(session: Session, draft: Draft) -> Automation:
    """Add an automation; only later events and times count.

    Raises Invalid for a bad trigger, action or prompt, and Refused for a name that exists and for a
    worker, whose commands would run outside its worktree.
    """
    require_person(session, SUBJECT, LIST)
    trigger, action = trigger_of(draft), action_of(draft)
    require_placeholders(draft.prompt, draft.steps)
    now = clock.now_ms()
    next_at_ms = next_time_ms(trigger, before_ms=None, now=now)
    with session.store.write() as writer:
        if find_automation(writer, parse_name(draft.name)) is not None:
            raise Refused(
                f"automation {draft.name} exists already",
                f"git worker automation show {draft.name}",
                code="automation_exists",
            )
        messages, transitions = positions(writer)
        insert_automation(
            writer,
            Automation(
                draft.name, "default", draft.title, draft.enabled, trigger, draft.steps,
                draft.prompt, {"agent": draft.agent} if action["type"] == AGENT else None, action,
                cooldown_of(draft), draft.max_tokens, now, now, 0, next_at_ms, None, messages,
                transitions,
            ),
        )  # fmt: skip
        return require_automation(writer, draft.name)


def enable(session: Session, name: str, *, enabled: bool) -> Automation:
    """Let an automation fire from now on, or never; its runs continue."""
    require_person(session, SUBJECT, LIST)
    now = clock.now_ms()
    with session.store.write() as writer:
        found = require_automation(writer, name)
        if found.enabled != enabled:
            next_at_ms = next_time_ms(found.trigger, before_ms=None, now=now)
            set_automation_enabled(writer, name, enabled=enabled, next_at_ms=next_at_ms, now=now)
        return require_automation(writer, name)


def remove(session: Session, name: str) -> Automation:
    """Delete an automation; the records of its runs stay."""
    require_person(session, SUBJECT, LIST)
    with session.store.write() as writer:
        found = require_automation(writer, name)
        remove_automation(writer, name)
    return found


def require_automation(reader: Reader, name: str) -> Automation:
    """Return an automation; raise NotFound for an unknown one."""
    found = find_automation(reader, name)
    if found is None:
        raise NotFound(f"there is no automation {ascii(name)[:80]}", LIST)
    return found
