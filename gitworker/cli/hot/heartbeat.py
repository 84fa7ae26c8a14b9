"""`heartbeat` without click: send one heartbeat."""

from __future__ import annotations

from gitworker.bus.heartbeat_message import (
    HeartbeatReport,
    require_claims_kept,
    require_heartbeat_worker,
    send_heartbeat,
)
from gitworker.cli.hot.place import HotContext, find_hot_context
from gitworker.cli.hot.words import split_words
from gitworker.cli.output import narrate
from gitworker.errors import Invalid
from gitworker.model.ids import parse_task_id
from gitworker.store.heartbeats import STATUSES
from gitworker.store.messages.mailbox import is_interrupted, task_of_worker

OPTIONS = {"--status": "STATUS", "--progress": "F", "--task": "T", "--as": "ID"}


def run_heartbeat(words: list[str]) -> int | None:
    """Send one heartbeat; return None if click must parse the words."""
    split = split_words(words, OPTIONS)
    if split is None or len(split[1]) > 1:
        return None
    values, rest = split
    if values.get("--status", STATUSES[0]) not in STATUSES:
        return None
    try:
        progress = float(values["--progress"]) if "--progress" in values else None
    except ValueError:
        return None
    place = find_hot_context(values.get("--as"))
    if place is None:
        return None
    name = rest[0] if rest else None
    with place.store.read() as reader:
        known = require_heartbeat_worker(reader, name, place.actor, other=place.other)
        if is_interrupted(reader, known) or task_of_worker(reader, known) is None:
            return None  # the full command takes the work up, or names the lost task
    sign = HeartbeatReport(values.get("--status"), values.get("--task"), progress)
    worker = report_heartbeat(place, name, sign)
    require_claims_kept(place.store, worker)
    return 0


def report_heartbeat(place: HotContext, name: str | None, sign: HeartbeatReport) -> str:
    """Record a heartbeat and return the worker's id; raise NotFound for an unknown worker."""
    if sign.task is not None:
        parse_task_id(sign.task)
    if sign.progress is not None and not 0 <= sign.progress <= 1:
        raise Invalid(
            f"the progress is {sign.progress:g}; it must be between 0 and 1",
            f"git worker heartbeat{f' {name}' if name else ''} --progress 0.5",
        )
    with place.store.read() as reader:
        worker = require_heartbeat_worker(reader, name, place.actor, other=place.other)
        if sign.task is not None and sign.task != task_of_worker(reader, worker):
            sign.task = _without_secrets(sign.task)
    lease_ms = place.limits.claims_lease_s * 1000
    if send_heartbeat(place.store, place.paths, worker=worker, sign=sign, lease_ms=lease_ms):
        place.notify()
    return worker


def _without_secrets(task: str) -> str:
    """Return a task that is not the worker's as it may be recorded; warn of a change."""
    from gitworker.bus.limits.rules_secrets import LEFT_OUT, redacted  # 1 ms, for such a task only

    shared = redacted(task)
    if shared != task:
        narrate(LEFT_OUT)
    return shared
