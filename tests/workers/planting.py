"""Ways to break a repository with workers in it, each with the problems that fsck reports."""

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from gitworker.errors import Conflict
from gitworker.lifecycle.moves import advance_task
from gitworker.lifecycle.state_files import publish_views
from gitworker.paths import write_worktree_owner
from gitworker.questions.ask import ask
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.workers.cancel import cancel
from tests.workers.world import World

DAY_S = 24 * 60 * 60


@dataclass(frozen=True)
class Plant:
    """One inconsistency: how it is made, and whether all of it can be repaired.

    The first of `codes` finds it, and the others may report it as well.
    """

    make: Callable[[World], object]
    codes: tuple[str, ...]
    is_mendable: bool


def broken(world: World) -> None:
    """Workers in every state: at work, in review, approved, landed, cancelled."""
    world.working("auth", "login", {"a": "1\n"})
    world.in_review("docs", "words", {"d": "1\n"})
    world.approved("web", "pages", {"w": "1\n"})
    world.approved("old", "done", {"o": "1\n"})
    world.working("gone", "away", {"g": "1\n"})
    (world.path("gone") / "untracked").write_text("kept\n")
    world.advance({"theirs": "1\n"})
    world.land("old")
    cancel(world.session(), "gone")


def sql(world: World, *statements: str, past: tuple[str, ...] = ()) -> None:
    """Run SQL as a program that drops the guards named, and restores them afterwards."""
    with closing(apsw.Connection(f"{world.state_dir}/bus.db")) as connection:
        connection.set_busy_timeout(5000)
        texts = []
        for guard in past:
            asked = "SELECT sql FROM sqlite_schema WHERE name = ?"
            texts.append(connection.execute(asked, (guard,)).fetchone()[0])
            connection.execute(f"DROP TRIGGER {guard}")
        for text in (*statements, *texts):
            connection.execute(text)


def delete_branch(world: World) -> None:
    """Delete a worker's branch."""
    world.git("update-ref", "-d", "refs/heads/auth/login")


def move_branch(world: World) -> None:
    """Move a worker's branch to a place without its commits, and let git forget the move."""
    world.session()
    world.drive("sweep")
    world.git("update-ref", "refs/heads/auth/login", "main")
    forget_reflogs(world)


def break_branch(world: World) -> None:
    """Let a branch's file name a commit that does not exist."""
    (world.root / ".git/refs/heads/auth/login").write_text(f"{'1' * 40}\n")


def damage_commondir(world: World) -> None:
    """Write zeros into the file that leads from a worktree's directory to the repository."""
    Path(world.worker("auth").admin_dir or "", "commondir").write_bytes(b"\0" * 6)


def lose_object(world: World, *, empty: bool = False) -> None:
    """Delete the object of a file on a worker's branch, or empty its file."""
    oid = world.git("rev-parse", "auth/login:a")
    path = world.root / ".git/objects" / oid[:2] / oid[2:]
    path.unlink()
    if empty:
        path.write_bytes(b"")


def empty_branch(world: World) -> None:
    """Empty a branch's file, as a full disk does."""
    (world.root / ".git/refs/heads/auth/login").write_text("")


def damage_head(world: World) -> None:
    """Write garbage into the HEAD of a worktree."""
    Path(world.worker("auth").admin_dir or "", "HEAD").write_text("garbage\n")


def remove_worktree(world: World) -> None:
    """Delete a worktree's directory."""
    shutil.rmtree(world.path("auth"))


def lose_git_file(world: World) -> None:
    """Delete the file that leads from a worktree to the repository."""
    (world.path("auth") / ".git").unlink()


def move_worktree(world: World) -> None:
    """Move a worktree by hand; the fixture is a copy, so the directory is recorded again first."""
    write_worktree_owner(world.worker("auth").admin_dir or "", "auth", "login")
    world.path("auth").rename(world.root / "worktrees" / "elsewhere")


def foreign_worktree(world: World) -> None:
    """Make a repository of its own in the place of a worktree."""
    lose_git_file(world)
    world.git("init", "-q", cwd=world.path("auth"))


def copied_rows(world: World) -> None:
    """Let a row name a worktree of the repository that this one was copied from."""
    elsewhere = "/elsewhere/.git/worktrees/login"
    sql(world, f"UPDATE workers SET admin_dir = '{elsewhere}', worktree ="
        " '/elsewhere/worktrees/login' WHERE worker_id = 'auth'")  # fmt: skip


def remove_admin(world: World) -> None:
    """Delete a worktree's admin directory."""
    admin = world.worker("auth").admin_dir
    assert admin is not None
    shutil.rmtree(admin)


def remove_both(world: World) -> None:
    """Delete a worktree and its admin directory."""
    place = world.path("auth")
    remove_admin(world)
    shutil.rmtree(place)


