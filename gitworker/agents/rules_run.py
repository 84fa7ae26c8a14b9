"""Decisions about a supervised run. Pure, and light: imported before the agent starts."""

from __future__ import annotations

from gitworker.bus.limits.rules_secrets import redacted_words
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.model.message import ORDERS, PAUSE

TYPE_CHECKING = False  # `typing` delays the agent by 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,")
COMMAND_MAX = 1000  # characters of a command line that are recorded
REQUEST_MAX = 65_536  # characters of the request that repeats a run
REASON_MAX = 500
SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV",
    13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
}  # fmt: skip
# Programs that one command starts and all use from then on, by name.
SHARED = frozenset({
    "tmux", "screen", "SCREEN", "gpg-agent", "ssh-agent", "dirmngr", "scdaemon", "keyboxd",
    "watchman", "dbus-daemon", "dbus-launch",
})  # fmt: skip
SHARED_GIT = frozenset({
    "fsmonitor--daemon", "credential-cache--daemon", "maintenance", "gc",
})  # fmt: skip
VALUED_GIT_OPTIONS = frozenset({"-C", "-c"})
BACKGROUND = "gitworker.hookentry"
ARGUMENT_MAX = 131_071  # MAX_ARG_STRLEN of Linux, without the final NUL
# A state without work for an agent, in words, and the command that helps.
NO_WORK = {
    "IDLE": ("has no task", "git worker assign {worker} <task>"),
    "IN_REVIEW": ("is in review", "git worker reject {worker} -m <text>"),
    "APPROVED": ("is approved", "git worker reject {worker} -m <text>"),
    "STALE": ("is stale (its review takes long)", "git worker reject {worker} -m <text>"),
    "COMPLETED": ("has landed", "git worker assign {worker} <task>"),
}
# The command for the worker itself, whose work others judge.
OWN_NO_WORK = {
    "IN_REVIEW": "git worker wait {worker} --for verdict",
    "APPROVED": "git worker wait {worker} --for landed",
    "STALE": "git worker wait {worker} --for verdict",
}


class UnfinishedOperation(Conflict):
    """An operation on a worker is open: in progress, or left by a killed command."""

    code = "unfinished_act"

    def __init__(self, worker: str, operation: str) -> None:
        super().__init__(
            f"another {operation} of {worker} is not finished", "git worker recover", code=self.code
        )


def operation_refusal(worker: str, kind: str | None) -> UnfinishedOperation | None:
    """Return the error if an operation of some kind is open on a worker, else None.

    It may remove the worktree.
    """
    return None if kind is None else UnfinishedOperation(worker, kind)


