"""show: reading one worker from a real repository, and presenting it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gitworker import clock as machine
from gitworker.bus.drain import drain
from gitworker.bus.publish import Outgoing, publish
from gitworker.lifecycle.fail import fail
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.rules_stale import Liveness
from gitworker.model.worker import WorkerState
from gitworker.observe.workers.show import LandedTask, WorkerView, read_show
from gitworker.observe.workers.show_text import json_show, render_show
from gitworker.processes.table import find_process
from gitworker.review.comments.send import reject
from gitworker.session import Session
from gitworker.store.commits.conflict_warnings import add_warning
from gitworker.store.commits.merge_results import MergeResult, store_merge_results
from gitworker.store.workers import add_worker, set_process, set_returned
from gitworker.workers.cancel import reset
from tests.conftest import git
from tests.unit.observe.conftest import NOW_MS, Clock
from tests.unit.observe.scene import commit, in_review, landed, spawned, worker, working


def screen(show: WorkerView, *, color: bool = False, width: int = 100) -> list[str]:
    """Return the worker's screen without the events, whose ids vary."""
    lines = render_show(show, width=width, color=color).splitlines()
    start = next(i for i, line in enumerate(lines) if "last events" in line)
    return lines[: start - 1] + lines[-1:]


@pytest.mark.parametrize("width", [80, 120])
def test_worker_in_review(session: Session, clock: Clock, repository: Path, width: int) -> None:
    """The whole screen of a worker that waits for a review."""
    auth = in_review(session, "auth", "skills")
    git(repository, "commit", "-qm", "Elsewhere", "--allow-empty")
    clock.ms += 65_000
    tip, base = (git(repository, "rev-parse", name)[:10] for name in ("auth/skills", "main~1"))
    assert screen(read_show(session, auth), width=width) == [
        "auth  in review for 1m, waits for a review",
        "task      skills  handed in",
        "attempt   1 of 4",
        f"branch    auth/skills  {tip}  +1/-1 against main",
        f"base      {base}",
        f"worktree  {auth.worktree}",
        "          clean",
        "heartbeat 1m ago: working, 25% done",
        f"review    requested 1m ago by hq, of {tip}",
        "          please look",
        "",
        "1 commit that would land",
        f"  {tip}  Add skills.txt",
        "",
        "1 file changed",
        "  skills.txt",
        "next: git worker approve auth",
    ]


def test_worker_at_work(session: Session, clock: Clock) -> None:
    """Uncommitted work, an open git operation, a process and silence are shown."""
    auth = working(session, "auth", "skills")
    own = find_process(1)
    assert auth.worktree is not None
    assert auth.admin_dir is not None
    assert own is not None
    with session.store.write() as writer:
        set_process(writer, "auth", pid=1, start=own.start, origin=this_origin())
    (Path(auth.worktree) / "README").write_text("changed\n")
    (Path(auth.worktree) / "new").write_text("new\n")
    Path(auth.admin_dir, "MERGE_HEAD").write_text("")
    clock.ms += 200_000
    show = read_show(session, auth)
    assert show.life.liveness is Liveness.STALE
    assert show.life.process_runs is True
    lines = screen(show)
    assert lines[0] == "auth  at work for 3m  STALE"
    assert lines[6:10] == [
        "          1 changed, 1 untracked",
        "          a merge is in progress there",
        f"process   1 on {machine.host_name()} is alive",
        "heartbeat 3m ago: working, 25% done",
    ]
    assert lines[-1] == "next: git worker wait auth"
    assert "\x1b[36mat work\x1b[0m for 3m  \x1b[31mSTALE\x1b[0m" in screen(show, color=True)[0]


