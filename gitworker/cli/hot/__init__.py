"""The hot verbs, which agents call often, dispatched before click loads.

A verb's parser passes anything unusual to the click command of the same name, which defines the
verb completely. This package imports nothing heavy (a test pins the list).
"""

from __future__ import annotations

from gitworker.errors import NEEDS_LINK, GitWorkerError, NotFound


def run_hot(words: list[str]) -> int | None:
    """Run a hot verb and return its exit status; None if click must parse it.

    A verb that changes what all machines of a fleet share runs again by way of the link, and so
    does one that misses what another machine has perhaps just made.
    """
    try:
        return _run(words)
    except GitWorkerError as error:
        if error.code not in (NEEDS_LINK, NotFound.code):
            raise
        from gitworker.cli.hot import place

        if error.code == NotFound.code and not place.IN_FLEET:
            raise
        place.WAITING.append(words[0])
        return _run(words)


def _run(words: list[str]) -> int | None:
    if not words or any(word[:1] == "<" for word in words):  # it may be a placeholder
        return None
    if words[0] == "heartbeat":
        from gitworker.cli.hot.heartbeat import run_heartbeat  # each verb pays for itself only

        return run_heartbeat(words[1:])
    if words[0] == "hook":
        from gitworker.cli.hot.hook import run_hook

        return run_hook(words[1:])
    if words[0] == "spawn":
        from gitworker.cli.hot.spawn import run_spawn

        return run_spawn(words[1:])
    if words[0] == "land":
        from gitworker.cli.hot.land import run_land

        return run_land(words[1:])
    if words[0] == "exec":
        from gitworker.cli.hot.exec import run_exec

        return run_exec(words[1:])
    if words[0] == "mcp":
        from gitworker.cli.hot.mcp import run_mcp

        return run_mcp(words[1:])
    if words[:2] == ["msg", "send"]:
        from gitworker.cli.hot.send import run_send

        return run_send(words[2:])
    if words[:2] == ["msg", "poll"]:
        from gitworker.cli.hot.poll import run_poll

        return run_poll(words[2:])
    return None
