"""Compare coverage.py's JSON report with the thresholds that the project promises.

Run as `python -m tests.architecture.coverage_gate build/coverage.json`; exits 1 and names every
file below its threshold.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

OVERALL = 92.0
EXACT_FOLDERS = ("gitworker/states/", "gitworker/model/")


def must_be_complete(path: str) -> bool:
    """Return whether a file decides, and must be covered entirely, branches included."""
    name = PurePosixPath(path).name
    return path.startswith(EXACT_FOLDERS) or (
        path.startswith("gitworker/") and name.startswith("rules")
    )


def find_shortfalls(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield one complaint per threshold that the report misses, or is too empty to judge."""
    files: Mapping[str, Any] = report["files"]
    exact = [path for path in files if must_be_complete(path)]
    if not exact:
        yield "the report names no file of states, model or rules: was gitworker measured at all?"
    if not report["meta"].get("branch_coverage"):
        yield "branches were not measured: keep `branch = true` in [tool.coverage.run]"
    for path in sorted(exact):
        yield from _gaps(path, files[path])
    overall = float(report["totals"]["percent_covered"])
    if overall < OVERALL:
        yield f"gitworker: {overall:.2f} % covered, {OVERALL:g} % are promised"
        for percent, path in _worst(files):
            yield f"  {percent:6.2f} %  {path}"


def main(arguments: list[str]) -> int:
    """Read the report named on the command line, print the gaps, return an exit status."""
    report = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    shortfalls = list(find_shortfalls(report))
    for shortfall in shortfalls:
        print(shortfall, file=sys.stderr)
    if shortfalls:
        print("How to fix: write the missing test, or delete unused code", file=sys.stderr)
        return 1
    print(f"coverage: {report['totals']['percent_covered']:.2f} % overall, thresholds kept")
    return 0


def _gaps(path: str, entry: Mapping[str, Any]) -> Iterator[str]:
    lines = entry["missing_lines"]
    branches = [f"{start}→{end}" for start, end in entry.get("missing_branches", ())]
    if lines:
        yield f"{path}: lines {', '.join(map(str, lines))} are not covered (100 % is promised)"
    if branches:
        yield f"{path}: branches {', '.join(branches)} are not covered (100 % is promised)"


def _worst(files: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Return the ten files with the most missing lines, worst first, as (percent, path)."""
    ranked = sorted(files.items(), key=lambda item: -int(item[1]["summary"]["missing_lines"]))
    return [(float(entry["summary"]["percent_covered"]), path) for path, entry in ranked[:10]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
