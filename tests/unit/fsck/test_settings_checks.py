"""Doctor names a mistyped environment variable."""

import pytest

from gitworker.fsck.quick.settings_checks import find_typos


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("GITWORKER_TARGTE", ["GITWORKER_TARGET"]),
        ("GITWORKER_IDD", ["GITWORKER_ID"]),
        ("GITWORKER_REVIEW_SLEF", ["GITWORKER_REVIEW_SELF"]),
        ("GITWORKER_REVIEW_SELF", []),
        ("GITWORKER_ID", []),
        ("GITWORKER_DATA", []),
        ("GITWORKER_WORKTREE_PATH", []),
        ("GIT_DIR", []),
    ],
)
def test_a_mistyped_variable(name: str, near: list[str]) -> None:
    """A variable that is almost ours is named with ours; one of another program is not."""
    assert [known for _, known in find_typos([name, "HOME"])] == near
