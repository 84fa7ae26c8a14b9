"""The names of refs: branches, remote-tracking refs, and our own below `refs/worker/`.

All other modules build and parse ref names with this one. Our names are public: people read them
with `git log` and push them.
"""

from gitworker.model.ids import WORKSTREAM, Branch, Ref, TaskId, WorkerId

ALL = "refs/"
BRANCHES = "refs/heads/"
WORKSTREAMS = f"{BRANCHES}{WORKSTREAM}/"  # <workstream>
TAGS = "refs/tags/"
REMOTES = "refs/remotes/"
STASH = "refs/stash"
OURS = "refs/worker/"
RESCUES = f"{OURS}rescue/"  # <worker>/<task>/<n>
ROUNDS = f"{OURS}round/"  # <worker>/<task>/<n>: the tip of the n-th hand-in
ANCHORS = f"{OURS}landing/"  # <worker>/<task>
SUBMODULES = f"{OURS}submodules/"  # <worker>/<task>/<submodule>/<time>: HEAD, heads, stash, work
QUEUE = Ref(f"{OURS}queue")  # keeps a window's commits while they are verified
WINDOWS = f"{OURS}window/"  # <window>, on the remote of a fleet, while other machines may verify it
LOG = Ref(f"{OURS}log")  # the exported logs as commits
# None of our refs keeps work permanently; git deletes some of its own refs without asking.
PASSING = (OURS, "refs/bisect/", "refs/rewritten/", "refs/worktree/", "refs/prefetch/")


def branch_of(worker: WorkerId, task: TaskId) -> Branch:
    """Return the branch of a worker's task, `<worker>/<task>`."""
    return Branch(f"{worker}/{task}")


def ref_of(branch: Branch) -> Ref:
    """Return the full ref name of a branch."""
    return Ref(f"{BRANCHES}{branch}")


def short_name(ref: str) -> Branch:
    """Return the name of a branch without `refs/heads/`; other names are returned unchanged."""
    return Branch(ref.removeprefix(BRANCHES))


def workstream_ref(workstream: str) -> Ref:
    """Return the branch on which the tasks of a workstream land, if it has one of its own."""
    return Ref(f"{WORKSTREAMS}{workstream}")


def tracking_ref(remote: str, ref: str) -> Ref:
    """Return the remote-tracking ref of a remote's branch (git-fetch(1))."""
    return Ref(f"{REMOTES}{remote}/{short_name(ref)}")


def anchor_of(worker: str, task: str) -> Ref:
    """Return the ref that protects the commit which a worker's branch is about to become.

    It is deleted with the branch, or when its operation has landed or is rolled back.
    """
    return Ref(f"{ANCHORS}{worker}/{task}")


def rescues_of(worker: str, task: str) -> str:
    """Return the prefix, with '/' at the end, of the rescue refs of a task."""
    return f"{RESCUES}{worker}/{task}/"


def round_ref(worker: str, task: str, number: int) -> Ref:
    """Return the ref that keeps the commits of a round of review."""
    return Ref(f"{ROUNDS}{worker}/{task}/{number}")


def round_of(ref: Ref) -> tuple[WorkerId, TaskId, int] | None:
    """Return worker, task and number of the ref of a round; None for any other ref."""
    worker, _, rest = ref.removeprefix(ROUNDS).partition("/")
    task, _, number = rest.partition("/")
    if not ref.startswith(ROUNDS) or not (number.isascii() and number.isdigit()):
        return None
    return WorkerId(worker), TaskId(task), int(number)


def task_of(ref: Ref) -> tuple[WorkerId, TaskId]:
    """Return worker and task of a ref of ours of a task: an anchor, a rescue or a round."""
    worker, task = ref.removeprefix(OURS).split("/")[1:3]
    return WorkerId(worker), TaskId(task)