def test_process_of_an_earlier_boot(session: Session) -> None:
    """A process of another boot, host or PID namespace is unknown, and not shown as ended."""
    working(session, "auth", "skills")
    lines = []
    here = dict(zip(("host", "boot_id", "pid_ns"), this_origin(), strict=True))
    others = ({"boot_id": "earlier"}, {"pid_ns": "1"}, {"pid_ns": None}, {"host": "elsewhere"})
    for other in others:
        with session.store.write() as writer:
            writer.run("workers.set_process", worker="auth", pid=1, pid_start="1",
                       **(here | other))  # fmt: skip
        lines += [line for line in screen(read_show(session, worker(session, "auth")))
                  if line.startswith("process")]  # fmt: skip
    assert lines == [
        *[f"process   1 on {machine.host_name()} cannot be seen from here"] * 3,
        "process   1 on elsewhere cannot be seen from here",
    ]


def test_rejected_worker(session: Session) -> None:
    """A request for changes is shown with all its lines, escaped."""
    in_review(session, "auth", "skills")
    reject(session, "auth", note="two\nlines \x1b[2J")
    show = read_show(session, worker(session, "auth"))
    assert show.review is not None
    assert (show.review.verdict, show.review.reviewer) == (
        "changes_requested", "Ada Tester <ada@example.org>",
    )  # fmt: skip
    lines = screen(show)
    assert lines[0] == "auth  at work for 0s, waits for its author  OK"
    assert lines[3] == "returned  changes requested"
    at = lines.index("          two")
    assert lines[at - 1].startswith("review    changes requested 0s ago by Ada Tester <ada@")
    assert lines[at + 1] == "          lines \\x1b[2J"


NOTE = """\
I need the token of the staging server
before I continue; it is not in the vault, and the wiki does not mention it anywhere."""
TALK = {
    80: """\
conversation
  0s  auth  review_request: please look
  5m  auth → hq  status: I need the token of the staging server
      before I continue; it is not in the vault, and the wiki does not mention
      it anywhere.
  1m  hq → auth  note: Ask 山田さん
""",
    120: """\
conversation
  0s  auth  review_request: please look
  5m  auth → hq  status: I need the token of the staging server
      before I continue; it is not in the vault, and the wiki does not mention it anywhere.
  1m  hq → auth  note: Ask 山田さん
""",
}


@pytest.mark.parametrize("width", [80, 120])
def test_conversation(session: Session, clock: Clock, width: int) -> None:
    """Both sides of the conversation are shown whole, without messages that other lines repeat."""
    in_review(session, "auth", "skills")
    reject(session, "auth", note="shown as the review")
    for sender, to, kind, note, age_ms in (
        ("auth", "hq", "status", NOTE, 300_000),
        ("hq", "auth", "x-note", "Ask 山田さん", 60_000),
        ("hq", None, "x-note", "for all", 1),
        ("hq", "auth", "x-task-ended", "an earlier task was cancelled", 1),
    ):
        with session.store.write() as writer:
            payload = {"note": note}
            message = Outgoing(kind, sender=sender, to=to, payload=payload)
            publish(writer, message, now=NOW_MS - age_ms)
    show = read_show(session, worker(session, "auth"))
    text = render_show(show, width=width, color=False)
    start = text.index("\nconversation\n") + 1
    assert text[start : text.index("\n\n", start) + 1] == TALK[width].replace("note:", "x-note:")
    assert [said["from"] for said in json_show(show)["conversation"]] == ["auth", "auth", "hq"]


def test_a_long_conversation(session: Session) -> None:
    """Notes are whole, older messages are named by their command, and events repeat little."""
    in_review(session, "auth", "skills")
    note = "\n".join(f"line {number} of the note" for number in range(200))
    texts = [f"message {number}" for number in range(60)]
    for number, text in enumerate([*texts, note]):
        sender, to = ("auth", "hq") if number % 2 else ("hq", "auth")
        with session.store.write() as writer:
            message = Outgoing("x-note", sender=sender, to=to, payload={"note": text})
            publish(writer, message, now=NOW_MS + number)
    show = read_show(session, worker(session, "auth"))
    lines = render_show(show, width=None, color=False).splitlines()
    start = lines.index("conversation") + 1
    assert lines[start] == "      older messages: git worker log auth -n 1000"
    assert lines[start + 1].endswith("auth → hq  x-note: message 41")
    assert lines[start + 19].endswith("auth → hq  x-note: message 59")
    assert lines[start + 20].endswith("hq → auth  x-note: line 0 of the note")
    assert lines[start + 219] == "      line 199 of the note"
    assert max(map(len, lines)) <= 210