def half_journal(world: World) -> None:
    """Kill a cancel in the middle."""
    world.drive("cancel", "auth", GITWORKER_CRASH_AT="trash-admin")


def unreadable_journal(world: World) -> None:
    """Cut the data of an operation."""
    sql(world, "UPDATE operations SET data = '{\"ref\": ' WHERE kind = 'approve'")


def edit_worker(world: World) -> None:
    """Change a worker's state behind the guard's back."""
    sql(world, "UPDATE workers SET state = 'APPROVED' WHERE worker_id = 'auth'",
        past=("workers_update",))  # fmt: skip


def edit_task(world: World) -> None:
    """Change a task's status behind the guard's back."""
    sql(world, "UPDATE tasks SET status = 'COMPLETED' WHERE id = 'login'", past=("tasks_update",))


def lose_question(world: World) -> None:
    """Let a task wait for an answer, and withdraw its question without it."""
    _ask(world)
    sql(world, "UPDATE questions SET state = 'withdrawn'")


def leave_question(world: World) -> None:
    """Ask a question of a task that continues without an answer."""
    _ask(world)
    asked = world.session(identity="auth")
    with asked.store.write() as writer:
        advance_task(writer, world.worker("auth"), WorkerTaskEvent.REPLY, actor="hq")
    publish_views(asked, "auth")


def _ask(world: World) -> None:
    with suppress(Conflict):
        ask(world.session(identity="auth"), "Which port?", wait_s=0)


def drop_guard(world: World) -> None:
    """Drop a guard of the states."""
    sql(world, "DROP TRIGGER workers_update")


def drop_transition(world: World) -> None:
    """Delete a line from the middle of the log of transitions."""
    sql(world, "DELETE FROM transitions WHERE machine = 'worker' AND entity_id = 'docs'"
        " AND version = 2", past=("transitions_no_delete",))  # fmt: skip


def reassign(world: World) -> None:
    """Assign a task to no worker."""
    sql(world, "UPDATE tasks SET assigned_agent_id = NULL WHERE id = 'login'")


def forget_place(world: World) -> None:
    """Delete the recorded path of a worker's worktree."""
    sql(world, "UPDATE workers SET worktree = NULL WHERE worker_id = 'auth'")


def rename_admin(world: World) -> None:
    """Record another admin directory."""
    sql(world, "UPDATE workers SET admin_dir = admin_dir || '-2' WHERE worker_id = 'auth'")


def retask(world: World, task: str) -> None:
    """Write another task into a worker's row."""
    sql(world, f"UPDATE workers SET task_id = '{task}' WHERE worker_id = 'auth'")


def rename_target(world: World) -> None:
    """Rename the target's branch."""
    world.git("branch", "-m", "main", "trunk")


def blob(world: World, text: str, *, named: bool, kept: bool = True) -> Path:
    """Make a large payload, and a message for it, or one of the two."""
    from hashlib import sha256

    ref = f"sha256-{sha256(text.encode()).hexdigest()}"
    path = world.state_dir / "blobs" / ref
    if kept:
        path.write_text(text)
    if named:
        sql(world, "INSERT INTO messages (id, ts_ms, from_agent, type, payload_ref)"
            f" VALUES ('large', 1, 'robot', 'x-large', '{ref}')")  # fmt: skip
        world.drive("export")
    return path


def dangle_blob(world: World) -> None:
    """Leave a large payload that no message names, old enough."""
    path = blob(world, "unpublished", named=False)
    old = time.time() - 2 * DAY_S
    os.utime(path, (old, old))


def lose_blob(world: World) -> None:
    """Name a large payload that is not there."""
    blob(world, "lost", named=True, kept=False)


def change_blob(world: World) -> None:
    """Change a large payload."""
    blob(world, "as it was", named=True).write_text("as it is")


def change_view(world: World) -> None:
    """Change a worker's state file."""
    path = world.state_dir / "workers" / "auth.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": "IDLE"}))


def lose_view(world: World) -> None:
    """Delete a worker's state file."""
    (world.state_dir / "workers" / "docs.json").unlink()


def misplace_view(world: World) -> None:
    """Make a directory in the place of a worker's state file."""
    path = world.state_dir / "workers" / "auth.json"
    path.unlink()
    path.mkdir()


def damage_note(world: World) -> None:
    """Write NUL bytes into the recorded directory of the worktrees."""
    (world.state_dir / "worktree-root").write_bytes(b"work\0trees\n")


def lose_review(world: World) -> None:
    """Delete a review's file."""
    (world.state_dir / "reviews" / "docs.json").unlink()


def cut_line(world: World, name: str) -> None:
    """Take one line out of the middle of a log file."""
    path = world.state_dir / name
    lines = path.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    path.write_bytes(b"".join((*lines[:middle], *lines[middle + 1 :])))


