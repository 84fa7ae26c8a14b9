"""The report of a bug in gitworker, as text that can be pasted."""

import os
import platform
import sys
import traceback

from gitworker import __version__, proc
from gitworker.cli.output import document, narrate
from gitworker.errors import GitWorkerError

STATUS = 70


def report_bug(error: BaseException, words: list[str], *, as_json: bool = False) -> int:
    """Report an uncaught exception and return status 70."""
    summary = "".join(traceback.format_exception_only(error)).strip()
    if as_json:
        document({"error": {
            "code": "internal", "message": summary, "hint": "see the report on standard error",
        }})  # fmt: skip
    narrate(bug_report(error, words, summary=summary))
    return STATUS


def bug_report(error: BaseException, words: list[str], *, summary: str) -> str:
    """Return the report: the command, the versions and the traceback."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    return "\n".join(
        (
            f"error: this is a bug in gitworker: {summary}",
            "hint: git worker recover   # finishes or rolls back an interrupted operation;"
            " please report the lines below",
            "",
            "----- report -----",
            f"command   git worker {' '.join(words)}",
            f"gitworker {__version__}",
            f"python    {platform.python_version()} ({sys.executable})",
            f"git       {_git_version()}",
            f"sqlite    {_sqlite_version()}",
            f"system    {platform.platform()}",
            f"directory {_directory()}",
            trace,
            "----- end of report -----",
        )
    )


def _git_version() -> str:
    try:
        return proc.run(["git", "--version"], timeout_s=5).text.strip()
    except GitWorkerError as error:
        return error.message


def _sqlite_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # only for a bug report

    try:
        return f"apsw {version('apsw')}"
    except PackageNotFoundError:
        return "apsw is not installed"


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        return str(error.strerror)
