"""`python -m benchmarks [--bus] [--only NAME] [--rounds FACTOR]`: measure, print, write results.

The page is RESULTS.md, with --bus RESULTS-BUS.md.

Exit status 1 if a promise is not kept or could not be measured.
"""

import argparse
import compileall
import os
import sys
from pathlib import Path

from benchmarks.cases import BUS_CASES, CASES, LARGE
from benchmarks.measure import Failed
from benchmarks.results import Result, not_measured, render
from benchmarks.scene import open_scene

HOW = (
    "Each pair was measured in one run: the two commands took turns, and every other round reversed"
    " their order. Two rounds came first to warm up. A command began after the background work of"
    " the last one had ended. Byte code was compiled, and `PYTHONDONTWRITEBYTECODE` was unset."
)
HOW_BUS = (
    "Each pair was measured in one run: the two ways took turns, and every other round reversed"
    " their order. Both used the same disk, and files made by the same SQL. A durable message was"
    " synced before the call returned."
)
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the chosen cases and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--bus", action="store_true", help="the cases of the bus, by themselves")
    parser.add_argument("--only", action="append", choices=[*CASES, *BUS_CASES])
    parser.add_argument("--rounds", type=float, default=1.0, metavar="FACTOR")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(ROOT / "gitworker", quiet=1)
    results: list[Result] = []
    for name in options.only or (BUS_CASES if options.bus else CASES):
        print(f"{name} …", file=sys.stderr, flush=True)
        results += _measure(name, options.rounds)
    command = "make bench-bus" if options.bus else "make bench"
    page = render(results, HOW_BUS if options.bus else HOW, command=command)
    print(page)
    if options.only is None:
        name = "RESULTS-BUS.md" if options.bus else "RESULTS.md"
        output = options.output or ROOT / "benchmarks" / name
        output.write_text(page, encoding="utf-8")
    return 0 if all(result.kept for result in results) else 1


def _measure(name: str, rounds: float) -> list[Result]:
    case = (CASES | BUS_CASES)[name]
    with open_scene(rounds, large=name in LARGE) as scene:
        try:
            return list(case(scene))
        except (Failed, OSError) as failure:
            return [not_measured(name, "see the case", str(failure))]


if __name__ == "__main__":
    sys.exit(main())
