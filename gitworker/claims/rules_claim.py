"""Rules of claims: valid names, the tasks that may be claimed, and the errors. Pure."""

from gitworker.claims.rules_globs import overlap, parse_pattern
from gitworker.errors import Conflict, GitWorkerError, Invalid, NotFound, Refused
from gitworker.model.ids import ALNUM, HQ, LOWER, parse_task_id
from gitworker.model.task import TaskStatus
from gitworker.states.task_machine import HELD, status_words

NAME_MAX = 200  # characters
KIND_MAX = 32
KIND_CHARS = LOWER | {"-"}
PATH = "path:"
PATTERN_CHARS = frozenset("/*?[")
LEASE_MAX_MS = 24 * 3600 * 1000


def parse_name(text: str) -> str:
    """Return a claim's name: a task id, `path:PATTERN` or `KIND:ANYTHING`; else raise Invalid.

    A pattern's final '/' is dropped, since it does not change the claimed paths.
    """
    if not text.isprintable() or len(text) > NAME_MAX:
        raise Invalid(
            f"{ascii(text)[:60]} is not a name for a claim: it must have at most {NAME_MAX}"
            " characters, all of them printable"
        )
    kind, colon, rest = text.partition(":")
    if not colon and not PATTERN_CHARS.isdisjoint(text):
        raise Invalid(
            f"{text!r} is not a task id; write path:PATTERN to claim a pattern of paths",
            f"git worker claim take {quoted(PATH + text)}",
        )
    if not colon:
        return parse_task_id(text)
    if not kind or len(kind) > KIND_MAX or kind[0] not in LOWER or not KIND_CHARS.issuperset(kind):
        raise Invalid(
            f"{text!r} is not a name for a claim: use a task id, path:PATTERN or KIND:NAME; a"
            " kind has lower-case letters, digits and '-'",
            "git worker claim take 'path:src/**'   # or: x:deploy",
        )
    if kind == "task":
        raise Invalid(f"a task is claimed by its id alone: {rest}", f"git worker claim take {rest}")
    if rest.strip() != rest or not rest:
        raise Invalid(
            f"{text!r} is not a name for a claim: a name without surrounding spaces must follow"
            f" {kind}:"
        )
    if is_path(text):
        parse_pattern(rest)
        return text.removesuffix("/")
    return text


def is_path(name: str) -> bool:
    """Return whether a claim is on a pattern of paths."""
    return name.startswith(PATH)


def is_task(name: str) -> bool:
    """Return whether a claim is on a task."""
    return ":" not in name


def conflict(name: str, other: str) -> bool:
    """Return whether two claims exclude each other: the same name, or overlapping paths.

    An invalid pattern of a foreign program conflicts only with the same name.
    """
    if name == other or not (is_path(name) and is_path(other)):
        return name == other
    if max(len(name), len(other)) > NAME_MAX:
        return False
    try:
        return overlap(name.removeprefix(PATH), other.removeprefix(PATH))
    except Invalid:
        return False


def is_one(holder: str) -> bool:
    """Return whether a holder is a single agent; all callers outside worktrees share `hq`."""
    return holder != HQ


def parse_lease_ms(lease_s: float) -> int:
    """Return the length of a lease in milliseconds; raise Invalid unless it is 0 to 24 hours."""
    if not 0 < lease_s * 1000 <= LEASE_MAX_MS:
        raise Invalid(
            f"a lease of {lease_s:g} s is not possible: it must be more than 0 and at most"
            f" {LEASE_MAX_MS // 1000} s",
            "git worker claim take --ttl 60 <name>",
        )
    return max(1, int(lease_s * 1000))


def task_refusal(
    task: str,
    status: TaskStatus | None,
    *,
    asker: str,
    assigned: str | None,
    waits_for: list[str],
) -> GitWorkerError | None:
    """Return the error if `asker` cannot claim a task; None if it is READY or the asker's own.

    A status of None means that the task does not exist.
    """
    if status is None:
        return NotFound(
            f"there is no task {task}",
            f"git worker claim take {quoted(f'{PATH}{task}/**')}   # or, if it is no directory:"
            f" x:{task}",
        )
    if status in HELD:
        if assigned == asker:
            return None
        return Conflict(
            f"task {task} {status_words(status)}, held by {assigned or 'another worker'}",
            f"git worker show {assigned or task}",
        )
    if status is TaskStatus.READY or (status is TaskStatus.DEFINED and not waits_for):
        return None
    words = f"waits for {', '.join(waits_for)}" if waits_for else status_words(status)
    return Refused(
        f"task {task} {words}: only a task that is ready to start can be claimed",
        f"git worker task why {task}",
    )


class ClaimTaken(Conflict):
    """Another holder has the claim; its lease runs for `left_ms` unless renewed or released."""

    code = "claimed"
    left_ms = 0


def taken(name: str, other: str, *, holder: str, left_ms: int, until: str) -> ClaimTaken:
    """Return the error for a name whose claim, or an overlapping one, another holder has."""
    subject = name if name == other else f"{name} overlaps {other}, which"
    left_s = -(-left_ms // 1000)
    error = ClaimTaken(
        f"{subject} is claimed by {holder} for another {left_s} s, until {until}",
        f"git worker claim take {quoted(name)} --wait {left_s}",
    )
    error.left_ms = left_ms
    return error


def lost(name: str, *, holder: str, epoch: int | None, now_held_by: str | None) -> Conflict:
    """Return the error for a holder that has lost its claim."""
    which = "" if epoch is None else f" (epoch {epoch})"
    now = f"{now_held_by} holds it now" if now_held_by else "the claim is free now"
    if now_held_by == holder:
        now = f"{holder} holds it under another epoch now"
    return Conflict(
        f"{holder} lost its claim on {name}{which}; {now}",
        f"git worker claim take {quoted(name)}",
        code="claim_lost",
    )


def not_held(name: str, *, holder: str, held_by: str | None) -> GitWorkerError:
    """Return the error for a caller that renews or releases a claim it never had."""
    if held_by is not None:
        return Conflict(f"{name} is claimed by {held_by}, not by {holder}", "git worker claim list")
    return NotFound(f"{holder} holds no claim on {name}", f"git worker claim take {quoted(name)}")


def quoted(name: str) -> str:
    """Return a name quoted for a shell."""
    return name if ALNUM.union("._-:/").issuperset(name) else "'" + name.replace("'", "'\\''") + "'"
