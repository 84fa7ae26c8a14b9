"""`msg send` without click: send one message."""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.bus.limits.back_pressure import BackPressure
from gitworker.bus.send import MessageDraft, send
from gitworker.cli.hot.place import HotContext, find_hot_context
from gitworker.cli.hot.words import is_number, split_words
from gitworker.cli.output import answer
from gitworker.errors import Invalid, NotFound

OPTIONS = {
    "--to": "A",
    "--id": "U",
    "--correlation": "C",
    "--reply-to": "U",
    "--wait": "S",
    "--as": "ID",
}
COMMAND_TYPE = "cmd"
STDIN = 0
WAIT_MAX_S = 86_400
CHUNK = 1 << 16


def run_send(words: list[str]) -> int | None:
    """Send a message and print its id; return None if click must parse the words."""
    split = split_words(words, OPTIONS)
    if split is None or not 1 <= len(split[1]) <= 2:
        return None
    values, rest = split
    wait = values.get("--wait", "0")
    if not (is_number(wait) and int(wait) <= WAIT_MAX_S):
        return None
    place = find_hot_context(values.get("--as"))
    if place is None:
        return None
    draft = MessageDraft(
        rest[0],
        rest[1] if len(rest) > 1 else None,
        to=values.get("--to"),
        id=values.get("--id"),
        correlation_id=values.get("--correlation"),
        in_reply_to=values.get("--reply-to"),
    )
    answer(send_from(place, draft, wait_s=int(wait)))
    return 0


def send_from(place: HotContext, draft: MessageDraft, *, wait_s: float = 0) -> str:
    """Send as the caller, by default about the worktree's task; return the id.

    Waits up to `wait_s` seconds while a limit blocks the message, then raises BackPressure.
    """
    if draft.payload is not None:
        draft.payload = read_payload(draft.payload, max_bytes=place.limits.message_max_bytes)
    deadline = clock.monotonic_ms() + wait_s * 1000
    while True:
        try:
            message_id = send(
                place.store,
                draft,
                sender=place.actor,
                task=place.task,
                blobs=place.paths.blobs,
                limits=place.limits,
            )
            break
        except BackPressure as error:
            left_ms = deadline - clock.monotonic_ms()
            if left_ms <= 0:
                raise
            clock.sleep(min(left_ms, error.wait_ms) / 1000)
    place.notify()
    if draft.type == COMMAND_TYPE:
        from gitworker.liveness.start_daemon import ensure_orphans_attended  # 1 ms, for cmd only

        ensure_orphans_attended(place.store, place.paths)
    return message_id


def read_payload(word: str, *, max_bytes: int) -> str:
    """Return the payload: the word itself, the content of `@FILE`, or standard input for `-`.

    Reads only slightly more than the limit, so that a pipe cannot fill the memory. Raises NotFound
    for an unreadable file, Invalid for text that is not UTF-8.
    """
    if word == "-":
        raw = _read_all(STDIN, max_bytes)
    elif word.startswith("@"):
        raw = _read_file(word[1:], max_bytes)
    else:
        raw = os.fsencode(word)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Invalid("the payload is not valid UTF-8") from None


def _read_file(path: str, max_bytes: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise NotFound(f"cannot read the payload from {path}: {error.strerror}") from error
    try:
        return _read_all(fd, max_bytes)
    except OSError as error:
        raise NotFound(f"cannot read the payload from {path}: {error.strerror}") from error
    finally:
        os.close(fd)


def _read_all(fd: int, max_bytes: int) -> bytes:
    chunks = []
    size = 0
    while size <= max_bytes:
        chunk = os.read(fd, CHUNK)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    if size > max_bytes:
        raise Invalid(
            f"the payload has more than {max_bytes} bytes (message.max_bytes)",
            "put it into a file in the worktree and send its path",
        )
    return b"".join(chunks)
