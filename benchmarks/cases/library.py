"""Library calls that replace a git command, in one process: replay and removal."""

from collections.abc import Iterator

from benchmarks.measure import interleave, time_call
from benchmarks.results import Result, compare
from benchmarks.scene import Scene, commit
from fixtures.big_repo import build_big_repo, path_of
from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.replay import Replayed, replay
from gitworker.repo.rescue.trash import delete_clean_in_background, move_to_trash

REPLAY_ROUNDS = 15
REMOVAL_ROUNDS = 11
COMMITS = 4


def measure_replay(scene: Scene) -> Iterator[Result]:
    """Measure the replay of four commits against `git rebase` in the branch's own worktree."""
    root = build_big_repo(scene.folder / "repo")
    tree = scene.folder / "tree"
    scene.git(root, "worktree", "add", "-q", "-b", "topic", str(tree))
    for number in range(COMMITS):
        commit(scene, tree, path_of(5_000 + number), message=f"Change {number}")
    commit(scene, root, path_of(9_000), message="Go on")
    topic, target = scene.git(root, "rev-parse", "topic", "main").split()

    def ours() -> float:
        def call() -> None:
            result = replay(
                Git(str(tree)),
                target=Oid(target),
                topic=Oid(topic),
                scratch_dir=str(scene.folder / "scratch"),
            )
            assert isinstance(result, Replayed), result

        return time_call(call)

    def theirs() -> float:
        scene.git(tree, "reset", "-q", "--hard", topic)
        return scene.time(tree, "git", "rebase", "-q", target)

    samples = interleave({"ours": ours, "theirs": theirs}, rounds=scene.count(REPLAY_ROUNDS))
    yield compare(
        f"replay of {COMMITS} commits in 13,000 files",
        ours=("gitworker.repo.replay.replay.replay(…)", samples["ours"]),
        theirs=("git rebase -q main (in the branch's worktree)", samples["theirs"]),
        at_most=0.3,
    )


def measure_removal(scene: Scene) -> Iterator[Result]:
    """Measure the removal of a clean worktree, deleted in the background, against git's removal."""
    root = build_big_repo(scene.folder / "repo")
    tree = scene.folder / "tree"

    def add() -> str:
        scene.git(root, "worktree", "add", "-q", "--detach", str(tree))
        scene.age(tree)
        scene.settle_disk()
        return require_repository(str(tree)).git_dir

    def ours() -> float:
        admin_dir = add()

        def call() -> None:
            entry = move_to_trash(
                worktree=str(tree),
                admin_dir=admin_dir,
                trash_root=str(scene.folder / ".trash"),
                name="tree",
                stamp="1",
            )
            delete_clean_in_background([(entry, "HEAD")], f"{root}/.git")

        return time_call(call)

    def theirs() -> float:
        add()
        return scene.time(root, "git", "worktree", "remove", str(tree))

    samples = interleave({"ours": ours, "theirs": theirs}, rounds=scene.count(REMOVAL_ROUNDS))
    yield compare(
        "moving a worktree of 13,000 files away",
        ours=("move_to_trash, delete_clean_in_background", samples["ours"]),
        theirs=("git worktree remove PATH", samples["theirs"]),
        at_most=0.1,
    )
