"""Which commands there are, with the first line of each one's help, so that help imports none.

A command is `command` in `cli/commands/ROOM/NAME.py`: ROOM is that of its section in the help, or
the group for a command of a group (`msg/send.py`). A test compares the lines here with those there.
"""

from collections.abc import Mapping

Sections = Mapping[str, Mapping[str, str]]

COMMANDS: Sections = {
    "Set up": {
        "init": "Set gitworker up in this repository.",
        "hooks": "Install, remove and inspect our git hooks.",
        "completion": "Print the completion script for a shell.",
        "help": "Explain a topic or a command.",
    },
    "Work": {
        "spawn": "Give a worker a task: a branch, a worktree, our hooks.",
        "assign": "Give the next task to a worker that is free.",
        "adopt": "Take existing work in: a branch, or a worktree made by hand.",
        "start": "Say that work has begun, and by which process.",
        "exec": "Run an agent in a worker's worktree, under supervision.",
        "heartbeat": "Give a sign of life.",
        "sync": "Rebase my branch onto the target now.",
        "done": "Hand the work in for review.",
        "fail": "Give up on a task, saying why.",
    },
    "Review and land": {
        "approve": "Approve a worker's branch, rebased onto the target.",
        "reject": "Send a worker's branch back with a request.",
        "merge": "Land approved work on the target.",
        "verify": "Run the verify commands on a commit.",
        "trust": "Agree to the commands that this repository brings.",
        "queue": "Show who waits to land, in which order, and what was verified.",
    },
    "Look": {
        "status": "Show every worker on one screen.",
        "list": "List the workers, one row each.",
        "agents": "List who is alive, doing what, with what progress.",
        "show": "Show everything about one worker.",
        "diff": "Show what would land.",
        "conflicts": "Show which branches conflict, and in which files.",
        "path": "Print where a worker's worktree is.",
        "log": "Show what happened, newest last.",
        "watch": "Watch a task in tmux: its agent's log above, its messages below.",
        "attach": "Go to the tmux window that watches a task.",
    },
    "Talk": {
        "msg": "Send, read and follow messages on the bus.",
        "claim": "Hold tasks, paths and other things, exclusively for a while.",
    },
    "Clean up and repair": {
        "cancel": "Withdraw a worker's task; its work is kept under a rescue ref.",
        "reset": "Clear a failed worker for a new task; its work is kept.",
        "recycle": "Make a completed worker idle.",
        "recover": "Finish interrupted acts, or bring a stale worker back.",
        "undo": "Take the last approve, merge, cancel, reset, adopt or gc back.",
        "gc": "Let go of old rescue refs, trash, verify trees and logs.",
        "fsck": "Prove that nothing is lost and that everything agrees.",
        "pool": "Show, fill or empty the pool of parked worktrees.",
        "doctor": "Check this repository and say how to repair it.",
        "validate": "Check a transition log against every rule.",
    },
}
ROOMS: Mapping[str, str] = {
    "Set up": "setup",
    "Work": "work",
    "Review and land": "review",
    "Look": "look",
    "Clean up and repair": "repair",
}
SUBCOMMANDS: Mapping[str, Sections] = {
    "msg": {
        "Commands": {
            "send": "Send a message and print its id.",
            "poll": "Print my unread messages, then acknowledge them.",
            "ack": "Acknowledge messages up to a position.",
            "follow": "Print messages as they come.",
            "request": "Send a message and print the answer to it.",
            "show": "Show one message.",
            "stats": "Show how much is on the bus, and who is behind.",
            "search": "Find messages by their words, newest first.",
            "prune": "Archive old messages, then take them off the bus.",
            "export": "Bring the log files up to date and say where they are.",
        },
    },
    "claim": {
        "Commands": {
            "take": "Claim something and print the claim's epoch.",
            "renew": "Let a claim go on.",
            "release": "Give a claim back.",
            "list": "List the claims, one row each.",
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


def module_of(name: str, *, group: str = "") -> str:
    """Return the module that holds a command, for a command of a group with that group's name."""
    if group:
        return f"gitworker.cli.commands.{group}.{name}"
    (title,) = (title for title, section in COMMANDS.items() if name in section)
    return f"gitworker.cli.commands.{ROOMS[title]}.{name}"
