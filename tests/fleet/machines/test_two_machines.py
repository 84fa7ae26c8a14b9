"""Two machines of one fleet: work that is done on one is reviewed and landed on the other."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tests.cli.forking import PROGRAM
from tests.cli.kit import plain
from tests.fleet.machines.machine import LIMIT_S, Machine, wait_for

Fleet = Callable[..., list[Machine]]
SAME = (
    ("list",), ("task", "list"), ("task", "show", "login"), ("task", "show", "docs"),
    ("msg", "search", "look"), ("claim", "list"), ("log",),
)  # fmt: skip


def test_work_of_one_machine_lands_on_another(fleet: Fleet) -> None:
    """Another machine sees, diffs, reviews, approves and lands the work, and the first follows."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    assert "on alpha" in beta.ok("status")
    assert "(on alpha)" in beta.ok("show", "auth")
    alpha.ok("done", "auth", "-m", "done")
    assert "auth" in beta.ok("status")
    assert "+x" in beta.ok("diff", "auth")
    beta.ok("review", "auth")
    beta.ok("approve", "auth")
    beta.ok("land", "auth")
    assert beta.git("log", "-1", "--format=%s") == "Add b"
    wait_for(lambda: alpha.follows(beta))
    wait_for(lambda: not (alpha.root / "worktrees" / "login").exists())
    wait_for(lambda: branches_of_remote(beta) == ["main"])
    assert beta.git("status", "--porcelain") == alpha.git("status", "--porcelain") == ""
    for one in (alpha, beta):
        assert one.ok("fsck")
        assert one.complaints() == []
        assert one.query("SELECT status FROM tasks") == [("COMPLETED",)]


def test_commands_that_fetch_the_same_branch(fleet: Fleet) -> None:
    """Commands at once, beside the job that follows, all find work that was just handed in."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    for number in range(3):
        alpha.commit("auth", f"Add {number}", {f"{number}.txt": "x\n"})
        alpha.ok("done", "auth", "-m", str(number))
        words = (str(PROGRAM), "diff", "auth", "--name-only")
        readers = [beta.popen(*words, stdout=-1, stderr=-1) for _ in range(5)]
        said = [one.communicate(timeout=LIMIT_S) for one in readers]
        assert [one.returncode for one in readers] == [0] * 5, said
        assert {out for out, _ in said} == {said[0][0]}
        assert f"{number}.txt" in said[0][0].decode()


def test_a_branch_that_was_not_deleted(fleet: Fleet) -> None:
    """The job of a later landing deletes the branch of an earlier one that the remote kept."""
    (alpha,) = fleet("alpha")
    remote = alpha.root.parent / "remote.git"
    alpha.git("config", "receive.denyDeletes", "true", cwd=remote)
    for worker, task, left in (("auth", "login", ["auth/login", "main"]), ("ui", "menu", ["main"])):
        alpha.ok("spawn", worker, task)
        alpha.commit(worker, "Add", {f"{worker}.txt": "x\n"})
        alpha.ok("done", worker)
        alpha.ok("approve", worker)
        alpha.ok("land", worker)
        wait_for(lambda: alpha.popen("pgrep", "-f", "delete-landed", stdout=-3).wait() == 1)
        wait_for(lambda left=left: branches_of_remote(alpha) == left)
        alpha.git("config", "receive.denyDeletes", "false", cwd=remote)


def branches_of_remote(machine: Machine) -> list[str]:
    """Return the branches that the remote has."""
    lines = machine.git("ls-remote", "--heads", "origin").splitlines()
    return [line.partition("refs/heads/")[2] for line in lines]


def test_work_on_the_remote_that_has_not_landed_is_kept(fleet: Fleet) -> None:
    """The remote's branch is deleted only at a commit that has landed; a rebased one has."""
    alpha, beta = fleet("alpha", "beta")
    for name, task in (("auth", "login"), ("api", "limits"), ("ui", "form")):
        alpha.ok("spawn", name, task)
        alpha.commit(name, f"Add {name}", {f"{name}.txt": "x\n"})
        alpha.ok("done", name)
    beta.git("fetch", "-q", "origin", "ui/form")
    later = beta.git("commit-tree", "-m", "Later", "-p", "FETCH_HEAD", "FETCH_HEAD^{tree}")
    beta.git("push", "-q", "origin", f"{later}:refs/heads/ui/form")
    beta.ok("land", "auth", "api")
    alpha.ok("land", "ui")
    wait_for(lambda: branches_of_remote(beta) == ["main", "ui/form"])
    wait_for(lambda: alpha.popen("pgrep", "-f", "delete-landed", stdout=-3).wait() == 1)
    assert branches_of_remote(beta) == ["main", "ui/form"]
    assert alpha.complaints() == beta.complaints() == []


def say_the_same(machines: Iterable[Machine], words: tuple[str, ...]) -> bool:
    """Return whether a screen is the same on all machines; a renewed claim arrives with a report.

    A machine reports every five seconds.
    """
    return len({plain(one.ok(*words), one.root) for one in machines}) == 1


def test_screens_of_both_machines_say_the_same(fleet: Fleet) -> None:
    """A screen that is read on one machine says what it says on the other, in each state."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("task", "add", "docs", "--title", "Write docs")
    alpha.ok("spawn", "auth", "login", "--title", "Log in")
    for step in (
        lambda: alpha.commit("auth", "Add b", {"b.txt": "x\n"}),
        lambda: beta.ok("msg", "send", "x-note", '"please look"', "--to", "auth"),
        lambda: alpha.ok("done", "auth", "-m", "done"),
        lambda: beta.ok("approve", "auth"),
        lambda: beta.ok("land", "auth"),
    ):
        step()
        for words in SAME:
            wait_for(partial(say_the_same, (alpha, beta), words))


def test_a_message_to_a_worker_of_another_machine(fleet: Fleet) -> None:
    """A message from one machine arrives once at a worker of another one."""
    alpha, beta = fleet("alpha", "beta")
    beta.ok("spawn", "auth", "login")
    place = Path(beta.ok("path", "auth"))
    alpha.ok("msg", "send", "x-note", '"please look"', "--to", "auth")
    seen = [beta.ok("msg", "poll", cwd=place)]
    wait_for(
        lambda: seen.append(beta.ok("msg", "poll", cwd=place)) or "look" in "".join(seen)  # type: ignore[func-returns-value]
    )
    seen.append(beta.ok("msg", "poll", cwd=place))
    assert "".join(seen).count("please look") == 1
