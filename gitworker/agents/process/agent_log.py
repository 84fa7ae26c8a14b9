"""An agent's log, `.worker.log` in its worktree: appended, bounded, never blocking the agent."""

from __future__ import annotations

import errno
import os
import stat
import threading

from gitworker.paths import AGENT_LOG, agent_log_elsewhere

MAX_BYTES = 16 * 1024 * 1024  # until the settings are known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths


def open_log(paths: StatePaths, *, worktree: str, worker: str, task: str) -> AgentLog:
    """Return the log of a worker's agent; its older part is moved to the kept logs.

    If the project tracks a file of that name, or another object is at that path, the log is in the
    kept logs too: no file of the project is written.
    """
    path, name = f"{worktree}/{AGENT_LOG}", f"{worker}-{task}"
    older, fallback = f"{paths.logs}/{name}.log.1", agent_log_elsewhere(paths.logs, name)
    log = AgentLog(path, older=older, max_bytes=MAX_BYTES, fallback=fallback)
    log.is_new = not os.path.lexists(path)
    if not log.is_new and _is_tracked(worktree):
        log.use_fallback()
    return log


def _is_tracked(worktree: str) -> bool:
    """Return True if git tracks a file with the log's name, or if that cannot be read."""
    from gitworker.errors import GitWorkerError
    from gitworker.repo.plumbing.git import Git

    try:
        return bool(Git(worktree).run("ls-files", "-z", "--", AGENT_LOG).out)
    except (GitWorkerError, OSError):
        return True


class AgentLog:
    """Append an agent's output; beyond `max_bytes` the file is moved to `older`.

    One older part is kept. A reader that follows the log by name finds the new file. A full disk
    loses bytes of the log, which `lost_bytes` counts, but never stops the agent. If the object at
    `path` is not our file, the log continues at `fallback`.
    """

    def __init__(
        self, path: str, *, older: str, max_bytes: int, fallback: str | None = None
    ) -> None:
        self.lost_bytes = 0
        self.max_bytes = max_bytes
        self._path = path
        self._older = older
        self._fallback = fallback
        self.moved_to: str | None = None
        self.is_new = False  # a file that appears before our first write is not ours
        self._lock = threading.Lock()  # standard output and error each have a thread
        self._fd = -1
        self._size = 0
        self._is_hidden = False

    def use_fallback(self) -> None:
        """Write to the fallback path from now on."""
        assert self._fallback is not None
        self._path = self.moved_to = self._fallback
        self._fallback = None

    def write(self, data: bytes) -> None:
        """Append to the log, after moving a full one."""
        if not data:
            return
        with self._lock:
            try:
                self._make_room(len(data))
                left = memoryview(data)
                while left:
                    left = left[os.write(self._fd, left) :]
                self._size += len(data)
            except OSError:
                self.lost_bytes += len(data)
                self._give_up()

    def close(self) -> None:
        """Close the file; count its bytes as lost if its path belongs to another object now."""
        with self._lock:
            self._give_up()

    def _make_room(self, size: int) -> None:
        if self._fd < 0:
            self._open(again=self.is_new)
            self.is_new = False
        elif not self._is_in_place():
            self._put_back()
        if self.max_bytes and self._size and self._size + size > self.max_bytes:
            if self._is_hidden:  # the object at our path is not ours to move
                raise OSError(errno.EFBIG, "full, and it cannot be rotated", self._path)
            try:
                _move(self._path, self._older)
            except OSError:  # it cannot be moved: a large log is better than none
                return
            self._close()
            self._open()

    def _open(self, *, again: bool = False) -> None:
        """Open the log; `again`: our file has left its path, and an object there is not ours."""
        try:
            self._open_here(os.O_EXCL if again else 0)
        except OSError:
            if self._fallback is None or not os.path.lexists(self._path):
                raise
            self.use_fallback()
            self._open_here(0)

    def _open_here(self, extra: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | extra
        fd = os.open(self._path, flags, 0o600)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):  # a FIFO without a reader would block us and the agent
            os.close(fd)
            raise OSError(errno.EINVAL, "not a regular file", self._path)
        self._fd = fd
        self._size = found.st_size

    def _is_in_place(self) -> bool:
        """Return True if our open file is still the one at the path."""
        try:
            found = os.lstat(self._path)
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self._fd))

    def _put_back(self) -> None:
        """Create the log again after an agent deleted it (`git clean -fdx`), with its content."""
        old = self._fd
        try:
            self._open(again=True)
        except OSError:  # the worktree itself has moved, and the log with it
            self._is_hidden = os.path.lexists(self._path) and os.fstat(old).st_nlink == 0
            return
        self._is_hidden = False
        try:
            if os.fstat(old).st_nlink == 0:
                _copy(old, self._fd)
                self._size = os.fstat(self._fd).st_size
        finally:
            os.close(old)

    def _give_up(self) -> None:
        if self._is_hidden:
            self.lost_bytes += self._size
            self._is_hidden = False
        self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _copy(source: int, target: int) -> None:
    os.lseek(source, 0, os.SEEK_SET)
    while data := os.read(source, 1 << 16):
        os.write(target, data)


def _move(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError:  # another file system, or the directory does not exist
        import shutil  # 10 ms, for worktrees on another disk

        shutil.copyfile(source, target)
        os.unlink(source)
