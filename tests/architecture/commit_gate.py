"""The gate on commit messages, run by `make check`: `python -m tests.architecture.commit_gate`.

It judges the commits after BASE. Older ones were written before the rule. A checkout without
history (an archive, a shallow clone) has no BASE, and nothing is judged there.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "f7bdd72"
SUBJECT_LENGTH = 72
SUBJECT = re.compile(r"(?P<room>[a-z][a-z0-9_/.-]*): (?P<verb>[a-z]+)\b.*[^.]")
# Verbs whose plain form ends like another mood.
IMPERATIVE = frozenset(
    {
        "pass", "process", "address", "express", "compress", "discuss", "bypass", "focus",
        "embed", "feed", "need", "seed", "shed", "bring", "string",
    }
)  # fmt: skip
OTHER_MOOD = re.compile(r"\w+(?:ing|ed|[^s]s)")


def find_faults(message: str) -> Iterator[str]:
    """Yield each fault of a commit message."""
    subject, _, rest = message.partition("\n")
    if len(subject) > SUBJECT_LENGTH:
        yield f"the subject has {len(subject)} characters; at most {SUBJECT_LENGTH} are allowed"
    matched = SUBJECT.fullmatch(subject)
    if matched is None:
        yield "the subject is not `<room>: <change>` in lower case without a full stop"
    elif matched["verb"] not in IMPERATIVE and OTHER_MOOD.fullmatch(matched["verb"]):
        yield f"the change does not begin with an imperative: {matched['verb']!r}"
    if rest and not rest.startswith("\n"):
        yield "the second line is not empty"
    if not rest.strip():
        yield "there is no body that gives the reason"


def read_messages(base: str) -> list[tuple[str, str]] | None:
    """Return id and message of every commit after `base`; None if the history is missing."""
    git = ("git", "-C", str(ROOT))
    known = subprocess.run(
        [*git, "rev-parse", "-q", "--verify", f"{base}^{{commit}}"],
        capture_output=True,
        check=False,
    )
    if known.returncode:
        return None
    done = subprocess.run(
        [*git, "log", "--no-merges", "-z", "--format=%h%n%B", f"{base}..HEAD"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    entries = (entry.partition("\n") for entry in done.stdout.split("\0") if entry)
    return [(oid, message.strip("\n")) for oid, _, message in entries]


def main() -> int:
    """Print the faults of all judged commits and return 1 if there are any."""
    messages = read_messages(BASE)
    if messages is None:
        print(f"commit messages: {BASE} is not in this history, so none is judged")
        return 0
    faults = [f"{oid}: {fault}" for oid, message in messages for fault in find_faults(message)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"commit messages: {len(messages)} judged, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
