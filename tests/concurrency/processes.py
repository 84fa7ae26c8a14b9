"""Running use cases at the same time, each in a process of its own."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.workers.world import World


def run_together(world: World, *commands: Sequence[str]) -> list[tuple[int, str]]:
    """Start all commands at once; return status and standard error of each, in order."""
    running = [
        subprocess.Popen(
            world.argv(*words), cwd=world.root, text=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for words in commands
    ]  # fmt: skip
    return [(process.communicate(timeout=300)[1], process.returncode)[::-1] for process in running]


@contextlib.contextmanager
def at_work(world: World, script: str | None, *words: str) -> Iterator[list[str]]:
    """Let a scripted agent run for as long as the block does; its lines are there afterwards."""
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, str(script), *words], cwd=world.root, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines.append(process.stdout.readline().strip())
        try:
            yield lines
        finally:
            try:
                out, _ = process.communicate("", timeout=60)
            except subprocess.TimeoutExpired:  # else leaving the block would wait for it for ever
                process.kill()
                raise
            lines += out.splitlines()
    assert process.returncode == 0


def require_linear(world: World, files: Sequence[str]) -> None:
    """Fail the test unless the target is one line of commits and holds every file."""
    assert world.git("rev-list", "--merges", "main") == ""
    assert set(files) <= set(world.git("ls-tree", "--name-only", "main").splitlines())


def exists(path: str | Path) -> bool:
    """Return whether a path exists, even as a broken link."""
    return Path(path).exists() or Path(path).is_symlink()