def rescue_ref(world: World) -> Path:
    """Return the file of the cancelled worker's rescue ref."""
    return world.root / ".git/refs/worker/rescue/gone/away/1"


def break_rescue(world: World) -> None:
    """Let a rescue ref name a commit that does not exist."""
    rescue_ref(world).write_text(f"{'2' * 40}\n")


def break_round(world: World) -> None:
    """Let the ref of a round name a commit that does not exist."""
    path = world.root / ".git/refs/worker/round/auth/login/1"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{'2' * 40}\n")


def lose_rescue(world: World) -> None:
    """Delete a rescue ref."""
    rescue_ref(world).unlink()


def leave_anchor(world: World) -> None:
    """Leave the ref that a landing had kept."""
    world.git("update-ref", "refs/worker/landing/gone/away", "main")


def unknown_trash(world: World) -> None:
    """Put an entry into the trash that no operation made."""
    (entry,) = (world.root / "worktrees/.trash").glob("*-gone-away-*")
    copy = entry.parent / "20200101T000000000Z-who-knows-99"
    copy.mkdir()
    facts = json.loads((entry / "record").read_text())
    (copy / "record").write_text(json.dumps({**facts, "name": "who-knows-99"}))


def lose_trash(world: World) -> None:
    """Delete a removed worktree from the trash."""
    (entry,) = (world.root / "worktrees/.trash").glob("*-gone-away-*")
    shutil.rmtree(entry)


def unowned_worktree(world: World) -> None:
    """Make a worktree with the mark of a worker that does not exist."""
    world.git("worktree", "add", "-q", "-b", "who/knows", str(world.root / "worktrees/knows"))
    admin = world.git("rev-parse", "--absolute-git-dir", cwd=world.root / "worktrees/knows")
    Path(admin, "gitworker-seat").write_text("who knows\n")


def detach(world: World) -> None:
    """Detach a worktree's HEAD at the branch's commit."""
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))


def switch(world: World) -> None:
    """Switch a worktree to another commit."""
    world.git("checkout", "-q", "--detach", "main", cwd=world.path("auth"))


def delete_owner_mark(world: World) -> None:
    """Delete the mark of its worker from a worktree."""
    Path(world.worker("auth").admin_dir or "", "gitworker-seat").unlink()


def claim_for_removed_worker(world: World) -> None:
    """Claim a task for a worker that no longer exists."""
    sql(world, "INSERT OR REPLACE INTO task_claims VALUES ('away', 'robot', 1, 2)")


def force_target(world: World) -> None:
    """Move the target back over a landing by force."""
    world.git("reset", "-q", "--hard", "HEAD~1")


def leave_lock(world: World) -> None:
    """Leave git's lock of the index, as a killed git does."""
    lock = Path(world.worker("auth").admin_dir or "", "index.lock")
    lock.touch()
    os.utime(lock, (1, 1))


def leave_move(world: World) -> None:
    """Leave a lock of a move of ours, without the operation that it belonged to."""
    world.drive("approve", "docs", GITWORKER_CRASH_AT="move-ref")
    sql(world, "UPDATE operations SET status = 'rolled_back' WHERE status = 'open'")


def lose_excludes(world: World) -> None:
    """Take our lines out of info/exclude."""
    (world.root / ".git/info/exclude").write_text("mine\n")


def lose_hooks(world: World) -> None:
    """Delete our hook scripts."""
    hooks = world.state_dir / "hooks"
    os.chmod(hooks, 0o755)
    shutil.rmtree(hooks)


def damage_index(world: World) -> None:
    """Cut the index of a worktree, as a full disk does."""
    index = Path(world.worker("auth").admin_dir or "", "index")
    index.write_bytes(index.read_bytes()[:40])


def deafen(world: World) -> None:
    """Take the setting away by which our hooks fire in one worktree."""
    Path(world.worker("auth").admin_dir or "", "config.worktree").unlink()


def lose_commits(world: World) -> None:
    """Let git delete the objects of a deleted branch."""
    place = world.path("auth")
    world.git("checkout", "-q", "--detach", "main", cwd=place)
    world.git("update-ref", "-d", "refs/heads/auth/login")
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")


def forget_reflogs(world: World) -> None:
    """Let all reflogs expire, as `git gc` does in the end."""
    world.git("reflog", "expire", "--expire=now", "--all")


def amend(world: World) -> None:
    """Rewrite a published commit, as an agent does, and let git forget the first one."""
    world.drive("sweep")
    (world.path("auth") / "a").write_text("2\n")
    world.git("commit", "-qa", "--amend", "-m", "Other", cwd=world.path("auth"))
    forget_reflogs(world)


def _plant(make: Callable[[World], object], *codes: str, mendable: bool = True) -> Plant:
    return Plant(make, codes, mendable)


