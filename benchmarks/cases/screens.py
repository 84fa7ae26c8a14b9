"""The screens of `ui`: the time to the first board, a step in a large review, and an idle screen.

The limit of four times `status` is 500 ms on a machine on which `status` takes 125 ms; most of it
is the import of Textual. A step has the 16 ms of a screen that is drawn sixty times a second, and
so has each of the two rounds that colour the lines once the screen rests.
"""

import asyncio
import fcntl
import gc
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.bus_scene import percentile
from benchmarks.measure import Failed, Sample, interleave, resident_mib, used_s
from benchmarks.results import Result, compare, shown
from benchmarks.scene import Scene, commit

ROUNDS = 15
AT_MOST = 4
WITHIN_S = 60.0
WANTED = b"in review"
FILES, LINES, COMMENTS = 20, 1000, 25  # 20,000 lines with 500 comments
STEPS = 150
DRAWN_S = 0.03  # Textual draws at most sixty times a second
STEP_MS = 16
COLORS_MS = 2 * STEP_MS  # one round finds them, the next one draws them
COLORS = "the colours of a screen, after a step,"
IDLE_S = 30.0
IDLE_PER_CENT = 0.5


def measure_screens(scene: Scene) -> Iterator[Result]:
    """Measure the first board against `status`, an idle screen, and steps in a large review."""
    root = scene.small_repository("repo")
    for name in ("auth", "docs"):
        worktree = scene.spawn(root, name, f"{name}-task")
        scene.worker(worktree, "start")
        commit(scene, worktree, name, message="Work")
    scene.worker(root, "done", "auth")

    def ours() -> float:
        started = time.perf_counter_ns()
        with _shown(scene, root):
            return (time.perf_counter_ns() - started) / 1e6

    ways = {"ours": ours, "theirs": lambda: scene.time(root, "git-worker", "status")}
    samples = interleave(ways, rounds=scene.count(ROUNDS), settle=scene.settle)
    yield compare(
        "`ui`, from its start to the board", ours=("git-worker ui", samples["ours"]),
        theirs=("git-worker status", samples["theirs"]), at_most=AT_MOST,
    )  # fmt: skip
    yield _measure_idle(scene, root)
    yield from asyncio.run(_measure_steps())


