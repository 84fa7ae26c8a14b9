"""undo of a landing: target, checkout, branches, worktrees and tasks as before, or a refusal."""

import shutil
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.undo.records import find_undoable, list_records
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel, recycle
from tests.hints.following import note
from tests.workers.dirty_worktree import make_dirty, read_worktree
from tests.workers.world import World, kept, newest, unchanged, without_heartbeat_daemon


def stack(world: World, *names: str) -> None:
    """Land several approved workers by one fast-forward, the target having moved on before."""
    for name in names:
        world.approved(name, f"t-{name}", {name: f"{name}\n"})
    world.advance({"theirs": "1\n"})
    world.merge(everything=True)


def uncommitted(world: World) -> list[str]:
    """Return the checkout's status, ignored files too, workers' worktrees left out."""
    status = world.git("status", "--porcelain", "--ignored", "--untracked-files=all")
    return [line for line in status.splitlines() if "worktrees/" not in line]


def test_a_landing_is_taken_back(world: World) -> None:
    """Undoing a landing restores the target, checkout, branch, worktree bytes, worker and task."""
    place = world.approved("auth", "login", {"a": "1\n", "README": "landed\n"})
    make_dirty(world, place)
    before, tip, old = read_worktree(world, place), world.tip("auth/login"), world.tip("main")
    world.land("auth")
    assert world.show("a") == "1"
    done = undo(world.session())
    assert (done.kind, done.message) == ("merge", f"main is back at {old[:12]}; auth is approved")
    assert world.tip("main") == old
    assert world.git("status", "--porcelain") == ""
    assert not (world.root / "a").exists()
    assert read_worktree(world, place) == before
    assert world.tip("auth/login") == tip
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    assert world.path("auth") == place
    assert world.session(place).actor == "auth"
    assert world.query("SELECT task_id, claimed_by FROM task_claims") == [("login", "auth")]
    assert world.query("SELECT undone_at_ms IS NULL FROM landings") == [(0,)]
    assert world.messages("x-target-moved")[-1]["to"] == old


def test_a_window_is_undone_as_a_whole(world: World) -> None:
    """All workers of one fast-forward are undone together, whichever of their numbers is named."""
    old = None
    stack(world, "auth", "docs", "web")
    old = world.tip("main~3")
    new, tips = world.tip("main"), [world.tip(f"refs/worker/rescue/{n}/t-{n}/1") for n in
                                    ("auth", "docs", "web")]  # fmt: skip
    done = undo(world.session(), newest(world, "merge"))
    assert [worker.worker_id for worker in done.workers] == ["auth", "docs", "web"]
    assert world.tip("main") == old
    for name, tip in zip(("auth", "docs", "web"), tips, strict=True):
        assert world.states(name, f"t-{name}") == ("APPROVED", "AWAITING_APPROVAL")
        assert world.tip(f"{name}/t-{name}") == tip
        assert (world.path(name) / name).read_text() == f"{name}\n"
    assert new in world.git("for-each-ref", "--format=%(objectname)", "refs/worker/rescue")


def test_undone_work_lands_again(world: World) -> None:
    """Work whose landing was undone is still approved, and lands again."""
    stack(world, "auth", "docs")
    undo(world.session())
    world.merge(everything=True)
    assert world.show("auth") == "auth"
    assert world.show("docs") == "docs"
    undo(world.session())
    assert world.states("docs", "t-docs") == ("APPROVED", "AWAITING_APPROVAL")


def test_the_target_checked_out_nowhere(world: World) -> None:
    """A target that has no checkout is moved back by its ref alone."""
    world.approved("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach")
    old = world.tip("main")
    world.land("auth")
    undo(world.session())
    assert world.tip("main") == old


def test_the_users_work_in_the_checkout_stays(world: World) -> None:
    """Uncommitted, staged, untracked and ignored files of the target's checkout are not touched."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    Repo(world.root).write({"README": "mine\n", "notes": "untracked\n", "y.o": "ignored\n"})
    (world.root / "src" / "app.py").write_text("staged\n")
    world.git("add", "src/app.py")
    before = uncommitted(world)
    undo(world.session())
    assert uncommitted(world) == before
    assert (world.root / "README").read_text() == "mine\n"
    assert not (world.root / "a").exists()


@pytest.mark.parametrize("hidden", [False, True])
def test_overlap_in_the_checkout_refuses(world: World, hidden: bool) -> None:
    """An uncommitted change to a file that would go back refuses, also one hidden by a flag."""
    world.approved("auth", "login", {"README": "landed\n"})
    world.land("auth")
    Repo(world.root).write({"README": "landed, then mine\n"})
    if hidden:
        world.git("update-index", "--assume-unchanged", "README")
    with unchanged(world, "would_overwrite"):
        undo(world.session())


def test_an_untracked_file_in_the_way_refuses(world: World) -> None:
    """The undo is refused if an untracked file of the user is in the place of a deleted one."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("rm", "-q", "src/app.py", cwd=place)
    world.git("commit", "-qm", "Drop", cwd=place)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    Repo(world.root).write({"src/app.py": "precious\n"})
    with unchanged(world, "would_overwrite"):
        undo(world.session())
    assert (world.root / "src" / "app.py").read_text() == "precious\n"


