"""Which commits git refuses: those whose header `git fsck` reports as an error. Pure.

The rules are those of fsck_commit in git's fsck.c. A remote with `receive.fsckObjects` refuses such
commits too. It also refuses a NUL in the message, which `git commit` never writes: git shows the
message only up to the NUL.
"""

import re

HEX = rb"(?i:[0-9a-f])"
FIRST_LATE_DATE = 1 << 63  # seconds; from here on, a signed time_t overflows
# An author or committer line, in the order in which git reads it.
PARTS = (
    (re.compile(rb"[^<>]* <"), "has no email"),
    (re.compile(rb"[^<>]*> "), "has a malformed email"),
    (re.compile(rb"[ \t]*(?:0|[1-9][0-9]*) "), "has a malformed date"),
    (re.compile(rb"[+-][0-9]{4}\Z"), "has a malformed time zone"),
)


def commit_fault(raw: bytes, *, oid_length: int) -> str | None:
    """Return why git refuses a raw commit, or None."""
    header, blank, message = raw.partition(b"\n\n")
    if b"\0" in header:
        return "its header has a NUL byte"
    if b"\0" in message:
        return "its message has a NUL byte"
    if not blank and not header.endswith(b"\n"):
        return "its header has no end"
    return _header_fault(header.removesuffix(b"\n").split(b"\n"), oid_length)


def _header_fault(lines: list[bytes], oid_length: int) -> str | None:
    """Judge the lines `tree`, `parent`, `author` and `committer`; others may follow."""
    is_oid = re.compile(HEX + rb"{%d}" % oid_length).fullmatch
    words = [line.partition(b" ")[0] for line in lines]
    if words[0] != b"tree":
        return "its header does not start with a tree"
    parents = 0
    while words[1 + parents : 2 + parents] == [b"parent"]:
        parents += 1
    for word, line in zip(words, lines[: 1 + parents], strict=False):
        if not is_oid(line[len(word) + 1 :]):
            return f"its {word.decode()} is not an object id"
    if words.count(b"tree") > 1:
        return "it has two trees"
    persons = words[1 + parents :]
    if persons[:2] == [b"author", b"author"]:
        return "it has two authors"
    for place, word in enumerate((b"author", b"committer")):
        if persons[place : place + 1] != [word]:
            return f"it has no {word.decode()}" + " after its parents" * (word in persons)
        fault = _person_fault(lines[1 + parents + place][len(word) + 1 :])
        if fault is not None:
            return f"its {word.decode()} {fault}"
    return None


def _person_fault(line: bytes) -> str | None:
    """Judge name, email, date and time zone."""
    at = 0
    for pattern, fault in PARTS:
        found = pattern.match(line, at)
        if found is None:
            return fault
        at = found.end()
    date = int(line.rsplit(b" ", 2)[1])
    return "has a date that overflows" if date >= FIRST_LATE_DATE else None
