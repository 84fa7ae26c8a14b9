"""`git worker config`: lists, reads, sets and unsets settings, and names the nearest key."""

from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run
from tests.conftest import git

FILE = ".gitworker.toml"


def commit_settings(root: Path, text: str) -> None:
    """Commit the team's settings on the target."""
    (root / FILE).write_text(text)
    git(root, "add", FILE)
    git(root, "commit", "-qm", "Settings")


def row(root: Path, key: str) -> list[str]:
    """Return a row of the list, without its key."""
    lines = ok(root, "config").splitlines()
    (found,) = (line.split(maxsplit=2) for line in lines if line.split()[0] == key)
    return found[1:]


def test_list(repository: Path) -> None:
    """Every setting is listed with its origin, before anything is set up."""
    commit_settings(repository, "[merge]\nwindow = 3\n")
    git(repository, "config", "worker.merge.parallel", "2")
    assert row(repository, "merge.window") == ["3", f"{FILE} of main"]
    assert row(repository, "merge.parallel") == ["2", "git config, local"]
    assert row(repository, "gc.days") == ["7", "default"]
    assert not (repository / ".git" / "worker-state").exists()
    document = run(repository, "config", "--json").document
    assert document["errors"] == []
    assert {"key": "gc.days", "value": 7, "origin": "default", "source": None} in (
        document["settings"]
    )


def test_set_and_unset(repository: Path) -> None:
    """A setting is written to git config for every worktree, and unset there."""
    assert ok(repository, "config", "worktree.pool", "2") == (
        "worktree.pool is 2 (git config, local); it was 0"
    )
    assert git(repository, "config", "worker.worktree.pool") == "2"
    assert ok(repository, "config", "worker.worktree.pool") == "2"
    assert ok(repository, "config", "--unset", "worktree.pool") == (
        "worktree.pool is 0 (default); it was 2"
    )
    assert ok(repository, "config", "--unset", "worktree.pool") == "worktree.pool is 0 (default)"
    assert ok(repository, "config", "task.max-retries", "1", "--json") != ""
    assert run(repository, "config", "task.max_retries", "--json").document["value"] == 1


def test_lists(repository: Path) -> None:
    """A list takes several values and is printed with one item a line."""
    ok(repository, "config", "verify.commands", "make lint", "make test")
    assert ok(repository, "config", "verify.commands") == "make lint\nmake test"
    ok(repository, "config", "verify.commands", "make")
    assert git(repository, "config", "--get-all", "worker.verify.commands") == "make"


def test_an_origin_that_overrides(repository: Path) -> None:
    """If another origin overrides the new value, the answer names it."""
    answer = run(repository, "config", "gc.days", "3", env={"GITWORKER_GC_DAYS": "5"})
    assert answer == Answer(0, "gc.days is 5 (environment (GITWORKER_GC_DAYS))\n", "")
    assert ok(repository, "config", "gc.days") == "3"


@pytest.mark.parametrize(
    ("words", "status", "error", "hint"),
    [
        (["worktree.poll", "3"], 2, "there is no setting 'worktree.poll'; did you mean"
         " worktree.pool?", "git worker config worktree.pool 3"),
        (["xyzzy"], 2, "there is no setting 'xyzzy'", "git worker config"),
        (["gc.days", "soon"], 2, "the new value: gc.days is 'soon', not a whole number",
         "git worker config"),
        (["gc.days", "1", "2"], 2, "gc.days takes one value", "git worker config gc.days 1"),
        (["verify.env", "=x"], 2, "verify.env has an entry without a name: '=x'", None),
        (["merge.remote", "origin"], 4, "remote 'origin' does not exist",
         "git remote add origin <url>"),
        (["target", "trunk"], 4, "branch 'trunk' does not exist",
         "git branch trunk && git worker config target trunk"),
        (["target", "mian"], 4, "branch 'mian' does not exist", "git worker config target main"),
        (["target", "a..b"], 4, "branch 'a..b' does not exist", "git branch --list"),
        (["--unset"], 2, "--unset needs one key", "git worker config --unset <key>"),
        (["gc.days", "2", "--as", "auth"], 1, "worker auth cannot change the settings of the"
         " repository", "git worker send hq <text>"),
    ],
)  # fmt: skip
def test_refusals(
    repository: Path, words: list[str], status: int, error: str, hint: str | None
) -> None:
    """A wrong key, value or caller changes nothing; the hint is the command to use."""
    before = (repository / ".git" / "config").read_bytes()
    expected = f"error: {error}\n" + (f"hint: {hint}\n" if hint else "")
    assert run(repository, "config", *words) == Answer(status, "", expected)
    assert (repository / ".git" / "config").read_bytes() == before


