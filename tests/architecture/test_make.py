"""House rules on the Makefile and CI: every target has a help line and works in a bare clone."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.house import ROOT

MAKEFILE = ROOT / "Makefile"
TARGETS = {
    "agents-env", "bench", "bench-bus", "bench-peers", "browser-env", "check", "clean", "cover",
    "crash", "demo", "demo-agent", "demo-bus", "demo-fleet", "docs", "fast", "git-matrix", "help",
    "peers-env", "pictures", "postgres", "test", "test-all",
}  # fmt: skip
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def test_targets() -> None:
    """The Makefile has the documented targets and no other."""
    found = set(TARGET.findall(MAKEFILE.read_text("utf-8")))
    assert found == TARGETS, "How to fix: keep CONTRIBUTING.md, this list and the Makefile the same"


def test_help_explains_every_target() -> None:
    """`make help` prints one line for each target."""
    done = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    explained = {line.split()[0] for line in done.stdout.splitlines() if len(line.split()) > 1}
    assert explained == TARGETS, "How to fix: end the target's line with `## its effect`"


@pytest.mark.parametrize("target", sorted(TARGETS - {"help", "clean", "crash"}))
def test_targets_build_the_environment(target: str) -> None:
    """Every target that needs Python depends on the environment's stamp."""
    line = re.search(rf"^{target}:.*$", MAKEFILE.read_text("utf-8"), re.MULTILINE)
    assert line is not None
    assert "$(READY)" in line.group(0), f"How to fix: `{target}: $(READY) ## …`"


def test_command_can_be_executed() -> None:
    """The command's script is executable, since installers keep its mode."""
    script = ROOT / "scripts" / "git-worker"
    assert os.access(script, os.X_OK), "How to fix: chmod +x scripts/git-worker, and make again"


def test_ci_is_a_sound_script() -> None:
    """CI's script can be executed and parsed."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK), "How to fix: chmod +x .ci/run"
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "set -euo pipefail" in script.read_text("utf-8")


@pytest.mark.parametrize(
    ("changed", "repeats"),
    [("gitworker/web/__pycache__/page.cache", False), ("gitworker/app.py", True)],
)
def test_coverage_is_measured_again_after_a_change_of_a_source_alone(
    tmp_path: Path, changed: str, repeats: bool
) -> None:
    """`make check` repeats no tests because they have written a cache beside the sources."""
    (tmp_path / "Makefile").write_bytes(MAKEFILE.read_bytes())
    (tmp_path / "pyproject.toml").touch()
    for folder in ("gitworker", "tests", "githooks", "fixtures", "build", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    for program in ("coverage", "python"):
        stand_in = tmp_path / ".venv" / "bin" / program
        stand_in.write_text('#!/bin/sh\necho "${0##*/} $1" >>calls\n', "utf-8")
        stand_in.chmod(0o755)
    for stamp in (".venv/.ready", "build/covered"):
        (tmp_path / stamp).touch()
    young = tmp_path / changed
    young.parent.mkdir(parents=True, exist_ok=True)
    young.touch()
    later = (tmp_path / "build" / "covered").stat().st_mtime + 10
    os.utime(young, (later, later))
    subprocess.run(["make", "--silent", "cover"], cwd=tmp_path, check=True)
    calls = (tmp_path / "calls").read_text("utf-8").splitlines()
    assert ("coverage run" in calls) is repeats
    assert calls[-1] == "python -m"
