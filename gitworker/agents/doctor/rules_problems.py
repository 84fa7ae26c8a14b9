"""The problems of installed agents, from the results of probes; each has its repair. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitworker.rules_text import one_line, quoted

VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
LINE_MAX = 160
SANDBOX, SHELL = "sandbox", "shell"
MCP = "git worker mcp -h   # its tools commit and reach the bus from outside the sandbox"
SETTINGS = "git config --list --show-origin   # one of these stops each commit"
# The settings of the repository that the probe, which commits in one of its own, takes over.
SIGNING = ("commit.gpgsign", "gpg.", "user.signingkey")
# Settings of the system that forbid the user namespaces of a sandbox: the forbidding value, and the
# value that allows them.
NAMESPACE_SETTINGS = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "15000"),
}


class Problem(NamedTuple):
    """A problem: its kind, one sentence, and the command that repairs it."""

    code: str
    message: str
    repair: str


class ProbeResult(NamedTuple):
    """The end of one probe; a status of None means that it did not end in time."""

    status: int | None
    out: str = ""
    complaint: str = ""

    @property
    def ending(self) -> str:
        """Return the end in words, with the last line of the complaint."""
        if self.status is None:
            return "did not end in time"
        lines = [line.strip() for line in (self.complaint or self.out).splitlines()]
        last = one_line(next((line for line in reversed(lines) if line), ""))[:LINE_MAX]
        return f"ended with status {self.status}" + (f": {last}" if last else "")


class Probes(NamedTuple):
    """The probes of one agent: where they ran, whether a shell starts there, commit and message."""

    place: str
    starts: ProbeResult
    commit: ProbeResult
    message: ProbeResult


class AgentHealth(NamedTuple):
    """A known agent: its program, version and probes; unknown values are None."""

    agent: str
    program: str
    install: str
    path: str | None = None
    version: str | None = None
    probed: str | None = None
    commits: bool | None = None
    reaches_bus: bool | None = None
    problems: tuple[Problem, ...] = ()


def find_version(answer: ProbeResult) -> str | None:
    """Return the version in the answer of a program, else its first line; None without one."""
    if answer.status != 0:
        return None
    found = VERSION.search(answer.out) or VERSION.search(answer.complaint)
    return (
        found.group().rstrip(".")
        if found
        else one_line(answer.out.strip().partition("\n")[0])[:40] or None
    )


def version_problems(
    words: Sequence[str], answer: ProbeResult | None, renewal: str
) -> tuple[Problem, ...]:
    """Return the problem of a program that does not print its version."""
    if answer is None or answer.status == 0:
        return ()
    code = "version_hangs" if answer.status is None else "version_fails"
    return (Problem(code, f"`{' '.join(words)}` {answer.ending}", renewal),)


def probe_problems(probes: Probes, renewal: str, system: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return the problems that the probes of an agent show."""
    if probes.starts.status != 0:
        message = f"its sandbox does not start: the shell in it {probes.starts.ending}"
        return (Problem("sandbox", message, namespace_repair(system) or renewal),)
    place = "its sandbox" if probes.place == SANDBOX else "a plain shell"
    found = []
    if probes.commit.status != 0:
        message = f"it cannot commit: git commit in {place} {probes.commit.ending}"
        found.append(Problem("commit", message, _commit_repair(probes)))
    if probes.message.status != 0:
        message = f"it cannot reach the bus: git worker msg send in {place} {probes.message.ending}"
        repair = MCP if probes.place == SANDBOX else "git worker doctor"
        found.append(Problem("bus", message, repair))
    return tuple(found)


def common_problems(
    identity: Mapping[str, str], program: str | None, *, is_on_path: bool
) -> tuple[Problem, ...]:
    """Return the problems that all agents have: no identity for commits, no program on PATH."""
    found = []
    if "GIT_COMMITTER_NAME" not in identity or "GIT_AUTHOR_NAME" not in identity:
        message = "git has no name and mail address for commits"
        repair = "git config user.name <name> && git config user.email <mail>"
        found.append(Problem("identity", message, repair))
    if program is None:
        message = "the program git-worker is not beside its interpreter, nor on PATH"
        found.append(Problem("path", message, "pip install --force-reinstall gitworker"))
    elif not is_on_path:
        message = "git-worker is not on PATH, so only the agents that gitworker starts find it"
        repair = f'export PATH="$PATH":{quoted(program.rpartition("/")[0])}'
        found.append(Problem("path", message, repair))
    return tuple(found)


def signing_settings(git_config: Mapping[str, str]) -> dict[str, str]:
    """Return those of git's settings that decide how a commit is signed."""
    return {key: value for key, value in git_config.items() if key.startswith(SIGNING)}


def namespace_repair(system: Mapping[str, str]) -> str | None:
    """Return the command that allows user namespaces, if a setting of the system forbids them."""
    for name, (forbidding, allowing) in NAMESPACE_SETTINGS.items():
        if system.get(name) == forbidding:
            return f"sudo sysctl -w {name}={allowing}"
    return None


def _commit_repair(probes: Probes) -> str:
    words = probes.commit.complaint.lower()
    if "gpg" in words or "sign" in words:
        return "git config commit.gpgsign false"
    return MCP if probes.place == SANDBOX else SETTINGS
