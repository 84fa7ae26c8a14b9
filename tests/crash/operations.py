"""Every operation that can be killed, with its preparation, its command and its crash points."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fixtures.repos import Repo
from gitworker.lifecycle.fail import fail
from gitworker.repo.pool.parked import list_parked
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World

MOVE = (
    "move-locked", "move-copied", "move-ref", "move-read", "move-renamed", "move-unlocked",
)  # fmt: skip
TRASH = ("trash-recorded", "trash-admin", "trash-tree")
CLEAN_UP = ("remove.journal", *TRASH, "remove.trashed", "remove.branch")
POOL = ("pool.taken", "pool.moved", "pool.handed", "pool.switched")
THEIRS = {"b": "theirs\n", ".gitignore": "*.o\n*.tmp\n"}


@dataclass(frozen=True)
class Operation:
    """One command that is killed: `words` for the driver, and the worker's possible states after
    it.

    `first` holds the words and the point of a command that is killed before; this one repairs it.
    `inside` commands run in the worker's worktree.
    """

    name: str
    prepare: Callable[[World], object]
    words: tuple[str, ...]
    points: tuple[str, ...]
    done: tuple[str, str]
    first: tuple[tuple[str, ...], str] | None = None
    inside: bool = False

    def directory(self, world: World) -> Path:
        """Return the directory that a user runs the command in."""
        return world.path("auth") if self.inside else world.root


def nothing(world: World) -> None:
    """Leave the repository without workers."""
    Repo(world.root).write({".worktreeinclude": "*.o\n", "x.o": "ignored"})


def parked(world: World) -> None:
    """A pool with one worktree that is ready, with a cache, and behind the target."""
    world.git("config", "worker.worktree.pool", "1")
    keep_pool(world.session())
    (one,) = list_parked(open_pool(world.session()))
    Repo(Path(one.tree)).write({"cache.o": "built"})
    world.advance(THEIRS)


def dirty_review(world: World) -> None:
    """A worker in review, its worktree full of uncommitted work, the target moved on."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.commit("auth", {"c": "2\n"}, "Second")
    world.submit("auth")
    world.advance(THEIRS)
    make_dirty(world, place)


def refused_review(world: World) -> None:
    """The same, with an uncommitted change that the rebase would overwrite."""
    dirty_review(world)
    Repo(world.path("auth")).write({".gitignore": "*.o\nmine\n"})


def dirty_approval(world: World) -> None:
    """Prepare an approved worker, a target that moved on, and a user who works in the checkout."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.advance(THEIRS)
    make_dirty(world, place)
    Repo(world.root).write({"README": "the user's\n", "notes": "untracked\n", "y.o": "ignored"})


def clean_approval(world: World) -> None:
    """An approved worker whose clean worktree is deleted after the landing."""
    world.approved("auth", "login", {"a": "1\n"})
    world.advance(THEIRS)


def verified_window(world: World) -> None:
    """Two approved workers whose window is verified before it lands."""
    world.git("config", "worker.verify.commands", "test ! -e bad")
    world.approved("bob", "t-bob", {"bob": "1\n"})
    clean_approval(world)


def window(world: World) -> None:
    """Three approved workers that land together, one of them with uncommitted work."""
    for name in ("bob", "cat"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    dirty_approval(world)


def stack(world: World) -> None:
    """An approved worker on top of another one, the target moved on."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.spawn("bob", "t-bob", start="auth")
    start(world.session(), "bob", pid=None)
    world.commit("bob", {"bob": "2\n"})
    world.submit("bob")
    world.advance(THEIRS)
    for name in ("auth", "bob"):
        world.approve(name)


def target_elsewhere(world: World) -> None:
    """Prepare an approved worker and a target without a checkout."""
    dirty_approval(world)
    world.git("checkout", "-q", "--detach")


def dirty_work(world: World) -> None:
    """A worker at work."""
    make_dirty(world, world.working("auth", "login", {"a": "1\n"}))


def dirty_failure(world: World) -> None:
    """A worker that has failed."""
    dirty_work(world)
    fail(world.session(), "auth", reason="stuck")


def cancelled(world: World) -> None:
    """A worker whose task was withdrawn."""
    dirty_work(world)
    cancel(world.session(), "auth")


def landed_window(world: World) -> None:
    """Three workers that landed together, one of them with uncommitted work in its worktree."""
    window(world)
    world.merge(everything=True)


def landed_elsewhere(world: World) -> None:
    """Prepare a landed worker whose target has no checkout."""
    target_elsewhere(world)
    world.land("auth")


def landed_and_kept(world: World) -> None:
    """Prepare a landed worker whose worktree was kept and followed to the landed commits."""
    dirty_approval(world)
    world.land("auth", keep=True)


def dirty_after_approval(world: World) -> None:
    """A worker whose branch was rebased by its approval."""
    dirty_review(world)
    world.approve("auth")