def test_a_setting_of_the_user(repository: Path, hermetic: Path) -> None:
    """A setting outside of the repository is not unset; the hint does it, for every repository."""
    git(repository, "config", "--global", "worker.gc.days", "3")
    answer = run(repository, "config", "--unset", "gc.days")
    assert answer.status == 1
    assert answer.err.splitlines() == [
        "error: worker.gc.days is set outside of this repository"
        f" (git config, global: {hermetic}/.gitconfig)",
        f"hint: git config --file {hermetic}/.gitconfig --unset-all worker.gc.days",
    ]


def test_a_known_remote_and_branch(repository: Path) -> None:
    """The target and the remote can be set to what exists."""
    git(repository, "remote", "add", "origin", "nowhere")
    git(repository, "branch", "trunk")
    ok(repository, "config", "merge.remote", "origin")
    ok(repository, "config", "target", "trunk")
    ok(repository, "init")
    assert row(repository, "target") == ["trunk", "git config, local"]
    ok(repository, "config", "--unset", "target")
    assert row(repository, "target") == ["trunk", "recorded"]


def test_errors_can_be_corrected(scene: Scene) -> None:
    """With an error in the settings, `config` lists it and removes it, and `doctor` reports it."""
    git(scene.root, "config", "worker.gc.days", "soon")
    problem = "git config, local: gc.days is 'soon', not a whole number"
    assert scene.run("status").err == (
        "error: git config worker.gc.days: gc.days is 'soon', not a whole number\n"
        "hint: git worker config\n"
    )
    assert scene.run("config").err == (
        f"warning: {problem}\nhint: git config --local --unset-all worker.gc.days\n"
    )
    assert problem in scene.run("doctor").out
    ok(scene.root, "config", "--unset", "gc.days")
    assert scene.run("config").err == ""


def test_an_error_in_the_file_stops_landing_only(scene: Scene) -> None:
    """With an error in the target's file, commands read and work, and landing names the error."""
    scene.approved("auth", "t1")
    commit_settings(scene.root, "[verify]\ncommand = ['make']\n")
    fault = (
        f"{FILE} of the target has an unknown setting: verify.command; did you mean"
        " verify.commands?"
    )
    assert scene.run("status").status == 0
    spawned = scene.run("spawn", "docs", "t2")
    assert (spawned.status, f"warning: {fault}\n" in spawned.err) == (0, True)
    merged = scene.run("merge", "auth")
    assert merged.status == 2
    assert f"error: {fault}\nhint: git worker doctor\n" in merged.err
    assert f"→ git commit {FILE}   # on main, corrected" in scene.run("doctor").out


def test_a_damaged_database(scene: Scene) -> None:
    """The settings can be read although the database cannot."""
    ok(scene.root, "init")
    (scene.state / "bus.db").write_bytes(b"no database" * 100)
    assert row(scene.root, "gc.days") == ["7", "default"]


def test_an_included_file(repository: Path) -> None:
    """A setting in a file that the repository's git config includes is unset there."""
    included = repository / ".git" / "more config"
    git(repository, "config", "--file", str(included), "worker.gc.days", "3")
    git(repository, "config", "include.path", "more config")
    place = repository / "below"
    place.mkdir()
    assert row(place, "gc.days") == ["3", f"git config, local: {included}"]
    ok(place, "config", "--unset", "gc.days")
    assert row(place, "gc.days") == ["7", "default"]