@pytest.mark.parametrize(
    ("mark", "code", "kind"),
    [
        ("MERGE_HEAD", "operation_open", Refused),
        ("rebase-merge/x", "operation_open", Refused),
        ("index.lock", "index_locked", Conflict),
    ],
)
def test_a_busy_checkout_refuses(world: World, mark: str, code: str, kind: type) -> None:
    """An open merge or rebase, or git's lock, in the target's checkout refuses before anything."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    file = world.root / ".git" / mark
    file.parent.mkdir(exist_ok=True)
    file.touch()
    before, rows = world.refs(), world.rows()
    with pytest.raises(kind) as caught:
        undo(world.session())
    assert caught.value.code == code
    assert (world.refs(), world.rows()) == (before, rows)
    file.unlink()


def test_a_conflict_in_the_checkout_refuses(world: World) -> None:
    """Entries of a conflict in the checkout's index refuse before the target moves at all."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    Repo(world.root).write({"README": "mine\n"})
    world.git("stash", "-q")
    world.advance({"README": "other\n"})
    assert Repo(world.root).run("stash", "pop").returncode
    world.git("update-ref", "refs/heads/main", "HEAD~1")
    reflog = world.git("reflog", "show", "main")
    with unchanged(world, "unmerged"):
        undo(world.session())
    assert world.git("reflog", "show", "main") == reflog


def test_something_landed_on_top(world: World) -> None:
    """With a commit on top it is refused, and the command that reverts it is named."""
    world.approved("auth", "login", {"a": "1\n"})
    old = world.tip("main")
    world.land("auth")
    new = world.tip("main")
    world.advance({"z": "1\n"})
    with unchanged(world, "landed_for_good") as caught:
        undo(world.session())
    assert caught.value.hint is not None
    command = caught.value.hint.split("   ")[0]
    assert command == f"git revert {old[:12]}..{new[:12]}"
    world.git(*command.split()[1:], "--no-edit")
    assert not (world.root / "a").exists()


def test_the_target_was_moved_back_by_hand(world: World) -> None:
    """A target that was moved by hand since the landing is not moved again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.git("reset", "-q", "--hard", "HEAD~1")
    with unchanged(world, "landed_for_good"):
        undo(world.session())


@pytest.mark.parametrize("ref", ["refs/remotes/origin/main", "refs/remotes/up/release/1"])
def test_pushed(world: World, ref: str) -> None:
    """A landing that a remote has, under any name, is not undone."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.git("update-ref", ref, "main")
    with unchanged(world, "landed_for_good") as caught:
        undo(world.session())
    assert ref.removeprefix("refs/remotes/") in caught.value.message


def test_the_workers_own_branch_on_a_remote_is_no_landing(world: World) -> None:
    """A remote that has the worker's branch alone has no landing."""
    world.approved("auth", "login", {"a": "1\n"})
    world.git("update-ref", "refs/remotes/origin/auth/login", "auth/login")
    world.land("auth")
    assert undo(world.session()).kind == "merge"


def test_another_worker_builds_on_it(world: World) -> None:
    """A worker whose branch begins on the landing blocks the undo until it is free again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.spawn("docs", "words")
    with unchanged(world, "landed_for_good") as caught:
        undo(world.session())
    assert "docs builds on it" in caught.value.message
    cancel(world.session(), "docs")
    assert undo(world.session(), newest(world, "merge")).kind == "merge"


@pytest.mark.parametrize("rebased", [False, True])
def test_a_kept_worktree_goes_back_too(world: World, rebased: bool) -> None:
    """A kept worktree and its branch return to their state before the replay with all changes."""
    place = world.approved("auth", "login", {"a": "1\n"})
    if rebased:
        world.advance({"theirs": "1\n"})
    tip = world.tip("auth/login")
    world.land("auth", keep=True)
    Repo(place).write({"README": "later\n", "extra": "untracked\n"})
    undo(world.session())
    assert world.tip("auth/login") == tip
    assert world.git("status", "--porcelain", cwd=place) == "M README\n?? extra"
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")


def test_a_kept_branch_with_new_commits_refuses(world: World) -> None:
    """Commits made in a kept worktree after the landing refuse the undo."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    world.commit("auth", {"b": "2\n"})
    with unchanged(world, "branch_moved"):
        undo(world.session())