def run_refusal(
    worker: str,
    state: str,
    *,
    stale_from: str | None,
    no_worktree: GitWorkerError | None,
    running: int | None,
    presumed_for_ms: int = 0,
    is_own: bool = False,
) -> GitWorkerError | None:
    """Return the error if no agent can be started as a worker, else None.

    `is_own`: the worker itself asks. `stale_from` is the state before STALE, `no_worktree` the
    refusal for a missing worktree. `running` is the process of another supervised agent that is
    alive there; it counts as alive for `presumed_for_ms` if only its last heartbeat says so.
    """
    if not may_restart(state, stale_from=stale_from):
        words, hint = NO_WORK[state]
        hint = OWN_NO_WORK.get(state, hint) if is_own else hint
        return Refused(
            f"worker {worker} {words}, so there is no work to start an agent for",
            hint.format(worker=worker),
        )
    if no_worktree is not None:
        return no_worktree
    if running is not None and presumed_for_ms > 0:
        left_s = -(-presumed_for_ms // 1000)
        return Conflict(
            f"worker {worker} may still run an agent: process {running} of an earlier boot, or of"
            f" another host or PID namespace, counts as alive for {left_s} more seconds",
            f"sleep {left_s} && git worker resume {worker}",
            code="busy_seat",
        )
    if running is not None:
        return Conflict(
            f"worker {worker} already runs an agent (process {running})",
            f"git worker stop {worker}",
            code="busy_seat",
        )
    return None


def may_restart(state: str, *, stale_from: str | None) -> bool:
    """Return True if a state has work for an agent; `stale_from` is the state before STALE."""
    return state not in NO_WORK or (state == "STALE" and stale_from == "WORKING")


def next_after_order(
    worker: str,
    command: str,
    state: str,
    *,
    stale_from: str | None,
    has_ended: bool,
    presumed_for_ms: int = 0,
) -> str:
    """Return the command after an order: it shows the effect, or helps if the agent has ended.

    One that has ended still counts as alive for `presumed_for_ms`, so the command waits for that.
    """
    if has_ended and may_restart(state, stale_from=stale_from):
        if (left_s := -(-presumed_for_ms // 1000)) > 0:
            return f"sleep {left_s} && git worker resume {worker}"
        return f"git worker resume {worker}"
    verb = "continue" if command == PAUSE and not has_ended else "show"
    return f"git worker {verb} {worker}"


def may_end(state: str, *, is_ours: bool) -> bool:
    """Return True if the end of its agent changes the state of a worker.

    `is_ours`: the worker still holds the task and the process of the run. A state that the agent
    itself or a person has set meanwhile is kept.
    """
    return is_ours and state in ("WORKING", "STALE")


def is_stale(state: str) -> bool:
    """Return True if a worker must be recovered before the end of its agent can be recorded."""
    return state == "STALE"


def is_shared(words: list[str]) -> bool:
    """Return True if a process serves all programs, whichever command happened to start it.

    `words` is its command line: a daemon of the user, git's maintenance, or our background jobs.
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
    """Return True if a `cmd` message holds a command that a supervisor knows."""
    return command in ORDERS


def shell_status(code: int) -> int:
    """Return an exit status as a shell reports it: 128 + n for the end by signal n (-n)."""
    return code if code >= 0 else 128 - code


def reason_of(code: int) -> str:
    """Return the failure of a process in words, empty on success; a negative code is a signal."""
    if code == 0:
        return ""
    if code > 0:
        return f"it ended with status {code}"
    return f"it was ended by {SIGNALS.get(-code, f'signal {-code}')}"


def clipped(text: object) -> str:
    """Return a reason as one short line."""
    words = " ".join(str(text).split()) if text is not None else ""
    return words if len(words) <= REASON_MAX else words[: REASON_MAX - 1] + "…"


def command_text(words: list[str]) -> str:
    """Return a command line for people: quoted, without secrets, cut to a limit, valid UTF-8."""
    text = " ".join(_quoted(word) for word in redacted_words(words))
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= COMMAND_MAX else text[: COMMAND_MAX - 1] + "…"


def request_text(
    words: Sequence[str],
    *,
    is_detached: bool,
    time_limit_s: float | None,
    agent: str | None = None,
    auto_resume: bool | None = None,
    number: int = 0,
) -> str | None:
    """Return the request of a run as JSON; None if it has secrets or is too long to be recorded.

    `agent` is the name of a known agent; the words are then its options. `auto_resume` and the
    `number` of the round are recorded unless they are the defaults.
    """
    if redacted_words(words) != list(words):
        return None
    import json  # 1 ms, unless it is loaded already

    fields = {
        "words": list(words), "detached": is_detached, "time_limit_s": time_limit_s,
        "agent": agent, **({} if auto_resume is None else {"auto_resume": auto_resume}),
        **({"round": number} if number else {}),
    }  # fmt: skip
    text = json.dumps(fields)
    return text if len(text) <= REQUEST_MAX else None


def uses_prompt(words: Sequence[str]) -> bool:
    """Return True if a command has a placeholder for the prompt or for its file."""
    empty = {"prompt": "", "prompt_file": ""}
    other = dict.fromkeys(empty, "x")
    return any("{" in word and fill(word, empty) != fill(word, other) for word in words)


def fill(word: str, values: Mapping[str, str]) -> str:
    """Return a word of a command with each `{name}` replaced by its value.

    `{{name}}` stands for the text `{name}`. Everything else in braces stays as it is, `${name}` of
    a shell included, and values are not searched for placeholders.
    """
    parts = []
    at = 0
    while (brace := word.find("{", at)) >= 0:
        parts.append(word[at:brace])
        is_variable = word[:brace].endswith("$")
        for name, value in () if is_variable else values.items():
            if word.startswith(f"{{{name}}}", brace):
                parts.append(value)
                at = brace + len(name) + 2
                break
            if word.startswith(f"{{{{{name}}}}}", brace):
                parts.append(f"{{{name}}}")
                at = brace + len(name) + 4
                break
        else:
            parts.append("{")
            at = brace + 1
    return "".join(parts) + word[at:]


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