def test_returned_worker(session: Session) -> None:
    """The reason of a return is shown with all files, the waiting author and the next command."""
    auth = working(session, "auth", "skills")
    files = [f"src/file{number}.py" for number in range(6)]
    with session.store.write() as writer:
        set_returned(
            writer, "auth", reason="merge_conflict", tip=auth.base_oid or "",
            detail={"files": files},
        )  # fmt: skip
    show = read_show(session, worker(session, "auth"))
    lines = screen(show)
    assert lines[0] == "auth  at work for 0s, waits for its author  OK"
    assert lines[3:5] == [
        "returned  conflict in src/file0.py, src/file1.py, src/file2.py, src/file3.py,"
        " src/file4.py,",
        "          src/file5.py",
    ]
    assert lines[-1] == "next: git worker sync --as auth"
    assert json_show(show)["returned"]["files"] == files


def test_known_conflicts(session: Session) -> None:
    """The conflicts that the radar has found are shown with their files."""
    auth, docs = working(session, "auth", "skills"), working(session, "docs", "guide")
    commit(auth, "a.txt")
    refs = drain(session)
    pair = sorted((refs[auth.ref], refs[docs.ref]))
    results = [MergeResult(pair[0], pair[1], ("a.txt", "b.txt"))]
    store_merge_results(session.store, results, now=NOW_MS)
    with session.store.write() as writer:
        add_warning(writer, auth.ref, docs.ref, now=NOW_MS)
    show = read_show(session, worker(session, "auth"))
    assert "conflict  with docs in a.txt, b.txt" in screen(show)
    assert json_show(show)["conflicts"] == [{"with": "docs", "files": ["a.txt", "b.txt"]}]


def test_landed_worker(session: Session, repository: Path) -> None:
    """A worker whose work has landed shows the landed commit."""
    show = read_show(session, landed(session, "auth", "skills"))
    assert show.landing == LandedTask("main", git(repository, "rev-parse", "main"), NOW_MS)
    assert show.branching is None
    lines = screen(show)
    assert f"landed    {git(repository, 'rev-parse', 'main')[:10]} on main 0s ago" in lines
    assert lines[-1] == "next: git worker assign auth <task>"


def test_failed_worker_with_rescued_work(session: Session) -> None:
    """A failure is shown with its reason, and after a reset with the ref of the work."""
    auth = working(session, "auth", "skills")
    commit(auth, "a.txt")
    fail(session, "auth", reason="no idea")
    lines = screen(read_show(session, worker(session, "auth")))
    assert "error     no idea" in lines
    assert lines[-1] == "next: git worker resume auth"
    reset(session, "auth")
    show = read_show(session, worker(session, "auth"))
    assert show.worker.state is WorkerState.IDLE
    assert [one.ref for one in show.rescues] == ["refs/worker/rescue/auth/skills/1"]
    assert f"  {show.rescues[0].oid[:10]}  refs/worker/rescue/auth/skills/1" in screen(show)


def test_worker_without_anything(session: Session) -> None:
    """A worker that never had a task shows its state and its next command."""
    with session.store.write() as writer:
        auth = add_worker(writer, "spare", NOW_MS)
    show = read_show(session, auth)
    assert render_show(show, width=80, color=False) == (
        "spare  no task for 0s, waits for a task\n\nnext: git worker assign spare <task>"
    )
    document = json_show(show)
    for name in ("task", "commits", "worktree", "review", "landing"):
        assert document[name] is None


