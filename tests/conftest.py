"""A hermetic environment for every test: its own HOME, git configuration, dates, locale."""

import base64
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.architecture.fired import require_fired
from tests.hints.proving import hints_proven_by
from tests.variants import add_options, commits, leave_out

KEPT = ("PATH", "TMPDIR", "GITWORKER_TEST_SCALE", "GITWORKER_DATA")
SETTINGS = "COVERAGE_PROCESS_CONFIG"
COVERAGE = ("COVERAGE_PROCESS_START", SETTINGS, "COVERAGE_FILE")
MEASURING = {name: os.environ[name] for name in COVERAGE if name in os.environ}
GIT_CONFIG = """\
[user]
\tname = Ada Tester
\temail = ada@example.org
[init]
\tdefaultBranch = main
[advice]
\tdetachedHead = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol "file"]
\tallow = always
"""


# Suites of whole programs and whole operations: most of their time is the start of interpreters and
# gits. They run after the unit tests.
WHOLE = (
    "agents", "automations", "benchmarks", "branches", "bus", "claims", "cli", "concurrency",
    "crash", "fleet", "fsck", "hints", "hostile", "journal", "kinds", "landing", "lifecycle",
    "liveness", "mcp", "notifications", "orchestrator", "questions", "radar", "repo", "review",
    "service", "store", "tasks", "tmux", "tui", "verify", "web", "workers", "workstreams",
    "worktrees",
)  # fmt: skip
# The suites of whole programs whose children are measured. Coverage adds 70 to 250 ms to the start
# of each child, also of every background job; the others run the same code in their own process and
# in forks (tests/cli/kit.py), to which it adds 50 to 80 ms. Of a parametrized test of such a suite,
# only the first variant is measured.
MEASURED = ("agents", "bus", "claims", "mcp", "questions", "store", "tmux", "tui", "web")
IS_MEASURED = pytest.StashKey[bool]()
IS_FIRST = pytest.StashKey[bool]()
TESTS = Path(__file__).parent


class Forks:
    """Whether coverage measures the forks of the running test (tests/cli/kit.py)."""

    is_measured = True


FORKS = Forks()
# How long one example takes is the machine's matter: a busy one fails no property.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
TAKEN_SIGNALS = (
    (signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tests/variants.py."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Reset signals that a shell without job control ignores for background jobs, or `nohup`.

    Otherwise the interrupted children of tests would inherit that and never end.
    """
    settings.load_profile("patient")
    if config.option.share > 1 and config.option.share_turn is None:
        config.option.share_turn = commits()
    for number, action in TAKEN_SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the house rules and the suites of whole programs, but for what is slow anyway.

    Decide also for each test whether coverage measures its children and its forks.
    """
    leave_out(config, items)
    seen: set[str] = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        suite = suite_of(item)
        item.stash[IS_MEASURED] = suite not in WHOLE or (suite in MEASURED and test not in seen)
        item.stash[IS_FIRST] = suite not in WHOLE or test not in seen
        seen.add(test)
        if any(item.get_closest_marker(name) for name in ("slow", "peers", "agents", "browser")):
            continue
        if suite == "architecture":
            item.add_marker(pytest.mark.house)
        if suite in WHOLE:
            item.add_marker(pytest.mark.whole)


def pytest_collection_finish() -> None:
    """Keep the collected tests out of garbage collections, a sixth of the suites' time."""
    gc.collect()
    gc.freeze()


def coverage_of_children() -> dict[str, str]:
    """Return the variables by which coverage measures a child, if it measures this process."""
    found = dict(MEASURING)
    if SETTINGS in found:
        found[SETTINGS] = settings_of_children(found[SETTINGS])
    return found


def running_coverage() -> Any:
    """Return the coverage that measures this process, if any."""
    return sys.modules["coverage"].Coverage.current() if "coverage" in sys.modules else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure of a parametrized test of whole programs only the first variant."""
    current = None if item.stash[IS_FIRST] else running_coverage()
    if current is not None:
        current.stop()
    try:
        return (yield)
    finally:
        if current is not None:
            current.start()


def pytest_sessionfinish() -> None:
    """Store what coverage has measured.

    pytest-xdist kills a process that needs more than ten seconds to exit, as a busy machine may.
    """
    current = running_coverage()
    if current is not None:
        current.save()


@cache
def settings_of_children(encoded: str) -> str:
    """Return coverage.py's settings for children, without the list of files that never ran.

    It costs each child about 100 ms, and the report has it from the tests' own process.
    """
    fields = json.loads(base64.b64decode(encoded))
    fields.update(source=None, run_include=[str(TESTS.parent / "gitworker" / "*")])
    return base64.b64encode(json.dumps(fields).encode()).decode()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Follow the hints that a test proves (tests/hints) in the state in which it leaves them.

    Check also the events of machines that it fires (tests/architecture/fired.txt).
    """
    if item.nodeid not in hints_proven_by():
        result = yield
        require_fired(item.nodeid, getattr(item, "funcargs", {}))
        return result
    from tests.hints.following import Proof  # imports the whole command line

    proof = Proof(getattr(item, "funcargs", {}))
    with proof.recording():
        result = yield
    proof.require(hints_proven_by()[item.nodeid])
    require_fired(item.nodeid, getattr(item, "funcargs", {}))
    return result


def suite_of(item: pytest.Item) -> str:
    """Return the directory of a test below tests/."""
    return item.path.relative_to(TESTS).parts[0]


@pytest.fixture(autouse=True)
def hermetic(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Build the environment from nothing and return its HOME."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(GIT_CONFIG)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    if request.node.stash[IS_MEASURED]:
        kept |= coverage_of_children()
    FORKS.is_measured = request.node.stash[IS_FIRST]
    for name in list(os.environ):
        if not name.startswith("PYTEST"):
            monkeypatch.delenv(name)
    bin_dir = str(Path(sys.executable).parent)
    path = kept.pop("PATH", "/usr/bin:/bin")
    environment = {
        **kept,
        "PATH": f"{bin_dir}:{path}",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "GITWORKER_RADAR_ENABLED": "no",  # it would outlive the test; its own tests switch it on
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return home


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def git(cwd: Path | str, *args: str, check: bool = True, **kwargs: object) -> str:
    """Run the real git in `cwd` and return its standard output, stripped."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, check=False, capture_output=True, text=True, **kwargs
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository on branch main with one commit of three files."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    (root / "README").write_text("line 1\nline 2\nline 3\n")
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("print('hello')\n")
    (root / ".gitignore").write_text("*.o\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    return root
