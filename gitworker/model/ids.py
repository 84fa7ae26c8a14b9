"""Types for the names of workers, tasks, branches, refs and commits.

A name from outside is checked here before any other code uses it. The checks do not use `re`, whose
import costs a hot verb 5 ms.
"""

from gitworker.errors import Invalid

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from typing import NewType

    WorkerId = NewType("WorkerId", str)
    TaskId = NewType("TaskId", str)
    Branch = NewType("Branch", str)  # short name, as in `auth/skills-abc`
    Ref = NewType("Ref", str)  # full name, as in `refs/heads/auth/skills-abc`
    Oid = NewType("Oid", str)  # 40 or 64 lower-case hex digits
else:
    WorkerId = TaskId = Branch = Ref = Oid = str

Origin = tuple[str | None, str | None, str | None]  # host, boot id, PID namespace of a pid

LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
ALNUM = LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
WORKER_CHARS = LOWER | {"-"}
TASK_CHARS = ALNUM | frozenset("._-")
HEX = frozenset("0123456789abcdef")
WORKER_ID_MAX = 63
TASK_ID_MAX = 100
HQ = WorkerId("hq")
ORCHESTRATOR = WorkerId("orchestrator")  # the identity of `git worker run`
RESERVED = frozenset({HQ, ORCHESTRATOR})
WORKSTREAM = WorkerId("ws")  # in the journal, the worker of a workstream's branch `ws/<id>`
VERIFIER = WorkerId("verifier")  # the identity that lands the work of a run
NO_WORKERS = RESERVED | {VERIFIER, WORKSTREAM}


def parse_worker_id(text: str) -> WorkerId:
    """Return `text` as a worker id: `[a-z0-9][a-z0-9-]{0,62}`, not reserved; else raise Invalid."""
    if not text or text[0] not in LOWER or not WORKER_CHARS.issuperset(text):
        raise Invalid(
            f"{_shown(text)} is not a worker id: lower-case letters, digits and '-' are allowed,"
            " a letter or digit first",
            "git worker spawn auth my-task",
        )
    if len(text) > WORKER_ID_MAX:
        raise Invalid(f"the worker id has {len(text)} characters; {WORKER_ID_MAX} are allowed")
    if text in NO_WORKERS:
        raise Invalid(
            f"{text!r} is a reserved name; choose another worker id",
            "git worker spawn auth my-task",
        )
    return WorkerId(text)


def parse_agent_id(text: str) -> WorkerId:
    """Return `text` as an identity on the bus: a worker id, a reserved name or the verifier."""
    try:
        return WorkerId(text) if text in {*RESERVED, VERIFIER} else parse_worker_id(text)
    except Invalid as error:
        error.hint = "git worker list"
        raise


def parse_task_id(text: str) -> TaskId:
    """Return `text` as a task id: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`, a valid ref component."""
    if not text or text[0] not in ALNUM or not TASK_CHARS.issuperset(text):
        raise Invalid(
            f"{_shown(text)} is not a task id: letters, digits, '.', '_' and '-' are allowed,"
            " a letter or digit first",
            "git worker spawn auth my-task",
        )
    if len(text) > TASK_ID_MAX:
        raise Invalid(f"the task id has {len(text)} characters; {TASK_ID_MAX} are allowed")
    if ".." in text or text.endswith((".", ".lock")):
        raise Invalid(
            f"{_shown(text)} is not a task id: git allows no '..' and no '.' or '.lock' at the end"
            " of a branch name (git-check-ref-format(1))"
        )
    return TaskId(text)


def parse_workstream_id(text: str) -> str:
    """Return `text` as the id of a workstream, which has the form of a task id."""
    try:
        return parse_task_id(text)
    except Invalid as error:
        raise Invalid(
            error.message.replace("task id", "workstream id"), "git worker workstream create login"
        ) from None


def is_oid(text: str) -> bool:
    """Return whether `text` is a full object id (sha1 or sha256)."""
    return len(text) in (40, 64) and HEX.issuperset(text)


def _shown(text: str) -> str:
    """Return a name quoted for a message, with escaped control characters, at most 80 long."""
    safe = repr(text)
    return safe if len(safe) <= 80 else safe[:60] + "…'"