def test_a_recycled_worker_takes_its_task_back(world: World) -> None:
    """A worker that became IDLE after the landing gets its task back."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    recycle(world.session(), "auth")
    undo(world.session())
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    assert world.worker("auth").base_oid == world.tip("main")


def test_a_worker_with_another_task_refuses(world: World) -> None:
    """A worker that already has its next task keeps it."""
    world.approved("auth", "login", {"a": "1\n"})
    base = world.tip("main")
    world.land("auth")
    world.spawn("auth", "other", start=base)
    with unchanged(world, "moved_on"):
        undo(world.session())


def test_a_worker_with_another_task_during_a_killed_undo(world: World) -> None:
    """A worker that took another task after the kill keeps it; the landed task must be redone."""
    stack(world, "auth", "docs")
    new = world.tip("main")
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.rewound").returncode == -9
    world.spawn("docs", "other")
    assert world.drive("recover_all").stdout.strip() == "undo"
    assert world.states("auth", "t-auth") == ("APPROVED", "AWAITING_APPROVAL")
    assert world.states("docs", "t-docs") == ("ASSIGNED", "READY")
    assert world.worker("docs").task_id == "other"
    assert new in world.git("for-each-ref", "--format=%(objectname)", "refs/worker/rescue")
    assert run_fsck(world.session()).findings == ()
    world.spawn("web", "t-docs")


def test_a_killed_undo_that_cannot_be_completed(world: World) -> None:
    """A killed undo that has moved nothing and can no longer be completed is closed."""
    world.approved("auth", "login", {"README": "landed\n"})
    world.land("auth")
    new = world.tip("main")
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.journal").returncode == -9
    Repo(world.root).write({"README": "mine\n"})
    assert world.drive("recover_all").returncode == 0
    assert world.query("SELECT status FROM operations WHERE kind = 'undo'") == [("rolled_back",)]
    assert world.tip("main") == new
    assert (world.root / "README").read_text() == "mine\n"
    world.git("checkout", "-q", "README")
    undo(world.session())
    assert (world.root / "README").read_text() == "one\ntwo\nthree\n"


def test_the_checkout_is_removed_before_a_killed_undo_resumes(world: World) -> None:
    """A checkout that was removed after the kill blocks nothing: the branch is moved back alone."""
    world.approved("auth", "login", {"a": "1\n"})
    old = world.tip("main")
    world.git("checkout", "-q", "--detach")
    place = world.root.parent / "target"
    world.git("worktree", "add", "-q", str(place), "main")
    world.land("auth")
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.journal").returncode == -9
    world.git("worktree", "remove", str(place))
    assert world.drive("recover_all").stdout.strip() == "undo"
    assert world.tip("main") == old
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")


def test_a_landing_without_new_commits(world: World) -> None:
    """If the target already had every patch, it stays in place and the worker is APPROVED again."""
    world.approved("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    world.git("cherry-pick", "--allow-empty", tip)
    main = world.advance({"theirs": "1\n"})
    world.land("auth")
    assert world.tip("main") == main
    undo(world.session())
    assert world.tip("main") == main
    assert world.tip("auth/login") == tip
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")


def test_a_kept_worktree_that_was_moved(world: World) -> None:
    """A kept worktree that its user moved with git is found at its new path."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    tip = world.tip("auth/login")
    world.land("auth", keep=True)
    elsewhere = world.root.parent / "elsewhere"
    world.git("worktree", "move", "-ff", str(place), str(elsewhere))
    undo(world.session())
    assert world.tip("auth/login") == tip
    assert world.path("auth") == elsewhere
    assert not (elsewhere / "theirs").exists()


@pytest.mark.parametrize("end", ["repaired", "back", "deleted"])
def test_a_kept_worktree_that_is_out_of_sight(world: World, end: str) -> None:
    """The undo is refused before it begins; each way that the hint names leads to its end."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    tip = world.tip("auth/login")
    world.land("auth", keep=True)
    (place / "new").write_text("mine\n")
    far = world.root.parent / "far" / "away"
    far.parent.mkdir()
    place.rename(far)
    with unchanged(world, "worktree_missing") as caught:
        undo(world.session())
    assert caught.value.hint is not None
    assert "git worktree repair <new-place>" in caught.value.hint
    if end == "repaired":
        world.git("worktree", "repair", str(far))
        note(caught.value.hint.partition("   # ")[0], caught.value.message)
    elif end == "back":
        far.rename(place)
    else:
        shutil.rmtree(far)
        command = caught.value.hint.partition("deleted: ")[2].partition(";")[0]
        world.git(*command.split()[1:])
    undo(world.session())
    assert world.tip("auth/login") == tip
    assert world.path("auth") == (far if end == "repaired" else place)
    assert (world.path("auth") / "new").exists() is (end != "deleted")
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def test_the_worktrees_place_is_taken(world: World) -> None:
    """Nothing is moved if the worktree's path is in use."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    Repo(world.root).write({"worktrees/login/mine": "precious"})
    with unchanged(world, "path_exists"):
        undo(world.session())


