"""The system's failures in git's standard error: the file, the reason, a helpful hint."""

import pytest

from gitworker.repo.plumbing.rules_git_errors import (
    explain_unwritten,
    find_cause,
    find_unwritten,
)

AT = "/r/wt"
CASES = [
    ("fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process seems",
     "/r/.git/index.lock exists: ", "git_locked", 3),
    ("fatal: cannot lock ref 'refs/x': Unable to create '/r/.git/refs/x.lock': File exists.",
     "/r/.git/refs/x.lock exists: ", "git_locked", 3),
    ("error: could not lock config file .git/config: File exists",
     "/r/wt/.git/config.lock exists: ", "git_locked", 3),
    ("fatal: unable to write new index file: No space left on device",
     "git cannot write /r/wt: No space left", "disk", 1),
    ("error: unable to write file src/a: Disk quota exceeded",
     "git cannot write /r/wt/src/a: Disk quota", "disk", 1),
    ("fatal: Unable to create '/r/.git/index.lock': Read-only file system",
     "git cannot write /r/.git/index.lock: Read-only", "read_only", 1),
    ("error: insufficient permission for adding an object to repository database /r/.git/objects",
     "git cannot write /r/.git/objects: Permission denied", "no_permission", 1),
    ("error: unable to unlink old 'a b': Permission denied",
     "git cannot write /r/wt/a b: Permission denied", "no_permission", 1),
    ("error: unable to create temporary file: Input/output error",
     "git cannot write /r/wt: Input/output error", "disk", 1),
    ("fatal: failed to read /r/.git/worktrees/wt/commondir: Success",
     "/r/.git/worktrees/wt/commondir is empty: ", "worktree_half_made", 1),
    ("fatal: failed to read /r/.git/worktrees/wt/commondir: No such file or directory",
     "/r/.git/worktrees/wt/commondir is empty: ", "worktree_half_made", 1),
    ("error: object file .git/objects/0c/fbf0 is empty\nfatal: loose object 0cfbf0 is corrupt",
     "the git object /r/wt/.git/objects/0c/fbf0 is empty; ", "object_empty", 1),
    ("fatal: .git/index: index file smaller than expected",
     "git cannot read /r/wt/.git/index: ", "index_damaged", 1),
    ("error: bad signature 0x00000000\nfatal: index file corrupt",
     "git cannot read the index of /r/wt: ", "index_damaged", 1),
    ("error: bad index file sha1 signature\nfatal: index file corrupt",
     "git cannot read the index of /r/wt: ", "index_damaged", 1),
    ("fatal: bad shallow line: garbage",
     "the file shallow of the repository of /r/wt is damaged", "shallow_damaged", 1),
    ("fatal: not a git repository: /r/.git/worktrees/wt",
     "git cannot use /r/.git/worktrees/wt: ", "worktree_damaged", 1),
]  # fmt: skip


@pytest.mark.parametrize(("complaint", "message", "code", "status"), CASES)
def test_a_cause(complaint: str, message: str, code: str, status: int) -> None:
    """The message names the file and the reason; only a lock is worth a retry."""
    cause = find_cause(complaint, AT)
    assert cause is not None
    assert cause.message.startswith(message)
    assert (cause.code, cause.status) == (code, status)


@pytest.mark.parametrize(
    ("complaint", "hint"),
    [
        ("fatal: Unable to create '/r x/a.lock': File exists.", "rm '/r x/a.lock'   # only if "),
        ("error: unable to write file a: No space left on device", "df -h /r/wt"),
        ("fatal: cannot close '/r/pack/x': No space left on device", "df -h /r/pack"),
        ("error: unable to create '/r/a.lock': Permission denied", "ls -ld /r"),
        ("error: unable to create '/a.lock': Permission denied", "ls -ld /"),
        (
            "error: insufficient permission for adding an object to repository database"
            " .git/objects",
            "ls -ld /r/wt/.git/objects",
        ),
        ("fatal: unable to open /r/pack: Too many open files", "ulimit -n"),
        ("fatal: not a git repository: /r x/.git/worktrees/wt", "git -C '/r x' worker fsck --rep"),
    ],
)
def test_a_hint(complaint: str, hint: str) -> None:
    """The hint is a command that can be copied."""
    cause = find_cause(complaint, AT)
    assert cause is not None
    assert cause.hint.startswith(hint)


@pytest.mark.parametrize(
    "complaint",
    ["", "fatal: bad object HEAD", "fatal: a branch named 'x' already exists", "File exists"],
)
def test_no_cause(complaint: str) -> None:
    """A failure for another reason has no cause of the system."""
    assert find_cause(complaint, AT) is None


@pytest.mark.parametrize(
    ("complaint", "path"),
    [
        ("fatal: cannot update ref 'refs/x': couldn't write '/r/refs/x.lock'", "/r/refs/x.lock"),
        ("error: unable to write file 'src/app.py'", "/repo/src/app.py"),
        ("fatal: unable to write new index file", "/repo"),
        (
            "fatal: cannot lock ref 'refs/a/b': unable to create directory for .git/refs/a/b",
            "/repo/.git/refs/a/b",
        ),
        ("fatal: bad object HEAD", None),
    ],
)
def test_an_unexplained_write(complaint: str, path: str | None) -> None:
    """The file that git could not write is found, although git names no reason."""
    assert find_unwritten(complaint, "/repo") == path


def test_a_reason_of_the_system() -> None:
    """The error of a trial becomes the cause; a successful trial gives none."""
    cause = explain_unwritten("/r/.git/x.lock", "No space left on device", "/r/.git")
    assert cause is not None
    assert (cause.code, cause.status, cause.hint) == ("disk", 1, "df -h /r/.git")
    assert explain_unwritten("/r/.git/x.lock", "", "/r/.git") is None
