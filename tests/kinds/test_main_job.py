"""The main job on repositories of every kind that git can make."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kinds import builders, story
from tests.kinds.builders import Kind

KINDS = (
    Kind("plain", builders.configured()),
    Kind("bare", builders.bare),
    Kind(
        "bare beside worktrees", builders.bare_beside_worktrees, landed=builders.is_followed
    ),
    Kind("bare below worktrees", builders.bare_below_worktrees, landed=builders.is_followed),
    Kind("separate git directory", builders.separate),
    Kind("shallow", builders.shallow),
    Kind("partial", builders.partial),
    Kind("treeless", builders.treeless),
    Kind("partial and sparse", builders.partial_and_sparse, worktree=builders.holds_no_docs),
    Kind("borrowed objects", builders.shared),
    Kind("sha256", builders.made_with("--object-format=sha256")),
    Kind("reftable", builders.made_with("--ref-format=reftable"), since=(2, 45)),
    Kind("submodule", builders.with_submodule, worktree=builders.holds_the_submodule),
    Kind("inside a submodule", builders.inside_submodule, landed=builders.lies_quietly),
    Kind("sparse cone", builders.sparse("--cone", "src"), worktree=builders.holds_no_docs),
    Kind(
        "sparse patterns",
        builders.sparse("--no-cone", "/*", "!/docs/"),
        worktree=builders.holds_no_docs,
    ),
    Kind(
        "sparse index",
        builders.sparse("--cone", "--sparse-index", "src"),
        worktree=builders.holds_no_docs,
    ),
    Kind("sparse by hand", builders.sparse_by_hand, worktree=builders.holds_no_docs),
    Kind("autocrlf", builders.windows, worktree=builders.has_carriage_returns),
    Kind("ignoreCase", builders.configured("core.ignoreCase=true")),
    Kind("untracked cache", builders.configured("core.untrackedCache=true")),
    Kind("split index", builders.configured("index.version=4", "core.splitIndex=true")),
    Kind(
        "split index that expires at once",
        builders.configured(
            "core.splitIndex=true", "splitIndex.sharedIndexExpire=now",
            "splitIndex.maxPercentChange=0",
        ),
    ),
    Kind("many files", builders.configured("feature.manyFiles=true", "index.skipHash=true")),
    Kind(
        "watched", builders.watched, worktree=builders.is_watched,
        landed=builders.watches_no_removed_worktree,
    ),
    Kind(
        "relative worktrees", builders.relative, worktree=builders.points_relatively, since=(2, 48)
    ),
    Kind("signed by ssh", builders.signing, landed=builders.is_signed),
)  # fmt: skip


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def kind(request: pytest.FixtureRequest) -> Kind:
    """A kind that the git on PATH supports."""
    chosen: Kind = request.param
    builders.require(chosen)
    return chosen


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory; daemons that watch repositories in it end with the test."""
    yield tmp_path
    builders.end_watching(tmp_path)


def test_main_job(kind: Kind, place: Path) -> None:
    """Init, spawn, commit, done, approve, verify, merge, a conflict, cancel and undo all work."""
    story.play(kind.build(place), kind)
