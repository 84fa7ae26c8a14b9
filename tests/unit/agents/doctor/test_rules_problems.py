"""The problems that the probes of an agent show."""

import pytest

from gitworker.agents.doctor.rules_problems import (
    MCP,
    SANDBOX,
    SHELL,
    ProbeResult,
    Probes,
    common_problems,
    find_version,
    namespace_repair,
    probe_problems,
    signing_settings,
    version_problems,
)

OK = ProbeResult(0)
WORDS = ("own", "--version")
IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (ProbeResult(0, "2.1.330 (Claude Code)\n"), "2.1.330"),
        (ProbeResult(0, "codex-cli 0.169.0-beta.1\n"), "0.169.0-beta.1"),
        (ProbeResult(0, "a nightly build\nof today\n"), "a nightly build"),
        (ProbeResult(0, ""), None),
        (ProbeResult(1, "1.2.3"), None),
    ],
)
def test_version(answer: ProbeResult, version: str | None) -> None:
    """The version is the first number with a point, else the first line."""
    assert find_version(answer) == version


def test_programs() -> None:
    """A program that hangs or fails is renewed; the last line of its complaint is shown."""
    assert version_problems(WORDS, None, "get own") == ()
    assert version_problems(WORDS, ProbeResult(0, "1.0"), "get own") == ()
    (hangs,) = version_problems(WORDS, ProbeResult(None), "get own")
    assert hangs == ("version_hangs", "`own --version` did not end in time", "get own")
    (fails,) = version_problems(WORDS, ProbeResult(9, "", "a\nno\x1b node\n\n"), "get own")
    assert (fails.code, fails.repair) == ("version_fails", "get own")
    assert fails.message == "`own --version` ended with status 9: no\\x1b node"
    (silent,) = version_problems(WORDS, ProbeResult(-11), "get own")
    assert silent.message.endswith("ended with status -11")


def test_healthy_probes() -> None:
    """Probes that succeed show no problem."""
    assert probe_problems(Probes(SANDBOX, OK, OK, OK), "get own", {}) == ()


def test_sandbox_that_does_not_start() -> None:
    """A sandbox without a shell is one problem, which the system's settings may explain."""
    failed = ProbeResult(1, "", "bwrap: Permission denied")
    probes = Probes(SANDBOX, failed, failed, failed)
    (problem,) = probe_problems(probes, "get own", {})
    assert (problem.code, problem.repair) == ("sandbox", "get own")
    assert "bwrap: Permission denied" in problem.message
    (forbidden,) = probe_problems(probes, "get own", {"user.max_user_namespaces": "0"})
    assert forbidden.repair == "sudo sysctl -w user.max_user_namespaces=15000"


def test_refused_commit_and_message() -> None:
    """In a sandbox the MCP server is the way out; elsewhere git or doctor shows the cause."""
    failed = ProbeResult(128, "", "fatal: Unable to create index.lock: Read-only file system")
    found = probe_problems(Probes(SANDBOX, OK, failed, failed), "get own", {})
    assert [(one.code, one.repair) for one in found] == [("commit", MCP), ("bus", MCP)]
    assert "git commit in its sandbox ended with status 128: fatal" in found[0].message
    found = probe_problems(Probes(SHELL, OK, failed, ProbeResult(None)), "get own", {})
    assert [one.repair.split("  ")[0] for one in found] == [
        "git config --list --show-origin", "git worker doctor",
    ]  # fmt: skip
    assert "a plain shell did not end in time" in found[1].message


def test_signature() -> None:
    """A commit that cannot be signed needs no signature in this repository."""
    unsigned = ProbeResult(128, "", "error: gpg failed to sign the data")
    (problem,) = probe_problems(Probes(SHELL, OK, unsigned, OK), "get own", {})
    assert problem.repair == "git config commit.gpgsign false"
    settings = {"commit.gpgsign": "true", "gpg.format": "ssh", "commit.template": "x"}
    assert set(signing_settings(settings)) == {"commit.gpgsign", "gpg.format"}


def test_common_problems() -> None:
    """A missing identity and a program that is not on PATH concern every agent."""
    assert common_problems(IDENTITY, "/bin/git-worker", is_on_path=True) == ()
    missing = common_problems({}, None, is_on_path=False)
    assert [one.code for one in missing] == ["identity", "path"]
    (path,) = common_problems(IDENTITY, "/a b/git-worker", is_on_path=False)
    assert path.repair == "export PATH=\"$PATH\":'/a b'"


def test_settings_of_the_system() -> None:
    """Only the forbidding value of a setting is changed."""
    assert namespace_repair({"user.max_user_namespaces": "15000"}) is None
    assert namespace_repair({"kernel.unprivileged_userns_clone": "0"}) == (
        "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    )
