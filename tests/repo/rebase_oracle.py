"""The oracle of the replay tests: a real `git rebase` in a worktree, with a comparable outcome."""

from dataclasses import dataclass

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.replay import (
    ReplayConflict,
    Replayed,
    ReplayResult,
    predict_conflict,
    replay,
)


@dataclass(frozen=True)
class Outcome:
    """The end of a rebase: the commits that it made, or the commit and paths at which it stopped.

    A commit is recorded as (tree, parents' count, headers kept, message bytes).
    """

    commits: tuple[bytes, ...] = ()
    stopped: str = ""
    paths: tuple[str, ...] = ()


def rebase_outcome(
    worktree: Repo, target: str, topic: str, *settings: str, exclude: str | None = None
) -> Outcome:
    """Rebase for real, detached, and return the outcome; the worktree is clean again afterwards."""
    options = [part for setting in settings for part in ("-c", setting)]
    worktree.git("checkout", "-q", "--detach", topic)
    onto = [target] if exclude is None else ["--onto", target, exclude]
    done = worktree.run(*options, "rebase", *onto)
    if done.returncode == 0:
        return Outcome(commits=commits_between(worktree, target, worktree.head()))
    names = worktree.git("diff", "--name-only", "--diff-filter=U", "-z")
    outcome = Outcome(
        stopped=worktree.head("REBASE_HEAD"),
        paths=tuple(sorted({name for name in names.split("\0") if name})),
    )
    worktree.git("rebase", "--abort")
    return outcome


def replay_outcome(
    repo: Repo, target: str, topic: str, exclude: str | None = None
) -> tuple[Outcome, ReplayResult]:
    """Replay and return the outcome in the same form."""
    result = replay(
        Git(str(repo.root)),
        target=Oid(target),
        topic=Oid(topic),
        exclude=None if exclude is None else Oid(exclude),
        scratch_dir=str(repo.root.parent / "scratch"),
    )
    if isinstance(result, Replayed):
        return Outcome(commits=commits_between(repo, target, result.new)), result
    return Outcome(stopped=result.commit, paths=result.paths), result


def predicted(
    repo: Repo, target: str, topic: str, *, exclude: str | None = None, runs_programs: bool = True
) -> ReplayConflict | None:
    """Predict the conflict of a replay."""
    return predict_conflict(
        Git(str(repo.root)),
        target=Oid(target),
        topic=Oid(topic),
        exclude=None if exclude is None else Oid(exclude),
        scratch_dir=str(repo.root.parent / "scratch"),
        runs_programs=runs_programs,
    )


def assert_same(
    repo: Repo, target: str, topic: str, *settings: str, exclude: str | None = None
) -> ReplayResult:
    """Require that replay and prediction equal rebase and that no ref moved; return the result.

    `settings` apply to both: to the rebase by `-c`, to the replay through the repository's config.
    With `exclude` it is `git rebase --onto TARGET EXCLUDE`.
    """
    worktree = repo.root.parent / "oracle"
    oracle = Repo(worktree)
    if not worktree.exists():
        repo.git("worktree", "add", "-q", "--detach", str(worktree), target)
    expected = rebase_outcome(oracle, target, topic, *settings, exclude=exclude)
    oracle.git("checkout", "-q", "--detach", target)
    refs = repo.git("for-each-ref")
    status = repo.git("status", "--porcelain")
    actual, result = replay_outcome(repo, target, topic, exclude)
    assert actual == expected, f"replay gave {actual}\nrebase gave {expected}"
    conflict = result if isinstance(result, ReplayConflict) else None
    assert predicted(repo, target, topic, exclude=exclude) == conflict
    assert repo.git("for-each-ref") == refs
    assert repo.git("status", "--porcelain") == status
    return result


def commits_between(repo: Repo, base: str, tip: str) -> tuple[bytes, ...]:
    """Return each commit's tree, author, encoding and message, but nothing that time changes."""
    oids = repo.git("rev-list", "--reverse", "--topo-order", f"{base}..{tip}").split()
    commits = []
    for oid in oids:
        head, _, message = repo.run("cat-file", "commit", oid).stdout.partition(b"\n\n")
        kept = (
            line
            for line in head.split(b"\n")
            if line.startswith((b"tree ", b"author ", b"encoding "))
        )
        signed = b"signed" if b"\ngpgsig" in head else b"unsigned"
        commits.append(b"\n".join((*kept, signed, message)))
    return tuple(commits)
