"""One commit object as bytes: parse it, and write it again on another parent as rebase does.

Pure. Author and message are kept. Signatures and other extra headers are dropped. The text is
written as UTF-8, as rebase does unless i18n.commitEncoding is set.
"""

import codecs
from typing import NamedTuple

from gitworker.model.ids import Oid

BLANK = b" \t\r"
UTF8_NAMES = (b"utf-8", b"utf8")
# Spellings that iconv and Python both know and decode alike.
SHARED_ENCODINGS = ("ISO-8859-", "ISO8859-", "CP125", "WINDOWS-125", "KOI8-R", "KOI8-U")
UNCOVERED = frozenset({b"tree", b"parent", b"committer", b"gpgsig", b"gpgsig-sha256"})
FALLBACK = "gitworker-latin-1"
codecs.register_error(FALLBACK, lambda error: _as_latin_1(error))


class Commit(NamedTuple):
    """The parts of a commit that a replay needs; `author` and `message` are the original bytes.

    `committed_s` is the committer's date in seconds since the epoch, 0 if git cannot read it.
    """

    oid: Oid
    tree: Oid
    parents: tuple[Oid, ...]
    author: bytes
    message: bytes
    subject: str
    committed_s: int
    is_rewritable: bool  # False: only git itself knows the bytes of the rebased commit


def parse_commit(oid: Oid, raw: bytes) -> Commit:
    """Return a raw commit object as a Commit, its text converted to UTF-8 as rebase does."""
    encoding = _header(raw, b"encoding ")
    known = b"\0" not in raw
    if encoding is not None and encoding.lower() not in UTF8_NAMES:
        name = encoding.decode("ascii", "replace").upper()
        known = known and (name in ("LATIN1", "LATIN-1") or name.startswith(SHARED_ENCODINGS))
        raw = _converted(raw, name) if known else raw
    message = _without_blank_start(raw.partition(b"\n\n")[2])
    first = message.split(b"\n", 1)[0]
    return Commit(
        oid=oid,
        tree=Oid((_header(raw, b"tree ") or b"").decode("ascii")),
        parents=tuple(Oid(parent) for parent in _parents(raw)),
        author=_header(raw, b"author ") or b"",
        message=message,
        subject=first.decode("utf-8", "replace"),
        committed_s=_seconds(_header(raw, b"committer ") or b""),
        is_rewritable=known,
    )


def approved_text(raw: bytes) -> bytes:
    """Return the part of a raw commit that an approval covers: author, message, encoding.

    The patch covers tree and parents. Committer, dates and signatures are not covered, since every
    rebase changes them.
    """
    head, _, message = raw.partition(b"\n\n")
    kept = []
    counts = False
    for line in head.split(b"\n"):
        if not line.startswith(b" "):  # a line with a blank continues the header above
            counts = line.split(b" ", 1)[0] not in UNCOVERED
        if counts:
            kept.append(_undated(line) if line.startswith(b"author ") else line)
    return b"\n".join(kept) + b"\n\n" + message


def rebased_text(commit: Commit) -> bytes:
    """Return the `approved_text` of the commit after a rebase: UTF-8, no further headers."""
    return to_utf8(b"\n".join([_undated(b"author " + commit.author), b"", commit.message]))


def format_commit(
    *, tree: Oid, parent: Oid | None, author: bytes, committer: bytes, message: bytes
) -> bytes:
    """Return a commit object; bytes that are not UTF-8 are read as latin-1, as git commit does."""
    lines = [b"tree " + tree.encode()]
    if parent is not None:
        lines.append(b"parent " + parent.encode())
    lines += [b"author " + author, b"committer " + committer, b"", message]
    return to_utf8(b"\n".join(lines))


def _seconds(person: bytes) -> int:
    """Return the date of an author or committer line."""
    digits = person.rpartition(b"> ")[2].partition(b" ")[0]
    return int(digits) if digits.isdigit() else 0


def to_utf8(data: bytes) -> bytes:
    """Return `data` as UTF-8, with every byte outside valid UTF-8 re-encoded from latin-1.

    Unicode's non-characters count as invalid too, as in git's verify_utf8.
    """
    text = data.decode("utf-8", FALLBACK)
    if text.isascii():
        return data
    return "".join(
        character.encode().decode("latin-1") if _is_no_character(ord(character)) else character
        for character in text
    ).encode()


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(error.object[error.start]), error.start + 1


def _is_no_character(code: int) -> bool:
    return 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def _undated(author: bytes) -> bytes:
    name, closing, _ = author.rpartition(b">")
    return name + closing or author


def _header(raw: bytes, name: bytes) -> bytes | None:
    for line in raw.partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(name):
            return line[len(name) :]
    return None


def _parents(raw: bytes) -> list[str]:
    lines = raw.partition(b"\n\n")[0].split(b"\n")
    return [line[7:].decode("ascii") for line in lines if line.startswith(b"parent ")]


def _converted(raw: bytes, name: str) -> bytes:
    """Return the whole object in UTF-8; unchanged if its bytes are not valid in that encoding."""
    try:
        return raw.decode(name).encode()
    except UnicodeDecodeError:
        return raw


def _without_blank_start(message: bytes) -> bytes:
    while message:
        line, end, rest = message.partition(b"\n")
        if line.strip(BLANK):
            break
        message = rest
        if not end:
            break
    return message
