"""Agents and commands in PID namespaces and on other hosts: unknown is never dead."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitworker.liveness.life_lock import LifeLock, is_life_locked
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.processes import processes_in
from gitworker.liveness.start_daemon import is_daemon_running, lock_path
from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import DEADLINE_S, PROGRAM, ok, run
from tests.conftest import git
from tests.liveness.boxes import BLIND, BOX, KINDS, inside, mounted, needs_boxes
from tests.workers.world import World, wait_until, without_heartbeat_daemon

pytestmark = needs_boxes()
COMMANDS = (
    ("status",), ("list",), ("show", "auth"), ("agents",), ("log", "auth"), ("recover",), ("gc",),
    ("fsck",), ("merge", "--all"),
)  # fmt: skip


@pytest.fixture
def auth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SupervisedWorker]:
    """The worker `auth`, ASSIGNED with the task `t1`; every daemon is ended afterwards."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1")
    yield SupervisedWorker(world)
    world.state_dir.rename(world.state_dir.with_name("ended"))  # daemons end without a database


def origin(world: World, worker: str = "auth") -> tuple[object, ...]:
    """Return the stored process of a worker with its namespace."""
    (row,) = world.query(f"SELECT pid, pid_ns FROM workers WHERE worker_id = '{worker}'")
    return row


def age(world: World, seconds: int) -> None:
    """Make the last signs of life older."""
    store = world.session().store
    for sql in (
        "UPDATE heartbeats SET ts_ms = ts_ms - :b",
        "UPDATE heartbeat_clocks SET ts_ms = ts_ms - :b, mono_ms = mono_ms - :b",
        "UPDATE workers SET state_changed_at_ms = state_changed_at_ms - :b",
        "UPDATE runs SET started_at_ms = started_at_ms - :b",
    ):
        store.execute(sql, {"b": seconds * 1000})  # type: ignore[attr-defined]