def test_worker_without_its_worktree_and_branch(session: Session, repository: Path) -> None:
    """A deleted worktree and a deleted branch are shown as missing."""
    auth = spawned(session, "auth", "skills")
    assert auth.worktree is not None
    shutil.rmtree(auth.worktree)
    git(repository, "update-ref", "-d", "refs/heads/auth/skills")
    lines = screen(read_show(session, auth))
    assert "branch    auth/skills  (it does not exist)" in lines
    assert (
        lines[lines.index(f"worktree  {auth.worktree}") + 1]
        == "          the directory does not exist"
    )


def test_many_commits_and_files(session: Session) -> None:
    """Long lists are cut, with the number of the entries left out."""
    auth = working(session, "auth", "skills")
    for number in range(12):
        commit(auth, f"file{number:02}")
    lines = screen(read_show(session, auth))
    commits = lines.index("12 commits that would land")
    files = lines.index("12 files changed")
    assert lines[commits + 11] == lines[files + 11] == "  and 2 more"


@pytest.mark.parametrize("state", ["IN_REVIEW", "deleted"])
def test_json(session: Session, state: str) -> None:
    """The document has every fact as a field."""
    auth = in_review(session, "auth", "skills")
    if state == "deleted":
        assert auth.worktree is not None
        shutil.rmtree(auth.worktree)
    document = json_show(read_show(session, auth))
    deleted, missing = state == "deleted", f"the worktree of auth is not at {auth.worktree}"
    assert document["task"] == {
        "id": "skills", "title": "", "status": "AWAITING_APPROVAL", "attempt": 1,
        "max_attempts": 4, "waits_for": [], "text": "",
    }  # fmt: skip
    assert document["commits"]["ahead"] == 1
    assert document["commits"]["newest"][0]["subject"] == "Add skills.txt"
    assert document["worktree"] == {
        "path": auth.worktree, "exists": not deleted, "operation": None,
        "flaw": f"{missing}: deleted, moved or unmounted" if deleted else None,
        **dict.fromkeys(("staged", "changed", "untracked", "unmerged"), None if deleted else 0),
    }  # fmt: skip
    assert document["review"]["verdict"] == "requested"
    assert document["life"] == {
        "liveness": "-", "beat_age_s": 0, "status": "working", "progress": 0.25,
    }  # fmt: skip
    helps = (
        "git worker cancel auth && git worker undo   # makes it again; if it was moved:"
        " git worktree repair <new-place>"
    )
    assert document["next"] == (helps if deleted else "git worker approve auth")


def test_json_of_landed_work(session: Session, repository: Path) -> None:
    """The document has the landed commits and their target."""
    document = json_show(read_show(session, landed(session, "auth", "skills")))
    assert document["landing"] == {
        "target": "main", "commit": git(repository, "rev-parse", "main"),
        "at": machine.iso_utc(NOW_MS),
    }  # fmt: skip
    assert document["review"]["state"] == document["review"]["verdict"] == "approved"


def test_dependencies_and_pull_request(session: Session) -> None:
    """Dependencies, title and pull request of a task are shown; a task may be unknown."""
    auth = spawned(session, "auth", "skills", title="All \x1b skills")
    show = replace(read_show(session, auth), dependencies=("models", "views"))
    assert screen(show)[1:4] == [
        "task      skills  assigned  All \\x1b skills",
        "attempt   1 of 4",
        "waits for models, views",
    ]
    with session.store.write() as writer:
        writer.run("workers.set_assignment", worker="auth", task="unknown", branch=None,
                   base_oid=None, worktree=None, admin_dir=None, now=NOW_MS)  # fmt: skip
    with session.store.write() as writer:
        writer.run("workers.set_pr", worker="auth", pr_url="https://example.org/1")
    lines = screen(read_show(session, worker(session, "auth")))
    assert lines[1] == "task      unknown"
    assert lines[2] == "pull req. https://example.org/1"
