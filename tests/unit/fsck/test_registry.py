"""The registry of checks: its runner and the JSON of both commands."""

from collections.abc import Iterator

from gitworker.errors import Unavailable
from gitworker.fsck.finding import Finding, Level, ok
from gitworker.fsck.fsck import FsckReport, RepairReport
from gitworker.fsck.registry import QUICK, STEPS, WITHOUT_DATABASE, Check, run_checks
from gitworker.service.results_repair import fsck_json

MISSING = Finding(
    "branch_gone", "refs/heads/auth/login", "branch auth/login of auth does not exist",
    "creates it again at 1a2b3c", lambda session: None,
)  # fmt: skip
LOST = Finding("landing_lost", "auth/login", "commit 1a2b3c is not in main", "git cherry-pick a..b")


def check_failing(_: str) -> Iterator[Finding]:
    """Yield a finding, then fail."""
    yield ok("git", "git 2.47.3")
    raise Unavailable("bus.db is read-only", "git worker doctor", code="read_only")


def check_crashing(_: str) -> Iterator[Finding]:
    """Fail with an error of the system."""
    raise PermissionError(13, "Permission denied", "/a")


def test_checks_that_fail() -> None:
    """A check that fails is a finding in the form of its command, and the others still run."""
    quick = (Check(check_failing, "git"), Check(check_crashing, "state"))
    assert [(one.code, one.message, one.hint, one.level) for one in run_checks(quick, "")] == [
        ("git", "git 2.47.3", "", Level.OK),
        ("git", "bus.db is read-only", "make the state directory writable, or free the disk",
         Level.FAIL),
        ("state", "/a: Permission denied", "", Level.FAIL),
    ]  # fmt: skip
    (found,) = run_checks((Check(check_crashing),), "")
    assert (found.code, found.subject, found.message, found.hint) == (
        "not_checked", "fsck", "a check could not run: /a: Permission denied", "git worker doctor",
    )  # fmt: skip


def test_registry() -> None:
    """Exactly the quick checks have names, each its own, and all checks are registered once."""
    names = [check.name for check in QUICK]
    assert len(set(names)) == len(names) == 20
    assert {check.name for check in WITHOUT_DATABASE} <= {*names}
    steps = [check for step in STEPS for check in step]
    assert len({check.find for check in steps}) == len(steps)
    assert {check.name for check in steps} == {""}


def test_json() -> None:
    """The fields of fsck's JSON are a public interface."""
    report = FsckReport(3, 2, (MISSING, LOST))
    missing = {
        "code": "branch_gone", "where": "refs/heads/auth/login",
        "what": "branch auth/login of auth does not exist", "mendable": True,
        "help": "creates it again at 1a2b3c",
    }  # fmt: skip
    lost = {
        "code": "landing_lost", "where": "auth/login", "what": "commit 1a2b3c is not in main",
        "mendable": False, "help": "git cherry-pick a..b",
    }  # fmt: skip
    document = {"commits": 3, "workers": 2, "whole": False, "findings": [missing, lost]}
    assert fsck_json(report) == document
    error = Unavailable("the disk is full", "df -h", code="disk")
    assert fsck_json(RepairReport((LOST,), ((MISSING, error),), report)) == {
        **document, "mended": [lost], "failed": [{**missing, "error": error.to_json()}],
    }  # fmt: skip