@contextmanager
def boxed(
    *words: str, box: tuple[str, ...] = BOX, cwd: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command in a box until its standard input closes."""
    process = subprocess.Popen(
        [*box, *words], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=DEADLINE_S)


# ---------------------------------------------------------------- commands inside
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_in_a_box_ends_no_run(auth: SupervisedWorker, kind: str) -> None:
    """No command in a box publishes the end of an agent outside, whose true end is recorded."""
    with auth.running("sh", "-c", "read line; exit 3", stdin=subprocess.PIPE) as process:
        age(auth.world, 60)
        for words in COMMANDS:
            inside(*words, box=KINDS[kind], cwd=auth.world.root)
            assert auth.world.messages("agent_stopped") == [], words
        assert auth.runs()[-1]["ended_at_ms"] is None
        assert auth.state() == "WORKING"
        assert process.stdin
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 3
    (stopped,) = auth.world.messages("agent_stopped")
    assert stopped["exit_status"] == 3


@pytest.mark.parametrize("kind", KINDS)
def test_no_second_agent_from_a_box(auth: SupervisedWorker, kind: str) -> None:
    """An occupied worktree takes no second agent, neither from a box nor outside afterwards."""
    mark = auth.path / "ran"
    with auth.running("sleep", "60"):
        wait_until(lambda: is_life_locked(auth.world.session().paths, "auth"))
        for silence in (0, 120, 400):
            age(auth.world, silence)  # the supervisor's lock shows that it lives
            answer = inside("exec", "auth", "--", "touch", str(mark), box=KINDS[kind],
                            cwd=auth.world.root)  # fmt: skip
            assert answer.status == 3, answer
            assert "already runs an agent" in answer.err
        again = run(auth.world.root, "exec", "auth", "--", "touch", str(mark))
        assert again.status == 3, again
    assert not mark.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_no_worktree_is_taken_from_a_living_agent(auth: SupervisedWorker, kind: str) -> None:
    """`cancel` in a box moves no worktree of an agent that lives outside, in any directory."""
    with auth.running("sh", "-c", "cd / && sleep 60"):
        wait_until(lambda: is_life_locked(auth.world.session().paths, "auth"))
        for silence in (0, 120, 400):
            age(auth.world, silence)
            answer = inside("cancel", "auth", box=KINDS[kind], cwd=auth.world.root)
            assert answer.status == 1, answer
            assert "auth" in answer.err
            assert "hint:" in answer.err
        assert auth.path.is_dir()
    assert auth.world.refs()["refs/heads/auth/t1"]


@pytest.mark.parametrize(
    "change", ["pid_ns = '1'", "host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = NULL"]
)
def test_without_lock_a_fresh_heartbeat_counts(auth: SupervisedWorker, change: str) -> None:
    """An unknown process keeps its worktree by a heartbeat of less than 100 s, or by its lock."""
    world = auth.world
    with without_heartbeat_daemon(world):
        ok(world.root, "start", "auth", "--pid", str(os.getpid()))
        world.session().store.execute(  # type: ignore[attr-defined]
            f"UPDATE workers SET {change}"
        )
        refused = run(world.root, "cancel", "auth")
        words = "an earlier boot" if "boot_id" in change else "another PID namespace"
        assert (refused.status, words in refused.err) == (1, True), refused
        age(world, 120)
        proof = LifeLock(world.session().paths, "auth")
        proof.take()
        assert run(world.root, "cancel", "auth").status == 1
        proof.release()
        age(world, 120)  # the lock counted like a heartbeat
        assert run(world.root, "cancel", "auth").status == 0


# ---------------------------------------------------------------- commands outside
def test_an_agent_in_a_box(auth: SupervisedWorker) -> None:
    """Commands outside end no run of an agent in a box, and take neither worker nor worktree."""
    world = auth.world
    with boxed(PROGRAM, "exec", "auth", "--", "sh", "-c", "cd /; read line; exit 4",
               cwd=world.root) as process:  # fmt: skip
        wait_until(lambda: world.query("SELECT id FROM runs") != [])
        wait_until(lambda: is_life_locked(world.session().paths, "auth"))
        age(world, 400)
        for words in COMMANDS:
            run(world.root, *words)
        assert world.messages("agent_stopped") == []
        assert run(world.root, "exec", "auth", "--", "true").status == 3
        assert run(world.root, "cancel", "auth").status == 1
        assert auth.state() == "WORKING"
        process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 4
    (stopped,) = world.messages("agent_stopped")
    assert stopped["exit_status"] == 4
    assert not is_life_locked(world.session().paths, "auth")
    assert ok(world.root, "reset", "auth") is not None


def test_a_box_that_died(auth: SupervisedWorker) -> None:
    """A run whose whole box was killed ends after five minutes of silence, with one message."""
    world = auth.world
    with boxed(PROGRAM, "exec", "auth", "--", "sleep", "60", cwd=world.root):
        wait_until(lambda: world.query("SELECT id FROM runs") != [])
    wait_until(lambda: not is_life_locked(world.session().paths, "auth"))
    age(world, 250)
    run(world.root, "status")
    assert world.messages("agent_stopped") == []
    age(world, 60)
    for _ in range(2):
        run(world.root, "status")
    (stopped,) = world.messages("agent_stopped")
    assert stopped["exit_status"] is None
    assert auth.state() == "STALE"


# ---------------------------------------------------------------- start
def test_start_in_a_box(auth: SupervisedWorker) -> None:
    """`start` in a box records the pid with its namespace; the box's daemon holds the lock."""
    world = auth.world
    paths = world.session().paths
    script = "git worker start && echo started; read line; true"
    with boxed("sh", "-c", f"bash -i -c '{script}'; true", cwd=auth.path) as process:
        wait_until(lambda: auth.state() == "WORKING")
        pid, pid_ns = origin(world)
        assert isinstance(pid, int)
        assert pid < 20, "a pid of the box"
        assert pid_ns not in (None, this_origin()[2])
        wait_until(lambda: is_life_locked(paths, "auth"))
        assert not is_daemon_running(paths)
        (one,) = [a for a in agents(world) if a["agent"] == "auth"]
        assert one["runs"] is True
        assert process.poll() is None
    wait_until(lambda: not is_life_locked(paths, "auth"))
    (one,) = [a for a in agents(world) if a["agent"] == "auth"]
    assert (one["runs"], one["doing"]) == (None, "working")


def agents(world: World) -> list[dict[str, object]]:
    """Return the output of `agents` outside."""
    found = run(world.root, "agents", "--json").document
    return list(found["agents"])


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (BOX, ["bash", "-c", "git worker start; true"]),  # the shell is pid 1
        (BOX, ["sh", "-c", "bash -c 'git worker start; true'; true"]),  # and here pid 2
        (BLIND, ["sh", "-c", "sh -c 'git worker start; true'; true"]),
        (BLIND, ["python3", "-c", "import os; os.system('git worker start; true')"]),
    ],
)
def test_start_records_no_wrong_process(
    auth: SupervisedWorker, box: tuple[str, ...], words: list[str]
) -> None:
    """If the only ancestors are a sandbox's shells, or /proc shows other pids, none is recorded."""
    subprocess.run([*box, *words], cwd=auth.path, check=True, capture_output=True)
    assert auth.state() == "WORKING"
    assert origin(auth.world)[0] is None


