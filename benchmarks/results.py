"""Measured figures against promised ones, and the page with both."""

import os
import platform
import subprocess
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Sample
from benchmarks.scene import scratch_place


@dataclass(frozen=True)
class Result:
    """One promise: ours against theirs, the limit in words, and whether it was kept.

    `ours` and `theirs` are values in `unit`; `figure` is the value that the limit concerns (a
    ratio, a difference, megabytes). A failure to measure has `note` and nothing else.
    """

    name: str
    limit: str
    kept: bool
    figure: str = ""
    ours: str = ""
    theirs: str = ""
    our_command: str = ""
    their_command: str = ""
    note: str = ""


def compare(
    name: str,
    *,
    ours: tuple[str, Sample],
    theirs: tuple[str, Sample],
    at_most: float,
    or_plus_ms: float | None = None,
    aim: float | None = None,
    at_most_ms: float | None = None,
) -> Result:
    """Return the result of a promised ratio; `or_plus_ms` is kept as well by that difference.

    With `at_most_ms` our time has a limit, too.
    """
    our_command, our_sample = ours
    their_command, their_sample = theirs
    ratio = our_sample.median / their_sample.median
    plus_ms = our_sample.median - their_sample.median
    limit = f"≤ {at_most:g} ×" + (f" (aim {aim:g} ×)" if aim is not None else "")
    figure = f"{ratio:.2f} ×"
    kept = ratio <= at_most
    if or_plus_ms is not None:
        limit = f"+{or_plus_ms:g} ms, or {limit}"
        figure += f", {plus_ms:+.1f} ms"
        kept = kept or plus_ms <= or_plus_ms
    if at_most_ms is not None:
        limit += f" and ≤ {at_most_ms:g} ms"
        figure += f", {our_sample.median:.1f} ms"
        kept = kept and our_sample.median <= at_most_ms
    return Result(
        name,
        limit,
        kept,
        figure,
        shown(our_sample),
        shown(their_sample),
        our_command,
        their_command,
    )


def not_measured(name: str, limit: str, reason: str) -> Result:
    """Return the result of a promise that could not be measured: not kept."""
    return Result(name, limit, kept=False, figure="not measured", note=reason)


def render(results: Sequence[Result], how: str, *, command: str = "make bench") -> str:
    """Return the page: machine, table, commands, and the notes."""
    lines = [
        "# Results",
        "",
        f"Written by `{command}`. Compare ratios: the milliseconds depend on the machine.",
        "",
        *textwrap.wrap(how, 100),
        "",
        *(f"- {fact}" for fact in machine_facts()),
        "",
        "| measurement | ours | theirs | figure | limit | kept |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        verdict = "yes" if result.kept else "**no**"
        cells = (result.name, result.ours, result.theirs, result.figure, result.limit, verdict)
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Times are medians in ms, with the middle half of the rounds in brackets.", ""]
    lines += ["## Commands", "", *_commands(results)]
    notes = [f"- {result.name}: {result.note}" for result in results if result.note]
    if notes:
        lines += ["", "## Notes", "", *notes]
    return "\n".join(lines) + "\n"


def machine_facts() -> list[str]:
    """Return the relevant facts about the machine, without its name."""
    return [
        f"{os.cpu_count()} cores, {_processor()}",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        f"{_first_line('git version')}",
        f"a load average of {os.getloadavg()[1]:.1f} in the five minutes before this was written",
        f"repositories on {_file_system(large=False)}, large ones on {_file_system(large=True)}",
    ]


def shown(sample: Sample) -> str:
    """Return a sample as `median [first quartile–third quartile]`."""
    low, high = sample.spread
    digits = 1 if sample.median < 1000 else 0
    return f"{sample.median:.{digits}f} [{low:.{digits}f}–{high:.{digits}f}]"


def _commands(results: Iterable[Result]) -> list[str]:
    lines = []
    for result in results:
        if result.our_command:
            against = f" against `{result.their_command}`" if result.their_command else ""
            lines.append(f"- {result.name}: `{result.our_command}`{against}")
    return lines


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _file_system(*, large: bool) -> str:
    place = os.path.realpath(scratch_place(large=large))
    best = ("", "an unknown file system")
    try:
        for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
            _, mount, kind, *_ = line.split()
            inside = place == mount or place.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(best[0]):
                best = (mount, kind)
    except OSError:
        pass
    return best[1]


def _first_line(command: str) -> str:
    done = subprocess.run(command.split(), check=False, capture_output=True, text=True)
    return done.stdout.strip()
