"""What decides about a supervised run. Pure, and light: it is imported before the agent starts."""

from gitworker.errors import Conflict, GitWorkerError, Refused

SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,")
COMMAND_MAX = 1000  # characters of a command line that are told
REASON_MAX = 500
SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV",
    13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
}  # fmt: skip
STOP, PAUSE, RESUME = "stop", "pause", "resume"
# What one command starts and all use from then on, by the name of its program.
SHARED = frozenset({
    "tmux", "screen", "SCREEN", "gpg-agent", "ssh-agent", "dirmngr", "scdaemon", "keyboxd",
    "watchman", "dbus-daemon", "dbus-launch",
})  # fmt: skip
SHARED_GIT = frozenset({
    "fsmonitor--daemon", "credential-cache--daemon", "maintenance", "gc",
})  # fmt: skip
VALUED_GIT_OPTIONS = frozenset({"-C", "-c"})
BACKGROUND = "gitworker.hookentry"
HINTS = {
    "STALE": "git worker recover {worker}",
    "FAILED": "git worker reset {worker}",
    "IDLE": "git worker assign {worker} TASK",
    "COMPLETED": "git worker assign {worker} TASK",
}


class UnfinishedAct(Conflict):
    """Something is done to a seat just now, or was begun by a command that was killed."""

    code = "unfinished_act"

    def __init__(self, worker: str, act: str) -> None:
        super().__init__(
            f"somebody's {act} of {worker} is not finished", "git worker recover", code=self.code
        )


def run_refusal(
    worker: str, state: str, *, worktree: str | None, busy: int | None
) -> GitWorkerError | None:
    """Return why no agent can be started in a seat, or None.

    `busy` is the process of another supervised agent that lives there.
    """
    if state not in ("ASSIGNED", "WORKING"):
        hint = HINTS.get(state, "git worker show {worker}").format(worker=worker)
        return Refused(f"worker {worker} is {state}: there is no work to start an agent for", hint)
    if worktree is None:
        return Refused(f"worker {worker} has no worktree", f"git worker show {worker}")
    if busy is not None:
        return Conflict(
            f"an agent works in the seat {worker} already (process {busy})",
            f'git worker msg send cmd \'{{"command": "stop"}}\' --to {worker}',
            code="busy_seat",
        )
    return None


def must_start(state: str) -> bool:
    """Tell whether a seat that may run an agent has still to go to work."""
    return state == "ASSIGNED"


def may_end(state: str, *, is_ours: bool) -> bool:
    """Tell whether the end of its agent says something about a seat.

    `is_ours` says that the seat still holds the task and process of the run. What the agent itself
    or a person made of it meanwhile stands.
    """
    return is_ours and state in ("WORKING", "STALE")


def is_stale_seat(state: str) -> bool:
    """Tell whether a seat has to be recovered before its agent's end can be told."""
    return state == "STALE"


def is_shared(words: list[str]) -> bool:
    """Tell whether a process serves everybody, whoever's command happened to start it.

    `words` is its command line: a daemon of the user's, git's own upkeep, or our background jobs.
    """
    if not words:
        return False
    name = words[0].rpartition("/")[2].partition(":")[0]  # `tmux: server`
    if name in SHARED or BACKGROUND in words:
        return True
    if name == "git":
        return _git_command(words[1:]) in SHARED_GIT
    return name.removeprefix("git-") in SHARED_GIT


def is_order(command: object) -> bool:
    """Tell whether a `cmd` message says what a supervisor understands."""
    return command in (STOP, PAUSE, RESUME)


def shell_status(code: int) -> int:
    """Return an exit status as a shell tells it: 128 + n for the end by signal n (-n)."""
    return code if code >= 0 else 128 - code


def reason_of(code: int) -> str:
    """Return in words how a process ended; a negative code is a signal. Nothing for success."""
    if code == 0:
        return ""
    if code > 0:
        return f"it ended with status {code}"
    return f"it was ended by {SIGNALS.get(-code, f'signal {-code}')}"


def clipped(text: object) -> str:
    """Return what somebody gives as a reason as one short line."""
    words = " ".join(str(text).split()) if text is not None else ""
    return words if len(words) <= REASON_MAX else words[: REASON_MAX - 1] + "…"


def command_text(words: list[str]) -> str:
    """Return a command line for people, quoted for a shell, cut where it is long, valid UTF-8."""
    text = " ".join(_quoted(word) for word in words)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= COMMAND_MAX else text[: COMMAND_MAX - 1] + "…"


def _git_command(words: list[str]) -> str | None:
    """Return the subcommand in the words that follow `git`."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word
        is_value = not is_value and word in VALUED_GIT_OPTIONS
    return None


def _quoted(word: str) -> str:
    if word and SAFE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
