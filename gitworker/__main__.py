"""The entry point of `git-worker`: hot verbs first, click for the rest, one handler for errors."""

from __future__ import annotations

import gc
import os
import sys

from gitworker.cli.hot import run_hot
from gitworker.errors import GitWorkerError, as_gitworker_error, is_environment_error
from gitworker.paths import open_streams

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED = 1
INTERRUPTED = 130
READER_GONE = 141  # the status that a shell shows after SIGPIPE
# Garbage collection during the imports frees nothing and costs 4 % of a short command.
COLLECT_AFTER = 50_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    open_streams()
    gc.set_threshold(COLLECT_AFTER)
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        if words == ["--standby"]:
            from gitworker.cli.hot.standby import await_order  # the process of a run

            words = await_order()
        status = run_hot(words)
        if status is not None:
            return status if argv is not None else _end_at_once(status)
        from gitworker.cli.early import prefetch_opening

        opening = prefetch_opening(words)
        from gitworker.cli.run import run_command  # click costs 45 ms, too much for a hot verb

        status = run_command(words, opening)
        return status if argv is not None else _end_at_once(status)
    except GitWorkerError as error:
        return _complain(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        from gitworker.cli.output import silence

        silence()
        return READER_GONE
    except Exception as error:  # noqa: BLE001 - the outermost frame
        if isinstance(error, OSError) and is_environment_error(error):
            return _complain(as_gitworker_error(error))
        from gitworker.cli.report import report_bug  # traceback: 10 ms, only for a bug

        return report_bug(error, words)


def _end_at_once(status: int) -> int:
    """Exit without the interpreter's clean-up, which costs a tenth of its bare start.

    Our own output is unbuffered and transactions are closed; click's output is flushed.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # the caller has closed it
                stream.flush()
        except OSError:  # reported already, if that was possible
            status = status or FAILED
    os._exit(status)


def _complain(error: GitWorkerError) -> int:
    from gitworker.cli.output import complain, silence  # 0.5 ms, which a silent verb does not pay

    try:
        return complain(error)
    except BrokenPipeError:
        silence()
        return error.status


if __name__ == "__main__":
    sys.exit(main())