def test_process_1_of_a_container(auth: SupervisedWorker) -> None:
    """An agent that is process 1 of a container is bound by `--pid 1`, from a process below it."""
    words = ("bash", "-c", "git worker start --pid 1; echo bound; read line")
    with boxed(*words, cwd=auth.path) as process:
        assert process.stdout is not None
        while b"bound" not in (line := process.stdout.readline()):
            assert line, "the box has ended"
        pid, pid_ns = origin(auth.world)
        assert pid == 1
        assert pid_ns not in (None, this_origin()[2])


# ---------------------------------------------------------------- one daemon per namespace
def test_a_daemon_per_namespace(auth: SupervisedWorker) -> None:
    """A daemon in a box does not replace one outside: the workers of both have heartbeats."""
    world = auth.world
    paths = world.session().paths
    git(world.root, "config", "worker.liveness.beat-s", "1")
    world.spawn("docs", "t2")
    with (
        boxed("sh", "-c", "bash -i -c 'git worker start; read line'; true", cwd=auth.path),
        subprocess.Popen(["sleep", "60"]) as outside,
    ):
        wait_until(lambda: is_life_locked(paths, "auth"))
        ok(world.root, "start", "docs", "--pid", str(outside.pid))
        wait_until(lambda: is_daemon_running(paths))
        wait_until(lambda: is_life_locked(paths, "docs"))
        before = last_heartbeats(world)
        wait_until(
            lambda: all(last_heartbeats(world)[name] > before[name] for name in ("auth", "docs"))
        )
        inside("list", cwd=world.root)
        assert world.worker("docs").state == "WORKING"
        outside.kill()
    wait_until(lambda: not is_daemon_running(paths))


def last_heartbeats(world: World) -> dict[str, int]:
    """Return the time of each worker's last heartbeat."""
    return dict(world.query("SELECT agent_id, ts_ms FROM heartbeats"))


def test_locks_of_ended_boxes_are_deleted(auth: SupervisedWorker) -> None:
    """A daemon deletes the election locks of other namespaces that no process holds."""
    world = auth.world
    paths = world.session().paths
    left = Path(paths.locks) / "beater-elsewhere-b-1"
    left.touch()
    own = Path(lock_path(paths))
    with subprocess.Popen(["sleep", "60"]) as process:
        ok(world.root, "start", "auth", "--pid", str(process.pid))
        wait_until(lambda: not left.exists())
        assert own.exists()
        process.kill()
    wait_until(lambda: not is_daemon_running(paths))


# ---------------------------------------------------------------- right before the move
@pytest.mark.parametrize("kind", ["cancel", "reset", "remove"])
def test_recovery_checks_again(auth: SupervisedWorker, kind: str) -> None:
    """An interrupted removal moves no worktree in which a process works now."""
    world = auth.world
    if kind == "remove":
        world.commit("auth", {"a": "1\n"})
        ok(world.root, "start", "auth", "--pid", str(os.getpid()))
        world.submit("auth")
        world.approve("auth")
        words = ("merge", "auth")
    else:
        ok(world.root, "start", "auth", "--pid", str(os.getpid()))
        if kind == "reset":
            ok(world.root, "fail", "auth", "-m", "No")
        words = (kind, "auth")
    died = world.drive(*words, GITWORKER_CRASH_AT=f"{kind}.journal")
    assert died.returncode == -9, died
    with subprocess.Popen(["sleep", "60"], cwd=auth.path) as agent:
        run(world.root, "status")
        run(world.root, "recover")
        assert auth.path.is_dir()
        assert os.path.samestat(auth.path.stat(), os.stat(f"/proc/{agent.pid}/cwd"))
        assert git(auth.path, "status", "--porcelain", "--untracked-files=no") == ""
        agent.kill()
    run(world.root, "recover")
    assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []


def test_a_worktree_by_another_path(auth: SupervisedWorker, tmp_path: Path) -> None:
    """A process in another mount namespace, where the repository has another path, occupies it."""
    world = auth.world
    other = tmp_path / "other"
    other.mkdir()
    (auth.path / "deep" / "er").mkdir(parents=True)
    for place in ("worktrees/t1", "worktrees/t1/deep/er"):
        script = f"mount --bind {world.root} {other}; cd {other}/{place}"
        process = subprocess.Popen(mounted(script, "sh", "-c", "echo in; read line"),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        assert processes_in(str(auth.path)) != []
        assert run(world.root, "cancel", "auth").status == 1
        process.communicate(timeout=DEADLINE_S)
    assert processes_in(str(auth.path)) == []
    assert run(world.root, "cancel", "auth").status == 0
