"""Which commands there are, with the first line of each one's help, so that help imports none.

A command `NAME` lives in `cli/commands/NAME.py` (`msg send` in `msg_send.py`) as `command`. A test
compares the lines here with those there.
"""

from collections.abc import Mapping

Sections = Mapping[str, Mapping[str, str]]

COMMANDS: Sections = {
    "Work": {
        "init": "Set gitworker up in this repository.",
        "spawn": "Give a worker a task: a branch, a worktree, our hooks.",
        "assign": "Give the next task to a worker that is free.",
        "start": "Say that work has begun, and by which process.",
        "heartbeat": "Give a sign of life.",
        "sync": "Rebase my branch onto the target now.",
        "done": "Hand the work in for review.",
        "fail": "Give up on a task, saying why.",
    },
    "Review and land": {
        "approve": "Approve a worker's branch, rebased onto the target.",
        "reject": "Send a worker's branch back with a request.",
        "merge": "Land approved work on the target.",
    },
    "Look": {
        "status": "Show every worker on one screen.",
        "list": "List the workers, one row each.",
        "show": "Show everything about one worker.",
        "diff": "Show what would land.",
        "path": "Print where a worker's worktree is.",
        "log": "Show what happened, newest last.",
    },
    "Talk": {
        "msg": "Send, read and follow messages on the bus.",
    },
    "Clean up and repair": {
        "cancel": "Withdraw a worker's task; its work is kept under a rescue ref.",
        "reset": "Clear a failed worker for a new task; its work is kept.",
        "recycle": "Make a completed worker idle.",
        "recover": "Finish interrupted acts, or bring a stale worker back.",
        "undo": "Take the last approve, merge, cancel or reset back.",
        "hooks": "Install, remove and inspect our git hooks.",
        "doctor": "Check this repository and say how to repair it.",
        "validate": "Check a transition log against every rule.",
        "completion": "Print the completion script for a shell.",
    },
}
SUBCOMMANDS: Mapping[str, Sections] = {
    "msg": {
        "Commands": {
            "send": "Send a message and print its id.",
            "poll": "Print my unread messages, then acknowledge them.",
            "ack": "Acknowledge messages up to a position.",
            "follow": "Print messages as they come.",
        },
    },
    "hooks": {
        "Commands": {
            "install": "Make our hooks fire in every worker's worktree.",
            "uninstall": "Take our hooks, excludes and link out of the repository.",
            "status": "Show in which worktrees our hooks fire.",
        },
    },
}
ALIASES: Mapping[str, str] = {"submit": "done"}
