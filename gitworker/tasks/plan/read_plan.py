"""Read a plan: Markdown, JSON Lines or YAML, by the name of the file, or issues on GitHub."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.errors import Invalid, NotFound, Unavailable
from gitworker.paths import open_regular
from gitworker.tasks.plan.rules_plan import PlannedTask, at_line, require_unique

if TYPE_CHECKING:
    from collections.abc import Callable

ISSUES = "gh:"  # the beginning of an address of issues on GitHub
GH_TIMEOUT_S = 120
PLAN_MAX_BYTES = 64 * 1024 * 1024
MARKDOWN = (".md", ".markdown", ".txt")
JSON_LINES = (".jsonl", ".ndjson", ".json")
YAML = (".yaml", ".yml")


def read_plan(path: str) -> list[PlannedTask]:
    """Return the tasks of a plan in its order; `gh:OWNER/REPO#LABEL` names issues on GitHub.

    Raises NotFound for an unreadable file, Invalid for a bad plan, with the line in the message,
    and Unavailable if `gh` is missing or fails.
    """
    tasks = _fetch_issues(path) if path.startswith(ISSUES) else _parser(path)(_read(path))
    if not tasks:
        raise Invalid(
            "the plan has no open task: write '- [ ] id: Title', for example",
            "git worker task import -h",
            code="bad_plan",
        )
    require_unique(tasks)
    return tasks


def _fetch_issues(address: str) -> list[PlannedTask]:
    """Return the open issues of an address as tasks."""
    from gitworker import proc
    from gitworker.tasks.plan.rules_issues import parse_issues, parse_issues_address

    wanted = parse_issues_address(address)
    done = proc.run(wanted.command, timeout_s=GH_TIMEOUT_S)
    if done.status:
        words = " ".join(done.err.decode(errors="replace").split())[:300]
        raise Unavailable(f"gh cannot list the issues of {address}: {words}", "gh auth status")
    return parse_issues(done.out.decode(errors="replace"))


def _parser(path: str) -> Callable[[str], list[PlannedTask]]:
    """Return the parser for a file; the others are not imported."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in MARKDOWN:
        from gitworker.tasks.plan.rules_markdown import parse_markdown

        return parse_markdown
    if suffix in JSON_LINES:
        from gitworker.tasks.plan.rules_json_lines import parse_json_lines

        return parse_json_lines
    if suffix in YAML:
        from gitworker.tasks.plan.read_yaml import parse_yaml

        return parse_yaml
    raise Invalid(
        f"{path} is not a plan: its name must end with .md, .jsonl or .yaml",
        "git worker task import -h",
        code="bad_plan",
    )


def _read(path: str) -> str:
    try:
        with open(path, "rb", opener=open_regular) as file:
            raw = file.read(PLAN_MAX_BYTES + 1)
    except OSError as error:
        raise NotFound(f"cannot read the plan {path}: {error.strerror}") from error
    if len(raw) > PLAN_MAX_BYTES:
        raise Invalid(f"the plan {path} has more than {PLAN_MAX_BYTES} bytes", code="bad_plan")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise at_line(raw.count(b"\n", 0, error.start) + 1, "this is not UTF-8") from None