OPERATIONS = (
    Operation(
        "spawn", nothing, ("spawn", "auth", "login"),
        ("spawn.journal", "spawn.worktree", "spawn.hooks", "spawn.recorded"),
        ("ASSIGNED", "ASSIGNED"),
    ),
    Operation(
        "spawn-pool", parked, ("spawn", "auth", "login"),
        ("spawn.journal", *POOL, "spawn.worktree", "spawn.recorded"), ("ASSIGNED", "ASSIGNED"),
    ),
    Operation(
        "approve", dirty_review, ("approve", "auth"),
        ("approve.journal", *MOVE, "approve.moved", "approve.recorded"),
        ("APPROVED", "AWAITING_APPROVAL"),
    ),
    Operation(
        "approve-refused", refused_review, ("approve", "auth"),
        ("move-ref",), ("APPROVED", "AWAITING_APPROVAL"),
    ),
    Operation(
        "merge", dirty_approval, ("merge", "auth"),
        (
            "merge.journal", "forward-checked", "forward-merged", "merge.forwarded",
            "merge.recorded", *CLEAN_UP,
        ),
        ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "merge-kept", dirty_approval, ("merge", "auth", "--keep"),
        ("merge.forwarded", "merge.recorded", *MOVE), ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "merge-window", window, ("merge", "--all"),
        ("merge.journal", "forward-merged", "merge.forwarded", "merge.recorded", *CLEAN_UP),
        ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "merge-verified", verified_window, ("merge", "--all"),
        ("queue.opened", "queue.verified", "merge.journal", "merge.forwarded", "merge.recorded"),
        ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "merge-stack", stack, ("merge", "--all"),
        ("merge.journal", "forward-merged", "merge.recorded"), ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "merge-clean", clean_approval, ("merge", "auth"),
        ("merge.journal", "merge.recorded", *CLEAN_UP), ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "merge-elsewhere", target_elsewhere, ("merge", "auth"),
        ("forward-ref", "merge.forwarded"), ("COMPLETED", "COMPLETED"),
    ),
    Operation(
        "cancel", dirty_work, ("cancel", "auth"),
        ("cancel.journal", *TRASH, "cancel.trashed", "cancel.branch"), ("IDLE", "CANCELLED"),
    ),
    Operation(
        "reset", dirty_failure, ("reset", "auth"),
        ("reset.journal", "trash-admin", "reset.trashed", "reset.branch"), ("IDLE", "FAILED"),
    ),
    Operation(
        "undo-cancel", cancelled, ("undo",),
        ("undo.journal", "restore-recorded", "restore-tree", "restore-admin", "undo.restored"),
        ("WORKING", "IN_PROGRESS"),
    ),
    Operation(
        "undo-approve", dirty_after_approval, ("undo",),
        ("undo.journal", *MOVE, "undo.moved"), ("IN_REVIEW", "AWAITING_APPROVAL"),
    ),
    Operation(
        "undo-merge", landed_window, ("undo",),
        ("undo.journal", *MOVE, "undo.rewound", "restore-tree", "undo.returned"),
        ("APPROVED", "AWAITING_APPROVAL"),
    ),
    Operation(
        "undo-merge-elsewhere", landed_elsewhere, ("undo",), ("rewind-ref",),
        ("APPROVED", "AWAITING_APPROVAL"),
    ),
    Operation(
        "undo-merge-kept", landed_and_kept, ("undo",), ("undo.rewound", "undo.returned"),
        ("APPROVED", "AWAITING_APPROVAL"),
    ),
    Operation(
        "recover", dirty_review, ("recover_all",), ("recover-settled",),
        ("APPROVED", "AWAITING_APPROVAL"), first=(("approve", "auth"), "move-ref"),
    ),
)  # fmt: skip
# Reached only by a move that git refuses after the ref has moved; `test_refusal` kills it there.
# Pruning is killed in tests/bus/test_retention.py, and verifying in test_verify.py.
# Pushes are killed in tests/landing/test_queue_remote.py.
# Adoptions are killed in tests/crash/test_adopt.py: the adopted branch had no worker before.
ELSEWHERE = {
    # tests/fleet/test_join.py, test_leave.py and test_link.py; a report that is not written is
    # repeated after five seconds, by the same code
    "fleet-join-before-commit", "fleet-join-after-commit",
    "fleet-leave-before-write", "fleet-leave-after-write", "fleet-leave-before-end",
    "fleet-leave-after-end",
    "fleet-before-commit", "fleet-after-commit", "outbox-before-commit", "outbox-after-commit",
    "beat-before-commit", "beat-after-commit",
    "review.published", "review.sent",  # tests/review/comments/test_killed.py
    "radar-looked", "radar-published",  # tests/radar/test_radar_watch.py
    "move-refused", "merge.pushing", "merge.pushed",
    "prune.journal", "prune.content", "prune.written", "prune.renamed", "prune.chunk",
    "trim.replaced",
    "pool.listed", "pool.added", "pool.recorded", "pool.advanced", "pool.returned", "pool.lent",
    "setup.started", "setup.failed", "setup.closed",
    "verify-prepared", "verify-started", "verify-ended", "verify-recorded",
    "gc.journal", "gc.refs", "gc.disk", "undo.made", "undo.unpacked",  # test_gc.py
    "adopt.journal", "adopt.renamed", "adopt.worktree", "adopt.hooks", "adopt.recorded",
    "undo.renamed", "undo.released",
    "queue.closed",  # tests/landing/test_window_end.py
    # tests/questions/test_questions.py
    "question-asked", "question-settled", "answer-recorded", "answer-committed",
    "notification-begun",  # tests/notifications/test_notify.py
    # tests/crash/test_workstream_branch.py
    "workstream.branch", "land.replayed", "land.verified", "land.journal", "land.forwarded",
    "land.recorded", "land.deleted",
}  # fmt: skip


def expected_points() -> set[str]:
    """Return every point at which some operation is killed."""
    return {point for operation in OPERATIONS for point in operation.points} | ELSEWHERE
