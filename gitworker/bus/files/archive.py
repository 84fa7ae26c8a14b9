"""Archives of pruned messages: compressed JSON Lines that never change.

A line is a message in the form of bus.jsonl, or a dead letter (it has the key `dead_letter`). It
contains a large payload as `blob` (text), else as `blob_base64`. A file is written to a temporary
name, synced and renamed; then it is read back, and the rows that it contains are deleted.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from gitworker.bus.blobs import is_blob_ref
from gitworker.bus.files.json_line import json_value, log_line
from gitworker.errors import Unavailable
from gitworker.paths import open_regular
from gitworker.store.messages.archives import OldDeadLetter
from gitworker.store.messages.mailbox import StoredMessage

LEVEL = 6
LETTER_KEYS = (
    "dead_letter", "agent_id", "seq", "id", "ts_ms", "from_agent", "to_agent", "type",
    "correlation_id", "in_reply_to", "payload", "payload_ref", "attempts", "error", "dead_at_ms",
)  # fmt: skip
Archived = StoredMessage | OldDeadLetter


def write_lines(path: str, rows: Iterable[Archived], *, blobs: str) -> int:
    """Write the rows' lines to a new file, on disk on return; return the number of lines.

    Raises Unavailable if the file cannot be written.
    """
    number = 0
    try:
        with open(path, "wb", opener=_private) as file:
            with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
                for row in rows:
                    packed.write(_line(row, blobs) + b"\n")
                    number += 1
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Unavailable(
            f"cannot write the archive {path}: {error.strerror}", "df -h", code="disk"
        ) from error
    return number


def publish_file(partial: str, path: str) -> None:
    """Rename a written file to its final name, on disk on return."""
    os.replace(partial, path)
    fd = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield an archive's messages and dead letters in order.

    Raises Unavailable if the file is missing or damaged.
    """
    try:
        with open(path, "rb", opener=open_regular) as raw, gzip.open(raw) as file:
            for line in file:
                yield json.loads(line)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise Unavailable(
            f"the archive {path} is damaged: {error}", "git worker doctor", code="archive_damaged"
        ) from error


def is_whole(path: str, lines: int) -> bool:
    """Return whether an archive can be read to its end and has the recorded number of lines."""
    try:
        return sum(1 for _ in read_entries(path)) == lines
    except Unavailable:
        return False


def _private(path: str, flags: int) -> int:
    return open_regular(path, flags, 0o600)


def _line(row: Archived, blobs: str) -> bytes:
    line = (log_line(row) if isinstance(row, StoredMessage) else _dead_letter(row)).encode()
    ref = row.payload_ref
    if ref is None:
        return line
    content = _content(blobs, ref)
    if content is None:
        return line
    try:
        field = b'"blob":' + json.dumps(content.decode()).encode()
    except UnicodeDecodeError:
        from base64 import b64encode  # 1 ms, and only foreign publishers write such a blob

        field = b'"blob_base64":"' + b64encode(content) + b'"'
    return line.removesuffix(b"}") + b"," + field + b"}"


def _dead_letter(letter: OldDeadLetter) -> str:
    values = letter._asdict()
    values["dead_letter"], values["id"] = values["id"], values.pop("message_id")
    return "{" + ",".join(f'"{name}":{json_value(values[name])}' for name in LETTER_KEYS) + "}"


def _content(blobs: str, ref: str) -> bytes | None:
    if not is_blob_ref(ref):
        return None
    try:
        with open(f"{blobs}/{ref}", "rb", opener=open_regular) as file:
            return file.read()
    except OSError:
        return None
