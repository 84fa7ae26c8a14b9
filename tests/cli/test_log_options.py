"""The options of log and diff that choose a part, run as whole programs."""

from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run
from tests.conftest import git


def test_log_since_and_type(scene: Scene) -> None:
    """--since takes an age or a date, --type can be repeated; the default limit ends with them."""
    scene.submitted()
    for since in ("1h", "2020-01-01", "2020-01-01 10:00"):
        lines = ok(scene.root, "log", "--since", since, "--type", "commit").splitlines()
        assert ["Write new.txt" in line for line in lines] == [True]
    assert ok(scene.root, "log", "--since", "0s", "--type", "x-none") == "no such event"
    types = ok(scene.root, "log", "auth", "--type", "task_done", "--type", "review_request")
    assert len(types.splitlines()) == 2
    answer = scene.run("log", "--since", "soon")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "error: 'soon' is not a time\nhint: git worker log --since 2h\n"


def test_diff_of_a_part(scene: Scene) -> None:
    """Paths count from the top wherever the command runs; ranges exclude each other."""
    worktree = scene.submitted()
    scene.commit(worktree, "other.txt")
    below = Path(scene.root, "src")
    assert ok(below, "diff", "auth", "new.txt", "--name-only") == "new.txt"
    assert ok(below, "diff", "auth", "--since-request", "--name-only") == "other.txt"
    (worktree / "left.txt").write_text("left\n")
    assert ok(below, "diff", "auth", "--uncommitted", "--name-only") == "left.txt"
    answer = run(scene.root, "diff", "auth", "--uncommitted", "--since-review")
    assert answer.status == 2


def test_diff_of_a_path_in_the_own_worktree(scene: Scene) -> None:
    """In a worktree the first word may be a path, also of a deleted file, and no unknown name."""
    worktree = scene.submitted()
    git(worktree, "rm", "-q", "README")
    git(worktree, "commit", "-qm", "Remove README")
    (worktree / "left.txt").write_text("left\n")
    for path in ("new.txt", "README"):
        assert ok(worktree, "diff", path, "--name-only") == path
    assert ok(worktree, "diff", "left.txt", "--uncommitted", "--name-only") == "left.txt"
    answer = scene.run("diff", "atuh", cwd=worktree)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err.startswith("error: no worker, task or branch is called 'atuh'\n")
