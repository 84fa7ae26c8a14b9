"""The list of commands, with the first line of each one's help, so that help imports no command.

A command is the name `command` in `cli/commands/ROOM/NAME.py` (`_` for `-`). ROOM is the room of
its section in COMMANDS, or the group's name for a command of a group (`msg/send.py`), with the
section below it if the group has several (`task/plan/add.py`). A new command is one line in its
section; the help shows it there, or first of all if it is in EVERY_DAY. A test compares these lines
with the commands' own help.
"""

from collections.abc import Mapping

Sections = Mapping[str, Mapping[str, str]]

# The verbs of ordinary work, in its order.
EVERY_DAY = (
    "spawn", "status", "inbox", "show", "diff", "sync", "done", "approve", "reject", "land",
    "merge", "resume", "undo",
)  # fmt: skip
EVERY_DAY_TITLE = "Every day"
COMMANDS: Sections = {
    "Set up": {
        "init": "Set up gitworker in this repository.",
        "config": "List the settings with their origin, or change one.",
        "hooks": "Install, remove and inspect the git hooks.",
        "agent": "Register agents for tasks, or attach our hooks to one.",
        "fleet": "Share tasks, workers and reviews with other machines.",
        "hook": "Answer an event of a coding agent's hook.",
        "mcp": "Serve tools to an agent by MCP, over standard input and output.",
        "completion": "Print the completion script for a shell.",
        "shell-init": "Print shell code that lets `switch` change directory.",
        "help": "Explain a topic or a command.",
    },
    "Hand out tasks": {
        "run": "Hand tasks to agents until nothing is left to do.",
        "project": "Divide the work into projects with weights, limits and budgets.",
    },
    "Work": {
        "task": "Plan tasks: their order, texts and dependencies.",
        "automation": "Start commands, tasks and agents by time or by events.",
        "workstream": "Group tasks that end together, and validate their result.",
        "spawn": "Give a worker a task, with its own branch and worktree.",
        "assign": "Give the next task to a free worker.",
        "adopt": "Adopt existing work: a branch, or a worktree made by hand.",
        "start": "Start work on a task, and record its process.",
        "exec": "Run an agent in a worker's worktree, under supervision.",
        "heartbeat": "Send a heartbeat.",
        "resume": "Take up failed, stale or returned work in place.",
        "sync": "Rebase the worker's branch onto the target.",
        "done": "Hand in the work for review.",
        "fail": "Give up a task, with a reason.",
    },
    "Review and land": {
        "review": "Review a worker's change: comments, marks, evidence.",
        "approve": "Approve a worker's branch and rebase it onto the target.",
        "reject": "Return a worker's branch with a request for changes.",
        "merge": "Land approved work on the target.",
        "land": "Approve work if that is still open, and land it on the target.",
        "verify": "Run the verify commands on a commit.",
        "trust": "Trust the commands of this repository.",
        "queue": "Show the landing queue and its verdicts.",
        "ui": "Show the board, inbox, tasks, reviews and queue in the terminal.",
    },
    "Look": {
        "status": "Show all workers on one screen.",
        "list": "List the workers, one row each.",
        "agents": "List the agents at work, or check those that are installed.",
        "stats": "Show the runs of agents with their time, tokens and cost.",
        "show": "Show all details of a worker.",
        "diff": "Show the changes that would land.",
        "conflicts": "Show the branches that conflict, with their files.",
        "path": "Print the path of a worker's worktree.",
        "switch": "Change to a worker's worktree, or to the main checkout.",
        "log": "Show events, newest last.",
        "watch": "Watch a task in tmux: its agent's log above, its messages below.",
        "attach": "Switch to the tmux window of a task.",
        "web": "Show a page with the board, the inbox, reviews and the queue.",
    },
    "Talk": {
        "inbox": "Show the items that need you, each with its command.",
        "send": "Send a text to a worker.",
        "ask": "Ask a person, wait for the answer, and print it.",
        "reply": "Answer the question of a worker.",
        "questions": "List the questions that wait for an answer.",
        "notify": "Show the targets of notifications and the last events.",
        "wait": "Wait until a worker has a verdict, has landed, or is in a state.",
        "stop": "Stop a worker's agent.",
        "pause": "Pause a worker's agent.",
        "continue": "Let a paused agent run again.",
        "msg": "Send, read and follow messages on the bus.",
        "claim": "Claim tasks, paths and other resources for a limited time.",
    },
    "Clean up and repair": {
        "cancel": "Cancel a worker's task and keep its work under a rescue ref.",
        "reset": "Reset a failed worker for a new task and keep its work.",
        "recycle": "Make a completed worker idle.",
        "recover": "Finish interrupted operations, or reactivate a stale worker.",
        "undo": "Undo the last approve, merge, cancel, reset, adopt or gc.",
        "gc": "Delete old rescue refs, trash, verify worktrees and logs.",
        "fsck": "Check that no work is lost and that all records agree.",
        "pool": "Show, fill or empty the pool of parked worktrees.",
        "doctor": "Check this repository and suggest repairs.",
        "validate": "Check a transition log against every rule.",
    },
}
ROOMS: Mapping[str, str] = {
    "Set up": "setup",
    "Hand out tasks": "orchestrate",
    "Work": "work",
    "Review and land": "review",
    "Look": "look",
    "Talk": "talk",
    "Clean up and repair": "repair",
}
SUBCOMMANDS: Mapping[str, Sections] = {
    "task": {
        "Plan": {
            "add": "Add a task to the queue and print its id.",
            "import": "Add the tasks of a plan to the queue, all or nothing.",
            "depend": "Let a task wait for other tasks.",
            "edit": "Change the fields of a task.",
        },
        "Look": {
            "ready": "List the tasks that may start now, in their order.",
            "list": "List the tasks, one row each, with the next command.",
            "show": "Show all details of a task.",
            "why": "Say in one line why a task is not running.",
            "graph": "Draw the tasks with their dependencies.",
            "text": "Print the text of a task.",
        },
        "Change": {
            "hold": "Keep a task from being started.",
            "release": "Release a task that is held back.",
            "restart": "Put a task back into the queue.",
            "stop": "Stop work on a task.",
            "skip": "Record a failed task as completed without its work.",
            "cancel": "Withdraw a task.",
        },
    },
    "project": {
        "Commands": {
            "add": "Add a project to this repository and print its name.",
            "list": "List the projects, one row each.",
            "show": "Show all details of a project.",
            "edit": "Change the weight, the limits or the budget of a project.",
            "pause": "Start no more tasks of a project.",
            "resume": "Let the tasks of a paused or archived project start.",
            "archive": "Close a project and keep its record.",
        },
    },
    "fleet": {
        "Commands": {
            "join": "Share tasks, workers, reviews and messages with other machines.",
            "edit": "Change the capabilities of a machine, of this one by default.",
            "leave": "Leave the fleet, and keep a copy of all that it has here.",
            "status": "Show the machines of the fleet, and whether it can be reached.",
        },
    },
    "automation": {
        "Commands": {
            "add": "Add an automation and print its name.",
            "list": "List the automations, one row each.",
            "show": "Show all details of an automation.",
            "run": "Run an automation now and wait for its end.",
            "history": "List the runs of an automation, newest first.",
            "enable": "Let an automation fire again.",
            "disable": "Keep an automation from firing.",
            "remove": "Delete an automation.",
        },
    },
    "workstream": {
        "Commands": {
            "create": "Create a workstream and print its id.",
            "add": "Put tasks into a workstream, all or none.",
            "list": "List the workstreams, one row each.",
            "show": "Show a workstream with its tasks.",
            "validate": "Run the final validation of a workstream.",
            "cancel": "Cancel a workstream and its tasks.",
            "archive": "Write the archive of an ended workstream and print its path.",
        },
    },
    "review": {
        "Read": {
            "show": "Show a review on one page: task, evidence, changes, comments.",
            "list": "List the comments of a review, one row each.",
            "diff": "Show the changes between two rounds of a review.",
            "viewed": "Mark hunks as viewed.",
        },
        "Write": {
            "comment": "Write a comment on lines or on the whole change, as a draft.",
            "edit": "Replace the words of a draft.",
            "drop": "Delete a draft.",
            "send": "Send all drafts to the author, with a verdict.",
        },
        "Settle": {
            "handled": "Record that you have dealt with a comment.",
            "resolve": "Close a comment.",
            "reopen": "Open a comment again.",
        },
    },
    "msg": {
        "Commands": {
            "send": "Send a message and print its id.",
            "poll": "Print my unread messages and acknowledge them.",
            "ack": "Acknowledge messages up to a position.",
            "follow": "Print new messages as they arrive.",
            "request": "Send a message and print its reply.",
            "show": "Show one message.",
            "stats": "Show the size of the bus and the agents that lag behind.",
            "search": "Search messages by words, newest first.",
            "prune": "Archive old messages and remove them from the bus.",
            "export": "Update the log files and print their paths.",
        },
    },
    "claim": {
        "Commands": {
            "take": "Take a claim and print its epoch.",
            "renew": "Renew a claim.",
            "release": "Release a claim.",
            "list": "List the claims, one row each.",
        },
    },
    "agents": {
        "Commands": {
            "list": "List the agents with their liveness, status and progress.",
            "doctor": "Check which coding agents are installed and can work here.",
        },
    },
    "agent": {
        "Commands": {
            "add": "Register an agent that takes tasks.",
            "list": "List the registered agents, one row each.",
            "show": "Show all details of a registered agent.",
            "pause": "Give an agent no more tasks.",
            "resume": "Let a paused or failed agent take tasks again.",
            "remove": "Remove an agent once its task has ended.",
            "install": "Attach our hooks to a coding agent.",
            "uninstall": "Remove our hooks from a coding agent's settings.",
        },
    },
    "hooks": {
        "Commands": {
            "install": "Install the hooks in every worker's worktree.",
            "uninstall": "Remove the hooks, excludes and link from the repository.",
            "status": "Show the worktrees in which the hooks are installed.",
        },
    },
}
# The command that a group runs if none is named.
DEFAULTS: Mapping[str, str] = {"agents": "list", "review": "show"}
# Groups whose default command also takes a word that is no command: `review auth`.
WITH_ARGUMENT = frozenset({"review"})
# Other words for commands. An alias runs its command.
ALIASES: Mapping[str, str] = {
    "new": "spawn",
    "add": "spawn",
    "create": "spawn",
    "ls": "list",
    "submit": "done",
    "request-changes": "reject",
    "drop": "cancel",
    "retry": "resume",
    "cd": "switch",
}
# A suggestion is only printed, because the word says less than its command does, or may mean
# another one. `{worker}` is the first argument.
SUGGESTIONS: Mapping[str, str] = {
    "rm": "git worker cancel {worker}   # keeps the work under a rescue ref",
    "remove": "git worker cancel {worker}   # keeps the work under a rescue ref",
    "delete": "git worker cancel {worker}   # keeps the work under a rescue ref",
    "abort": "git worker cancel {worker}   # keeps the work under a rescue ref",
    "kill": "git worker stop {worker}",
    "clean": "git worker gc --dry-run",
    "prune": "git worker gc --dry-run",
    "revert": "git worker undo --list",
    "rollback": "git worker undo --list",
    "undo-merge": "git worker undo --list",
    "pull": "git worker sync   # in the worker's worktree",
    "rebase": "git worker sync   # in the worker's worktree",
    "update": "git worker sync   # in the worker's worktree",
    "commit": "git commit   # in the worker's worktree; then git worker done",
    "push": "git worker done --push",
    "finish": "git worker done",
    "complete": "git worker done",
    "accept": "git worker approve {worker}",
    "deny": "git worker reject {worker} -m <text>",
    "comment": "git worker review comment {worker} -m <text>",
    "ship": "git worker land {worker}",
    "restart": "git worker resume {worker}",
    "reopen": "git worker resume {worker}",
    "unpause": "git worker continue {worker}",
    "info": "git worker show {worker}",
    "inspect": "git worker show {worker}",
    "view": "git worker show {worker}",
    "ps": "git worker status",
    "checkout": "git worker switch {worker}",
    "goto": "git worker switch {worker}",
    "open": "git worker switch {worker}",
    "history": "git worker log",
    "logs": "git worker log {worker} --follow",
    "tail": "git worker log {worker} --follow",
    "launch": "git worker exec {worker} -- <command>",
    "mail": "git worker inbox",
    "messages": "git worker inbox",
    "tell": "git worker send {worker} <text>",
    "lock": "git worker claim take -h",
    "unlock": "git worker claim release -h",
    "check": "git worker doctor",
    "settings": "git worker config",
    "set": "git worker config -h",
    "fix": "git worker fsck --repair",
    "repair": "git worker fsck --repair",
    "man": "git worker help",
    "version": "git worker --version",
    "agent attach": "git worker agent install {worker}",
    "agent detach": "git worker agent uninstall {worker}",
    "agent doctor": "git worker agents doctor",
    "hooks add": "git worker hooks install",
    "hooks remove": "git worker hooks uninstall",
    "msg list": "git worker msg poll --no-ack",
    "msg read": "git worker msg poll",
    "claim add": "git worker claim take -h",
}


def help_sections() -> Sections:
    """Return the sections of the main help: the commands of every day, then the others by topic."""
    summaries = {name: text for section in COMMANDS.values() for name, text in section.items()}
    sections = {EVERY_DAY_TITLE: {name: summaries.pop(name) for name in EVERY_DAY}}
    for title, section in COMMANDS.items():
        sections[title] = {name: text for name, text in section.items() if name in summaries}
    return sections


def module_of(name: str, *, group: str = "") -> str:
    """Return the module that defines a command; `group` is the name of its group, if any."""
    file = name.replace("-", "_")
    if group:
        room = ""
        if len(SUBCOMMANDS[group]) > 1:
            (title,) = (title for title, part in SUBCOMMANDS[group].items() if name in part)
            room = f"{title.lower()}."
        return f"gitworker.cli.commands.{group}.{room}{file}"
    (title,) = (title for title, section in COMMANDS.items() if name in section)
    return f"gitworker.cli.commands.{ROOMS[title]}.{file}"


def aliases_of(name: str) -> list[str]:
    """Return the other words that run a command."""
    return [word for word, command in ALIASES.items() if command == name]