def test_commits_that_git_has_deleted(world: World) -> None:
    """The landing is not undone if git has deleted the commits before the replay."""
    world.approved("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.land("auth")
    for ref in [name for name in world.refs() if name.startswith("refs/worker/")]:
        world.git("update-ref", "-d", ref)
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    with unchanged(world, "commits_gone"):
        undo(world.session())


def test_without_a_worktree_to_come_back(world: World) -> None:
    """A branch and worktree that a user removed after a kept landing are created again."""
    place = world.approved("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    world.land("auth", keep=True)
    world.git("worktree", "remove", "-ff", str(place))  # an agent locks it
    world.git("branch", "-D", "auth/login")
    undo(world.session())
    assert world.tip("auth/login") == tip
    assert (place / "a").read_text() == "1\n"
    assert world.path("auth") == place


def test_the_approval_comes_after_its_landing(world: World) -> None:
    """An operation is not undone before later operations on the same work."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.approve("auth")
    world.land("auth", keep=True)
    merge = newest(world, "merge")
    with unchanged(world, "later_first") as caught:
        undo(world.session(), newest(world, "approve"))
    assert caught.value.hint == f"git worker undo {merge}"
    undo(world.session(), merge)


def test_unknown_numbers(world: World) -> None:
    """A number that names no operation, or one already undone, is not found."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    number = newest(world, "cancel")
    undo(world.session(), number)
    for wanted, why in ((number, "undone already"), (999, "no such operation")):
        with unchanged(world, "not_found", NotFound) as caught:
            undo(world.session(), wanted)
        assert why in caught.value.message


def test_the_list(world: World) -> None:
    """Every operation is listed, a window as one, each with whether it can be undone now."""
    stack(world, "auth", "docs")
    world.working("web", "pages", {"w": "1\n"})
    cancel(world.session(), "web")
    found = list_records(world.session(), limit=20)
    facts = [(one.record.kind, one.record.workers, one.refusal is None) for one in found]
    assert facts[:4] == [
        ("cancel", ("web",), True),
        ("remove", ("docs",), True),
        ("remove", ("auth",), True),
        ("merge", ("auth", "docs"), True),
    ]
    assert [kind for kind, _, _ in facts[4:]] == ["approve", "approve"]
    assert not any(possible for _, _, possible in facts[4:])
    assert found[3].record.rescue == "refs/worker/rescue/auth/t-auth/1"
    assert len(list_records(world.session(), limit=2)) == 2


def test_nothing_lost_when_the_worktree_changed_meanwhile(world: World, tmp_path: Path) -> None:
    """A new file at a path that the target's checkout would write is kept, and nothing moves."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.git("rm", "-q", "--cached", "a")
    with kept(world, "would_overwrite"):
        undo(world.session())
    assert (world.root / "a").read_text() == "1\n"


@pytest.mark.parametrize("kind", ["sha256", "bare"])
def test_other_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A landing in a SHA-256 repository, or in a bare one, can be undone without damage."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo", *(["--object-format=sha256"] if kind == "sha256" else []))
    if kind == "bare":
        world.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
        world = World(tmp_path / "bare.git")
    with without_heartbeat_daemon(world):
        old = world.tip("main")
        make_dirty(world, world.approved("auth", "login", {"a": "1\n"}))
        before = read_worktree(world, world.path("auth"))
        world.land("auth")
        assert run_fsck(world.session()).findings == ()
        undo(world.session())
        assert world.tip("main") == old
        assert read_worktree(world, world.path("auth")) == before
        assert run_fsck(world.session()).findings == ()


def test_the_removal_is_a_part_of_the_landing(world: World) -> None:
    """The operation that a screen offers after a landing is the landing, not the removal."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    found = list_records(world.session(), limit=9)
    assert [(one.record.kind, one.needs_number) for one in found] == [
        ("remove", True), ("merge", False), ("approve", False),
    ]  # fmt: skip
    offered = find_undoable(found, "auth")
    assert offered is not None
    assert offered.kind == "merge"
    assert find_undoable(found, "docs") is None