PLANTS = {
    "deleted branch": _plant(delete_branch, "branch_gone", "commit_unreachable"),
    "moved branch": _plant(move_branch, "branch_moved", "commit_unreachable"),
    "broken branch": _plant(break_branch, "branch_broken", "commit_unreachable", mendable=False),
    "damaged commondir": _plant(damage_commondir, "commondir_damaged"),
    "missing object": _plant(lose_object, "object_missing"),
    "empty object": _plant(lambda w: lose_object(w, empty=True), "object_empty"),
    "empty branch file": _plant(empty_branch, "ref_damaged", "branch_gone"),
    "damaged head": _plant(damage_head, "head_damaged"),
    "vanished worktree": _plant(remove_worktree, "worktree_missing", mendable=False),
    "lost git file": _plant(lose_git_file, "git_file_wrong"),
    "moved worktree": _plant(move_worktree, "worktree_moved"),
    "foreign worktree": _plant(foreign_worktree, "worktree_foreign", mendable=False),
    "copied rows": _plant(copied_rows, "worktree_copied", "worktree_unowned"),
    "vanished admin directory": _plant(remove_admin, "admin_gone"),
    "vanished both": _plant(remove_both, "worktree_gone"),
    "half journal": _plant(half_journal, "journal_open", "worktree_gone"),
    "unreadable journal": _plant(unreadable_journal, "journal_broken", mendable=False),
    "edited worker": _plant(edit_worker, "row_edited", "states_differ", "view_wrong"),
    "edited task": _plant(edit_task, "row_edited", "states_differ"),
    "dropped guard": _plant(drop_guard, "guard_gone"),
    "torn log": _plant(drop_transition, "log_torn", "log_gap", mendable=False),
    "unassigned task": _plant(reassign, "task_assigned_elsewhere"),
    "forgotten place": _plant(
        forget_place, "worktree_none", "worktree_unowned", mendable=False
    ),
    "other admin directory": _plant(rename_admin, "admin_differs"),
    "unknown task": _plant(
        lambda w: retask(w, "what"), "task_unknown", "seat_wrong", "view_wrong", mendable=False
    ),
    "one task twice": _plant(
        lambda w: retask(w, "words"), "task_twice", "seat_wrong", "view_wrong", "review_wrong",
        mendable=False,
    ),
    "renamed target": _plant(rename_target, "target_gone", mendable=False),
    "dangling blob": _plant(dangle_blob, "blob_left"),
    "missing blob": _plant(lose_blob, "blob_gone", mendable=False),
    "changed blob": _plant(change_blob, "blob_wrong", mendable=False),
    "changed view": _plant(change_view, "view_wrong"),
    "misplaced view": _plant(misplace_view, "state_misplaced", "view_wrong"),
    "damaged note": _plant(damage_note, "note_broken"),
    "missing view": _plant(lose_view, "view_wrong"),
    "missing review": _plant(lose_review, "review_wrong"),
    "gap in transitions.jsonl": _plant(lambda w: cut_line(w, "transitions.jsonl"), "log_gap"),
    "gap in bus.jsonl": _plant(lambda w: cut_line(w, "bus.jsonl"), "log_gap"),
    "broken rescue": _plant(break_rescue, "rescue_broken", "commit_unreachable"),
    "broken round": _plant(break_round, "round_broken"),
    "missing rescue": _plant(lose_rescue, "rescue_gone", "commit_unreachable"),
    "anchor": _plant(leave_anchor, "anchor_left"),
    "unknown trash": _plant(unknown_trash, "trash_unknown", mendable=False),
    "missing trash": _plant(lose_trash, "trash_gone"),
    "unowned worktree": _plant(unowned_worktree, "worktree_unowned", mendable=False),
    "detached head": _plant(detach, "wrong_head"),
    "other head": _plant(switch, "wrong_head", mendable=False),
    "missing owner mark": _plant(delete_owner_mark, "seat_wrong"),
    "claim of a removed worker": _plant(claim_for_removed_worker, "claim_left"),
    "waiting without a question": _plant(lose_question, "question_gone"),
    "question of a task that continues": _plant(leave_question, "question_left"),
    "forced target": _plant(
        force_target, "landing_lost", "commit_unreachable", mendable=False
    ),
    "left lock": _plant(leave_lock, "lock_left", mendable=False),
    "damaged index": _plant(damage_index, "index_broken"),
    "left move": _plant(leave_move, "move_left"),
    "missing excludes": _plant(lose_excludes, "excludes_missing"),
    "missing hooks": _plant(lose_hooks, "hooks_broken"),
    "deaf worktree": _plant(deafen, "hooks_missing"),
    "lost commits": _plant(lose_commits, "commit_gone", "branch_gone", mendable=False),
    "amended commit": _plant(amend, "commit_unreachable", "branch_moved"),
}  # fmt: skip