@contextmanager
def _shown(scene: Scene, root: Path) -> Iterator[int]:
    """Run `ui` on a terminal of its own until the board is shown; quit it afterwards."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(root)
        os.execvpe("git-worker", ["git-worker", "ui"], {**scene.env, "TERM": "xterm-256color"})
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        _read_until(terminal, WANTED)
        yield pid
        os.write(terminal, b"q")
        _read_until(terminal, None)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def _read_until(terminal: int, wanted: bytes | None) -> None:
    """Read the output up to a text, or to its end; raise Failed if neither comes."""
    seen = b""
    while wanted is None or wanted not in seen:
        if not select.select([terminal], [], [], WITHIN_S)[0]:
            raise Failed(f"`ui` shows nothing: {seen[-200:]!r}")
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # Linux: the other end has closed the terminal
            part = b""
        if not part:
            if wanted is None:
                return
            raise Failed(f"`ui` has ended: {seen[-200:]!r}")
        seen += part


def _measure_idle(scene: Scene, root: Path) -> Result:
    """Measure the share of a processor and the memory of a screen on which nothing happens."""
    with _shown(scene, root) as pid:
        time.sleep(3)  # the first reads
        before_s, started = used_s(pid), time.perf_counter()
        time.sleep(IDLE_S)
        share = 100 * (used_s(pid) - before_s) / (time.perf_counter() - started)
        mib = resident_mib(pid)
    return Result(
        "`ui` on which nothing happens: processor and memory", f"< {IDLE_PER_CENT:g} %",
        share < IDLE_PER_CENT, f"{share:.2f} %, {mib:.0f} MiB",
        our_command="git-worker ui",
    )  # fmt: skip


async def _measure_steps() -> list[Result]:
    """Measure the processor time of a line's and a screen's step, with the drawing."""
    from textual.app import App

    from gitworker.tui.row_view import RowView
    from gitworker.tui.rows.line_rows import ColorCache
    from gitworker.tui.rows.review_rows import Layout, review_rows

    layout = Layout(set(), 120, ColorCache())
    rows = review_rows(_large_review(), viewed=frozenset(), layout=layout).rows

    class Shown(App[None]):
        """One widget with the rows."""

        def compose(self) -> Iterator[RowView]:
            """Make the widget."""
            yield RowView(stops_everywhere=True)

    app = Shown()
    app.theme = "ansi-dark"
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.query_one(RowView)
        view.focus()
        view.show(rows)
        gc.freeze()  # as the review screen does
        steps: dict[str, Callable[[], object]] = {
            "nothing": int,
            "a step by a line": lambda: view.move(1),
            "a step by a screen": lambda: view.page(1),
            COLORS: view.color,
        }
        found: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(STEPS):
            for name, step in steps.items():
                started = time.process_time_ns()
                step()
                await pilot.pause(DRAWN_S)
                found[name].append((time.process_time_ns() - started) / 1e6)
    samples = {name: Sample(tuple(times)) for name, times in found.items()}
    bare = samples.pop("nothing")
    return [
        Result(
            f"{name} in a review of {FILES * LINES:,} lines with {FILES * COMMENTS} comments",
            f"≤ {limit_of(name)} ms", sample.median <= limit_of(name),
            f"{sample.median:.1f} ms, 95 % {percentile(sample.times, 95):.1f} ms",
            shown(sample), f"bare {shown(bare)}", "one key in git-worker ui",
            "a round of Textual without a change",
        )
        for name, sample in samples.items()
    ]  # fmt: skip


def limit_of(name: str) -> int:
    """Return the milliseconds that a step may take."""
    return COLORS_MS if name == COLORS else STEP_MS


def _large_review() -> Any:
    """Return the parts of a review that the rows are made of."""
    from gitworker.model.worker import WorkerState
    from gitworker.review.page.evidence import Evidence
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.page.rules_order import PageFile
    from gitworker.review.rules_patch import RawChange, parse_patch

    files, comments = [], []
    for number in range(FILES):
        path = f"src/module_{number}.py"
        half = LINES // 2
        lines = "\n".join(
            f"-    value_{at} = compute({at})\n+    value_{at} = compute({at}, other=True)"
            for at in range(half)
        )
        text = f"diff --git a/{path} b/{path}\n@@ -1,{half} +1,{half} @@ def f():\n{lines}\n"
        (patch,) = parse_patch([RawChange("M", "1", "1", "a", "b", path, path)], text)
        files.append(PageFile(patch, (), None))
        comments += [_comment(path, 1 + at * 20, number * COMMENTS + at) for at in range(COMMENTS)]
    worker = SimpleNamespace(
        worker_id="auth", task_id="login", state=WorkerState.IN_REVIEW, stale_from=None,
        branch="auth/login",
    )  # fmt: skip
    round = SimpleNamespace(number=1, base="a" * 40, tip="b" * 40, commits=())
    return ReviewPage(
        cast("Any", worker), "main", "Login", "", "", cast("Any", round), None,
        Evidence((), (), (), (), (), ()), tuple(files), tuple(comments), frozenset(), 0,
    )  # fmt: skip


def _comment(path: str, line: int, number: int) -> Any:
    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.comments.rules_place import Lines
    from gitworker.states.comment_machine import CommentState
    from gitworker.store.reviewing.comments import NEW, Comment, Place

    comment = Comment(
        number, "auth", "login", 1, "hq", "Ada", Place(path, NEW, line, line, ("x",)),
        "Why not keep the old name here? It is used elsewhere.", 0, CommentState.SENT, 1, 0,
        None, None, "", "", None,
    )  # fmt: skip
    return Anchored(comment, Lines(path, line, line), False)
