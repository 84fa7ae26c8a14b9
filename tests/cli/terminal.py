"""A terminal of the test's own, with a command on it that believes in it."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.kit import DEADLINE_S, PROGRAM


def new_decoder() -> codecs.IncrementalDecoder:
    """Return a decoder of bytes that arrive in pieces."""
    return codecs.getincrementaldecoder("utf-8")("replace")


@dataclass
class Terminal:
    """Our end of a terminal, and the process on the other one, which it controls."""

    fd: int
    process: "subprocess.Popen[bytes]"
    shown: str = ""
    decoder: codecs.IncrementalDecoder = field(default_factory=new_decoder)

    def read_until(self, text: str) -> str:
        """Return all output so far, once a text is in the output since the last call.

        The output after the text is kept for the next call.
        """
        found = self.shown
        while text not in found:
            assert select.select([self.fd], [], [], DEADLINE_S)[0], found
            try:
                found += self.decoder.decode(os.read(self.fd, 65536))
            except OSError:  # the other end is closed
                raise AssertionError(found) from None
        head, _, self.shown = found.partition(text)
        return head + text

    def rest(self) -> str:
        """Return the output until the process closes its end."""
        found, self.shown = self.shown, ""
        while select.select([self.fd], [], [], DEADLINE_S)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # Linux reports a closed other end this way
                break
            if not data:
                break
            found += self.decoder.decode(data)
        return found

    def type(self, text: str) -> None:
        """Type on the keyboard."""
        os.write(self.fd, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        resize(self.fd, columns, rows)


def resize(fd: int, columns: int, rows: int) -> None:
    """Give the terminal of a descriptor a size."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextmanager
def on_terminal(
    cwd: Path | str,
    *words: str,
    program: str = PROGRAM,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (80, 24),
) -> Iterator[Terminal]:
    """Run `git-worker WORDS`, or another program, on a terminal.

    It is killed afterwards if it still runs.
    """
    ours, theirs = pty.openpty()
    resize(ours, *size)
    process = subprocess.Popen(
        [program, *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(DEADLINE_S)
        os.close(ours)
