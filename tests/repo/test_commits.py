"""Commit objects are read and written byte for byte as git would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.model.ids import Oid
from gitworker.repo.plumbing.commit_bytes import format_commit, parse_commit, to_utf8

OID = Oid("a" * 40)
HEAD = b"tree " + b"b" * 40 + b"\nparent " + b"c" * 40 + b"\nauthor A <a> 1 +0000\n"
TAIL = b"committer C <c> 2 +0000\n"


def test_a_parsed_commit_is_formatted_alike() -> None:
    """A plain commit comes out as it went in."""
    raw = HEAD + TAIL + b"\nsubject\n\nbody\n"
    commit = parse_commit(OID, raw)
    assert (commit.tree, commit.parents) == ("b" * 40, ("c" * 40,))
    assert commit.subject == "subject"
    written = format_commit(
        tree=commit.tree, parent=commit.parents[0], author=commit.author,
        committer=b"C <c> 2 +0000", message=commit.message,
    )  # fmt: skip
    assert written == raw


def test_headers_inside_a_signature_are_not_headers() -> None:
    """A continuation line that looks like a header is not a header."""
    raw = HEAD + TAIL + b"gpgsig x\n encoding latin1\n parent y\n\nm\n"
    commit = parse_commit(OID, raw)
    assert commit.parents == ("c" * 40,)
    assert commit.is_rewritable


@pytest.mark.parametrize("text", [b"", b"\n", b"\n \n\t\n", b"subject", b"\n\nsubject\n"])
def test_blank_lines_at_the_start_go(text: bytes) -> None:
    """Leading lines of white space are no part of the message."""
    assert parse_commit(OID, HEAD + TAIL + b"\n" + text).message == text.lstrip()


def test_a_nul_byte_is_left_to_git() -> None:
    """A message that git truncates is not rewritten here."""
    assert not parse_commit(OID, HEAD + TAIL + b"\na\0b").is_rewritable


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_valid_text_is_kept(text: str) -> None:
    """UTF-8 without non-characters is not changed, and no output is invalid UTF-8."""
    data = text.encode()
    if not any(0xFDD0 <= ord(c) <= 0xFDEF or ord(c) & 0xFFFE == 0xFFFE for c in text):
        assert to_utf8(data) == data
    to_utf8(data).decode()


@given(st.binary())
def test_any_bytes_become_text(data: bytes) -> None:
    """Whatever the bytes, the outcome is UTF-8 and stays the same when done twice."""
    once = to_utf8(data)
    assert to_utf8(once) == once
    assert len(once.decode()) <= len(data)
